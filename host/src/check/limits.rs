//! What a check may cost: a loop without end and a launch without bounds are things that damaged PTX has.

use std::fmt;
use std::fs;
use std::str::FromStr;
use std::sync::OnceLock;

use nstage_sim::MemoryLimit;

/// Warp instructions of a run, where nothing else is said: a quarter of an hour of checking.
pub(crate) const MOST_STEPS: u64 = 1 << 32;

/// Memory of the process, where nothing else is said.
pub(crate) const MOST_MEMORY: Bytes = Bytes(8 << 30);

/// A number of bytes; `512M` and `8G` are powers of 1024.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let units = [("K", 10), ("M", 20), ("G", 30)];
        let (number, shift) = units
            .iter()
            .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
            .unwrap_or((text, 0));
        number
            .parse::<u64>()
            .ok()
            .and_then(|number| number.checked_mul(1 << shift))
            .map(Self)
            .ok_or_else(|| "write bytes, as 1073741824, 1024M or 1G".to_owned())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("G", 30), ("M", 20), ("K", 10)];
        let whole = |&&(_, shift): &&(&str, u32)| self.0 != 0 && self.0.trailing_zeros() >= shift;
        match units.iter().find(whole) {
            Some((unit, shift)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A limit on what this process holds in memory.
pub(crate) fn memory(Bytes(bytes): Bytes) -> MemoryLimit {
    MemoryLimit {
        meter: resident,
        bytes,
    }
}

/// Bytes of this process that are in memory; zero where the system does not tell, so that nothing is ever over a limit there.
pub(crate) fn resident() -> u64 {
    static PAGE: OnceLock<u64> = OnceLock::new();
    let Ok(text) = fs::read_to_string("/proc/self/statm") else {
        return 0;
    };
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    // SAFETY: sysconf only reads its argument, and knows this one.
    let page = *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(0) as u64);
    pages.unwrap_or(0u64).saturating_mul(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_and_shown_with_their_unit() {
        for (text, bytes, shown) in [
            ("0", 0, "0"),
            ("1536", 1536, "1536"),
            ("2K", 2048, "2K"),
            ("1024M", 1 << 30, "1G"),
            ("8G", 8 << 30, "8G"),
        ] {
            let parsed: Bytes = text.parse().unwrap();
            assert_eq!((parsed.0, parsed.to_string().as_str()), (bytes, shown));
        }
        for text in ["", "G", "-1", "1.5G", "17179869184G", "1g", "1GB"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_touched_is_in_memory() {
        let before = resident();
        let bytes = vec![1u8; 64 << 20];
        let after = resident();
        assert!(std::hint::black_box(&bytes).len() == 64 << 20);
        assert!(
            before > 0 && after >= before + (48 << 20),
            "{before} {after}"
        );
    }
}

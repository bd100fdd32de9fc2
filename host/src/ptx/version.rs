//! Which PTX a driver and a device take.

/// A PTX version, major and minor.
pub type Version = (u8, u8);

/// A CUDA release, major and minor.
type Release = (i32, i32);

/// CUDA release and the PTX ISA version that came with it, from the release history in NVIDIA's PTX ISA manual.
const RELEASES: &[(Release, Version)] = &[
    ((11, 0), (7, 0)),
    ((11, 1), (7, 1)),
    ((11, 2), (7, 2)),
    ((11, 3), (7, 3)),
    ((11, 4), (7, 4)),
    ((11, 5), (7, 5)),
    ((11, 6), (7, 6)),
    ((11, 7), (7, 7)),
    ((11, 8), (7, 8)),
    ((12, 0), (8, 0)),
    ((12, 1), (8, 1)),
    ((12, 2), (8, 2)),
    ((12, 3), (8, 3)),
    ((12, 4), (8, 4)),
    ((12, 5), (8, 5)),
    ((12, 6), (8, 5)),
    ((12, 7), (8, 6)),
    ((12, 8), (8, 7)),
    ((12, 9), (8, 8)),
    ((13, 0), (9, 0)),
];

/// Every PTX version from the newest that could be on, downwards: past the list, a driver may know more.
pub fn newest_first() -> impl Iterator<Item = Version> {
    let listed = RELEASES.iter().rev().map(|&(_, version)| version);
    (0..10)
        .rev()
        .map(|minor| (9, minor))
        .chain(listed.filter(|&(major, _)| major < 9))
}

/// The newest PTX version that a driver for CUDA `major.minor` compiles; `None` where the list here ends.
pub fn of_driver(major: i32, minor: i32) -> Option<Version> {
    let (last, _) = RELEASES.last()?;
    if (major, minor) > *last {
        return None;
    }
    let known = RELEASES.iter().rev();
    // Older than the list: cp.async came with PTX 7.0, so anything below is refused alike.
    Some(
        known
            .clone()
            .find(|(release, _)| *release <= (major, minor))
            .map_or((6, 5), |&(_, version)| version),
    )
}

/// Whether PTX for `target` runs on a device of this compute capability.
///
/// Plain targets run on everything later. With the suffix `a` they run on that very architecture, with `f` on its family.
pub fn target_runs_on(target: &str, capability: u32) -> bool {
    let Some(number) = target.strip_prefix("sm_") else {
        return false;
    };
    let digits = number.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let Ok(wanted) = digits.parse::<u32>() else {
        return false;
    };
    match &number[digits.len()..] {
        "" => capability >= wanted,
        "a" => capability == wanted,
        "f" => capability / 10 == wanted / 10 && capability >= wanted,
        _ => false,
    }
}

/// The number in a target's name, to prefer the latest.
pub fn target_number(target: &str) -> u32 {
    let digits: String = target.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_tried_downwards_and_none_is_left_out() {
        let tried: Vec<Version> = newest_first().collect();
        assert!(tried.windows(2).all(|pair| pair[0] >= pair[1]), "{tried:?}");
        assert!(RELEASES.iter().all(|(_, version)| tried.contains(version)));
    }

    #[test]
    fn drivers_take_the_ptx_of_their_release() {
        for (driver, expected) in [
            ((10, 2), Some((6, 5))),
            ((11, 0), Some((7, 0))),
            ((11, 8), Some((7, 8))),
            ((12, 6), Some((8, 5))),
            ((13, 0), Some((9, 0))),
            ((13, 9), None),
            ((14, 0), None),
        ] {
            assert_eq!(of_driver(driver.0, driver.1), expected, "CUDA {driver:?}");
        }
    }

    #[test]
    fn targets_and_devices() {
        for (target, capability, expected) in [
            ("sm_80", 80, true),
            ("sm_80", 90, true),
            ("sm_90", 80, false),
            ("sm_90a", 90, true),
            ("sm_90a", 100, false),
            ("sm_100f", 103, true),
            ("sm_100f", 120, false),
            ("compute_80", 90, false),
            ("sm_", 90, false),
            ("sm_90x", 90, false),
        ] {
            assert_eq!(
                target_runs_on(target, capability),
                expected,
                "{target} on {capability}"
            );
        }
    }
}

//! Functions that the driver brings along: `vprintf`, `__assertfail`.

use std::fmt::Write as _;

use super::access::Region;
use super::group::{Group, Stop};
use super::warp::Warp;
use crate::event::{Monitor, Pc};
use crate::lanes::lanes_of;
use crate::program::op::{NONE, Space, SystemCall};

/// The longest text that is read from a kernel's memory.
const MAX_TEXT: usize = 64 << 10;
/// The most that is kept of what a block prints.
const MAX_PRINTED: usize = 16 << 20;

impl<M: Monitor> Group<'_, M> {
    pub(crate) fn system(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let system = self.machine.program.tables.systems[at as usize];
        let value = |index: usize, lane: usize| match system.values[index] {
            NONE => 0,
            register => warp.registers.row64(register)[lane],
        };
        match system.call {
            SystemCall::Print => {
                for lane in lanes_of(mask) {
                    if self.results.printed.len() < MAX_PRINTED {
                        let text = self.formatted(warp, lane, value(0, lane), value(1, lane));
                        self.results.printed.push_str(&text);
                    }
                }
                Ok(())
            }
            SystemCall::AssertFail => {
                let lane = mask.trailing_zeros() as usize & 31;
                let text = |at: u64| self.text(warp, lane, at);
                let (message, file, function) = (
                    text(value(0, lane)),
                    text(value(1, lane)),
                    text(value(3, lane)),
                );
                let line = value(2, lane) as u32;
                Err(self.trap(
                    pc,
                    mask,
                    format!("assertion `{message}` failed in {function}, {file}:{line}"),
                ))
            }
        }
    }

    /// One byte of a generic address.
    fn byte(&self, warp: &Warp, lane: usize, address: u64) -> Option<u8> {
        let (region, at) = self.locate(Space::Generic, address);
        if region == Region::Local {
            let size = u64::from(self.machine.program.local_bytes);
            let at = (at < size).then_some(at + lane as u64 * size.next_multiple_of(16))?;
            return Some(warp.local[at as usize / 8].to_le_bytes()[at as usize % 8]);
        }
        let segment = self.segment(region, at, at + 1)?;
        let host = segment
            .biased()
            .wrapping_add(at as usize)
            .cast::<std::sync::atomic::AtomicU8>();
        // SAFETY: the byte is inside a live segment.
        Some(unsafe { &*host }.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// The text at a generic address, up to its zero byte.
    fn text(&self, warp: &Warp, lane: usize, address: u64) -> String {
        let bytes: Vec<u8> = (0..MAX_TEXT as u64)
            .map_while(|offset| {
                self.byte(warp, lane, address.wrapping_add(offset))
                    .filter(|byte| *byte != 0)
            })
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A number of the argument buffer, which starts at a multiple of its size.
    fn argument(&self, warp: &Warp, lane: usize, at: &mut u64, size: u64) -> u64 {
        *at = at.next_multiple_of(size);
        let value = (0..size).fold(0, |value, offset| {
            let byte = self.byte(warp, lane, at.wrapping_add(offset)).unwrap_or(0);
            value | u64::from(byte) << (8 * offset)
        });
        *at += size;
        value
    }

    /// What `printf` makes of a format and its arguments.
    fn formatted(&self, warp: &Warp, lane: usize, format: u64, mut arguments: u64) -> String {
        let format = self.text(warp, lane, format);
        let mut out = String::new();
        let mut rest = format.as_str();
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let Some((spec, after)) = Spec::parse(rest) else {
                out.push('%');
                continue;
            };
            rest = after;
            let star = |group: &Self, arguments: &mut u64| {
                group.argument(warp, lane, arguments, 4) as u32 as usize
            };
            let width = if spec.width == Some(STAR) {
                star(self, &mut arguments)
            } else {
                spec.width.unwrap_or(0)
            };
            let precision = match spec.precision {
                Some(STAR) => Some(star(self, &mut arguments)),
                precision => precision,
            };
            let size = if spec.long
                || matches!(
                    spec.conversion,
                    'e' | 'f' | 'g' | 'a' | 'E' | 'F' | 'G' | 's' | 'p'
                ) {
                8
            } else {
                4
            };
            let value = match spec.conversion {
                '%' => 0,
                _ => self.argument(warp, lane, &mut arguments, size),
            };
            let text = match spec.conversion {
                '%' => "%".to_owned(),
                's' => {
                    let text = self.text(warp, lane, value);
                    text.chars().take(precision.unwrap_or(usize::MAX)).collect()
                }
                _ => spec.number(value, precision),
            };
            spec.pad(&mut out, &text, width);
        }
        out.push_str(rest);
        out
    }
}

/// A width or precision that is an argument.
const STAR: usize = usize::MAX;

/// One conversion of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Spec {
    left: bool,
    zero: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    width: Option<usize>,
    precision: Option<usize>,
    long: bool,
    conversion: char,
}

impl Spec {
    /// Reads what follows a `%`; and the rest.
    fn parse(text: &str) -> Option<(Self, &str)> {
        let flags = text.len() - text.trim_start_matches(['-', '0', '+', ' ', '#']).len();
        let has = |flag: char| text[..flags].contains(flag);
        let (width, rest) = number(&text[flags..]);
        let (precision, rest) = match rest.strip_prefix('.') {
            Some(rest) => {
                let (precision, rest) = number(rest);
                (precision.or(Some(0)), rest)
            }
            None => (None, rest),
        };
        let after = rest.trim_start_matches(['l', 'h', 'z', 'j', 't']);
        let words = &rest[..rest.len() - after.len()];
        let conversion = after
            .chars()
            .next()
            .filter(|c| "diouxXcsfFeEgGaAp%".contains(*c))?;
        let spec = Self {
            left: has('-'),
            zero: has('0'),
            plus: has('+'),
            space: has(' '),
            alternate: has('#'),
            width,
            precision,
            long: words.contains('l')
                || words.contains('z')
                || words.contains('j')
                || words.contains('t'),
            conversion,
        };
        Some((spec, &after[conversion.len_utf8()..]))
    }

    fn number(&self, value: u64, precision: Option<usize>) -> String {
        let signed = |negative: bool, digits: String| {
            let sign = match (negative, self.plus, self.space) {
                (true, ..) => "-",
                (false, true, _) => "+",
                (false, false, true) => " ",
                _ => "",
            };
            format!("{sign}{digits}")
        };
        let least = precision.unwrap_or(1).min(4096);
        match self.conversion {
            'd' | 'i' => {
                let value = if self.long {
                    value as i64
                } else {
                    i64::from(value as i32)
                };
                signed(value < 0, format!("{:0>least$}", value.unsigned_abs()))
            }
            'u' => format!("{value:0>least$}"),
            'o' => format!("{value:0>least$o}"),
            'x' => format!(
                "{}{value:0>least$x}",
                if self.alternate && value != 0 {
                    "0x"
                } else {
                    ""
                }
            ),
            'X' => format!(
                "{}{value:0>least$X}",
                if self.alternate && value != 0 {
                    "0X"
                } else {
                    ""
                }
            ),
            'c' => char::from(value as u8).to_string(),
            'p' => format!("{value:#x}"),
            _ => {
                let value = f64::from_bits(value);
                let digits = precision.unwrap_or(6).min(1074);
                let magnitude = value.abs();
                let text = if !magnitude.is_finite() {
                    (if magnitude.is_nan() { "nan" } else { "inf" }).to_owned()
                } else {
                    match self.conversion {
                        'e' | 'E' => scientific(magnitude, digits),
                        'g' | 'G' => general(magnitude, digits.max(1), self.alternate),
                        _ => format!("{magnitude:.digits$}"),
                    }
                };
                let text = signed(value.is_sign_negative() && !value.is_nan(), text);
                if self.conversion.is_uppercase() {
                    text.to_uppercase()
                } else {
                    text
                }
            }
        }
    }

    fn pad(&self, out: &mut String, text: &str, width: usize) {
        let fill = width.min(4096).saturating_sub(text.chars().count());
        let number = !matches!(self.conversion, 's' | 'c' | '%');
        if self.left {
            out.push_str(text);
            out.extend(std::iter::repeat_n(' ', fill));
        } else if self.zero && number {
            let sign = usize::from(text.starts_with(['-', '+', ' ']));
            out.push_str(&text[..sign]);
            out.extend(std::iter::repeat_n('0', fill));
            out.push_str(&text[sign..]);
        } else {
            out.extend(std::iter::repeat_n(' ', fill));
            out.push_str(text);
        }
    }
}

fn number(text: &str) -> (Option<usize>, &str) {
    if let Some(rest) = text.strip_prefix('*') {
        return (Some(STAR), rest);
    }
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (text[..text.len() - rest.len()].parse().ok(), rest)
}

/// C's `%e`: at least two digits of exponent, with its sign.
fn scientific(magnitude: f64, digits: usize) -> String {
    let text = format!("{magnitude:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let mut out = mantissa.to_owned();
    let _ = write!(
        out,
        "e{}{:02}",
        if exponent < 0 { '-' } else { '+' },
        exponent.abs()
    );
    out
}

/// C's `%g`: the shorter of `%e` and `%f` with so many significant digits, without trailing zeros.
fn general(magnitude: f64, digits: usize, keep_zeros: bool) -> String {
    let probe = format!("{magnitude:.*e}", digits - 1);
    let exponent: i32 = probe
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    let trim = |text: String| {
        if keep_zeros || !text.contains('.') {
            text
        } else {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if exponent < -4 || exponent >= digits as i32 {
        let text = scientific(magnitude, digits - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "+00"));
        format!("{}e{exponent}", trim(mantissa.to_owned()))
    } else {
        trim(format!(
            "{magnitude:.*}",
            (digits as i32 - 1 - exponent).max(0) as usize
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Format, value as the buffer holds it, what C prints.
    const NUMBERS: [(&str, u64, &str); 22] = [
        ("d", 42, "42"),
        ("d", -7i32 as u32 as u64, "-7"),
        ("5d", 42, "   42"),
        ("-5d|", 42, "42   |"),
        ("05d", -42i32 as u32 as u64, "-0042"),
        ("+d", 42, "+42"),
        (".3d", 7, "007"),
        ("lld", u64::MAX, "-1"),
        ("u", u32::MAX as u64, "4294967295"),
        ("#x", 255, "0xff"),
        ("08X", 0xbeef, "0000BEEF"),
        ("c", 65, "A"),
        ("f", 0x3ff8_0000_0000_0000, "1.500000"),
        (".2f", 0xc009_21fb_5444_2d18, "-3.14"),
        ("8.3f", 0x3ff8_0000_0000_0000, "   1.500"),
        ("e", 0x40c8_1cd6_e631_f8a1, "1.234568e+04"),
        ("g", 0x3f1a_36e2_eb1c_432d, "0.0001"),
        ("g", 0x3ee4_f8b5_88e3_68f1, "1e-05"),
        ("g", 0x412e_8480_0000_0000, "1e+06"),
        ("g", 0x40f8_6a00_0000_0000, "100000"),
        ("f", 0x7ff0_0000_0000_0000, "inf"),
        ("G", 0xfff0_0000_0000_0000, "-INF"),
    ];

    #[test]
    fn numbers_print_as_in_c() {
        for (format, value, wanted) in NUMBERS {
            let (spec, rest) = Spec::parse(format).unwrap();
            let mut out = String::new();
            spec.pad(
                &mut out,
                &spec.number(value, spec.precision),
                spec.width.unwrap_or(0),
            );
            assert_eq!(out + rest, wanted, "%{format}");
        }
    }
}

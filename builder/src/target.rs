//! What is built for: an architecture, and the PTX version that a driver must read.

use crate::BuildError;
use nstage_ptx::ast::Version;
use std::cmp::Ordering;
use std::fmt;

/// An architecture with the PTX version asked of the compiler.
///
/// The version is the lowest that the compiler has for the architecture unless [`Target::with_version`] raises it: an older driver refuses newer PTX, whatever it contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    arch: Arch,
    version: Version,
}

/// One row of [`ARCHS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Arch {
    name: &'static str,
    lowest: Version,
}

const fn arch(name: &'static str, major: u8, minor: u8) -> Arch {
    Arch {
        name,
        lowest: Version { major, minor },
    }
}

/// The architectures with asynchronous copies from old to new, and the lowest PTX version in which each exists.
const ARCHS: &[Arch] = &[
    arch("sm_80", 7, 0),
    arch("sm_86", 7, 1),
    arch("sm_87", 7, 4),
    arch("sm_89", 7, 8),
    arch("sm_90", 7, 8),
    arch("sm_90a", 8, 0),
    arch("sm_100", 8, 6),
    arch("sm_100a", 8, 6),
    arch("sm_103", 8, 8),
    arch("sm_103a", 8, 8),
    arch("sm_120", 8, 7),
    arch("sm_120a", 8, 7),
    arch("sm_121", 8, 8),
    arch("sm_121a", 8, 8),
];

impl Target {
    /// Ampere, A100: the first with `cp.async`.
    pub const SM_80: Self = Self {
        arch: arch("sm_80", 7, 0),
        version: Version { major: 7, minor: 0 },
    };
    /// Hopper: adds bulk copies and clusters.
    pub const SM_90: Self = Self {
        arch: arch("sm_90", 7, 8),
        version: Version { major: 7, minor: 8 },
    };
    /// Hopper with what only Hopper has: `wgmma`, `setmaxnreg`. Later GPUs do not run it.
    pub const SM_90A: Self = Self {
        arch: arch("sm_90a", 8, 0),
        version: Version { major: 8, minor: 0 },
    };

    /// The target called `name`, such as `sm_90a`.
    ///
    /// # Errors
    /// [`BuildError::UnknownTarget`] where no architecture with asynchronous copies has that name.
    pub fn named(name: &str) -> Result<Self, BuildError> {
        let Some(&arch) = ARCHS.iter().find(|arch| arch.name == name) else {
            return Err(BuildError::UnknownTarget {
                name: name.to_owned(),
                known: ARCHS
                    .iter()
                    .map(|arch| arch.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            });
        };
        Ok(Self {
            arch,
            version: arch.lowest,
        })
    }

    /// The same architecture at a higher PTX version, for an instruction that the lowest one lacks.
    ///
    /// # Errors
    /// [`BuildError::VersionTooLow`] below the architecture's own lowest.
    pub fn with_version(mut self, major: u8, minor: u8) -> Result<Self, BuildError> {
        let version = Version { major, minor };
        if version < self.arch.lowest {
            return Err(BuildError::VersionTooLow {
                target: self,
                asked: version,
                lowest: self.arch.lowest,
            });
        }
        self.version = version;
        Ok(self)
    }

    /// `sm_90a`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.arch.name
    }

    /// Whether it has the instructions of an architecture, 90 for `sm_90`; with `specific`, those of `sm_90a`, which only `sm_90a` has.
    pub(crate) fn has(self, arch: Option<u32>, specific: bool) -> bool {
        let Some(arch) = arch else { return true };
        if specific {
            return self.name() == format!("sm_{arch}a");
        }
        let digits = self.name().trim_matches(|c: char| !c.is_ascii_digit());
        digits.parse().is_ok_and(|own: u32| own >= arch)
    }

    /// The PTX version asked for; the built file's is higher only where an instruction, or what an entry declares, needs more.
    #[must_use]
    pub fn version(self) -> Version {
        self.version
    }

    /// What rustc is told. The feature is named only where it differs from the architecture's own: rustc warns about each one, and the built file's version is checked in any case.
    pub(crate) fn rustc_flags(self) -> Vec<String> {
        let mut flags = vec![format!("-Ctarget-cpu={}", self.name())];
        if self.version != self.arch.lowest {
            let Version { major, minor } = self.version;
            flags.push(format!("-Ctarget-feature=+ptx{major}{minor}"));
        }
        flags
    }
}

/// Later architectures come after earlier ones, and of one architecture the higher PTX version after the lower.
impl Ord for Target {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |target: &Self| {
            let row = ARCHS.iter().position(|arch| *arch == target.arch);
            (row, target.version)
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Target {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_is_its_row_of_the_table() {
        for target in [Target::SM_80, Target::SM_90, Target::SM_90A] {
            assert_eq!(
                Target::named(target.name()).expect("the table has it"),
                target
            );
        }
    }

    #[test]
    fn the_order_is_that_of_the_table() {
        let named = |name| Target::named(name).expect("the table has it");
        let raised = Target::SM_80.with_version(8, 6).expect("above 7.0");
        let ordered = [
            Target::SM_80,
            raised,
            Target::SM_90,
            Target::SM_90A,
            named("sm_100"),
        ];
        assert!(ordered.is_sorted(), "{ordered:?}");
        assert_eq!(ordered.iter().min(), Some(&Target::SM_80));
    }

    #[test]
    fn a_wrong_name_or_a_low_version_says_what_there_is() {
        let error = Target::named("sm_75").expect_err("no asynchronous copies");
        assert!(error.to_string().contains("sm_80, sm_86"), "{error}");
        let error = Target::SM_90.with_version(7, 0).expect_err("below 7.8");
        assert!(
            error.to_string().contains("7.0") && error.to_string().contains("7.8"),
            "{error}"
        );
        let raised = Target::SM_80.with_version(7, 4).expect("above 7.0");
        assert_eq!(
            raised.rustc_flags(),
            ["-Ctarget-cpu=sm_80", "-Ctarget-feature=+ptx74"]
        );
    }
}

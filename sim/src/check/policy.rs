//! How much the disputed rules weigh.
//!
//! The ISA's text and production kernels disagree in a few places. Each has a name here, and is an advisory unless the caller says otherwise.

use std::collections::BTreeMap;

use crate::finding::{Class, Severity};

/// A rule on which the text and practice differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Disputed {
    /// Several lanes store to one address with one instruction: one of them wins, which one is not said.
    SameInstructionStore,
    /// A bulk copy signals an mbarrier whose `init` no fence follows.
    InitFence,
    /// A copy through the async proxy overwrites what was accessed through the generic one, without a proxy fence between.
    AsyncOverwrite,
    /// The proxy fence stands behind the barrier, in the thread that issues the copy, instead of before it in the threads that wrote.
    FencePosition,
    /// What one block's bulk store wrote is read by another block's bulk copy, ordered but without a proxy fence.
    AsyncAcrossBlocks,
    /// An mbarrier operation of scope `.cta` that another block of the cluster takes part in.
    RemoteArriveScope,
    /// A thread ends while a bulk store of its is not known to be complete.
    StoreAtExit,
}

impl Disputed {
    /// Every rule.
    pub const ALL: [Self; 7] = [
        Self::SameInstructionStore,
        Self::InitFence,
        Self::AsyncOverwrite,
        Self::FencePosition,
        Self::AsyncAcrossBlocks,
        Self::RemoteArriveScope,
        Self::StoreAtExit,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameInstructionStore => "same-instruction-store",
            Self::InitFence => "init-fence",
            Self::AsyncOverwrite => "async-overwrite",
            Self::FencePosition => "fence-position",
            Self::AsyncAcrossBlocks => "async-across-blocks",
            Self::RemoteArriveScope => "remote-arrive-scope",
            Self::StoreAtExit => "store-at-exit",
        }
    }
}

/// What becomes of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// It makes the verdict a hazard.
    Error,
    /// It is told and leaves the verdict clean.
    Advisory,
    /// It is not told.
    Off,
}

impl Level {
    /// The severity of what is told.
    pub(crate) fn severity(self) -> Option<Severity> {
        match self {
            Self::Error => Some(Severity::Error),
            Self::Advisory => Some(Severity::Advisory),
            Self::Off => None,
        }
    }
}

impl From<Severity> for Level {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Advisory => Self::Advisory,
        }
    }
}

/// A name that is neither a disputed rule nor a class, or a level that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// No such rule.
    #[error("`{0}` is no policy; use a class name such as `unobserved-phase`, or one of {known}", known = known())]
    Name(String),
    /// No such level.
    #[error("`{0}` is no level; use `error`, `advisory` or `off`")]
    Level(String),
}

fn known() -> String {
    let names: Vec<_> = Disputed::ALL
        .iter()
        .map(|rule| format!("`{}`", rule.name()))
        .collect();
    names.join(", ")
}

/// The levels of disputed rules, and of whole classes where the caller overrides them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    disputed: BTreeMap<Disputed, Level>,
    classes: BTreeMap<Class, Level>,
}

impl Policy {
    /// Sets the rule or class `name` to `level`, both as written on the command line.
    ///
    /// # Errors
    /// When there is no such name or level.
    pub fn set(&mut self, name: &str, level: &str) -> Result<(), PolicyError> {
        let level = match level {
            "error" => Level::Error,
            "advisory" => Level::Advisory,
            "off" => Level::Off,
            other => return Err(PolicyError::Level(other.to_owned())),
        };
        if let Some(&rule) = Disputed::ALL.iter().find(|rule| rule.name() == name) {
            self.disputed.insert(rule, level);
        } else if let Some(class) = Class::from_name(name) {
            self.classes.insert(class, level);
        } else {
            return Err(PolicyError::Name(name.to_owned()));
        }
        Ok(())
    }

    /// What becomes of a finding of this class that rests on this disputed rule, if on any.
    #[must_use]
    pub fn level(&self, class: Class, rule: Option<Disputed>) -> Level {
        match rule {
            Some(rule) => self.disputed.get(&rule).copied().unwrap_or(Level::Advisory),
            None => self
                .classes
                .get(&class)
                .copied()
                .unwrap_or_else(|| class.default_severity().into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disputed_rules_are_advisories_until_told_otherwise() {
        for rule in Disputed::ALL {
            let mut policy = Policy::default();
            assert_eq!(policy.level(Class::WarpRace, Some(rule)), Level::Advisory);
            for (word, level) in [("error", Level::Error), ("off", Level::Off)] {
                policy.set(rule.name(), word).expect("a known rule");
                assert_eq!(policy.level(Class::WarpRace, Some(rule)), level);
            }
            assert_eq!(policy.level(Class::WarpRace, None), Level::Error);
        }
    }

    #[test]
    fn a_class_can_be_lowered_by_name_or_code() {
        let mut policy = Policy::default();
        policy.set("H9", "advisory").expect("a known class");
        policy.set("vacuous-wait", "off").expect("a known class");
        assert_eq!(policy.level(Class::SharedRace, None), Level::Advisory);
        assert_eq!(policy.level(Class::VacuousWait, None), Level::Off);
    }

    #[test]
    fn what_is_unknown_is_named() {
        let mut policy = Policy::default();
        let name = policy
            .set("folklore", "off")
            .expect_err("no such rule")
            .to_string();
        assert!(
            name.contains("`folklore`") && name.contains("`same-instruction-store`"),
            "{name}"
        );
        let level = policy
            .set("H9", "loud")
            .expect_err("no such level")
            .to_string();
        assert!(
            level.contains("`loud`") && level.contains("`advisory`"),
            "{level}"
        );
    }
}

//! The tasks, one file each.

pub(crate) mod check_cases;
pub(crate) mod ci;
pub(crate) mod dist;
pub(crate) mod ptx;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod supported;
pub(crate) mod test;
pub(crate) mod tidy;

//! Measuring: what is timed, in which order, verified how, and how far the numbers can be trusted.
//!
//! A number is worth something only beside others of the same run.
//! So everything that is compared takes turns ([`rounds`]), the device-to-device copy among them; each result is verified before its time counts;
//! ratios are made round by round and carry an interval ([`stats`]); and what is doubtful is said ([`warning`]).
//! Nothing here needs a GPU to be tested: the clock is a trait ([`work::Timer`]).

pub mod bed;
#[cfg(test)]
pub(crate) mod fake;
pub mod item;
pub mod peer;
pub mod plan;
pub mod raw;
pub mod rounds;
pub mod row;
pub mod session;
pub mod stats;
pub mod supervise;
pub mod warning;
pub mod work;
pub mod write;

//! What one lane computes.

pub(crate) mod exact;
pub(crate) mod small_float;

//! What one lane computes.

pub(crate) mod convert;
pub(crate) mod exact;
pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod small_float;

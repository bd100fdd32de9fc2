//! What kernels compute: input, reference, error bound, comparison.

pub mod compare;

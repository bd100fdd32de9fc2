//! See [`nstage_fuzz::check`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nstage_fuzz::check(bytes));

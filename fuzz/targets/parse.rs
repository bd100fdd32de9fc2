//! See [`nstage_fuzz::parse`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nstage_fuzz::parse(bytes));

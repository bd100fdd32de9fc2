//! See [`nstage_fuzz::launch`].

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| nstage_fuzz::launch(bytes));

//! The laws of the library that the compiler enforces, each with the message that it gives.
//!
//! A file in `compile_fail` breaks one law, which its first line states; the `.stderr` beside it is the compiler's answer.
//! `TRYBUILD=overwrite cargo test -p nstage --test compile_fail` rewrites the answers after a change of compiler or message.

#[test]
fn laws_are_enforced_at_compile_time() {
    let cases = trybuild::TestCases::new();
    // One program that keeps all laws: it also makes the others be built in full, as laws about constants need.
    cases.pass("tests/compile_pass/*.rs");
    cases.compile_fail("tests/compile_fail/*.rs");
}

//! Laws that the compiler enforces.

/// Refuses to compile unless `holds`, with the sentence that states the law; for use in constants.
///
/// `assert!` would do, but its message points into the standard library's source, which is installed on some machines and not on others.
#[track_caller]
pub(crate) const fn law(holds: bool, sentence: &'static str) {
    if holds { Some(()) } else { None }.expect(sentence);
}

//! The words after an opcode, taken one meaning at a time.

use nstage_ptx::ast::{Instruction, Type};

use super::Refusal;
use crate::event::{Ordering, Scope};
use crate::program::op::Space;
use crate::scalar::exact::Rounding;

/// The modifiers of one instruction. What nobody takes makes the instruction one that is not modelled.
pub(super) struct Mods<'a> {
    words: &'a [String],
    taken: u64,
}

impl<'a> Mods<'a> {
    pub(super) fn new(instruction: &'a Instruction) -> Self {
        Self {
            words: &instruction.modifiers,
            taken: 0,
        }
    }

    fn free(&self, index: usize) -> bool {
        index < 64 && self.taken >> index & 1 == 0
    }

    fn take(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'a str> {
        let index =
            (0..self.words.len()).find(|&index| self.free(index) && wanted(&self.words[index]))?;
        self.taken |= 1 << index;
        Some(&self.words[index])
    }

    /// Whether the word is there.
    pub(super) fn flag(&mut self, word: &str) -> bool {
        self.take(|free| free == word).is_some()
    }

    /// The value of the first of these words that is there.
    pub(super) fn one_of<V: Copy>(&mut self, words: &[(&str, V)]) -> Option<V> {
        let word = self.take(|free| words.iter().any(|(word, _)| *word == free))?;
        words
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, value)| *value)
    }

    /// Like [`one_of`](Self::one_of), for a word that must be there.
    pub(super) fn need<V: Copy>(&mut self, words: &[(&str, V)]) -> Result<V, Refusal> {
        self.one_of(words).ok_or(Refusal::NotModelled)
    }

    /// The next type.
    pub(super) fn ty(&mut self) -> Result<Type, Refusal> {
        self.maybe_ty().ok_or(Refusal::NotModelled)
    }

    /// The next type, if there is one.
    pub(super) fn maybe_ty(&mut self) -> Option<Type> {
        self.take(|free| Type::parse(free).is_some())
            .and_then(Type::parse)
    }

    /// Takes the word of a shape, `m16n8k16`.
    pub(super) fn shape(&mut self) {
        self.take(|free| {
            free.starts_with('m')
                && free.contains('n')
                && free.contains('k')
                && free[1..].starts_with(|c: char| c.is_ascii_digit())
        });
    }

    /// A rounding mode of a result that is a float.
    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.one_of(&[
            ("rn", Rounding::Nearest),
            ("rna", Rounding::NearestAway),
            ("rz", Rounding::Zero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
        ])
    }

    /// A rounding mode of a result that is an integer.
    pub(super) fn integer_rounding(&mut self) -> Option<Rounding> {
        self.one_of(&[
            ("rni", Rounding::Nearest),
            ("rzi", Rounding::Zero),
            ("rmi", Rounding::Down),
            ("rpi", Rounding::Up),
        ])
    }

    /// A state space of a memory instruction; none named is generic.
    pub(super) fn space(&mut self) -> Space {
        self.maybe_space().unwrap_or(Space::Generic)
    }

    /// A state space, if one is named.
    pub(super) fn maybe_space(&mut self) -> Option<Space> {
        self.one_of(&[
            ("global", Space::Global),
            ("shared", Space::Shared),
            ("shared::cta", Space::Shared),
            ("shared::cluster", Space::Cluster),
            ("local", Space::Local),
            ("const", Space::Const),
            ("param", Space::Param),
            ("param::entry", Space::Param),
            ("param::func", Space::Param),
        ])
    }

    /// A scope, if one is named.
    pub(super) fn scope(&mut self) -> Option<Scope> {
        self.one_of(&[
            ("cta", Scope::Cta),
            ("cluster", Scope::Cluster),
            ("gpu", Scope::Gpu),
            ("sys", Scope::Sys),
        ])
    }

    /// The strength of a load or store: `weak` where nothing is said.
    pub(super) fn strength(&mut self) -> (Ordering, Scope) {
        if self.flag("volatile") || self.flag("mmio") {
            self.flag("relaxed");
            let scope = self.scope();
            return (Ordering::Relaxed, scope.unwrap_or(Scope::Sys));
        }
        let ordering = self.semantics().unwrap_or(Ordering::Weak);
        self.flag("weak");
        (ordering, self.scope().unwrap_or(Scope::Cta))
    }

    /// `.relaxed`, `.acquire`, `.release`, `.acq_rel`, `.sc`.
    pub(super) fn semantics(&mut self) -> Option<Ordering> {
        self.one_of(&[
            ("relaxed", Ordering::Relaxed),
            ("acquire", Ordering::Acquire),
            ("release", Ordering::Release),
            ("acq_rel", Ordering::AcqRel),
            ("sc", Ordering::SeqCst),
        ])
    }

    /// Takes the hints that change nothing but speed.
    pub(super) fn skip_cache_hints(&mut self) {
        while self
            .take(|word| {
                matches!(
                    word,
                    "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" | "unified"
                ) || word.starts_with("L1::")
                    || word.starts_with("L2::")
            })
            .is_some()
        {}
    }

    /// Refuses the instruction if a word is left that nobody took.
    pub(super) fn finish(&self) -> Result<(), Refusal> {
        if (0..self.words.len()).any(|index| self.free(index) || index >= 64) {
            return Err(Refusal::NotModelled);
        }
        Ok(())
    }
}

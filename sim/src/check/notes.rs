//! What one block did to global memory, noted for other blocks.
//!
//! Blocks mostly read and write whole stretches, so a page keeps runs of bytes, and turns to notes by line when there are too many.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::event::{CopyKind, Pc};

use super::copies::{BatchId, Batches};
use super::global::{Foreign, GlobalShadow};
use super::hazard::{Deed, ThreadId};
use super::record::{Bytes, LINE, span};

/// Lines in a page.
pub(crate) const PAGE: u64 = 32;
/// Bytes in a page.
const PAGE_BYTES: u64 = PAGE * LINE;
/// Runs that a page keeps.
const RUNS: usize = 4;
/// An era that never ends: what belongs to it is released by nobody.
const NEVER: u32 = u32::MAX;

/// What an access is to other blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A weak read, or one whose scope is too narrow.
    Read,
    /// A weak write.
    Write,
    /// A strong read.
    StrongRead,
    /// A strong write or a read-modify-write.
    StrongWrite,
    /// A bulk copy's read.
    BulkRead,
    /// A bulk store: a weak write that is over only once a wait says so.
    BulkWrite,
}

impl Kind {
    /// Whether the two race where nothing orders them.
    pub(crate) fn races_with(self, other: Self) -> bool {
        use Kind::{BulkRead, Read, StrongRead, StrongWrite};
        !matches!(
            (self, other),
            (Read | StrongRead | BulkRead, Read | StrongRead | BulkRead)
                | (StrongWrite | StrongRead, StrongWrite | StrongRead)
        )
    }

    /// Whether bytes are written.
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Write | Self::StrongWrite | Self::BulkWrite)
    }

    /// What it is in a report.
    pub(crate) fn deed(self) -> Deed {
        match self {
            Self::Read | Self::StrongRead => Deed::Read,
            Self::Write => Deed::Write,
            Self::StrongWrite => Deed::Atomic,
            Self::BulkRead => Deed::CopyFrom(CopyKind::BulkLoad),
            Self::BulkWrite => Deed::CopyInto(CopyKind::BulkStore),
        }
    }
}

/// What was done, by whom, and what is known about its order with other blocks.
#[derive(Clone, Debug)]
pub(crate) struct Meta {
    /// What was done.
    pub(crate) kind: Kind,
    /// The group of blocks.
    pub(crate) group: u32,
    /// The era of it.
    pub(crate) era: u32,
    /// What the thread knew of other blocks.
    pub(crate) foreign: Option<Arc<Foreign>>,
    /// An instruction that did it.
    pub(crate) pc: Pc,
    /// Its thread.
    pub(crate) thread: ThreadId,
    /// The copy, for a bulk store whose era is not known yet.
    pub(crate) store: Option<BatchId>,
}

impl Meta {
    /// Whether the two differ in nothing that order depends on.
    fn like(&self, other: &Self) -> bool {
        let same_foreign = match (&self.foreign, &other.foreign) {
            (None, None) => true,
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            _ => false,
        };
        self.kind == other.kind
            && self.group == other.group
            && self.era == other.era
            && self.store == other.store
            && same_foreign
    }

    /// A total order that no run of the machine changes.
    pub(crate) fn order(&self) -> (Kind, u32, u32, Pc, ThreadId) {
        (self.kind, self.group, self.era, self.pc, self.thread)
    }

    /// A bulk store belongs to the era in which a wait says that it is over.
    fn settle(&mut self, batches: &Batches) {
        if let Some(batch) = self.store.take() {
            let completed = batches.get(batch).and_then(|batch| batch.completed_era);
            self.era = completed.unwrap_or(NEVER);
        }
    }
}

/// What one block did to bytes of one line.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// The bytes.
    pub(crate) bytes: Bytes,
    /// The rest.
    pub(crate) meta: Meta,
}

/// Notes on one line.
pub(crate) type Notes = SmallVec<[Note; 1]>;

/// Adds a note, to one that differs in its bytes only where there is one.
pub(crate) fn add(notes: &mut Notes, note: Note) {
    match notes.iter_mut().find(|known| known.meta.like(&note.meta)) {
        Some(known) => known.bytes |= note.bytes,
        None => notes.push(note),
    }
}

/// What one block did to bytes of one page that lie together.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    from: u16,
    to: u16,
    meta: Meta,
}

impl Run {
    /// Whether it covers the page.
    pub(crate) fn is_whole(&self) -> bool {
        self.from == 0 && u64::from(self.to) == PAGE_BYTES
    }

    /// The note of it on these bytes of a line.
    pub(crate) fn note(&self, bytes: Bytes) -> Note {
        Note {
            bytes,
            meta: self.meta.clone(),
        }
    }

    /// The note of it on each line, with the line's place in the page.
    pub(crate) fn by_line(&self, mut each: impl FnMut(usize, Note)) {
        let (mut at, to) = (u64::from(self.from), u64::from(self.to));
        while at < to {
            let line = at / LINE;
            let stop = to.min((line + 1) * LINE);
            let bytes = span((at % LINE) as u32, (stop - at) as u32);
            each(line as usize, self.note(bytes));
            at = stop;
        }
    }
}

/// What one block did to one page.
#[derive(Debug)]
pub(crate) enum PageNotes {
    /// A few runs.
    Runs(SmallVec<[Run; 2]>),
    /// By line.
    Lines(Box<[Notes]>),
}

impl PageNotes {
    fn add(&mut self, from: u16, to: u16, meta: &Meta) {
        if let Self::Runs(runs) = self {
            // Neighbours in either direction grow together.
            let touching = |run: &&mut Run| from <= run.to && run.from <= to && run.meta.like(meta);
            if let Some(run) = runs.iter_mut().find(touching) {
                run.from = run.from.min(from);
                run.to = run.to.max(to);
                return;
            }
            if runs.len() == RUNS {
                let mut lines: Box<[Notes]> = (0..PAGE).map(|_| Notes::new()).collect();
                for run in runs {
                    run.by_line(|at, note| add(&mut lines[at], note));
                }
                *self = Self::Lines(lines);
            }
        }
        let run = Run {
            from,
            to,
            meta: meta.clone(),
        };
        match self {
            Self::Runs(runs) => runs.push(run),
            Self::Lines(lines) => run.by_line(|at, note| add(&mut lines[at], note)),
        }
    }

    fn settle(&mut self, batches: &Batches) {
        match self {
            Self::Runs(runs) => runs.iter_mut().for_each(|run| run.meta.settle(batches)),
            Self::Lines(lines) => lines
                .iter_mut()
                .flatten()
                .for_each(|note| note.meta.settle(batches)),
        }
    }
}

/// What one block did to global memory.
#[derive(Debug, Default)]
pub(crate) struct BlockNotes {
    index: HashMap<u64, usize>,
    pages: Vec<(u64, PageNotes)>,
    /// Where the page used last is.
    last: usize,
}

impl BlockNotes {
    /// Notes what was done to the bytes `from..to`.
    pub(crate) fn add(&mut self, from: u64, to: u64, meta: &Meta) {
        let mut at = from;
        while at < to {
            let page = at / PAGE_BYTES;
            let stop = to.min((page + 1) * PAGE_BYTES);
            let start = page * PAGE_BYTES;
            self.page(page)
                .add((at - start) as u16, (stop - start) as u16, meta);
            at = stop;
        }
    }

    #[inline]
    fn page(&mut self, page: u64) -> &mut PageNotes {
        if self
            .pages
            .get(self.last)
            .is_none_or(|&(last, _)| last != page)
        {
            let pages = &mut self.pages;
            self.last = *self.index.entry(page).or_insert_with(|| {
                pages.push((page, PageNotes::Runs(SmallVec::new())));
                pages.len() - 1
            });
        }
        &mut self.pages[self.last].1
    }

    /// Tells the other blocks.
    pub(crate) fn hand_over(self, shadow: &GlobalShadow, batches: &Batches) {
        for (page, mut notes) in self.pages {
            notes.settle(batches);
            shadow.join(page, notes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::record::bits;

    fn meta(kind: Kind) -> Meta {
        Meta {
            kind,
            group: 0,
            era: 0,
            foreign: None,
            pc: 0,
            thread: ThreadId { warp: 0, lane: 0 },
            store: None,
        }
    }

    /// The bytes of a page that notes of this kind hold.
    fn noted(notes: &PageNotes, kind: Kind) -> Vec<u64> {
        let mut bytes = Vec::new();
        let mut take = |line: usize, note: Note| {
            if note.meta.kind == kind {
                bytes.extend(bits(note.bytes).map(|byte| line as u64 * LINE + u64::from(byte)));
            }
        };
        match notes {
            PageNotes::Runs(runs) => runs.iter().for_each(|run| run.by_line(&mut take)),
            PageNotes::Lines(lines) => {
                for (line, notes) in lines.iter().enumerate() {
                    notes.iter().for_each(|note| take(line, note.clone()));
                }
            }
        }
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }

    #[test]
    fn a_page_holds_what_was_noted_in_whatever_form() {
        // Ranges in the page, and whether they fit into runs.
        let cases: [(&[(u64, u64)], bool); 5] = [
            (&[(0, 512), (512, 1024), (1024, 4096)], true),
            (&[(512, 1024), (0, 512)], true),
            (&[(100, 104), (4000, 4096), (0, 4)], true),
            (
                &[(0, 4), (8, 12), (16, 20), (24, 28), (32, 36), (130, 131)],
                false,
            ),
            (&[(0, 4096), (8, 12)], true),
        ];
        for (ranges, runs) in cases {
            let mut block = BlockNotes::default();
            let mut expected = Vec::new();
            for &(from, to) in ranges {
                block.add(from, to, &meta(Kind::Write));
                expected.extend(from..to);
            }
            block.add(40, 44, &meta(Kind::Read));
            expected.sort_unstable();
            expected.dedup();
            let (_, notes) = &block.pages[0];
            assert_eq!(noted(notes, Kind::Write), expected);
            assert_eq!(noted(notes, Kind::Read), (40..44).collect::<Vec<_>>());
            assert_eq!(matches!(notes, PageNotes::Runs(_)), runs, "{ranges:?}");
        }
    }

    #[test]
    fn a_range_over_pages_is_noted_in_each() {
        let mut block = BlockNotes::default();
        block.add(PAGE_BYTES - 8, PAGE_BYTES * 2 + 8, &meta(Kind::Write));
        let whole: Vec<_> = block
            .pages
            .iter()
            .map(|(page, notes)| (*page, noted(notes, Kind::Write).len()))
            .collect();
        assert_eq!(whole, [(0, 8), (1, 4096), (2, 8)]);
    }
}

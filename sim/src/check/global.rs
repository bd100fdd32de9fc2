//! Global memory between blocks that are not checked together.
//!
//! Each block notes, for every line, which bytes it read and wrote. When it ends, its notes join those of the other blocks,
//! and races are looked for once, after the last block: so neither the order in which blocks run nor their number at a time shows in a report,
//! and no block waits for another's lock while it runs.
//!
//! Order between blocks comes from releases and acquires through memory. A block's run is cut into *eras* by its releases;
//! whoever acquires one knows the eras before it, as a whole: a release of one thread counts for its block.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::{Pc, Scope};
use crate::finding::Class;

use super::hazard::{Fact, Hazard, Place, Suspect};
use super::notes::{Kind, Note, Notes, PAGE, PageNotes, add};
use super::record::{Bytes, LINE};

/// Locks over the pages.
const SHARDS: usize = 64;
/// Readers and writers of one line that are kept; those of further blocks are not, which may miss a race and never invents one.
const KEPT: [usize; 2] = [8, 32];
/// What is known of other blocks: the number of eras that are over, by block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Foreign {
    eras: BTreeMap<u32, u32>,
}

impl Foreign {
    /// Knows that the first `eras` eras of the block are over.
    pub(crate) fn raise(&mut self, block: u32, eras: u32) {
        let known = self.eras.entry(block).or_default();
        *known = (*known).max(eras);
    }

    /// The pointwise maximum of both.
    pub(crate) fn join(&mut self, other: &Self) {
        for (&block, &eras) in &other.eras {
            self.raise(block, eras);
        }
    }

    fn is_only(&self, block: u32) -> bool {
        self.eras.keys().all(|&known| known == block)
    }

    fn knows(&self, block: u32, era: u32) -> bool {
        self.eras.get(&block).is_some_and(|&eras| era < eras)
    }
}

/// What all blocks did to one line.
#[derive(Clone, Debug, Default)]
struct Line {
    notes: Notes,
}

impl Line {
    /// Joins a note of another block. The result does not depend on the order of joining.
    fn join(&mut self, note: Note) {
        let kind = note.meta.kind;
        add(&mut self.notes, note);
        let of_kind = |note: &Note| note.meta.kind == kind;
        let kept = self.notes.iter().filter(|note| of_kind(note)).count();
        if kept > KEPT[usize::from(kind.writes())]
            && let Some(last) = (0..self.notes.len())
                .filter(|&at| of_kind(&self.notes[at]))
                .max_by_key(|&at| self.notes[at].meta.order())
        {
            self.notes.remove(last);
        }
    }

    fn races(&self, line: u64, found: &mut impl FnMut(Race)) {
        for (at, a) in self.notes.iter().enumerate() {
            for b in &self.notes[at + 1..] {
                let bytes = a.bytes & b.bytes;
                if bytes == 0
                    || a.meta.group == b.meta.group
                    || !a.meta.kind.races_with(b.meta.kind)
                {
                    continue;
                }
                let ordered = knows(b, a) || knows(a, b);
                let both_bulk = a.meta.kind >= Kind::BulkRead && b.meta.kind >= Kind::BulkRead;
                if ordered && !both_bulk {
                    continue;
                }
                let from = line * LINE + u64::from(bytes.trailing_zeros());
                let count = (bytes >> bytes.trailing_zeros()).trailing_ones();
                let (first, second) = if (a.meta.group, a.meta.kind) <= (b.meta.group, b.meta.kind)
                {
                    (a, b)
                } else {
                    (b, a)
                };
                found(Race {
                    bytes: from..from + u64::from(count),
                    first: first.clone(),
                    second: second.clone(),
                    ordered,
                });
            }
        }
    }
}

/// Whether the later note's thread knew the earlier one.
fn knows(later: &Note, earlier: &Note) -> bool {
    later
        .meta
        .foreign
        .as_ref()
        .is_some_and(|foreign| foreign.knows(earlier.meta.group, earlier.meta.era))
}

/// Two notes of different blocks that are not ordered, or both of bulk copies.
struct Race {
    ordered: bool,
    bytes: std::ops::Range<u64>,
    first: Note,
    second: Note,
}

/// What all blocks did to one page.
#[derive(Debug)]
enum PageShadow {
    /// Every block that touched it did the same to all of its bytes.
    Whole(Line),
    /// By line.
    Lines(Box<[Line]>),
}

impl PageShadow {
    fn join(&mut self, notes: PageNotes) {
        match notes {
            PageNotes::Runs(runs) => {
                for run in runs {
                    if let (Self::Whole(line), true) = (&mut *self, run.is_whole()) {
                        line.join(run.note(Bytes::MAX));
                        continue;
                    }
                    run.by_line(|at, note| self.line(at).join(note));
                }
            }
            PageNotes::Lines(lines) => {
                for (at, notes) in lines.into_iter().enumerate() {
                    for note in notes {
                        self.line(at).join(note);
                    }
                }
            }
        }
    }

    /// The line, on its own from now on.
    fn line(&mut self, at: usize) -> &mut Line {
        if let Self::Whole(line) = self {
            *self = Self::Lines((0..PAGE).map(|_| line.clone()).collect());
        }
        match self {
            Self::Lines(lines) => &mut lines[at],
            Self::Whole(line) => line,
        }
    }

    /// Calls `found` for each race and the number of lines that have it.
    fn races(&self, page: u64, found: &mut impl FnMut(Race, u64)) {
        match self {
            Self::Whole(line) => line.races(page * PAGE, &mut |race| found(race, PAGE)),
            Self::Lines(lines) => {
                for (line, at) in lines.iter().zip(page * PAGE..) {
                    line.races(at, &mut |race| found(race, 1));
                }
            }
        }
    }
}

/// What a strong write left in global memory for other blocks.
#[derive(Clone, Debug)]
struct Released {
    foreign: Arc<Foreign>,
    scope: Scope,
}

/// What a strong read found.
pub(crate) enum Found {
    /// Nothing that another block released.
    Nothing,
    /// This.
    Knowledge(Arc<Foreign>),
    /// Something, but a scope does not include the other thread.
    TooNarrow,
}

/// Global memory as all blocks of a launch see it.
#[derive(Debug)]
pub(crate) struct GlobalShadow {
    shards: Vec<Mutex<HashMap<u64, PageShadow>>>,
    locations: Mutex<HashMap<u64, Released>>,
    /// How many locations there are, so that most launches never lock them.
    released: AtomicUsize,
}

impl Default for GlobalShadow {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            locations: Mutex::default(),
            released: AtomicUsize::new(0),
        }
    }
}

impl GlobalShadow {
    /// Joins the notes of one block on one page.
    pub(crate) fn join(&self, page: u64, notes: PageNotes) {
        lock(&self.shards[(page as usize) % SHARDS])
            .entry(page)
            .or_insert_with(|| PageShadow::Whole(Line::default()))
            .join(notes);
    }

    /// A strong write hands over `foreign`; a read-modify-write (`continues`) adds to what is there.
    pub(crate) fn release(&self, address: u64, foreign: Option<(Foreign, Scope)>, continues: bool) {
        if foreign.is_none() && (continues || self.released.load(Relaxed) == 0) {
            return;
        }
        let mut locations = lock(&self.locations);
        match foreign {
            None => {
                locations.remove(&address);
            }
            Some((mut foreign, mut scope)) => {
                if continues && let Some(before) = locations.get(&address) {
                    foreign.join(&before.foreign);
                    scope = scope.max(before.scope);
                }
                let foreign = Arc::new(foreign);
                locations.insert(address, Released { foreign, scope });
            }
        }
        self.released.store(locations.len(), Relaxed);
    }

    /// What a strong read of this scope takes along.
    pub(crate) fn observe(&self, address: u64, group: u32, scope: Scope) -> Found {
        if self.released.load(Relaxed) == 0 {
            return Found::Nothing;
        }
        let locations = lock(&self.locations);
        match locations.get(&address) {
            None => Found::Nothing,
            // What only this group released, its own monitor hands over exactly.
            Some(released) if released.foreign.is_only(group) => Found::Nothing,
            Some(released) if released.scope.min(scope) < Scope::Gpu => Found::TooNarrow,
            Some(released) => Found::Knowledge(Arc::clone(&released.foreign)),
        }
    }

    /// Every race, folded by the two instructions, with its count; the example is the first in order of block and address.
    pub(crate) fn races(&self) -> Vec<([u32; 2], Hazard, u64)> {
        let mut folded: BTreeMap<(Pc, Pc, Class), (Race, u64)> = BTreeMap::new();
        for shard in &self.shards {
            let shard = lock(shard);
            for (&page, shadow) in shard.iter() {
                shadow.races(page, &mut |race, lines| {
                    let key = (race.first.meta.pc, race.second.meta.pc, race.class());
                    match folded.get_mut(&key) {
                        Some((example, count)) => {
                            *count += lines;
                            if race.order() < example.order() {
                                *example = race;
                            }
                        }
                        None => {
                            folded.insert(key, (race, lines));
                        }
                    }
                });
            }
        }
        folded
            .into_values()
            .map(|(race, count)| {
                let groups = [race.first.meta.group, race.second.meta.group];
                (groups, race.hazard(), count)
            })
            .collect()
    }
}

/// A worker that panicked must not take the others' notes with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Race {
    fn class(&self) -> Class {
        match (self.first.meta.kind, self.second.meta.kind) {
            _ if self.ordered => Class::MissingProxyFence,
            (Kind::BulkWrite, Kind::Read | Kind::StrongRead | Kind::BulkRead)
            | (Kind::Read | Kind::StrongRead | Kind::BulkRead, Kind::BulkWrite)
                if self.reader_knows_issue() =>
            {
                Class::StoreReadEarly
            }
            _ => Class::GlobalRace,
        }
    }

    /// Whether the reader acquired something that the storing block released after all: then only the store's wait is missing.
    fn reader_knows_issue(&self) -> bool {
        let (store, reader) = if self.first.meta.kind == Kind::BulkWrite {
            (&self.first, &self.second)
        } else {
            (&self.second, &self.first)
        };
        reader
            .meta
            .foreign
            .as_ref()
            .is_some_and(|foreign| foreign.eras.contains_key(&store.meta.group))
    }

    fn order(&self) -> (u32, u32, u64) {
        (
            self.first.meta.group,
            self.second.meta.group,
            self.bytes.start,
        )
    }

    fn hazard(self) -> Hazard {
        let suspect = |note: &Note| Suspect {
            pc: note.meta.pc,
            execution: 0,
            thread: note.meta.thread,
            deed: note.meta.kind.deed(),
            group: None,
        };
        Hazard {
            class: self.class(),
            certain: !self.ordered,
            place: Some(Place::Global),
            bytes: self.bytes.clone(),
            first: Some(suspect(&self.first)),
            second: suspect(&self.second),
            facts: vec![if self.ordered {
                Fact::AsyncAcrossBlocks
            } else {
                Fact::OtherBlock
            }],
        }
    }
}

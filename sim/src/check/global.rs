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

use smallvec::SmallVec;

use crate::event::{CopyKind, Pc, Scope};
use crate::finding::Class;

use super::copies::{BatchId, Batches};
use super::hazard::{Deed, Fact, Hazard, Place, Suspect, ThreadId};
use super::record::{Bytes, LINE};

/// Lines in a page.
pub(crate) const PAGE: u64 = 32;
/// Locks over the pages.
const SHARDS: usize = 64;
/// Readers and writers of one line that are kept; those of further blocks are not, which may miss a race and never invents one.
const KEPT: [usize; 2] = [8, 32];
/// An era that never ends: what belongs to it is released by nobody.
const NEVER: u32 = u32::MAX;

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
    fn races_with(self, other: Self) -> bool {
        use Kind::{BulkRead, Read, StrongRead, StrongWrite};
        !matches!(
            (self, other),
            (Read | StrongRead | BulkRead, Read | StrongRead | BulkRead)
                | (StrongWrite | StrongRead, StrongWrite | StrongRead)
        )
    }

    fn writes(self) -> bool {
        matches!(self, Self::Write | Self::StrongWrite | Self::BulkWrite)
    }

    fn deed(self) -> Deed {
        match self {
            Self::Read | Self::StrongRead => Deed::Read,
            Self::Write => Deed::Write,
            Self::StrongWrite => Deed::Atomic,
            Self::BulkRead => Deed::CopyFrom(CopyKind::BulkLoad),
            Self::BulkWrite => Deed::CopyInto(CopyKind::BulkStore),
        }
    }
}

/// What one block did to bytes of one line.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// The bytes.
    pub(crate) bytes: Bytes,
    /// What was done.
    pub(crate) kind: Kind,
    /// The group of blocks.
    pub(crate) group: u32,
    /// The era of it.
    pub(crate) era: u32,
    /// What the thread knew of other blocks.
    pub(crate) foreign: Option<Arc<Foreign>>,
    /// An instruction that did it, and its thread.
    pub(crate) pc: Pc,
    /// The thread.
    pub(crate) thread: ThreadId,
    /// The copy, for a bulk store whose era is not known yet.
    pub(crate) store: Option<BatchId>,
}

impl Note {
    /// A bulk store belongs to the era in which a wait says that it is over.
    pub(crate) fn settle(&mut self, batches: &Batches) {
        if let Some(batch) = self.store.take() {
            let completed = batches.get(batch).and_then(|batch| batch.completed_era);
            self.era = completed.unwrap_or(NEVER);
        }
    }

    fn like(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.group == other.group
            && self.era == other.era
            && self.store == other.store
            && same(&self.foreign, &other.foreign)
    }

    fn order(&self) -> (Kind, u32, u32, Pc, ThreadId) {
        (self.kind, self.group, self.era, self.pc, self.thread)
    }
}

fn same(a: &Option<Arc<Foreign>>, b: &Option<Arc<Foreign>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
        _ => false,
    }
}

/// Notes on one line.
pub(crate) type Notes = SmallVec<[Note; 1]>;

/// Adds a note to those of the same block.
pub(crate) fn add(notes: &mut Notes, note: Note) {
    match notes.iter_mut().find(|known| known.like(&note)) {
        Some(known) => known.bytes |= note.bytes,
        None => notes.push(note),
    }
}

/// What all blocks did to one line.
#[derive(Debug, Default)]
struct Line {
    notes: Notes,
}

impl Line {
    /// Joins notes of another block. The result does not depend on the order of joining.
    fn join(&mut self, notes: Notes) {
        for note in notes {
            let kind = note.kind;
            add(&mut self.notes, note);
            let kept = self.notes.iter().filter(|known| known.kind == kind).count();
            if kept > KEPT[usize::from(kind.writes())]
                && let Some(last) = (0..self.notes.len())
                    .filter(|&at| self.notes[at].kind == kind)
                    .max_by_key(|&at| self.notes[at].order())
            {
                self.notes.remove(last);
            }
        }
    }

    fn races(&self, line: u64, found: &mut impl FnMut(Race)) {
        for (at, a) in self.notes.iter().enumerate() {
            for b in &self.notes[at + 1..] {
                let bytes = a.bytes & b.bytes;
                if bytes == 0 || a.group == b.group || !a.kind.races_with(b.kind) {
                    continue;
                }
                let ordered = knows(b, a) || knows(a, b);
                let both_bulk = a.kind >= Kind::BulkRead && b.kind >= Kind::BulkRead;
                if ordered && !both_bulk {
                    continue;
                }
                let from = line * LINE + u64::from(bytes.trailing_zeros());
                let count = (bytes >> bytes.trailing_zeros()).trailing_ones();
                let (first, second) = if (a.group, a.kind) <= (b.group, b.kind) {
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
        .foreign
        .as_ref()
        .is_some_and(|foreign| foreign.knows(earlier.group, earlier.era))
}

/// Two notes of different blocks that are not ordered, or both of bulk copies.
struct Race {
    ordered: bool,
    bytes: std::ops::Range<u64>,
    first: Note,
    second: Note,
}

type Page = Box<[Line; PAGE as usize]>;

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
    shards: Vec<Mutex<HashMap<u64, Page>>>,
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
    pub(crate) fn join(&self, page: u64, notes: impl Iterator<Item = (usize, Notes)>) {
        let mut shard = lock(&self.shards[(page as usize) % SHARDS]);
        let lines = shard
            .entry(page)
            .or_insert_with(|| Box::new(std::array::from_fn(|_| Line::default())));
        for (line, notes) in notes {
            lines[line].join(notes);
        }
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
            for (page, lines) in shard.iter() {
                for (line, shadow) in lines.iter().enumerate() {
                    shadow.races(page * PAGE + line as u64, &mut |race| {
                        let key = (race.first.pc, race.second.pc, race.class());
                        match folded.get_mut(&key) {
                            Some((example, count)) => {
                                *count += 1;
                                if race.order() < example.order() {
                                    *example = race;
                                }
                            }
                            None => {
                                folded.insert(key, (race, 1));
                            }
                        }
                    });
                }
            }
        }
        folded
            .into_values()
            .map(|(race, count)| ([race.first.group, race.second.group], race.hazard(), count))
            .collect()
    }
}

/// A worker that panicked must not take the others' notes with it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Race {
    fn class(&self) -> Class {
        match (self.first.kind, self.second.kind) {
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
        let (store, reader) = if self.first.kind == Kind::BulkWrite {
            (&self.first, &self.second)
        } else {
            (&self.second, &self.first)
        };
        reader
            .foreign
            .as_ref()
            .is_some_and(|foreign| foreign.eras.contains_key(&store.group))
    }

    fn order(&self) -> (u32, u32, u64) {
        (self.first.group, self.second.group, self.bytes.start)
    }

    fn hazard(self) -> Hazard {
        let suspect = |note: &Note| Suspect {
            pc: note.pc,
            thread: note.thread,
            deed: note.kind.deed(),
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

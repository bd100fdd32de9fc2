//! mbarrier objects as far as order is concerned: lifetimes, phases, who released into a phase and who observed it.
//!
//! Counting is the executor's. A phase here is what arrivals release into, what copies are attached to, and what a wait acquires.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::Pc;

use super::clock::{Knowledge, ObjectId, Tick};
use super::copies::BatchId;
use super::hazard::{Suspect, ThreadId};

/// Bytes of an object.
pub(crate) const SIZE: u32 = 8;

/// What a thread's latest successful wait on an object told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Observation {
    /// The phase that it saw completed; `None` is the one before the first.
    pub(crate) phase: Option<u64>,
    /// Whether its wait before that had seen the same phase.
    pub(crate) repeated: bool,
    /// The wait.
    pub(crate) pc: Pc,
    /// The object.
    pub(crate) object: ObjectId,
    /// Batches with smaller ids were issued before the wait.
    pub(crate) issued: BatchId,
}

/// One life of one object, from `init` to `inval`.
#[derive(Debug)]
pub(crate) struct Object {
    /// Rank of the block it lies in, and its offset there.
    pub(crate) at: (u16, u64),
    /// Who initialised it.
    pub(crate) init: Suspect,
    /// When.
    pub(crate) init_tick: Tick,
    /// Whether a fence of the initialising thread followed.
    pub(crate) init_fenced: bool,
    /// Whether the fence for initialisations and a cluster barrier made the initialisation known to the cluster.
    pub(crate) init_published: bool,
    /// False after `inval`.
    pub(crate) live: bool,
    /// The current incomplete phase, from zero.
    pub(crate) phase: u64,
    /// What arrivals released so far, this phase included.
    pub(crate) released: Knowledge,
    /// What had been released when the last completed phase did.
    pub(crate) completed: Arc<Knowledge>,
    /// Arrivals that each phase expects.
    pub(crate) expected: u32,
    /// Arrivals registered for the current phase, those of copies that do not raise the count included.
    pub(crate) arrivals: u32,
    /// Arrivals of the current phase that later ones do without.
    pub(crate) dropped: u32,
    /// The latest arrival of copies in the current phase that does not raise the count.
    pub(crate) last_noinc: Option<Suspect>,
    /// The same of the last completed phase, and what that expected.
    pub(crate) completed_noinc: Option<(Suspect, u32)>,
    /// Whether anybody saw that the last completed phase did.
    pub(crate) observed: bool,
    /// Whether a thread of another block of the cluster arrived on it.
    pub(crate) foreign: bool,
    /// Copies that the current phase completes.
    pub(crate) attached: Vec<(BatchId, u32)>,
    /// The current phase's transaction bytes.
    pub(crate) bytes: Transactions,
    observations: HashMap<ThreadId, Observation>,
}

/// Transaction bytes of one phase, without regard to when copies land.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transactions {
    /// Bytes that `expect_tx` announced.
    pub(crate) expected: u64,
    /// Bytes that copies issued for the phase deliver, and `complete_tx`.
    pub(crate) delivered: u64,
    /// The latest `expect_tx`.
    pub(crate) expecter: Option<Suspect>,
    /// The latest copy.
    pub(crate) deliverer: Option<Suspect>,
}

/// All objects of the threads that are checked together.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    list: Vec<Object>,
    index: HashMap<(u16, u64), ObjectId>,
    /// The latest successful wait of each thread, on any object.
    latest: HashMap<ThreadId, Observation>,
}

impl Objects {
    /// A new life begins.
    pub(crate) fn init(&mut self, at: (u16, u64), init: Suspect, count: u32, tick: Tick) {
        self.index.insert(at, self.list.len() as ObjectId);
        self.list.push(Object {
            at,
            init,
            init_tick: tick,
            init_fenced: false,
            init_published: false,
            live: true,
            phase: 0,
            released: Knowledge::default(),
            completed: Arc::default(),
            expected: count,
            arrivals: 0,
            dropped: 0,
            last_noinc: None,
            completed_noinc: None,
            observed: true,
            foreign: false,
            attached: Vec::new(),
            bytes: Transactions::default(),
            observations: HashMap::new(),
        });
    }

    /// The latest object at this place, and its id.
    pub(crate) fn at(&mut self, at: (u16, u64)) -> Option<(ObjectId, &mut Object)> {
        let &id = self.index.get(&at)?;
        Some((id, &mut self.list[id as usize]))
    }

    /// The object.
    pub(crate) fn get(&self, id: ObjectId) -> &Object {
        &self.list[id as usize]
    }

    /// Every object.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Object> {
        self.list.iter_mut()
    }

    /// A wait of the thread saw the phase completed.
    pub(crate) fn observe(
        &mut self,
        id: ObjectId,
        thread: ThreadId,
        phase: Option<u64>,
        pc: Pc,
        issued: BatchId,
    ) {
        let object = &mut self.list[id as usize];
        object.observed |= phase.is_some_and(|phase| phase + 1 == object.phase);
        let before = object.observations.get(&thread);
        let observation = Observation {
            phase,
            repeated: before.is_some_and(|before| before.phase == phase),
            pc,
            object: id,
            issued,
        };
        object.observations.insert(thread, observation);
        self.latest.insert(thread, observation);
    }

    /// What the thread last saw of the object.
    pub(crate) fn observation(&self, id: ObjectId, thread: ThreadId) -> Option<&Observation> {
        self.list[id as usize].observations.get(&thread)
    }

    /// What the thread's latest successful wait saw.
    pub(crate) fn latest(&self, thread: ThreadId) -> Option<&Observation> {
        self.latest.get(&thread)
    }
}

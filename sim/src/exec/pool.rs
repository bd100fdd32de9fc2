//! Groups of blocks on the workers of rayon's pool.
//!
//! Each worker takes the next group and runs it to its end. A group that only polls memory is put aside for later,
//! so that blocks that wait for each other make progress; so many are kept at once as fit a budget of memory.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use super::Watch;
use super::group::{Group, Progress, Results};
use super::machine::Machine;
use crate::finding::{Finding, Severity};
use crate::launch::{Incomplete, MemoryLimit, Outcome};
use crate::report;

/// Memory that groups may take together before no new one is started while others can run.
const RESIDENT_BYTES: u64 = 512 << 20;
/// Groups that may be there at once, however small.
const MAX_RESIDENT: u64 = 4096;
/// Times that a group may only have polled, with all others, before its threads are taken to wait for ever.
const MAX_IDLE: u32 = 64;
/// Steps of a group before others' turn; a group that computes is rarely interrupted.
const SLICE: u64 = 8 << 20;
/// The same for a group that only polled last time.
const SHORT_SLICE: u64 = 64 << 10;

/// What the workers share.
struct Pool<'m, W: Watch> {
    machine: &'m Machine<'m>,
    watch: &'m W,
    /// The next group to start.
    next: AtomicU64,
    /// Groups that have started and not ended.
    resident: AtomicU64,
    limit: AtomicU64,
    /// Groups that run and did more than poll when they last ran.
    busy: AtomicU64,
    /// Held by the one group that runs although it only polled.
    polling: Mutex<()>,
    /// Counts slices in which a group did something that another could wait for.
    progress: AtomicU64,
    waiting: Mutex<VecDeque<Group<'m, W::Monitor>>>,
    finished: Mutex<Vec<(u64, Results)>>,
    steps: AtomicU64,
    /// No group may run on.
    ended: AtomicBool,
    out_of_steps: AtomicBool,
    approximate: Mutex<Vec<bool>>,
}

/// Runs all groups of a launch.
pub(super) fn run<W: Watch>(machine: &Machine<'_>, watch: &W) -> Outcome {
    let pool = Pool {
        machine,
        watch,
        next: AtomicU64::new(0),
        resident: AtomicU64::new(0),
        limit: AtomicU64::new(
            (RESIDENT_BYTES / machine.group_bytes().max(1)).clamp(16, MAX_RESIDENT),
        ),
        busy: AtomicU64::new(0),
        polling: Mutex::new(()),
        progress: AtomicU64::new(0),
        waiting: Mutex::new(VecDeque::new()),
        finished: Mutex::new(Vec::new()),
        steps: AtomicU64::new(0),
        ended: AtomicBool::new(false),
        out_of_steps: AtomicBool::new(false),
        approximate: Mutex::new(vec![false; machine.program.places.len()]),
    };
    let workers = (rayon::current_num_threads() as u64)
        .min(machine.groups())
        .max(1);
    if workers == 1 {
        pool.work();
    } else {
        rayon::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|_| pool.work());
            }
        });
    }
    pool.outcome()
}

impl<'m, W: Watch> Pool<'m, W> {
    fn work(&self) {
        let mut spare = None;
        while let Some(mut group) = self.take(&mut spare) {
            let before = group.steps;
            let progress = if group.idle == 0 {
                let progress = group.run(SLICE, self.left());
                self.note(&mut group, progress);
                self.busy.fetch_sub(1, SeqCst);
                progress
            } else {
                // Those that only poll run one at a time, so that it can be told when nobody does anything else.
                let _alone = lock(&self.polling);
                let progress = group.run(SHORT_SLICE, self.left());
                self.note(&mut group, progress);
                progress
            };
            let ran = group.steps - before;
            let total = self.steps.fetch_add(ran, SeqCst) + ran;
            let budget = self.machine.options.max_steps;
            if progress != Progress::Done && budget.is_some_and(|budget| total >= budget) {
                self.ended.store(true, SeqCst);
                self.out_of_steps.store(true, SeqCst);
            }
            if group.results.incomplete.is_some() {
                // There is no verdict any more, whatever the others do.
                self.ended.store(true, SeqCst);
            }
            if progress == Progress::Done || group.is_stopped() || self.ended.load(SeqCst) {
                self.retire(group, &mut spare);
            } else {
                lock(&self.waiting).push_back(group);
            }
        }
        if let Some(group) = spare {
            self.absorb(group);
        }
    }

    /// Takes down how a slice ended. When all groups only poll and nothing changes any more, threads wait for ever.
    fn note(&self, group: &mut Group<'m, W::Monitor>, slice: Progress) {
        let wrote = group.idle_writes != group.writes;
        group.idle_writes = group.writes;
        if slice != Progress::Idle || wrote {
            self.progress.fetch_add(1, SeqCst);
        }
        if slice != Progress::Idle {
            group.idle = 0;
            return;
        }
        let progress = self.progress.load(SeqCst);
        let alone = group.idle > 0 && self.busy.load(SeqCst) == 0;
        if !alone || group.idle_progress != progress {
            group.idle_progress = progress;
            group.idle = 1;
            return;
        }
        group.idle += 1;
        if group.idle < MAX_IDLE {
            return;
        }
        let limit = self.limit.load(SeqCst);
        if self.next.load(SeqCst) < self.machine.groups() && limit < MAX_RESIDENT {
            // They may wait for blocks that have not started.
            self.limit.store(limit * 2, SeqCst);
            group.idle = 1;
        } else {
            group.give_up();
        }
    }

    /// What is left of the budget of steps. At least one, so that a slice that another worker left nothing for ends as any other.
    fn left(&self) -> u64 {
        let budget = self.machine.options.max_steps.unwrap_or(u64::MAX);
        budget.saturating_sub(self.steps.load(SeqCst)).max(1)
    }

    /// A group to run: a new one as long as more may be there at once, else the one that has waited longest.
    /// Unless it only polled last time, it counts as busy from here on.
    fn take(&self, spare: &mut Option<Group<'m, W::Monitor>>) -> Option<Group<'m, W::Monitor>> {
        loop {
            // Counted first, so that there is no moment in which a group is neither waiting nor busy.
            self.busy.fetch_add(1, SeqCst);
            let group = self.pick(spare);
            if group.as_ref().is_none_or(|group| group.idle > 0) {
                self.busy.fetch_sub(1, SeqCst);
            }
            let started = self.next.load(SeqCst) >= self.machine.groups();
            let ended = self.ended.load(SeqCst) || started && self.resident.load(SeqCst) == 0;
            if group.is_some() || ended {
                return group;
            }
            // Others run groups that they may put aside.
            std::thread::sleep(Duration::from_micros(50));
        }
    }

    fn pick(&self, spare: &mut Option<Group<'m, W::Monitor>>) -> Option<Group<'m, W::Monitor>> {
        if self.ended.load(SeqCst) {
            return None;
        }
        if self.resident.load(SeqCst) < self.limit.load(SeqCst) {
            let number = self.next.fetch_add(1, SeqCst);
            if number < self.machine.groups() {
                self.resident.fetch_add(1, SeqCst);
                return self.start(number, spare);
            }
            self.next.fetch_sub(1, SeqCst);
        }
        lock(&self.waiting).pop_front()
    }

    fn start(
        &self,
        number: u64,
        spare: &mut Option<Group<'m, W::Monitor>>,
    ) -> Option<Group<'m, W::Monitor>> {
        if let Some(mut group) = spare.take() {
            let old = group.restart(number, self.watch.begin(number as u32));
            self.watch.end(old);
            return Some(group);
        }
        let bytes = self.machine.group_bytes();
        let over = |limit: &&MemoryLimit| bytes > limit.bytes.saturating_sub(limit.used());
        if let Some(limit) = self.machine.options.max_memory.as_ref().filter(over) {
            self.refuse(number, report::group_over_memory(bytes, limit.bytes));
            return None;
        }
        let group = Group::new(self.machine, number, self.watch.begin(number as u32));
        if group.is_none() {
            self.refuse(number, report::out_of_memory());
        }
        group
    }

    /// A group that cannot be started ends the launch.
    fn refuse(&self, number: u64, message: String) {
        let results = Results {
            incomplete: Some(Incomplete {
                message,
                party: None,
            }),
            ..Results::default()
        };
        lock(&self.finished).push((number, results));
        self.ended.store(true, SeqCst);
    }

    fn retire(&self, mut group: Group<'m, W::Monitor>, spare: &mut Option<Group<'m, W::Monitor>>) {
        let results = std::mem::take(&mut group.results);
        if !results.is_empty() {
            lock(&self.finished).push((group.number, results));
        }
        self.resident.fetch_sub(1, SeqCst);
        if let Some(old) = spare.replace(group) {
            self.absorb(old);
        }
    }

    /// Takes over what a group knows beyond its results.
    fn absorb(&self, group: Group<'m, W::Monitor>) {
        for (all, one) in lock(&self.approximate).iter_mut().zip(&group.approximate) {
            *all |= one;
        }
        self.watch.end(group.monitor);
    }

    fn outcome(self) -> Outcome {
        // Groups that the budget left unfinished.
        while let Some(mut group) = lock(&self.waiting).pop_front() {
            lock(&self.finished).push((group.number, std::mem::take(&mut group.results)));
            self.absorb(group);
        }
        let mut finished = self.finished.into_inner().unwrap_or_default();
        finished.sort_by_key(|(number, _)| *number);
        let mut outcome = Outcome {
            warp_instructions: self.steps.load(SeqCst),
            ..Outcome::default()
        };
        // Who waits for a block that was stopped is not to blame.
        let stopped = finished.iter().any(|(_, results)| {
            let faults = results
                .findings
                .iter()
                .any(|finding| finding.severity == Severity::Error);
            results.trap.is_some() || results.incomplete.is_some() || !results.gave_up && faults
        });
        for (_, results) in finished {
            if stopped && results.gave_up {
                continue;
            }
            for finding in results.findings {
                fold(&mut outcome.findings, finding);
            }
            outcome.printed.push_str(&results.printed);
            if outcome.trap.is_none() {
                outcome.trap = results.trap;
            }
            if outcome.incomplete.is_none() {
                outcome.incomplete = results.incomplete;
            }
        }
        if self.out_of_steps.load(SeqCst)
            && outcome.incomplete.is_none()
            && let Some(budget) = self.machine.options.max_steps
        {
            outcome.incomplete = Some(Incomplete {
                message: report::out_of_steps(budget),
                party: None,
            });
        }
        let program = self.machine.program;
        let executed = self.approximate.into_inner().unwrap_or_default();
        outcome.approximate = executed
            .iter()
            .zip(&program.places)
            .filter(|(executed, _)| **executed)
            .filter_map(|(_, place)| program.texts.get(place.text as usize).cloned())
            .collect();
        outcome.approximate.sort();
        outcome.approximate.dedup();
        outcome
    }
}

/// Adds a finding, or counts it to an equal one of another block.
fn fold(findings: &mut Vec<Finding>, finding: Finding) {
    let place = |finding: &Finding| finding.parties.first().map(|party| party.line);
    match findings
        .iter_mut()
        .find(|known| known.class == finding.class && place(known) == place(&finding))
    {
        Some(known) => known.count += finding.count,
        None => findings.push(finding),
    }
}

/// A worker that panicked must not take the others' results with it.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

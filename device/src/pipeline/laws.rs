//! The laws of the ring, checked over the code that runs on the device.
//!
//! A recording engine stands in for the hardware, and a model of one block replays what it recorded with every copy landing as late as allowed.
//! Depths 1 to 8 are enumerated with 0 to 3 · depth tiles through both schedules, by groups and by a barrier for each stage, and every short order of verbs, sensible or not.

#![cfg(test)]

extern crate std;

use super::ring::{Engine, Misuse, Ring, Stage};
use super::schedule::{OneBarrier, Schedule, TwoBarrier};
use std::boxed::Box;
use std::cell::{Cell, RefCell};
use std::format;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

/// What happened, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Copies of a tile into a stage were issued.
    Fill { stage: u32, tile: u32 },
    /// The group of a stage was closed.
    Commit { stage: u32 },
    /// At most so many of the newest groups stay open.
    Wait(usize),
    /// A stage's barrier was waited for, by parity.
    WaitFor { stage: u32, parity: u32 },
    /// All threads met.
    Barrier,
    /// A stage was handed out for reading.
    Read { stage: u32 },
    /// The tiles that are there are not wanted any more.
    Discard,
}

/// The engine that records, into a log that its user shares; `ALL` is that of mechanisms with a barrier for each stage.
#[derive(Clone, Default)]
struct Recorder<const ALL: bool>(Rc<RefCell<Vec<Event>>>);

impl<const ALL: bool> Recorder<ALL> {
    fn record(&self, event: Event) {
        self.0.borrow_mut().push(event);
    }

    fn events(&self) -> Vec<Event> {
        self.0.borrow().clone()
    }
}

impl<const ALL: bool> Engine for Recorder<ALL> {
    const WAITS_FOR_ALL: bool = ALL;

    fn commit(&mut self, Stage(stage): Stage) {
        self.record(Event::Commit { stage });
    }

    fn wait<const PENDING: usize>(&mut self, Stage(stage): Stage, lap: u32) {
        self.record(if ALL {
            Event::WaitFor { stage, parity: lap }
        } else {
            Event::Wait(PENDING)
        });
    }

    fn barrier(&mut self) {
        self.record(Event::Barrier);
    }

    fn misuse(&mut self, misuse: Misuse) -> ! {
        // Unwinding without a panic: thousands of refusals are expected, and none is to be printed.
        resume_unwind(Box::new(misuse))
    }
}

/// A group of copies that was closed: the stage it was closed for, and the tiles in it.
#[derive(Default)]
struct Group {
    stage: u32,
    tiles: Vec<(u32, u32)>,
}

/// One block, in which every copy lands as late as the waits allow.
#[derive(Default)]
struct Model {
    /// Copies that were issued since the last commit.
    running: Vec<(u32, u32)>,
    /// Closed groups whose copies have not landed, oldest first.
    open: Vec<Group>,
    /// Of each stage, the tile that landed there.
    landed: [Option<u32>; 8],
    /// Of each stage, the tile that landed and was published by a barrier.
    published: [Option<u32>; 8],
    /// Stages that somebody may still read: handed out since the last barrier.
    in_use: [bool; 8],
    /// Of each stage's barrier, the phases that were seen complete.
    phases: [u32; 8],
    /// Tiles read, in order.
    read: Vec<u32>,
    /// Most groups that were open with copies in them when one was waited for.
    most_in_flight: usize,
}

impl Model {
    /// Replays `events`, and says which law was broken first.
    fn replay(events: &[Event]) -> Result<Self, String> {
        let mut model = Self::default();
        for (at, event) in events.iter().enumerate() {
            model
                .apply(*event)
                .map_err(|law| format!("{law}, at event {at} of {events:?}"))?;
        }
        Ok(model)
    }

    fn apply(&mut self, event: Event) -> Result<(), String> {
        match event {
            Event::Fill { stage, tile } => {
                let pending = self
                    .running
                    .iter()
                    .chain(self.open.iter().flat_map(|group| &group.tiles));
                if pending.into_iter().any(|&(other, _)| other == stage) {
                    return Err(format!(
                        "two copies into stage {stage} are under way at once"
                    ));
                }
                if self.in_use[stage as usize] {
                    return Err(format!("stage {stage} is filled while it may be read"));
                }
                if let Some(tile) = self.landed[stage as usize]
                    && !self.read.contains(&tile)
                {
                    return Err(format!("tile {tile} is overwritten before it was read"));
                }
                self.landed[stage as usize] = None;
                self.published[stage as usize] = None;
                self.running.push((stage, tile));
            }
            Event::Commit { stage } => {
                if self.open.iter().any(|group| group.stage == stage) {
                    return Err(format!(
                        "stage {stage} is committed before its last group was waited for"
                    ));
                }
                let tiles = core::mem::take(&mut self.running);
                self.open.push(Group { stage, tiles });
            }
            Event::Wait(pending) => {
                self.count_in_flight();
                while self.open.len() > pending {
                    for (stage, tile) in self.open.remove(0).tiles {
                        self.landed[stage as usize] = Some(tile);
                    }
                }
            }
            Event::WaitFor { stage, parity } => {
                self.count_in_flight();
                let phase = &mut self.phases[stage as usize];
                if *phase % 2 != parity {
                    return Err(format!(
                        "the phase before that of stage {stage} is waited for, which is complete at once"
                    ));
                }
                *phase += 1;
                let at = self.open.iter().position(|group| group.stage == stage);
                let at = at.ok_or_else(|| {
                    format!("stage {stage} is waited for, which nobody committed")
                })?;
                for (stage, tile) in self.open.remove(at).tiles {
                    self.landed[stage as usize] = Some(tile);
                    self.published[stage as usize] = Some(tile);
                }
            }
            Event::Barrier => {
                self.published = self.landed;
                self.in_use = [false; 8];
            }
            Event::Read { stage } => {
                let tile = self.published[stage as usize].ok_or_else(|| {
                    format!("stage {stage} is read before its copies landed for all")
                })?;
                self.read.push(tile);
                self.in_use[stage as usize] = true;
            }
            Event::Discard => {
                self.landed = [None; 8];
                self.published = [None; 8];
            }
        }
        Ok(())
    }

    fn count_in_flight(&mut self) {
        let in_flight = self
            .open
            .iter()
            .filter(|group| !group.tiles.is_empty())
            .count();
        self.most_in_flight = self.most_in_flight.max(in_flight);
    }
}

/// Runs `trips` tiles through a ring as a stream does, and returns what it did.
///
/// Past the end no copy is issued, but a group is committed all the same; such stages are not read.
fn run<H: Schedule, const ALL: bool, const STAGES: usize>(trips: u32) -> Vec<Event> {
    let log = Recorder::<ALL>::default();
    let issued = Cell::new(0);
    let refill = |Stage(stage): Stage| {
        let tile = issued.replace(issued.get() + 1);
        if tile < trips {
            log.record(Event::Fill { stage, tile });
        }
    };
    let mut ring = Ring::<Recorder<ALL>, STAGES>::primed(log.clone(), refill);
    for _ in 0..trips {
        let Stage(stage) = H::turn(&mut ring, refill);
        log.record(Event::Read { stage });
    }
    ring.drain();
    log.events()
}

/// How a ring was run.
struct Way {
    name: &'static str,
    /// Tiles in flight, less than the depth.
    behind: usize,
    barriers_a_step: usize,
    /// Whether each stage has a barrier.
    all: bool,
}

impl core::fmt::Display for Way {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// Calls `check` with the events of every depth, schedule, way to wait and number of tiles.
fn each_run(mut check: impl FnMut(&Way, usize, u32, &[Event])) {
    macro_rules! depths {
        ($schedule:ty, $all:literal, $way:expr, $($stages:literal)+) => {$(
            for trips in 0..=3 * $stages {
                check(&$way, $stages, trips, &run::<$schedule, $all, $stages>(trips));
            }
        )+};
    }
    let way = |name, behind, barriers_a_step, all| Way {
        name,
        behind,
        barriers_a_step,
        all,
    };
    depths!(OneBarrier, false, way("groups, one barrier", 1, 1, false), 2 3 4 5 6 7 8);
    depths!(TwoBarrier, false, way("groups, two barriers", 0, 2, false), 1 2 3 4 5 6 7 8);
    // A barrier of the stage publishes the copies, so that one barrier of the block is left, which frees the stage.
    depths!(OneBarrier, true, way("stages' barriers, one barrier", 1, 1, true), 2 3 4 5 6 7 8);
    depths!(TwoBarrier, true, way("stages' barriers, two barriers", 0, 1, true), 1 2 3 4 5 6 7 8);
}

#[test]
fn every_tile_is_read_once_in_order_after_its_copies_landed_for_all() {
    each_run(|name, stages, trips, events| {
        let model = Model::replay(events)
            .unwrap_or_else(|law| panic!("{name}, {stages} stages, {trips} tiles: {law}"));
        let expected: Vec<u32> = (0..trips).collect();
        assert_eq!(
            model.read, expected,
            "{name}, {stages} stages, {trips} tiles"
        );
    });
}

#[test]
fn every_wait_leaves_exactly_the_younger_tiles_in_flight() {
    each_run(|name, stages, trips, events| {
        if name.all {
            return;
        }
        let mut committed = 0;
        let mut waited = 0;
        let waits = events
            .iter()
            .filter(|event| matches!(event, Event::Wait(_)))
            .count();
        for event in events {
            match event {
                Event::Commit { .. } => committed += 1,
                // The last wait is the drain's, which leaves nothing.
                Event::Wait(pending) if waited + 1 < waits => {
                    waited += 1;
                    assert_eq!(
                        *pending,
                        committed - waited,
                        "{name}, {stages} stages, {trips} tiles"
                    );
                }
                Event::Wait(pending) => assert_eq!(*pending, 0),
                _ => {}
            }
        }
    });
}

#[test]
fn the_depth_is_used_to_the_full() {
    each_run(|name, stages, trips, events| {
        let model = Model::replay(events).expect("the laws hold");
        let ring = stages - name.behind;
        assert_eq!(
            model.most_in_flight,
            ring.min(trips as usize),
            "{name}, {stages} stages, {trips} tiles"
        );
    });
}

#[test]
fn one_group_is_committed_a_step_also_past_the_end() {
    each_run(|name, stages, trips, events| {
        let commits = events
            .iter()
            .filter(|event| matches!(event, Event::Commit { .. }))
            .count();
        assert_eq!(
            commits,
            stages - 1 + trips as usize,
            "{name}, {stages} stages, {trips} tiles"
        );
    });
}

#[test]
fn a_step_meets_as_many_barriers_as_its_schedule_says() {
    each_run(|name, stages, trips, events| {
        let barriers = events
            .iter()
            .filter(|event| **event == Event::Barrier)
            .count();
        let a_step = name.barriers_a_step;
        assert_eq!(
            barriers,
            a_step * trips as usize + 1,
            "{name}, {stages} stages, {trips} tiles, and one for the drain"
        );
    });
}

#[test]
fn the_tail_is_drained() {
    each_run(|name, stages, trips, events| {
        let model = Model::replay(events).expect("the laws hold");
        let context = format!("{name}, {stages} stages, {trips} tiles");
        assert!(
            model.open.is_empty() && model.running.is_empty(),
            "{context}: copies are under way"
        );
        assert_eq!(
            model.in_use, [false; 8],
            "{context}: a stage may still be read"
        );
    });
}

/// A verb of the pipeline, or a slot that is forgotten.
#[derive(Clone, Copy, Debug)]
enum Verb {
    /// Acquire, fill, commit.
    Fill,
    /// Acquire, fill, and forget the slot.
    FillAndForget,
    /// Wait and read.
    Read,
    /// Both at once, committed.
    Step,
    /// Both at once, the slot to fill forgotten.
    StepAndForget,
    /// Drain, which a pipeline does once; here the ring goes on.
    Drain,
}

const VERBS: [Verb; 6] = [
    Verb::Fill,
    Verb::FillAndForget,
    Verb::Read,
    Verb::Step,
    Verb::StepAndForget,
    Verb::Drain,
];

/// Carries out `verb`, filling with tile `tile`.
fn carry_out<const ALL: bool, const STAGES: usize>(
    ring: &mut Ring<Recorder<ALL>, STAGES>,
    log: &Recorder<ALL>,
    verb: Verb,
    tile: u32,
) {
    match verb {
        Verb::Fill => {
            let Stage(stage) = ring.acquire();
            log.record(Event::Fill { stage, tile });
            ring.commit();
        }
        Verb::FillAndForget => {
            let Stage(stage) = ring.acquire();
            log.record(Event::Fill { stage, tile });
        }
        Verb::Read => {
            let Stage(stage) = ring.wait();
            log.record(Event::Read { stage });
        }
        Verb::Step => {
            let (Stage(fill), Stage(read)) = ring.step();
            log.record(Event::Read { stage: read });
            log.record(Event::Fill { stage: fill, tile });
            ring.commit();
        }
        Verb::StepAndForget => {
            let (Stage(fill), Stage(read)) = ring.step();
            log.record(Event::Fill { stage: fill, tile });
            log.record(Event::Read { stage: read });
        }
        Verb::Drain => {
            ring.drain();
            log.record(Event::Discard);
        }
    }
}

/// Every order of `LENGTH` verbs on a ring of `STAGES` stages; returns how many ran to the end and how many were refused.
fn every_order<const ALL: bool, const STAGES: usize, const LENGTH: u32>() -> (u32, u32) {
    let (mut completed, mut refused) = (0, 0);
    for order in 0..VERBS.len().pow(LENGTH) {
        let log = Recorder::<ALL>::default();
        let mut ring = Ring::<Recorder<ALL>, STAGES>::new(log.clone());
        let verbs: Vec<Verb> = (0..LENGTH)
            .map(|place| VERBS[order / VERBS.len().pow(place) % VERBS.len()])
            .collect();
        let result = catch_unwind(AssertUnwindSafe(|| {
            for (tile, verb) in (0..).zip(&verbs) {
                carry_out(&mut ring, &log, *verb, tile);
            }
        }));
        match result {
            Ok(()) => completed += 1,
            Err(payload) => {
                assert!(
                    payload.is::<Misuse>(),
                    "{STAGES} stages, {verbs:?}: failed otherwise than by a refusal"
                );
                refused += 1;
            }
        }
        if let Err(law) = Model::replay(&log.events()) {
            panic!("{STAGES} stages, {verbs:?}: {law}");
        }
    }
    (completed, refused)
}

#[test]
fn every_order_of_verbs_obeys_the_laws_or_is_refused() {
    for (completed, refused) in [
        every_order::<false, 2, 6>(),
        every_order::<false, 3, 6>(),
        every_order::<false, 4, 6>(),
        every_order::<true, 2, 6>(),
        every_order::<true, 3, 6>(),
        every_order::<true, 4, 6>(),
    ] {
        assert!(
            completed > 0 && refused > 0,
            "{completed} orders completed, {refused} were refused"
        );
    }
}

#[test]
fn a_wait_for_nothing_and_a_fill_of_a_full_ring_are_refused() {
    let refusal = |verbs: &[Verb]| {
        let log = Recorder::<false>::default();
        let mut ring = Ring::<Recorder<false>, 3>::new(log.clone());
        catch_unwind(AssertUnwindSafe(|| {
            for (tile, verb) in (0..).zip(verbs) {
                carry_out(&mut ring, &log, *verb, tile);
            }
        }))
        .err()
        .and_then(|payload| payload.downcast::<Misuse>().ok())
        .map(|misuse| *misuse)
    };
    let cases: [(&[Verb], Option<Misuse>); 7] = [
        (&[Verb::Read], Some(Misuse::Empty)),
        (&[Verb::Step], Some(Misuse::Empty)),
        (&[Verb::Fill, Verb::Drain, Verb::Read], Some(Misuse::Empty)),
        (&[Verb::Fill; 3], None),
        (&[Verb::Fill; 4], Some(Misuse::Full)),
        (&[Verb::FillAndForget; 4], Some(Misuse::Full)),
        (
            &[Verb::Fill, Verb::Fill, Verb::Fill, Verb::Step],
            Some(Misuse::Full),
        ),
    ];
    for (verbs, expected) in cases {
        assert_eq!(refusal(verbs), expected, "{verbs:?}");
    }
}

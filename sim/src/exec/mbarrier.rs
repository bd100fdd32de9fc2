//! mbarrier objects: counting arrivals and transaction bytes, phases, waits.
//!
//! The counts are exact, with the limits of the ISA's default layout. A wait for a phase that is not complete holds its lanes
//! back, which a try-wait may do and which a test-wait cannot tell from being executed later; when nothing else can run,
//! what is in flight lands, and after that the wait answers false.

use super::access::{Region, addresses};
use super::group::{Group, Stop};
use super::roll::Roll;
use super::warp::{Wait, Warp};
use crate::event::{MbarrierOp, Monitor, Pc, Window};
use crate::lanes::{LANES, lanes_of};
use crate::launch::Incomplete;
use crate::program::op::{Mbarrier, MbarrierKind, NONE};
use crate::report::{self, ArrivalMisuse, Fault};

/// The largest count of arrivals, and of transaction bytes to either side of zero.
pub(crate) const MAX_COUNT: u32 = (1 << 20) - 1;

/// Initialisations of one group of blocks: each begins a life of its own, of which the checker forgets none.
const MAX_LIVES: u32 = 1 << 16;

/// The state of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The phase that is not complete, from zero.
    pub(crate) phase: u64,
    /// Arrivals that it still needs.
    pub(crate) pending: u32,
    /// Arrivals that the next phase will need.
    pub(crate) expected: u32,
    /// Bytes expected and not delivered.
    pub(crate) tx: i64,
}

impl State {
    /// The word that `mbarrier.arrive` returns.
    fn token(&self) -> u64 {
        self.phase << 32 | u64::from(self.pending)
    }

    /// Ends the phase if nothing is missing. Whether it did.
    fn try_complete(&mut self) -> bool {
        let complete = self.pending == 0 && self.tx == 0;
        if complete {
            self.phase += 1;
            self.pending = self.expected;
        }
        complete
    }
}

/// The objects of a block, ordered by offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Objects(Vec<(u32, State, Roll)>);

impl Objects {
    /// The object at an offset.
    pub(crate) fn get(&mut self, offset: u32) -> Option<&mut State> {
        let at = self.place(offset).ok()?;
        Some(&mut self.0[at].1)
    }

    /// Who arrived on the object at an offset, and its bytes.
    pub(crate) fn roll(&mut self, offset: u32) -> Option<&mut Roll> {
        let at = self.place(offset).ok()?;
        Some(&mut self.0[at].2)
    }

    fn place(&self, offset: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&offset, |(at, ..)| *at)
    }

    fn insert(&mut self, offset: u32, state: State) {
        let object = (offset, state, Roll::default());
        match self.place(offset) {
            Ok(at) => self.0[at] = object,
            Err(at) => self.0.insert(at, object),
        }
    }

    fn remove(&mut self, offset: u32) {
        if let Ok(at) = self.place(offset) {
            self.0.remove(at);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Whether an instruction could be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// It was; on to the next.
    Next,
    /// Its lanes wait at it.
    Held,
}

/// An object's place.
pub(crate) type At = (u16, u32);

pub(crate) fn place(at: At) -> (Window, u64) {
    (Window::Shared { rank: at.0 }, at.1.into())
}

impl<M: Monitor> Group<'_, M> {
    /// `mbarrier` in all its forms.
    pub(crate) fn mbarrier(
        &mut self,
        warp: &mut Warp,
        index: usize,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<Flow, Stop> {
        let op = self.machine.program.tables.mbarriers[at as usize];
        if op.kind == MbarrierKind::PendingCount {
            let counts = warp
                .registers
                .row64(op.operand)
                .map(|token| token as u32 & MAX_COUNT);
            warp.registers.set32(op.d, &counts, mask);
            return Ok(Flow::Next);
        }
        let objects = self.objects(warp, pc, &op, mask)?;
        if matches!(op.kind, MbarrierKind::TestWait | MbarrierKind::TryWait) {
            return Ok(self.wait_phase(warp, index, pc, &op, &objects, mask));
        }
        self.writes += 1;
        let operand = if op.operand == NONE {
            [1; LANES]
        } else {
            *warp.registers.row32(op.operand)
        };
        let bytes = if op.bytes == NONE {
            [0; LANES]
        } else {
            *warp.registers.row32(op.bytes)
        };
        let mut tokens = [0; LANES];
        for lane in lanes_of(mask) {
            tokens[lane] = self.mbarrier_lane(
                warp,
                pc,
                lane,
                &op,
                objects[lane],
                operand[lane],
                bytes[lane],
            )?;
        }
        if op.d != NONE {
            warp.registers.set64(op.d, &tokens, mask);
        }
        Ok(Flow::Next)
    }

    /// The objects that the lanes name.
    fn objects(
        &mut self,
        warp: &Warp,
        pc: Pc,
        op: &Mbarrier,
        mask: u32,
    ) -> Result<[At; LANES], Stop> {
        let mut objects = [(0, 0); LANES];
        let addresses = addresses(&warp.registers, op.address);
        for lane in lanes_of(mask) {
            objects[lane] = self.object(warp, pc, lane, op.space, addresses[lane])?;
        }
        Ok(objects)
    }

    /// The object at an address: eight aligned bytes of shared memory.
    pub(crate) fn object(
        &mut self,
        warp: &Warp,
        pc: Pc,
        lane: usize,
        space: crate::program::op::Space,
        address: u64,
    ) -> Result<At, Stop> {
        let (region, offset) = self.locate(space, address);
        let Region::Shared { rank } = region else {
            let nearest = self.describe(region, offset);
            let fault = Fault::OutOfBounds {
                space: region.name(),
                bytes: offset..offset.saturating_add(8),
                verb: "uses as an mbarrier",
                nearest,
            };
            return Err(self.fault(warp, pc, 1 << lane, fault));
        };
        self.check_range(warp, pc, lane, region, offset, 8, 8, "uses as an mbarrier")?;
        Ok((rank, offset as u32))
    }

    #[allow(clippy::too_many_arguments, reason = "the operands of one instruction")]
    fn mbarrier_lane(
        &mut self,
        warp: &Warp,
        pc: Pc,
        lane: usize,
        op: &Mbarrier,
        at: At,
        operand: u32,
        bytes: u32,
    ) -> Result<u64, Stop> {
        let site = self.site(pc, 1 << lane);
        let misuse = |misuse| Fault::ArrivalCount { at: at.1, misuse };
        let (count, drop) = match op.kind {
            MbarrierKind::Init => {
                if !(1..=MAX_COUNT).contains(&operand) {
                    return Err(self.fault(
                        warp,
                        pc,
                        1 << lane,
                        misuse(ArrivalMisuse::InitCount(operand)),
                    ));
                }
                self.lives += 1;
                if self.lives > MAX_LIVES {
                    self.results.incomplete = Some(Incomplete {
                        message: report::too_many_lives(MAX_LIVES),
                        party: Some(self.party(pc, 1 << lane)),
                    });
                    return Err(Stop);
                }
                self.monitor
                    .mbarrier(site, lane as u32, place(at), MbarrierOp::Init(operand));
                let state = State {
                    phase: 0,
                    pending: operand,
                    expected: operand,
                    tx: 0,
                };
                let shared = &mut self.blocks[usize::from(at.0)].shared;
                shared.objects.insert(at.1, state);
                shared.mark_valid(at.1, 8);
                return Ok(0);
            }
            MbarrierKind::Inval => {
                self.monitor
                    .mbarrier(site, lane as u32, place(at), MbarrierOp::Inval);
                self.blocks[usize::from(at.0)].shared.objects.remove(at.1);
                return Ok(0);
            }
            MbarrierKind::ExpectTx => {
                self.monitor
                    .mbarrier(site, lane as u32, place(at), MbarrierOp::ExpectTx(bytes));
                self.expect(warp, pc, lane, at, i64::from(bytes))?;
                return Ok(0);
            }
            MbarrierKind::CompleteTx => {
                self.monitor
                    .mbarrier(site, lane as u32, place(at), MbarrierOp::CompleteTx(bytes));
                self.expect(warp, pc, lane, at, -i64::from(bytes))?;
                self.settle(at);
                return Ok(0);
            }
            MbarrierKind::Arrive { drop } => (operand, drop),
            MbarrierKind::TestWait | MbarrierKind::TryWait | MbarrierKind::PendingCount => {
                return Ok(0);
            }
        };
        self.monitor.mbarrier(
            site,
            lane as u32,
            place(at),
            MbarrierOp::Arrive {
                count,
                expect_tx: bytes,
                drop,
                ordering: op.ordering,
                scope: op.scope,
            },
        );
        if bytes != 0 {
            self.expect(warp, pc, lane, at, i64::from(bytes))?;
        }
        let state = self.live_object(warp, pc, lane, at)?;
        let token = state.token();
        let wrong = if count == 0 || count > state.pending {
            Some(ArrivalMisuse::TooMany {
                count,
                pending: state.pending,
                expected: state.expected,
            })
        } else if op.no_complete && count == state.pending && state.tx == 0 {
            Some(ArrivalMisuse::Completes)
        } else if drop && state.expected <= count {
            Some(ArrivalMisuse::DropsAll {
                expected: state.expected,
            })
        } else {
            None
        };
        if let Some(wrong) = wrong {
            return Err(self.fault(warp, pc, 1 << lane, misuse(wrong)));
        }
        if drop {
            state.expected -= count;
        }
        state.pending -= count;
        self.enter(at, lane);
        self.settle(at);
        Ok(token)
    }

    /// The object at a place, which must be one.
    fn live_object(
        &mut self,
        warp: &Warp,
        pc: Pc,
        lane: usize,
        at: At,
    ) -> Result<&mut State, Stop> {
        let objects = &mut self.blocks[usize::from(at.0)].shared.objects;
        if objects.get(at.1).is_none() {
            return Err(self.no_object(warp, pc, lane, at));
        }
        // Looked up twice because a borrow that is returned on one path lasts on all.
        self.blocks[usize::from(at.0)]
            .shared
            .objects
            .get(at.1)
            .ok_or(Stop)
    }

    /// There is no object at a place that is used as one. A monitor that judges has said so already.
    #[cold]
    fn no_object(&mut self, warp: &Warp, pc: Pc, lane: usize, at: At) -> Stop {
        if M::JUDGES {
            Stop
        } else {
            self.fault(warp, pc, 1 << lane, Fault::NoObject { at: at.1 })
        }
    }

    /// Adds transaction bytes.
    fn expect(&mut self, warp: &Warp, pc: Pc, lane: usize, at: At, bytes: i64) -> Result<(), Stop> {
        let state = self.live_object(warp, pc, lane, at)?;
        state.tx += bytes;
        let tx = state.tx;
        self.count_bytes(at, bytes);
        if tx.unsigned_abs() > MAX_COUNT.into() {
            return Err(self.fault(
                warp,
                pc,
                1 << lane,
                Fault::TransactionRange { at: at.1, tx },
            ));
        }
        Ok(())
    }

    /// Ends the object's phase if nothing is missing.
    pub(crate) fn settle(&mut self, at: At) {
        let Some(state) = self.blocks[usize::from(at.0)].shared.objects.get(at.1) else {
            return;
        };
        let phase = state.phase;
        if state.try_complete() {
            if let Some(roll) = self.roll(at) {
                roll.turn();
            }
            self.monitor.mbarrier_complete(place(at), phase);
        }
    }

    /// Who arrived on an object, and its bytes.
    fn roll(&mut self, at: At) -> Option<&mut Roll> {
        self.blocks[usize::from(at.0)].shared.objects.roll(at.1)
    }

    /// A lane of the warp at hand arrives.
    fn enter(&mut self, at: At, lane: usize) {
        let (rank, warp) = (self.rank, self.warp);
        if let Some(roll) = self.roll(at) {
            roll.arrive(rank, warp, lane);
        }
    }

    fn count_bytes(&mut self, at: At, bytes: i64) {
        if let Some(roll) = self.roll(at) {
            roll.count(bytes);
        }
    }

    /// Bytes of a copy have arrived.
    pub(crate) fn deliver(&mut self, at: At, bytes: u32, copy: crate::event::CopyId) {
        self.monitor.mbarrier_copy_complete(place(at), copy);
        if let Some(state) = self.blocks[usize::from(at.0)].shared.objects.get(at.1) {
            state.tx -= i64::from(bytes);
        }
        self.count_bytes(at, -i64::from(bytes));
        self.writes += 1;
        self.settle(at);
    }

    /// An arrival by the system for a thread whose copies are done.
    pub(crate) fn arrive_for_copies(&mut self, at: At, lane: usize) {
        if let Some(state) = self.blocks[usize::from(at.0)].shared.objects.get(at.1) {
            state.pending = state.pending.saturating_sub(1);
        }
        self.enter(at, lane);
        self.writes += 1;
        self.settle(at);
    }

    /// `cp.async.mbarrier.arrive`: counts the arrival to come, and remembers it.
    pub(crate) fn copy_arrive(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let op = self.machine.program.tables.copy_arrives[at as usize];
        let addresses = addresses(&warp.registers, op.address);
        let mut objects = [(0, 0); LANES];
        for lane in lanes_of(mask) {
            let at = self.object(warp, pc, lane, op.space, addresses[lane])?;
            objects[lane] = at;
            self.monitor.mbarrier(
                self.site(pc, 1 << lane),
                lane as u32,
                place(at),
                MbarrierOp::CopyArrive { noinc: op.noinc },
            );
            let state = self.live_object(warp, pc, lane, at)?;
            if !op.noinc {
                state.pending += 1;
                let pending = state.pending;
                if pending > MAX_COUNT {
                    let fault = Fault::ArrivalCount {
                        at: at.1,
                        misuse: ArrivalMisuse::Overflow { pending },
                    };
                    return Err(self.fault(warp, pc, 1 << lane, fault));
                }
            } else if state.pending == 0 {
                let misuse = ArrivalMisuse::TooMany {
                    count: 1,
                    pending: 0,
                    expected: state.expected,
                };
                return Err(self.fault(
                    warp,
                    pc,
                    1 << lane,
                    Fault::ArrivalCount { at: at.1, misuse },
                ));
            }
        }
        self.queue_arrival(warp, objects, mask);
        Ok(())
    }

    /// `test_wait`, `try_wait`.
    fn wait_phase(
        &mut self,
        warp: &mut Warp,
        index: usize,
        pc: Pc,
        op: &Mbarrier,
        objects: &[At; LANES],
        mask: u32,
    ) -> Flow {
        let mut done = 0u32;
        let mut seen = [None; LANES];
        let mut held = None;
        for lane in lanes_of(mask) {
            let at = objects[lane];
            let Some(state) = self.blocks[usize::from(at.0)].shared.objects.get(at.1) else {
                // Not an object: the monitor says so, and a wait for it never ends.
                held = Some(at);
                continue;
            };
            let phase = state.phase;
            let (complete, previous) = if op.parity {
                let parity = u64::from(warp.registers.row32(op.operand)[lane]) & 1;
                (phase & 1 != parity, phase.checked_sub(1))
            } else {
                let token = warp.registers.row64(op.operand)[lane] >> 32;
                (token < phase & 0xffff_ffff, phase.checked_sub(1))
            };
            if complete {
                done |= 1 << lane;
                seen[lane] = previous;
            } else {
                held = Some(at);
            }
        }
        if let Some(at) = held
            && !std::mem::take(&mut warp.fragments[index].answer)
        {
            warp.fragments[index].wait = Wait::Mbarrier {
                rank: at.0,
                offset: at.1,
                phase: self.phase(at),
            };
            return Flow::Held;
        }
        warp.registers.set_pred(op.d, done, mask);
        for lane in lanes_of(mask) {
            let wait = if done >> lane & 1 != 0 {
                MbarrierOp::WaitDone {
                    phase: seen[lane],
                    ordering: op.ordering,
                    scope: op.scope,
                }
            } else {
                MbarrierOp::WaitPending
            };
            self.monitor.mbarrier(
                self.site(pc, 1 << lane),
                lane as u32,
                place(objects[lane]),
                wait,
            );
        }
        if held.is_some() {
            warp.polls += 1;
        }
        Flow::Next
    }

    /// The incomplete phase of an object; of none, a number that no object has.
    pub(crate) fn phase(&mut self, at: At) -> u64 {
        self.blocks[usize::from(at.0)]
            .shared
            .objects
            .get(at.1)
            .map_or(u64::MAX, |state| state.phase)
    }
}

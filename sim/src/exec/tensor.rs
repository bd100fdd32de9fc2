//! Copies of boxes of tensors: bulk copies whose bytes lie in many places.
//!
//! What a box is, [`tensor_box`](crate::matrix::tensor_box) knows; here its chunks are found in memory, flown and landed.
//! The 16 bytes of chunk `n` wait in words `2n` and `2n + 1` of the flight, and the bits that say which are written in the n-th sixteenth bit group.

use std::sync::Arc;

use super::access::{Region, addresses};
use super::bulk::{Flight, reduce};
use super::group::{Group, Stop};
use super::warp::Warp;
use crate::event::{Monitor, Pc, Run};
use crate::lanes::lanes_of;
use crate::launch::Incomplete;
use crate::matrix::tensor_box::{CHUNK, Direction, Piece};
use crate::matrix::tensor_map::{DataType, ENCODED_BYTES, TensorMap};
use crate::memory::lanes::copy;
use crate::memory::segment::low_bits;
use crate::program::op::{AtomicOp, AtomicType, NONE, Space, TensorWay};
use crate::report::Fault;

/// Bytes that a tensor map's address is a multiple of.
const MAP_UNIT: u64 = 64;
/// Bytes that a box's address in shared memory is a multiple of.
const BOX_UNIT: u64 = 128;

/// The box of a flight.
#[derive(Debug)]
pub(crate) struct Boxed {
    map: TensorMap,
    loads: bool,
    pieces: Vec<Piece>,
}

impl Boxed {
    /// Bytes in shared memory from the first to the last.
    pub(crate) fn shared_bytes(&self) -> u32 {
        self.map.shared_bytes()
    }

    /// The bytes in global memory that are copied.
    pub(crate) fn global_runs(&self) -> Vec<Run> {
        let copied = self.pieces.iter().filter(|piece| piece.bytes > 0);
        merged(copied.map(|piece| Run {
            at: piece.global,
            bytes: piece.bytes,
        }))
    }

    /// The bytes in shared memory that are copied, in order of address.
    pub(crate) fn shared_runs(&self) -> Vec<Run> {
        let copied = |piece: &&Piece| self.loads || piece.bytes > 0;
        let mut starts: Vec<u32> = self
            .pieces
            .iter()
            .filter(copied)
            .map(|piece| piece.shared)
            .collect();
        starts.sort_unstable();
        merged(starts.into_iter().map(|at| Run {
            at: at.into(),
            bytes: CHUNK,
        }))
    }
}

/// Runs that follow on each other, as one.
fn merged(runs: impl Iterator<Item = Run>) -> Vec<Run> {
    let mut all: Vec<Run> = Vec::new();
    for run in runs {
        match all.last_mut() {
            Some(last) if last.at + u64::from(last.bytes) == run.at => last.bytes += run.bytes,
            _ => all.push(run),
        }
    }
    all
}

/// How elements of this type are reduced, and their bytes; nothing if the operation does not have the type.
fn element(op: AtomicOp, data: DataType) -> Option<(AtomicType, u32)> {
    let adds = op == AtomicOp::Add;
    let orders = matches!(op, AtomicOp::Min | AtomicOp::Max);
    let kind = match data {
        DataType::U32 | DataType::U64 => AtomicType::Unsigned,
        DataType::S32 | DataType::S64 => AtomicType::Signed,
        DataType::F32 | DataType::F64 if adds => AtomicType::Float,
        DataType::F16 if adds || orders => AtomicType::Half,
        DataType::Bf16 if adds || orders => AtomicType::Bfloat,
        _ => return None,
    };
    let counts = matches!(op, AtomicOp::Increment | AtomicOp::Decrement);
    (!counts || data == DataType::U32).then_some((kind, data.bytes()))
}

impl<M: Monitor> Group<'_, M> {
    /// `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`.
    pub(crate) fn issue_tensor(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let op = self.machine.program.tables.tensors[at as usize];
        let maps = addresses(&warp.registers, op.map);
        let shared = op.shared.map(|shared| addresses(&warp.registers, shared));
        let objects = op.object.map(|object| addresses(&warp.registers, object));
        let (direction, verb) = match op.way {
            TensorWay::Store => (Direction::Store, "writes"),
            TensorWay::Load | TensorWay::Fetch => (Direction::Load, "reads"),
        };
        let loads = op.way == TensorWay::Load;
        for lane in lanes_of(mask) {
            let map = self.tensor_map(warp, pc, lane, maps[lane])?;
            let lists = &self.machine.program.tables.lists;
            let coordinates: Vec<i32> = lists[op.coordinates as usize..][..op.rank as usize]
                .iter()
                .map(|&register| warp.registers.row32(register)[lane] as i32)
                .collect();
            let (region, offset) = match &shared {
                Some(addresses) => self.locate(op.space, addresses[lane]),
                None => (Region::Shared { rank: self.rank }, 0),
            };
            let pieces = match map.pieces(direction, &coordinates, offset as u32) {
                Ok(pieces) => pieces.collect(),
                Err(error) => {
                    return Err(self.fault(warp, pc, 1 << lane, Fault::TensorBox { error }));
                }
            };
            let boxed = Arc::new(Boxed { map, loads, pieces });
            for run in boxed.global_runs() {
                self.check_range(
                    warp,
                    pc,
                    lane,
                    Region::Global,
                    run.at,
                    run.bytes.into(),
                    1,
                    verb,
                )?;
            }
            let reduction = match op.reduce.map(|op| (op, element(op, map.data()))) {
                None => None,
                Some((op, Some((ty, size)))) => Some((op, ty, size)),
                Some((op, None)) => {
                    let message = format!("{op:?} of elements of type {:?}", map.data());
                    return Err(self.tensor_not_modelled(pc, lane, &message));
                }
            };
            if op.way == TensorWay::Fetch {
                continue;
            }
            let object = match &objects {
                Some(addresses) => Some(self.object(warp, pc, lane, op.space, addresses[lane])?),
                None => None,
            };
            // The same offset in each block of the mask, and the object at the same offset there.
            let ranks: Vec<Option<u16>> = if op.multicast == NONE {
                vec![None]
            } else {
                let blocks = warp.registers.row32(op.multicast)[lane];
                let all = 0..self.blocks.len() as u16;
                all.filter(|rank| blocks >> rank & 1 != 0)
                    .map(Some)
                    .collect()
            };
            for rank in ranks {
                let region = rank.map_or(region, |rank| Region::Shared { rank });
                let object = object.map(|(own, at)| (rank.unwrap_or(own), at));
                let bytes = boxed.shared_bytes();
                let verb = if loads { "writes" } else { "reads" };
                self.check_range(warp, pc, lane, region, offset, bytes.into(), BOX_UNIT, verb)?;
                let tensor = (Region::Global, map.address());
                let (source, destination) = if loads {
                    (tensor, (region, offset))
                } else {
                    ((region, offset), tensor)
                };
                let thread = (self.rank, self.warp, lane as u32);
                let flight = Flight {
                    object,
                    group: warp.copies.bulk_committed[lane],
                    reduce: reduction,
                    boxed: Some(Arc::clone(&boxed)),
                    ..Flight::between(pc, source, destination, map.box_bytes(), thread)
                };
                self.take_off(pc, lane, flight);
            }
        }
        Ok(())
    }

    /// The tensor map at a generic address.
    fn tensor_map(
        &mut self,
        warp: &Warp,
        pc: Pc,
        lane: usize,
        address: u64,
    ) -> Result<TensorMap, Stop> {
        let (region, at) = self.locate(Space::Generic, address);
        let len = ENCODED_BYTES as u64;
        self.check_range(warp, pc, lane, region, at, len, MAP_UNIT, "reads")?;
        let mut bytes = [0; ENCODED_BYTES];
        if let Some(segment) = self.segment(region, at, at + len) {
            let from = segment.biased().wrapping_add(at as usize);
            // SAFETY: the segment has the range, and lives as long as the run.
            unsafe { copy(from, bytes.as_mut_ptr(), bytes.len()) };
        }
        TensorMap::decode(&bytes)
            .map_err(|error| self.tensor_not_modelled(pc, lane, &error.to_string()))
    }

    fn tensor_not_modelled(&mut self, pc: Pc, lane: usize, what: &str) -> Stop {
        let party = self.party(pc, 1 << lane);
        self.results.incomplete = Some(Incomplete {
            message: format!("line {}: {what}: not modelled", party.line),
            party: Some(party),
        });
        Stop
    }

    /// The bytes of a box at its source, and which of them are written.
    pub(crate) fn take_box(&self, boxed: &Boxed, shared: Region) -> (Vec<u64>, Vec<u64>) {
        let mut words = Vec::with_capacity(2 * boxed.pieces.len());
        let mut valid = vec![0; boxed.pieces.len().div_ceil(4)];
        let fill = boxed.map.fill_bytes();
        for (index, piece) in boxed.pieces.iter().enumerate() {
            let mut chunk = [0; CHUNK as usize];
            let (region, at, bytes) = if boxed.loads {
                (Region::Global, piece.global, piece.bytes)
            } else {
                (shared, piece.shared.into(), CHUNK)
            };
            let mut written = u64::MAX;
            if piece.bytes > 0
                && let Some(segment) = self.segment(region, at, at + u64::from(bytes))
            {
                let from = segment.biased().wrapping_add(at as usize);
                // SAFETY: the segment has the range, and lives as long as the run.
                unsafe { copy(from, chunk.as_mut_ptr(), bytes as usize) };
                if !segment.valid.is_null() {
                    written = segment.valid_bits(at, bytes) | !low_bits(bytes);
                }
            }
            if boxed.loads {
                chunk = boxed.map.loaded(chunk);
                let bytes = bytes as usize;
                chunk[bytes..].copy_from_slice(&fill[bytes..]);
            }
            let (halves, _) = chunk.as_chunks();
            words.extend(halves.iter().copied().map(u64::from_le_bytes));
            valid[index / 4] |= (written & low_bits(CHUNK)) << (16 * (index % 4));
        }
        (words, valid)
    }

    /// Writes a box to its destination.
    pub(crate) fn put_box(
        &mut self,
        boxed: &Boxed,
        shared: Region,
        (words, valid): (&[u64], &[u64]),
        reduction: Option<(AtomicOp, AtomicType, u32)>,
    ) {
        for (index, piece) in boxed.pieces.iter().enumerate() {
            let (region, at) = if boxed.loads {
                (shared, piece.shared.into())
            } else if piece.bytes > 0 {
                (Region::Global, piece.global)
            } else {
                continue;
            };
            let Some(segment) = self.segment(region, at, at + u64::from(CHUNK)) else {
                continue;
            };
            let chunk = &words[2 * index..][..2];
            let to = segment.biased().wrapping_add(at as usize);
            match reduction {
                // SAFETY: the segment has the range, and lives as long as the run.
                None => unsafe { copy(chunk.as_ptr().cast(), to, CHUNK as usize) },
                Some((op, ty, size)) => reduce(to, chunk, CHUNK, op, ty, size, true),
            }
            let written = valid[index / 4] >> (16 * (index % 4)) & low_bits(CHUNK);
            if segment.valid.is_null() {
                continue;
            }
            if boxed.loads {
                segment.set_valid(at, CHUNK, written);
            } else if written == low_bits(CHUNK) {
                // Other workers may mark neighbours; unwritten bytes that were written before stay so.
                segment.mark_valid(at, CHUNK, true);
            }
        }
    }
}

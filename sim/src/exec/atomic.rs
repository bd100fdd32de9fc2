//! `atom` and `red`.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

use super::access::{Region, Touch, addresses};
use super::group::{Group, Stop};
use super::warp::Warp;
use crate::event::{AccessKind, Monitor, Pc};
use crate::lanes::{LANES, lanes_of};
use crate::program::op::{Atomic, AtomicOp, AtomicType, NONE};
use crate::scalar::float::{canonical, flush, max64, min64};
use crate::scalar::small_float::half::{Clamp, Half, pair2};
use crate::scalar::small_float::{Bf16, F16};

/// Serialises the rare atomics of 128 bits, for which the host has no stable type.
static WIDE: Mutex<()> = Mutex::new(());

impl<M: Monitor> Group<'_, M> {
    /// `atom`, `red`.
    pub(crate) fn atomic(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let atomic = self.machine.program.tables.atomics[at as usize];
        let addresses = addresses(&warp.registers, atomic.address);
        warp.polls += 1;
        self.by_region(
            atomic.space,
            addresses,
            mask,
            &mut |group, region, addresses, mask| {
                group.atomic_region(warp, pc, &atomic, region, addresses, mask)
            },
        )
    }

    fn atomic_region(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        atomic: &Atomic,
        region: Region,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> Result<(), Stop> {
        let touch = Touch {
            pc,
            region,
            kind: if atomic.reduction {
                AccessKind::Reduction
            } else {
                AccessKind::Atomic
            },
            ordering: atomic.ordering,
            scope: atomic.scope,
            bytes: atomic.bytes * atomic.count,
            addresses,
            mask,
        };
        // Atomics share the last cache slot; they are few, and mostly go to one place.
        let cache = self.caches.len() - 1;
        let Some((host, _)) = self.touch(warp, &touch, cache)? else {
            return lanes_of(mask).try_for_each(|lane| {
                self.atomic_region(warp, pc, atomic, region, addresses, 1 << lane)
            });
        };
        let list = &self.machine.program.tables.lists[atomic.first as usize..];
        let count = atomic.count as usize;
        let ftz = region == Region::Global;
        let mut changed = false;
        for element in 0..count {
            let (d, b, c) = (
                list[element],
                list[count + element],
                list[2 * count + element],
            );
            for lane in lanes_of(mask) {
                let host =
                    host.wrapping_add(addresses[lane] as usize + element * atomic.bytes as usize);
                let read = |warp: &Warp, register: u32, half: u32| match (register, atomic.bytes) {
                    (NONE, _) => 0,
                    (register, 2 | 4) => u64::from(warp.registers.row32(register)[lane]),
                    (register, _) => warp.registers.row64(register + half)[lane],
                };
                if atomic.bytes == 16 {
                    let operand = [read(warp, b, 0), read(warp, b, 1)];
                    let swap = [read(warp, c, 0), read(warp, c, 1)];
                    // SAFETY: `touch` found all sixteen bytes in one writable segment, aligned.
                    let (old, wrote) = unsafe { exchange_wide(host, atomic.op, operand, swap) };
                    changed |= wrote;
                    if d != NONE {
                        warp.registers.r64[d as usize].0[lane] = old[0];
                        warp.registers.r64[d as usize + 1].0[lane] = old[1];
                    }
                    continue;
                }
                let (operand, swap) = (read(warp, b, 0), read(warp, c, 0));
                let new =
                    |old: u64| apply(atomic.op, atomic.ty, atomic.bytes, old, operand, swap, ftz);
                // SAFETY: `touch` found the bytes in one writable segment, aligned.
                let (old, wrote) = unsafe { update(host, atomic.bytes, new) };
                changed |= wrote;
                match (d, atomic.bytes) {
                    (NONE, _) => {}
                    (d, 2 | 4) => warp.registers.r32[d as usize].0[lane] = old as u32,
                    (d, _) => warp.registers.r64[d as usize].0[lane] = old,
                }
            }
        }
        if changed {
            self.writes += 1;
        }
        Ok(())
    }
}

/// Replaces a value by a function of it; the old value, and whether it changed.
///
/// # Safety
/// The bytes are inside a live, writable segment, and aligned.
pub(super) unsafe fn update(host: *mut u8, bytes: u32, new: impl Fn(u64) -> u64) -> (u64, bool) {
    macro_rules! with {
        ($atomic:ty, $bits:ty) => {{
            // SAFETY: the caller vouches for the bytes.
            let cell = unsafe { &*host.cast::<$atomic>() };
            let mut old = cell.load(SeqCst);
            loop {
                let value = new(old.into()) as $bits;
                match cell.compare_exchange_weak(old, value, SeqCst, SeqCst) {
                    Ok(_) => break (u64::from(old), value != old),
                    Err(seen) => old = seen,
                }
            }
        }};
    }
    match bytes {
        2 => with!(AtomicU16, u16),
        4 => with!(AtomicU32, u32),
        _ => with!(AtomicU64, u64),
    }
}

/// # Safety
/// As for [`update`], with sixteen bytes.
unsafe fn exchange_wide(
    host: *mut u8,
    op: AtomicOp,
    operand: [u64; 2],
    swap: [u64; 2],
) -> ([u64; 2], bool) {
    let _held = WIDE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    // SAFETY: the caller vouches for the bytes.
    let cells = unsafe {
        [
            &*host.cast::<AtomicU64>(),
            &*host.add(8).cast::<AtomicU64>(),
        ]
    };
    let old = [cells[0].load(SeqCst), cells[1].load(SeqCst)];
    let new = match op {
        AtomicOp::CompareSwap if old == operand => swap,
        AtomicOp::CompareSwap => old,
        _ => operand,
    };
    cells[0].store(new[0], SeqCst);
    cells[1].store(new[1], SeqCst);
    (old, new != old)
}

/// What an atomic makes of a value. `ftz` is for f32 sums in global memory, which flush subnormal numbers.
pub(super) fn apply(
    op: AtomicOp,
    ty: AtomicType,
    bytes: u32,
    old: u64,
    operand: u64,
    swap: u64,
    ftz: bool,
) -> u64 {
    let signed = |value: u64| {
        if bytes == 4 {
            i64::from(value as i32)
        } else {
            value as i64
        }
    };
    match op {
        AtomicOp::Exchange => operand,
        AtomicOp::CompareSwap if old == operand => swap,
        AtomicOp::CompareSwap => old,
        AtomicOp::And => old & operand,
        AtomicOp::Or => old | operand,
        AtomicOp::Xor => old ^ operand,
        AtomicOp::Increment => {
            if old >= operand {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > operand {
                operand
            } else {
                old - 1
            }
        }
        AtomicOp::Add | AtomicOp::Min | AtomicOp::Max => match ty {
            AtomicType::Unsigned => match op {
                AtomicOp::Add => old.wrapping_add(operand),
                AtomicOp::Min => old.min(operand),
                _ => old.max(operand),
            },
            AtomicType::Signed => match op {
                AtomicOp::Add => old.wrapping_add(operand),
                AtomicOp::Min => signed(old).min(signed(operand)) as u64,
                _ => signed(old).max(signed(operand)) as u64,
            },
            AtomicType::Float if bytes == 4 => {
                let (a, b) = (f32::from_bits(old as u32), f32::from_bits(operand as u32));
                let sum = match op {
                    AtomicOp::Add => flush(canonical(flush(a, ftz) + flush(b, ftz)), ftz),
                    AtomicOp::Min => min64(a.into(), b.into(), false) as f32,
                    _ => max64(a.into(), b.into(), false) as f32,
                };
                sum.to_bits().into()
            }
            AtomicType::Float => {
                let (a, b) = (f64::from_bits(old), f64::from_bits(operand));
                let value = match op {
                    AtomicOp::Add => a + b,
                    AtomicOp::Min => min64(a, b, false),
                    _ => max64(a, b, false),
                };
                value.to_bits()
            }
            AtomicType::Half => u64::from(half::<F16>(op, old as u16, operand as u16)),
            AtomicType::Bfloat => u64::from(half::<Bf16>(op, old as u16, operand as u16)),
            AtomicType::HalfPair => u64::from(pair2(old as u32, operand as u32, |a, b| {
                half::<F16>(op, a, b)
            })),
            AtomicType::BfloatPair => u64::from(pair2(old as u32, operand as u32, |a, b| {
                half::<Bf16>(op, a, b)
            })),
        },
    }
}

fn half<H: Half>(op: AtomicOp, a: u16, b: u16) -> u16 {
    match op {
        AtomicOp::Add => H::add(a, b, false, Clamp::None),
        AtomicOp::Min => H::min(a, b, false, false, false),
        _ => H::max(a, b, false, false, false),
    }
}

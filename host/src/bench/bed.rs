//! A problem on a device in several copies: the buffer sets that the runs take turns with, and the result that all must have.

use super::work::{Rig, Work};
use crate::device::{Buffer, DeviceError, POISON};
use crate::workload::Problem;

/// Poison kept before and after an output, so that a write outside of it is seen.
pub const GUARD: u64 = 256;

/// How many times larger than the L2 cache all sets together are, at the least.
const L2_TIMES: u64 = 4;

/// Sets at the least, so that two runs in a row never touch the same bytes, and at the most.
const LEAST_SETS: u64 = 2;
const MOST_SETS: u64 = 64;

/// The part of the device's memory that the sets may take.
const MEMORY_PART: f64 = 0.8;

/// Output buffers of certain sizes, one list a set, and what they must hold.
struct Outputs {
    sizes: Vec<u64>,
    sets: Vec<Vec<Buffer>>,
    /// A copy of a set that was verified, guards and all.
    reference: Option<Vec<Buffer>>,
}

/// Output buffers; a handle into the bed's own table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(usize);

/// The buffers of a problem.
pub struct Bed {
    inputs: Vec<Vec<Buffer>>,
    outputs: Vec<Outputs>,
    copies: Vec<(Buffer, Buffer)>,
    copy_bytes: u64,
    input_bytes: u64,
}

impl Bed {
    /// Puts the problem's inputs on the device once a set; what was there before is gone.
    ///
    /// There are as many sets as make the rotation larger than the cache, or as many as asked for.
    pub fn new(
        rig: &mut dyn Rig,
        problem: &dyn Problem,
        sets: Option<usize>,
    ) -> Result<Self, DeviceError> {
        rig.release();
        let inputs = problem.inputs();
        let input_bytes: u64 = inputs.iter().map(|bytes| bytes.len() as u64).sum();
        // The traffic is the working set of a problem that moves everything once.
        let working = problem.traffic().max(input_bytes).max(1);
        let sets = match sets {
            Some(sets) => sets.max(1),
            None => rotation(
                rig.hardware().l2_bytes,
                working,
                rig.limits().memory,
                working,
            ),
        };
        let mut placed: Vec<Vec<Buffer>> = Vec::with_capacity(sets);
        for set in 0..sets {
            let mut buffers = Vec::with_capacity(inputs.len());
            for (index, bytes) in inputs.iter().enumerate() {
                let buffer = rig.allocate(padded(bytes.len() as u64))?;
                match placed.first() {
                    // A copy on the device is much faster than another one over the bus.
                    Some(first) if set > 0 => rig.copy(&buffer, &first[index])?,
                    _ => rig.upload(&buffer, 0, bytes)?,
                }
                buffers.push(buffer);
            }
            placed.push(buffers);
        }
        // Half of the traffic is read and half is written.
        let half = padded((problem.traffic() / 2).max(1));
        let mut copies: Vec<(Buffer, Buffer)> = Vec::with_capacity(sets);
        for _ in 0..sets {
            let (to, from) = (rig.allocate(half)?, rig.allocate(half)?);
            match (copies.first(), inputs.first()) {
                (Some((_, first)), _) => rig.copy(&from, first)?,
                // Random data here too: poison is the same byte again and again.
                (None, Some(bytes)) => {
                    let length = bytes.len().min(half as usize);
                    rig.upload(&from, 0, &bytes[..length])?;
                }
                (None, None) => {}
            }
            copies.push((to, from));
        }
        Ok(Self {
            inputs: placed,
            outputs: Vec::new(),
            copies,
            copy_bytes: 2 * half,
            input_bytes,
        })
    }

    /// Buffer sets.
    pub fn sets(&self) -> usize {
        self.inputs.len()
    }

    /// Bytes of all sets together.
    pub fn rotation_bytes(&self, slot: Slot) -> u64 {
        let outputs: u64 = self.outputs[slot.0].sizes.iter().sum();
        self.sets() as u64 * (self.input_bytes + outputs)
    }

    /// The copy that is the ceiling, and the bytes that it reads plus writes.
    pub fn copy(&self) -> (Vec<Work>, u64) {
        let works = self
            .copies
            .iter()
            .map(|&(to, from)| Work::Copy { to, from });
        (works.collect(), self.copy_bytes)
    }

    /// Output buffers of these sizes, made on first use.
    pub fn slot(&mut self, rig: &mut dyn Rig, sizes: &[u64]) -> Result<Slot, DeviceError> {
        if let Some(index) = self.outputs.iter().position(|own| own.sizes == sizes) {
            return Ok(Slot(index));
        }
        let mut sets = Vec::with_capacity(self.sets());
        for _ in 0..self.sets() {
            let buffers = sizes.iter().map(|&bytes| rig.allocate(guarded(bytes)));
            sets.push(buffers.collect::<Result<_, _>>()?);
        }
        self.outputs.push(Outputs {
            sizes: sizes.to_vec(),
            sets,
            reference: None,
        });
        Ok(Slot(self.outputs.len() - 1))
    }

    /// Memory that no result is compared of, filled with zeros.
    pub fn scratch(&self, rig: &mut dyn Rig, bytes: u64) -> Result<u64, DeviceError> {
        let buffer = rig.allocate(padded(bytes))?;
        rig.upload(&buffer, 0, &vec![0; buffer.bytes() as usize])?;
        Ok(buffer.address())
    }

    /// The addresses of one set's inputs.
    pub fn input_addresses(&self, set: usize) -> Vec<u64> {
        self.inputs[set].iter().map(Buffer::address).collect()
    }

    /// The addresses of one set's outputs.
    pub fn output_addresses(&self, slot: Slot, set: usize) -> Vec<u64> {
        let buffers = self.outputs[slot.0].sets[set].iter();
        buffers.map(|buffer| buffer.address() + GUARD).collect()
    }

    /// Fills one set's outputs with poison.
    pub fn poison(&self, rig: &mut dyn Rig, slot: Slot, set: usize) -> Result<(), DeviceError> {
        let mut buffers = self.outputs[slot.0].sets[set].iter();
        buffers.try_for_each(|buffer| rig.poison(buffer))
    }

    /// Whether the outputs `which` of a set have the bits of the verified ones, guards included; `None` before anything was verified.
    pub fn has_verified_bits(
        &self,
        rig: &mut dyn Rig,
        slot: Slot,
        set: usize,
        which: &[usize],
    ) -> Result<Option<bool>, DeviceError> {
        let outputs = &self.outputs[slot.0];
        let Some(reference) = &outputs.reference else {
            return Ok(None);
        };
        for &index in which {
            if rig.differing(&outputs.sets[set][index], &reference[index])? > 0 {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// Keeps a set's outputs as those that the next ones are compared with.
    pub fn keep_reference(
        &mut self,
        rig: &mut dyn Rig,
        slot: Slot,
        set: usize,
    ) -> Result<(), DeviceError> {
        let outputs = &mut self.outputs[slot.0];
        let mut kept = Vec::with_capacity(outputs.sizes.len());
        for buffer in &outputs.sets[set] {
            let copy = rig.allocate(buffer.bytes())?;
            rig.copy(&copy, buffer)?;
            kept.push(copy);
        }
        outputs.reference = Some(kept);
        Ok(())
    }

    /// The outputs' bytes without their guards: those `which` from the set, the others from what was verified; or what was written outside.
    pub fn download(
        &self,
        rig: &mut dyn Rig,
        slot: Slot,
        set: usize,
        which: &[usize],
    ) -> Result<Result<Vec<Vec<u8>>, String>, DeviceError> {
        let outputs = &self.outputs[slot.0];
        let mut all = Vec::with_capacity(outputs.sizes.len());
        for (index, &bytes) in outputs.sizes.iter().enumerate() {
            let own = &outputs.sets[set][index];
            let buffer = match &outputs.reference {
                Some(reference) if !which.contains(&index) => &reference[index],
                _ => own,
            };
            let mut content = vec![0; buffer.bytes() as usize];
            rig.download(buffer, &mut content)?;
            let (before, rest) = content.split_at(GUARD as usize);
            let (inside, after) = rest.split_at(bytes as usize);
            if let Some(at) = first_touched(before, after, bytes) {
                return Ok(Err(format!(
                    "output {index} of {bytes} bytes was written outside, at byte {at}"
                )));
            }
            all.push(inside.to_vec());
        }
        Ok(Ok(all))
    }
}

/// The first byte that is not poison any more, counted from the output's beginning.
fn first_touched(before: &[u8], after: &[u8], bytes: u64) -> Option<i64> {
    let touched = |guard: &[u8]| guard.iter().position(|&byte| byte != POISON);
    touched(before)
        .map(|at| at as i64 - GUARD as i64)
        .or_else(|| touched(after).map(|at| (bytes + at as u64) as i64))
}

/// Sets that make the rotation larger than the cache, as far as memory goes.
///
/// A set takes its working bytes, and the copy beside it as many.
fn rotation(l2_bytes: u64, working: u64, memory: u64, copy: u64) -> usize {
    let wanted = (L2_TIMES * l2_bytes)
        .div_ceil(working)
        .clamp(LEAST_SETS, MOST_SETS);
    // The verified result stays beside the sets.
    let room = (memory as f64 * MEMORY_PART) as u64;
    let most = (room.saturating_sub(working) / (working + copy)).max(1);
    wanted.min(most) as usize
}

fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(16)
}

fn guarded(bytes: u64) -> u64 {
    padded(GUARD + bytes + GUARD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rotation_is_larger_than_the_cache_if_memory_allows() {
        const GIB: u64 = 1 << 30;
        for (l2, working, memory, expected) in [
            // 2 GiB a set: two are enough.
            (60 << 20, 2 * GIB, 140 * GIB, 2),
            // 240 MiB of 32 MiB sets.
            (60 << 20, 32 << 20, 140 * GIB, 8),
            // Small ones end at the most.
            (60 << 20, 1 << 10, 140 * GIB, 64),
            // 60 GiB a set and 112 GiB to take.
            (60 << 20, 60 * GIB, 140 * GIB, 1),
            (0, 1, 140 * GIB, 2),
        ] {
            let found = rotation(l2, working, memory, working);
            assert_eq!(found, expected, "{l2}, {working}, {memory}");
        }
    }

    #[test]
    fn touched_guards_are_counted_from_the_output() {
        let clean = [POISON; GUARD as usize];
        let mut before = clean;
        before[GUARD as usize - 4] = 0;
        let mut after = clean;
        after[2] = 1;
        assert_eq!(first_touched(&clean, &clean, 100), None);
        assert_eq!(first_touched(&before, &after, 100), Some(-4));
        assert_eq!(first_touched(&clean, &after, 100), Some(102));
    }
}

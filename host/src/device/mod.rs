//! Where kernels run: one trait, a CUDA device or the simulator behind it.
//!
//! Whoever runs a kernel allocates [`Buffer`]s, proves a launch with [`Prepared::new`] against the device's [`Limits`], and launches it; it never asks which device it has.

mod choose;
#[cfg(feature = "cuda")]
pub mod cuda;
#[cfg(test)]
pub(crate) mod fake;
pub mod geometry;
pub mod hardware;
pub mod prepared;
pub mod select;
pub mod simulator;

pub use choose::{Chosen, choose};
pub use geometry::{Geometry, GeometryError, Grid, Limits, Shaped, Wish};
pub use prepared::{OtherKernel, Prepared};
pub use select::{Request, SelectError};

use std::fmt;

/// The byte that memory holds before anybody wrote it.
pub const POISON: u8 = 0xA5;

/// Memory of a device. It is the device's own and lives until [`Device::release`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    address: u64,
    bytes: u64,
    /// Which release ends its life; a handle of an earlier life is refused.
    life: u32,
}

impl Buffer {
    /// The device address of the first byte, a multiple of 256.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// What a device is called and what it can do, for people.
#[derive(Clone, Debug)]
pub struct Description {
    /// What `--device` takes: `sim`, `cuda:0`.
    pub id: String,
    /// Its name, `NVIDIA H200`.
    pub name: String,
    /// Compute capability, 90 for 9.0.
    pub capability: u32,
    /// Further facts, for the list of devices.
    pub facts: String,
}

impl Description {
    /// Whether it is the simulator.
    pub fn is_simulator(&self) -> bool {
        self.id == simulator::ID
    }
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.name)
    }
}

/// What an entry uses of a multiprocessor, as the device's compiler made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Threads that a block may have, from the registers it uses and its launch bounds.
    pub max_threads: u32,
    /// Static shared memory, in bytes.
    pub static_shared: u32,
    /// Blocks of the asked shape that are on one multiprocessor at once.
    pub blocks_per_sm: u32,
}

/// What came of a launch that ran to its end.
#[derive(Clone, Debug, Default)]
pub struct Launched {
    /// Wall-clock seconds, the launch itself only.
    pub seconds: f64,
    /// What the simulator saw; `None` on hardware.
    pub outcome: Option<nstage_sim::Outcome>,
}

/// Times in milliseconds, one a sample, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples(pub Vec<f64>);

impl Samples {
    /// The middle one, or the mean of the two in the middle; `None` without samples.
    pub fn median(&self) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(sorted[middle]),
            _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
        }
    }
}

/// Why a device could not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum DeviceError {
    #[error("{device}: {bytes} B of memory cannot be allocated: {reason}; ask for fewer elements")]
    Memory {
        device: String,
        bytes: u64,
        reason: String,
    },
    #[error("{device}: a buffer of {bytes} B at {address:#x} was used after its release")]
    Released {
        device: String,
        address: u64,
        bytes: u64,
    },
    #[error("{device}: {given} B do not fit a buffer of {bytes} B")]
    Overrun {
        device: String,
        given: u64,
        bytes: u64,
    },
    #[error("{device}: no PTX holds the entry {entry}{hint}")]
    NoEntry {
        device: String,
        entry: String,
        hint: String,
    },
    #[error("{entry}: its PTX cannot be used on {device}: {reason}")]
    Load {
        device: String,
        entry: String,
        reason: String,
    },
    #[error("{entry}: failed on {device}: {reason}")]
    Launch {
        device: String,
        entry: String,
        reason: String,
    },
    #[error("{device}: {what}: {reason}")]
    Driver {
        device: String,
        what: &'static str,
        reason: String,
    },
}

/// Something that runs kernels.
pub trait Device {
    /// What it is.
    fn describe(&self) -> &Description;

    /// What a launch may ask of it.
    fn limits(&self) -> &Limits;

    /// Memory of `bytes` bytes, poisoned.
    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError>;

    /// Fills a buffer with [`POISON`].
    fn poison(&mut self, buffer: &Buffer) -> Result<(), DeviceError>;

    /// Copies `bytes` to `offset` bytes into a buffer.
    fn upload(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Copies a buffer's first bytes out.
    fn download(&mut self, buffer: &Buffer, into: &mut [u8]) -> Result<(), DeviceError>;

    /// Ends the life of every buffer.
    fn release(&mut self);

    /// Loads an entry, if that has not been done, and says what a block of it takes.
    fn resources(
        &mut self,
        entry: &'static str,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<Resources, DeviceError>;

    /// Runs a launch and waits for its end.
    fn launch(&mut self, launch: &Prepared) -> Result<Launched, DeviceError>;

    /// Runs a sequence of launches `warm_up` + `samples` times and times each of the later ones; `None` where time means nothing.
    fn time(
        &mut self,
        launches: &[Prepared],
        warm_up: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError>;

    /// As [`time`](Self::time), for a copy of one buffer to another.
    fn time_copy(
        &mut self,
        to: &Buffer,
        from: &Buffer,
        warm_up: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError>;
}

/// Refuses a handle whose buffer is gone, and bytes that it does not have.
fn check_buffer(
    device: &Description,
    life: u32,
    buffer: &Buffer,
    offset: u64,
    bytes: usize,
) -> Result<(), DeviceError> {
    if buffer.life != life {
        return Err(DeviceError::Released {
            device: device.id.clone(),
            address: buffer.address,
            bytes: buffer.bytes,
        });
    }
    let end = offset.saturating_add(bytes as u64);
    if end > buffer.bytes {
        return Err(DeviceError::Overrun {
            device: device.id.clone(),
            given: end,
            bytes: buffer.bytes,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_refused_after_its_release_and_beyond_its_end() {
        let mut device = fake::Fake::new(|_, _| ());
        let buffer = device.allocate(8).unwrap();
        device.upload(&buffer, 4, &[1; 4]).unwrap();
        let message = device.upload(&buffer, 5, &[1; 4]).unwrap_err().to_string();
        assert_eq!(message, "fake: 9 B do not fit a buffer of 8 B");
        device.release();
        let message = device
            .download(&buffer, &mut [0; 8])
            .unwrap_err()
            .to_string();
        assert!(message.contains("used after its release"), "{message}");
    }

    #[test]
    fn the_median_is_the_middle() {
        for (samples, expected) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![3.0, 1.0], Some(2.0)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
        ] {
            assert_eq!(Samples(samples.clone()).median(), expected, "{samples:?}");
        }
    }
}

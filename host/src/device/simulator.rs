//! The embedded simulator as a device.

use std::collections::HashMap;
use std::sync::Arc;

use nstage_sim::{DevicePointer, Dim3, Fill, GlobalMemory, Launch, Options, Program};

use super::{
    Buffer, Description, Device, DeviceError, Launched, Limits, POISON, Prepared, Resources,
    Samples, check_buffer,
};
use crate::ptx::PtxSet;

/// What `--device` calls it.
pub const ID: &str = "sim";

/// Blocks on one multiprocessor: few, so that every block works through several tiles.
const BLOCKS_PER_SM: u32 = 2;

/// Memory to offer where the machine does not say what it has.
const USUAL_MEMORY: u64 = 8 << 30;

/// What the simulator is called.
pub fn description() -> Description {
    Description {
        id: ID.to_owned(),
        name: "nstage simulator".to_owned(),
        capability: 90,
        facts: "runs the same PTX on the CPU; values and rules, no timing".to_owned(),
    }
}

/// What a launch may ask of it: the limits of an sm_90 device, with few multiprocessors.
pub fn limits() -> Limits {
    Limits {
        capability: 90,
        multiprocessors: 4,
        threads_per_block: 1024,
        grid_x: i32::MAX as u32,
        shared_opt_in: 227 << 10,
        memory: available_memory().unwrap_or(USUAL_MEMORY),
    }
}

/// Bytes that this machine can still give, where the kernel says so.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The simulator with what has been loaded and allocated on it.
pub struct Simulator {
    description: Description,
    limits: Limits,
    ptx: Arc<PtxSet>,
    programs: HashMap<&'static str, Program>,
    memory: GlobalMemory,
    life: u32,
}

impl Simulator {
    /// A simulator that takes kernels from `ptx`.
    pub fn new(ptx: Arc<PtxSet>) -> Self {
        Self {
            description: description(),
            limits: limits(),
            ptx,
            programs: HashMap::new(),
            memory: GlobalMemory::new(),
            life: 0,
        }
    }

    fn load(&mut self, entry: &'static str) -> Result<(), DeviceError> {
        if self.programs.contains_key(entry) {
            return Ok(());
        }
        let failed = |reason: String| DeviceError::Load {
            device: self.description.id.clone(),
            entry: entry.to_owned(),
            reason,
        };
        let module = self
            .ptx
            .module(entry, self.description.capability)
            .map_err(|error| failed(error.to_string()))?;
        let program = Program::compile(module, entry).map_err(|error| failed(error.to_string()))?;
        self.programs.insert(entry, program);
        Ok(())
    }

    fn memory_error(&self, bytes: u64, reason: &impl ToString) -> DeviceError {
        DeviceError::Memory {
            device: self.description.id.clone(),
            bytes,
            reason: reason.to_string(),
        }
    }

    fn write(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, buffer, offset, bytes.len())?;
        self.memory
            .write(DevicePointer(buffer.address).offset(offset), bytes)
            .map_err(|error| self.memory_error(buffer.bytes, &error))
    }
}

impl Device for Simulator {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        let pointer = self
            .memory
            .alloc(bytes, Fill::Poison)
            .map_err(|error| self.memory_error(bytes, &error))?;
        Ok(Buffer {
            address: pointer.0,
            bytes,
            life: self.life,
        })
    }

    fn poison(&mut self, buffer: &Buffer) -> Result<(), DeviceError> {
        self.write(buffer, 0, &vec![POISON; buffer.bytes as usize])
    }

    fn upload(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.write(buffer, offset, bytes)
    }

    fn download(&mut self, buffer: &Buffer, into: &mut [u8]) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, buffer, 0, into.len())?;
        self.memory
            .read(DevicePointer(buffer.address), into)
            .map_err(|error| self.memory_error(buffer.bytes, &error))
    }

    fn release(&mut self) {
        self.memory = GlobalMemory::new();
        self.life = self.life.wrapping_add(1);
    }

    fn resources(
        &mut self,
        entry: &'static str,
        _threads: u32,
        _dynamic_shared: u32,
    ) -> Result<Resources, DeviceError> {
        self.load(entry)?;
        Ok(Resources {
            max_threads: self.limits.threads_per_block,
            static_shared: 0,
            blocks_per_sm: BLOCKS_PER_SM,
        })
    }

    fn launch(&mut self, launch: &Prepared) -> Result<Launched, DeviceError> {
        let entry = launch.entry();
        self.load(entry)?;
        let Some(program) = self.programs.get(entry) else {
            return Ok(Launched::default());
        };
        let geometry = launch.geometry();
        let shape = Launch {
            grid: Dim3::from(geometry.blocks()),
            block: Dim3::from(geometry.threads()),
            cluster: Dim3::from(launch.variant().cluster()),
            dynamic_shared: geometry.dynamic_shared(),
            params: launch.params().to_vec(),
        };
        let options = Options {
            check: false,
            ..Options::default()
        };
        let outcome = nstage_sim::run(program, &mut self.memory, &shape, &options);
        Ok(Launched {
            seconds: outcome.seconds,
            outcome: Some(outcome),
        })
    }

    fn time(
        &mut self,
        _launches: &[Prepared],
        _warm_up: usize,
        _samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        Ok(None)
    }

    fn time_copy(
        &mut self,
        _to: &Buffer,
        _from: &Buffer,
        _warm_up: usize,
        _samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        Ok(None)
    }
}

//! A device for tests: memory on the host, kernels that are closures, limits as the test wants them.

use std::collections::HashMap;

use super::{
    Buffer, Description, Device, DeviceError, Launched, Limits, POISON, Prepared, Resources,
    Samples, check_buffer,
};

/// What a launch does to the memory.
pub(crate) type Behaviour = Box<dyn Fn(&Prepared, &mut Memory)>;

/// Allocations by their address.
#[derive(Default)]
pub(crate) struct Memory(HashMap<u64, Vec<u8>>);

impl Memory {
    /// The bytes from `address` on, which may lie inside an allocation.
    pub(crate) fn at(&mut self, address: u64) -> &mut [u8] {
        let (base, bytes) = self
            .0
            .iter_mut()
            .find(|(base, bytes)| (**base..**base + bytes.len() as u64 + 1).contains(&address))
            .expect("the address is inside an allocation");
        &mut bytes[(address - base) as usize..]
    }
}

/// The device.
pub(crate) struct Fake {
    description: Description,
    limits: Limits,
    memory: Memory,
    next: u64,
    life: u32,
    behaviour: Behaviour,
    /// Every launch's entry and blocks, in order.
    pub(crate) launched: Vec<(&'static str, u32)>,
}

impl Fake {
    /// A device of two multiprocessors whose launches do `behaviour`.
    pub(crate) fn new(behaviour: impl Fn(&Prepared, &mut Memory) + 'static) -> Self {
        Self {
            description: Description {
                id: "fake".to_owned(),
                name: "test device".to_owned(),
                capability: 80,
                facts: String::new(),
            },
            limits: limits(),
            memory: Memory::default(),
            next: 1 << 20,
            life: 0,
            behaviour: Box::new(behaviour),
            launched: Vec::new(),
        }
    }

    fn bytes(&mut self, buffer: &Buffer) -> &mut Vec<u8> {
        self.memory
            .0
            .get_mut(&buffer.address)
            .expect("the buffer was checked")
    }
}

/// Limits small enough to be exceeded.
pub(crate) fn limits() -> Limits {
    Limits {
        capability: 80,
        multiprocessors: 2,
        threads_per_block: 512,
        grid_x: 1000,
        shared_opt_in: 100_000,
        memory: 1 << 30,
    }
}

impl Device for Fake {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        let buffer = Buffer {
            address: self.next,
            bytes,
            life: self.life,
        };
        self.next = (self.next + bytes + 1).next_multiple_of(256) + 256;
        self.memory
            .0
            .insert(buffer.address, vec![POISON; bytes as usize]);
        Ok(buffer)
    }

    fn poison(&mut self, buffer: &Buffer) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, buffer, 0, 0)?;
        self.bytes(buffer).fill(POISON);
        Ok(())
    }

    fn upload(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, buffer, offset, bytes.len())?;
        let offset = offset as usize;
        self.bytes(buffer)[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn download(&mut self, buffer: &Buffer, into: &mut [u8]) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, buffer, 0, into.len())?;
        into.copy_from_slice(&self.bytes(buffer)[..into.len()]);
        Ok(())
    }

    fn release(&mut self) {
        self.memory.0.clear();
        self.life += 1;
    }

    fn resources(&mut self, _: &'static str, _: u32, _: u32) -> Result<Resources, DeviceError> {
        Ok(Resources {
            max_threads: self.limits.threads_per_block,
            static_shared: 0,
            blocks_per_sm: 3,
        })
    }

    fn launch(&mut self, launch: &Prepared) -> Result<Launched, DeviceError> {
        self.launched
            .push((launch.entry(), launch.geometry().blocks()));
        (self.behaviour)(launch, &mut self.memory);
        Ok(Launched::default())
    }

    fn time(
        &mut self,
        launches: &[Prepared],
        warm_up: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        for launch in launches
            .iter()
            .cycle()
            .take(launches.len() * (warm_up + samples))
        {
            self.launch(launch)?;
        }
        Ok(Some(Samples(
            (1..=samples).map(|sample| sample as f64).collect(),
        )))
    }

    fn time_copy(
        &mut self,
        _: &Buffer,
        _: &Buffer,
        _: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        Ok(Some(Samples(vec![0.5; samples])))
    }
}

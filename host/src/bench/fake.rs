//! The tests' device with a clock: every call is written down, and every time is what the test says.

use std::path::Path;

use super::work::{Function, Rig, Timer, Work};
use crate::device::fake::{Fake, Memory};
use crate::device::hardware::Hardware;
use crate::device::{
    Buffer, Description, Device, DeviceError, Launched, Limits, Prepared, Resources, Samples,
};

/// How long something takes, in milliseconds.
pub(crate) type Clock = Box<dyn Fn(&str) -> f64>;

/// The device.
pub(crate) struct FakeRig {
    inner: Fake,
    hardware: Hardware,
    clock: Clock,
    foreign: Vec<String>,
    /// What was put between two events, in order: an entry or `copy`.
    pub(crate) timed: Vec<String>,
    /// What the multiprocessors are clocked at, call by call.
    pub(crate) clocks: Vec<u32>,
}

impl FakeRig {
    /// A device whose launches do `behaviour` and take as long as `clock` says.
    pub(crate) fn new(
        behaviour: impl Fn(&Prepared, &mut Memory) + 'static,
        clock: impl Fn(&str) -> f64 + 'static,
    ) -> Self {
        let hardware = Hardware {
            name: "test device".to_owned(),
            l2_bytes: 1 << 20,
            memory_gigabytes_per_second: Some(1000.0),
            ..Hardware::of_capability(80)
        };
        Self {
            inner: Fake::new(behaviour),
            hardware,
            clock: Box::new(clock),
            foreign: Vec::new(),
            timed: Vec::new(),
            clocks: Vec::new(),
        }
    }
}

impl Device for FakeRig {
    fn describe(&self) -> &Description {
        self.inner.describe()
    }
    fn limits(&self) -> &Limits {
        self.inner.limits()
    }
    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        self.inner.allocate(bytes)
    }
    fn poison(&mut self, buffer: &Buffer) -> Result<(), DeviceError> {
        self.inner.poison(buffer)
    }
    fn upload(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        self.inner.upload(buffer, offset, bytes)
    }
    fn download(&mut self, buffer: &Buffer, into: &mut [u8]) -> Result<(), DeviceError> {
        self.inner.download(buffer, into)
    }
    fn release(&mut self) {
        self.inner.release();
    }
    fn resources(
        &mut self,
        entry: &'static str,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<Resources, DeviceError> {
        self.inner.resources(entry, threads, dynamic_shared)
    }
    fn launch(&mut self, launch: &Prepared) -> Result<Launched, DeviceError> {
        self.inner.launch(launch)
    }
    fn time(
        &mut self,
        launches: &[Prepared],
        warm_up: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        self.inner.time(launches, warm_up, samples)
    }
    fn time_copy(
        &mut self,
        to: &Buffer,
        from: &Buffer,
        warm_up: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        self.inner.time_copy(to, from, warm_up, samples)
    }
}

impl Timer for FakeRig {
    fn sample(&mut self, work: &Work) -> Result<f64, DeviceError> {
        let name = match work {
            Work::Copy { to, from } => {
                self.copy(to, from)?;
                "copy".to_owned()
            }
            Work::Launches(launches) => {
                for launch in launches {
                    self.inner.launch(launch)?;
                }
                launches[0].entry().to_owned()
            }
            Work::Foreign(launch) => launch.entry.clone(),
        };
        let time = (self.clock)(&name);
        self.timed.push(name);
        Ok(time)
    }

    fn resolution_ms(&self) -> f64 {
        0.0005
    }

    fn clock_mhz(&mut self) -> Option<u32> {
        self.clocks.pop()
    }
}

impl Rig for FakeRig {
    fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    fn copy(&mut self, to: &Buffer, from: &Buffer) -> Result<(), DeviceError> {
        let mut bytes = vec![0; from.bytes() as usize];
        self.inner.download(from, &mut bytes)?;
        self.inner.upload(to, 0, &bytes)
    }

    fn differing(&mut self, a: &Buffer, b: &Buffer) -> Result<u64, DeviceError> {
        let mut content = |buffer: &Buffer| {
            let mut bytes = vec![0; buffer.bytes() as usize];
            self.inner.download(buffer, &mut bytes).map(|()| bytes)
        };
        let (a, b) = (content(a)?, content(b)?);
        let words = a.chunks(4).zip(b.chunks(4));
        Ok(words.filter(|(a, b)| a != b).count() as u64)
    }

    fn load(&mut self, _: &Path, entry: &str) -> Result<Function, DeviceError> {
        self.foreign.push(entry.to_owned());
        Ok(Function(self.foreign.len() - 1))
    }

    fn resources_of(
        &mut self,
        function: Function,
        _: u32,
        _: u32,
    ) -> Result<Resources, DeviceError> {
        assert!(function.0 < self.foreign.len());
        Ok(Resources {
            max_threads: 512,
            static_shared: 0,
            blocks_per_sm: 3,
        })
    }
}

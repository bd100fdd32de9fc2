//! What measuring needs of a CUDA device: events, kernels from files, comparison in place, clocks.

use std::ffi::{CString, OsStr, c_void};
use std::path::{Path, PathBuf};

use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::sys;
use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::Clock;

use super::{Cuda, checked, words};
use crate::bench::work::{Foreign, Function, Rig, Timer, Work};
use crate::device::hardware::Hardware;
use crate::device::{Buffer, DeviceError, Resources, check_buffer};

/// The resolution of an event's time, by the driver API's reference of `cuEventElapsedTime`.
const RESOLUTION_MS: f64 = 0.0005;

/// The kernel that compares two buffers.
const DIFFERING: &str = include_str!("differing.ptx");
const DIFFERING_ENTRY: &str = "nstage_differing";
const DIFFERING_THREADS: u32 = 256;
const DIFFERING_BLOCKS_PER_SM: u32 = 8;

/// What a device holds besides memory and our own kernels.
#[derive(Default)]
pub(super) struct State {
    hardware: Option<Hardware>,
    /// Modules by their file, and what was taken from them: module, name, handle.
    images: Vec<(PathBuf, Module)>,
    functions: Vec<(usize, String, sys::CUfunction)>,
    differing: Option<Module>,
    events: Option<(Event, Event)>,
    /// The driver's management library and the device's place on the bus; `None` inside once it was found missing.
    clocks: Option<Option<(Nvml, String)>>,
}

impl State {
    /// What device `index` can do at best.
    pub(super) fn of(device: CudaDevice, name: &str, capability: u32) -> Self {
        Self {
            hardware: Some(hardware(device, name, capability)),
            clocks: Some(clocks(device)),
            ..Self::default()
        }
    }
}

/// What the driver says, and the data sheet where the product is known.
fn hardware(device: CudaDevice, name: &str, capability: u32) -> Hardware {
    let known = Hardware::of_capability(capability);
    let or = |attribute, otherwise: u32| {
        let found = device.get_attribute(attribute).ok();
        found
            .and_then(|value| u32::try_from(value).ok())
            .unwrap_or(otherwise)
    };
    // Two transfers a clock, the bus's width in bits.
    let kilohertz = or(DeviceAttribute::MemoryClockRate, 0);
    let bits = or(DeviceAttribute::GlobalMemoryBusWidth, 0);
    let told = 2.0 * f64::from(kilohertz) * 1e3 * f64::from(bits) / 8.0 / 1e9;
    Hardware {
        name: name.to_owned(),
        multiprocessors: or(DeviceAttribute::MultiprocessorCount, 1),
        threads_per_sm: or(
            DeviceAttribute::MaxThreadsPerMultiprocessor,
            known.threads_per_sm,
        ),
        registers_per_sm: or(
            DeviceAttribute::MaxRegistersPerMultiprocessor,
            known.registers_per_sm,
        ),
        shared_per_sm: or(
            DeviceAttribute::MaxSharedMemoryPerMultiprocessor,
            known.shared_per_sm,
        ),
        l2_bytes: u64::from(or(DeviceAttribute::L2CacheSize, 0)),
        memory_gigabytes_per_second: (told > 0.0).then_some(told),
        ..known
    }
    .with_data_sheet()
}

/// The management library, if the machine has it and it knows the device.
fn clocks(device: CudaDevice) -> Option<(Nvml, String)> {
    let at = |attribute| device.get_attribute(attribute).ok();
    let place = format!(
        "{:08x}:{:02x}:{:02x}.0",
        at(DeviceAttribute::PciDomainId)?,
        at(DeviceAttribute::PciBusId)?,
        at(DeviceAttribute::PciDeviceId)?
    );
    // The name without a version is the toolkit's; the driver brings this one.
    let library = OsStr::new("libnvidia-ml.so.1");
    let nvml = Nvml::builder().lib_path(library).init().ok()?;
    nvml.device_by_pci_bus_id(place.as_str()).ok()?;
    Some((nvml, place))
}

impl Cuda {
    fn foreign(&self, function: Function) -> sys::CUfunction {
        // A handle comes from `load` alone, which pushes before it hands one out.
        self.rig.functions[function.0].2
    }

    fn enqueue_foreign(&self, launch: &Foreign) -> Result<(), DeviceError> {
        let mut params: Vec<*mut c_void> = launch
            .params
            .iter()
            .map(|blob| blob.as_ptr().cast_mut().cast())
            .collect();
        // SAFETY: the function is loaded, its module is kept, the parameters are one blob each as whoever made the launch read them from the kernel's table,
        // and the driver copies them before it returns.
        let result = unsafe {
            sys::cuLaunchKernel(
                self.foreign(launch.function),
                launch.blocks,
                1,
                1,
                launch.threads,
                1,
                1,
                launch.dynamic_shared,
                self.stream.as_inner(),
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        checked(result).map_err(|reason| DeviceError::Launch {
            device: self.description.id.clone(),
            entry: launch.entry.clone(),
            reason,
        })
    }

    fn enqueue_copy(&self, to: &Buffer, from: &Buffer) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, to, 0, from.bytes as usize)?;
        check_buffer(&self.description, self.life, from, 0, 0)?;
        // SAFETY: both buffers are alive and hold as many bytes.
        checked(unsafe {
            sys::cuMemcpyDtoDAsync_v2(
                to.address,
                from.address,
                from.bytes as usize,
                self.stream.as_inner(),
            )
        })
        .map_err(self.refused("memory cannot be copied"))
    }

    fn work(&mut self, work: &Work) -> Result<(), DeviceError> {
        match work {
            Work::Copy { to, from } => self.enqueue_copy(to, from),
            Work::Launches(launches) => launches.iter().try_for_each(|launch| self.enqueue(launch)),
            Work::Foreign(launch) => self.enqueue_foreign(launch),
        }
    }

    /// The name of what is running, for the message of a failure that shows only afterwards.
    fn wait(&self, work: &Work, end: &Event) -> Result<(), DeviceError> {
        let entry = match work {
            Work::Copy { .. } => "the copy",
            Work::Launches(launches) => launches.first().map_or("no launch", |l| l.entry()),
            Work::Foreign(launch) => &launch.entry,
        };
        end.synchronize().map_err(|error| DeviceError::Launch {
            device: self.description.id.clone(),
            entry: entry.to_owned(),
            reason: words(error),
        })
    }
}

impl Timer for Cuda {
    fn sample(&mut self, work: &Work) -> Result<f64, DeviceError> {
        let (start, end) = match self.rig.events.take() {
            Some(events) => events,
            None => {
                let event = || Event::new(EventFlags::DEFAULT);
                let failed = self.failed("no event can be made");
                event()
                    .and_then(|start| Ok((start, event()?)))
                    .map_err(failed)?
            }
        };
        start
            .record(&self.stream)
            .map_err(self.failed("an event cannot be recorded"))?;
        self.work(work)?;
        end.record(&self.stream)
            .map_err(self.failed("an event cannot be recorded"))?;
        self.wait(work, &end)?;
        let milliseconds = end
            .elapsed_time_f32(&start)
            .map_err(self.failed("a time cannot be read"))?;
        self.rig.events = Some((start, end));
        Ok(f64::from(milliseconds))
    }

    fn resolution_ms(&self) -> f64 {
        RESOLUTION_MS
    }

    fn clock_mhz(&mut self) -> Option<u32> {
        let (nvml, place) = self.rig.clocks.as_ref()?.as_ref()?;
        let device = nvml.device_by_pci_bus_id(place.as_str()).ok()?;
        device.clock_info(Clock::SM).ok()
    }
}

impl Rig for Cuda {
    fn hardware(&self) -> &Hardware {
        static UNKNOWN: std::sync::OnceLock<Hardware> = std::sync::OnceLock::new();
        match &self.rig.hardware {
            Some(hardware) => hardware,
            None => UNKNOWN.get_or_init(|| Hardware::of_capability(self.description.capability)),
        }
    }

    fn copy(&mut self, to: &Buffer, from: &Buffer) -> Result<(), DeviceError> {
        self.enqueue_copy(to, from)?;
        self.stream
            .synchronize()
            .map_err(self.failed("memory cannot be copied"))
    }

    fn differing(&mut self, a: &Buffer, b: &Buffer) -> Result<u64, DeviceError> {
        check_buffer(&self.description, self.life, a, 0, b.bytes as usize)?;
        check_buffer(&self.description, self.life, b, 0, a.bytes as usize)?;
        let failed = "two buffers cannot be compared";
        if self.rig.differing.is_none() {
            let text = CString::new(DIFFERING)
                .map_err(|_| self.refused(failed)("its PTX holds a zero byte".to_owned()))?;
            let module = Module::from_ptx_cstr(&text, &[]).map_err(self.failed(failed))?;
            self.rig.differing = Some(module);
        }
        let function = match &self.rig.differing {
            Some(module) => module
                .get_function(DIFFERING_ENTRY)
                .map_err(self.failed(failed))?
                .to_raw(),
            None => return Err(self.refused(failed)("its kernel is not loaded".to_owned())),
        };
        let count = DeviceBuffer::from_slice(&[0_u64]).map_err(self.failed(failed))?;
        let params = [
            count.as_device_ptr().as_raw(),
            a.address,
            b.address,
            a.bytes / 4,
        ];
        let mut pointers: Vec<*mut c_void> = params
            .iter()
            .map(|parameter| std::ptr::from_ref(parameter).cast_mut().cast())
            .collect();
        let blocks = self.limits.multiprocessors * DIFFERING_BLOCKS_PER_SM;
        // SAFETY: the kernel takes four 64-bit parameters, which live until the call returns; both buffers hold the words that it is told of, and the count holds one.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                blocks,
                1,
                1,
                DIFFERING_THREADS,
                1,
                1,
                0,
                self.stream.as_inner(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        checked(result).map_err(self.refused(failed))?;
        self.stream.synchronize().map_err(self.failed(failed))?;
        let mut found = [0];
        count.copy_to(&mut found).map_err(self.failed(failed))?;
        Ok(found[0])
    }

    fn load(&mut self, file: &Path, entry: &str) -> Result<Function, DeviceError> {
        let image = self.rig.images.iter().position(|(path, _)| path == file);
        let image = match image {
            Some(image) => image,
            None => {
                let module = Module::from_file(file).map_err(|error| {
                    self.load_error(entry, format!("{}: {}", file.display(), words(error)))
                })?;
                self.rig.images.push((file.to_owned(), module));
                self.rig.images.len() - 1
            }
        };
        let functions = &self.rig.functions;
        let same = |(of, name, _): &(usize, String, _)| *of == image && name == entry;
        if let Some(index) = functions.iter().position(same) {
            return Ok(Function(index));
        }
        let function = self.rig.images[image]
            .1
            .get_function(entry)
            .map_err(|error| {
                self.load_error(entry, format!("{}: {}", file.display(), words(error)))
            })?
            .to_raw();
        self.rig.functions.push((image, entry.to_owned(), function));
        Ok(Function(self.rig.functions.len() - 1))
    }

    fn resources_of(
        &mut self,
        function: Function,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<Resources, DeviceError> {
        let entry = self.rig.functions[function.0].1.clone();
        self.block_resources(&entry, self.foreign(function), threads, dynamic_shared)
    }
}

#[cfg(test)]
mod tests {
    use super::{DIFFERING, DIFFERING_ENTRY};
    use nstage_sim::{Dim3, Fill, GlobalMemory, Launch, Options, Program, Verdict};

    #[test]
    fn differing_words_are_counted_whatever_the_grid() {
        let module = nstage_ptx::parse(DIFFERING).unwrap();
        let program = Program::compile(&module, DIFFERING_ENTRY).unwrap();
        const WORDS: u64 = 1000;
        for (blocks, threads) in [(1, 32), (3, 96), (40, 64)] {
            let mut memory = GlobalMemory::new();
            let count = memory.alloc(8, Fill::Zero).unwrap();
            let first = memory.alloc(4 * WORDS, Fill::Zero).unwrap();
            let second = memory.alloc(4 * WORDS, Fill::Zero).unwrap();
            for word in [0, 1, 500, 999] {
                memory.write(second.offset(4 * word + 3), &[1]).unwrap();
            }
            let launch = Launch {
                grid: Dim3::from(blocks),
                block: Dim3::from(threads),
                cluster: Dim3::ONE,
                dynamic_shared: 0,
                params: [count.0, first.0, second.0, WORDS]
                    .map(|value| value.to_le_bytes().to_vec())
                    .to_vec(),
            };
            let outcome = nstage_sim::run(&program, &mut memory, &launch, &Options::default());
            assert_eq!(outcome.verdict(), Verdict::Clean, "{:?}", outcome.findings);
            let mut found = [0; 8];
            memory.read(count, &mut found).unwrap();
            assert_eq!(u64::from_le_bytes(found), 4, "{blocks} × {threads}");
        }
    }
}

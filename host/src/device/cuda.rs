//! A CUDA device, through `cust`.

pub mod foreign;

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::sync::Arc;
use std::time::Instant;

use cust::context::{Context, CurrentContext};
use cust::device::{Device as CudaDevice, DeviceAttribute};
use cust::error::CudaError;
use cust::event::{Event, EventFlags};
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use cust::sys::{self, CUfunction_attribute, CUjit_option, CUresult};
use cust::{CudaApiVersion, CudaFlags};

use super::select::SelectError;
use super::{
    Buffer, Description, Device, DeviceError, Launched, Limits, POISON, Prepared, Resources,
    Samples, check_buffer,
};
use crate::driver::{self, error::describe_cust as words, tensor};
use crate::ptx::{PtxSet, version};
use crate::tensor::description;

mod rig;

/// Bytes kept for the compiler's complaints.
const LOG_BYTES: usize = 16 << 10;

/// A CUDA device with what has been loaded and allocated on it.
pub struct Cuda {
    description: Description,
    limits: Limits,
    /// The newest PTX that the driver takes; `None` for a driver newer than our list.
    ptx_version: Option<(u8, u8)>,
    ptx: Arc<PtxSet>,
    modules: HashMap<&'static str, Module>,
    buffers: Vec<DeviceBuffer<u8>>,
    life: u32,
    stream: Stream,
    rig: rig::State,
    /// Dropped last: everything above lives in it.
    _context: Context,
}

/// The devices that the driver has, or why there is none.
pub fn count() -> Result<u32, SelectError> {
    driver::library().map_err(|error| SelectError::NoCuda(error.to_string()))?;
    match cust::init(CudaFlags::empty()).and_then(|()| CudaDevice::num_devices()) {
        Ok(count) => Ok(count),
        Err(CudaError::NoDevice) => Ok(0),
        Err(error) => Err(SelectError::NoCuda(format!(
            "the CUDA driver does not start: {}",
            words(error)
        ))),
    }
}

/// Every device, without opening one.
pub fn list() -> Result<Vec<(Description, Limits)>, SelectError> {
    (0..count()?).map(properties).collect()
}

/// What device `index` is.
fn properties(index: u32) -> Result<(Description, Limits), SelectError> {
    let id = format!("cuda:{index}");
    let described = CudaDevice::get_device(index)
        .map_err(words)
        .and_then(|device| describe(&id, device));
    described.map_err(|reason| {
        SelectError::Device(DeviceError::Driver {
            device: id,
            what: "its properties cannot be read",
            reason,
        })
    })
}

impl Cuda {
    /// Opens device `index`.
    pub fn open(index: u32, ptx: Arc<PtxSet>) -> Result<Self, SelectError> {
        let count = count()?;
        if index >= count {
            return Err(SelectError::NoSuchDevice { index, count });
        }
        let id = format!("cuda:{index}");
        let failed = |what: &'static str| {
            let device = id.clone();
            move |error| DeviceError::Driver {
                device,
                what,
                reason: words(error),
            }
        };
        let device = CudaDevice::get_device(index).map_err(failed("cannot be opened"))?;
        let (description, limits) = properties(index)?;
        let driver =
            CudaApiVersion::get().map_err(failed("the driver's version cannot be read"))?;
        let context = Context::new(device).map_err(failed("no context can be made"))?;
        // A default stream waits for the copies and fills, which go through the null stream.
        let stream =
            Stream::new(StreamFlags::DEFAULT, None).map_err(failed("no stream can be made"))?;
        let rig = rig::State::of(device, &description.name, description.capability);
        Ok(Self {
            description,
            limits,
            rig,
            ptx_version: version::of_driver(driver.major(), driver.minor()),
            ptx,
            modules: HashMap::new(),
            buffers: Vec::new(),
            life: 0,
            stream,
            _context: context,
        })
    }

    /// For `map_err` on the calls of `cust`.
    fn failed(&self, what: &'static str) -> impl FnOnce(CudaError) -> DeviceError + use<> {
        let device = self.description.id.clone();
        move |error| DeviceError::Driver {
            device,
            what,
            reason: words(error),
        }
    }

    /// For `map_err` on the calls that `cust` lacks.
    fn refused(&self, what: &'static str) -> impl FnOnce(String) -> DeviceError + use<> {
        let device = self.description.id.clone();
        move |reason| DeviceError::Driver {
            device,
            what,
            reason,
        }
    }

    /// The driver's function for an entry; its PTX is compiled on first use, alone.
    fn function(&mut self, entry: &'static str) -> Result<sys::CUfunction, DeviceError> {
        if !self.modules.contains_key(entry) {
            let module = self.load(entry)?;
            self.modules.insert(entry, module);
        }
        let function = self
            .modules
            .get(entry)
            .ok_or(CudaError::NotFound)
            .and_then(|module| module.get_function(entry))
            .map_err(|error| self.load_error(entry, words(error)))?;
        // The handle is valid as long as its module, which this map keeps.
        Ok(function.to_raw())
    }

    fn load_error(&self, entry: &str, reason: String) -> DeviceError {
        DeviceError::Load {
            device: self.description.id.clone(),
            entry: entry.to_owned(),
            reason,
        }
    }

    fn load(&self, entry: &'static str) -> Result<Module, DeviceError> {
        let capability = self.description.capability;
        let source = self
            .ptx
            .entry(entry, capability)
            .map_err(|error| self.load_error(entry, error.to_string()))?;
        if let (Some(accepted), found) = (self.ptx_version, source.version)
            && found > accepted
        {
            let reason = format!(
                "it is PTX {}.{}, the driver accepts up to {}.{}; update the driver",
                found.0, found.1, accepted.0, accepted.1
            );
            return Err(self.load_error(entry, reason));
        }
        let text = CString::new(source.text)
            .map_err(|_| self.load_error(entry, "it holds a zero byte".to_owned()))?;
        self.compile(entry, &text)
    }

    /// Lets the driver compile a text; a refusal comes with its compiler's complaints.
    fn compile(&self, entry: &str, text: &CString) -> Result<Module, DeviceError> {
        Module::from_ptx_cstr(text, &[]).map_err(|error| {
            let reason = match compiler_log(text) {
                Some(log) => format!("{}: {log}", words(error)),
                None => words(error),
            };
            self.load_error(entry, reason)
        })
    }

    /// Enqueues a launch.
    fn enqueue(&mut self, launch: &Prepared) -> Result<(), DeviceError> {
        let function = self.function(launch.entry())?;
        let geometry = launch.geometry();
        // Tensor maps are described; the driver makes of them what the device reads.
        let maps = launch
            .params()
            .iter()
            .map(|blob| {
                description(blob)
                    .map(|map| tensor::encode(&map))
                    .transpose()
            })
            .collect::<Result<Vec<_>, _>>()
            .map_err(|code| {
                let reason = format!("the driver encodes no tensor map: {code:?}");
                self.launch_error(launch, reason)
            })?;
        let mut params: Vec<*mut c_void> = launch
            .params()
            .iter()
            .zip(&maps)
            .map(|(blob, map)| match map {
                Some(map) => map.as_ptr().cast_mut().cast(),
                None => blob.as_ptr().cast_mut().cast(),
            })
            .collect();
        // SAFETY: the function is loaded, the parameters are one blob each of the size that the entry's declaration gives it,
        // the geometry has passed the limits, and the driver copies the parameters before it returns.
        let result = unsafe {
            sys::cuLaunchKernel(
                function,
                geometry.blocks(),
                1,
                1,
                geometry.threads(),
                1,
                1,
                geometry.dynamic_shared(),
                self.stream.as_inner(),
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        checked(result).map_err(|reason| self.launch_error(launch, reason))
    }

    fn launch_error(&self, launch: &Prepared, reason: String) -> DeviceError {
        DeviceError::Launch {
            device: self.description.id.clone(),
            entry: launch.entry().to_owned(),
            reason,
        }
    }

    /// Times what `enqueue` puts on the stream.
    fn samples(
        &mut self,
        warm_up: usize,
        samples: usize,
        mut enqueue: impl FnMut(&mut Self) -> Result<(), DeviceError>,
    ) -> Result<Option<Samples>, DeviceError> {
        let event = |device: &Self| {
            Event::new(EventFlags::DEFAULT).map_err(device.failed("no event can be made"))
        };
        let (start, end) = (event(self)?, event(self)?);
        let mut times = Vec::with_capacity(samples);
        for sample in 0..warm_up + samples {
            start
                .record(&self.stream)
                .map_err(self.failed("an event cannot be recorded"))?;
            enqueue(self)?;
            end.record(&self.stream)
                .and_then(|()| end.synchronize())
                .map_err(self.failed("a timed launch did not end"))?;
            let milliseconds = end
                .elapsed_time_f32(&start)
                .map_err(self.failed("a time cannot be read"))?;
            if sample >= warm_up {
                times.push(f64::from(milliseconds));
            }
        }
        Ok(Some(Samples(times)))
    }

    /// What a block takes of a function that is loaded; allows it the dynamic shared memory.
    fn block_resources(
        &self,
        entry: &str,
        function: sys::CUfunction,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<Resources, DeviceError> {
        let attribute = |attribute| {
            let mut value = 0;
            // SAFETY: `value` is valid for writing and the function is loaded.
            checked(unsafe { sys::cuFuncGetAttribute(&mut value, attribute, function) })
                .map(|()| value as u32)
        };
        let max_threads = attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
            .map_err(|reason| self.load_error(entry, reason))?;
        let static_shared = attribute(CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
            .map_err(|reason| self.load_error(entry, reason))?;
        let (needed, limit) = (
            u64::from(static_shared) + u64::from(dynamic_shared),
            self.limits.shared_opt_in,
        );
        if needed > u64::from(limit) {
            let reason = format!(
                "{static_shared} B static and {dynamic_shared} B dynamic shared memory needed, device limit is {limit} B"
            );
            return Err(self.load_error(entry, reason));
        }
        if threads > max_threads {
            let reason = format!(
                "a block of {threads} threads needs more registers than there are, {max_threads} threads fit; pass a smaller --block"
            );
            return Err(self.load_error(entry, reason));
        }
        // Above 48 KiB the driver wants to be asked; below, asking does no harm.
        // What was allowed before stays allowed: another block of the same entry may be in use.
        let limit = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let allowed = attribute(limit).map_err(|reason| self.load_error(entry, reason))?;
        if dynamic_shared > allowed {
            // SAFETY: the function is loaded.
            checked(unsafe { sys::cuFuncSetAttribute(function, limit, dynamic_shared as i32) })
                .map_err(|reason| self.load_error(entry, reason))?;
        }
        let mut blocks = 0;
        // SAFETY: `blocks` is valid for writing and the function is loaded.
        checked(unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function,
                threads as i32,
                dynamic_shared as usize,
            )
        })
        .map_err(|reason| self.load_error(entry, reason))?;
        Ok(Resources {
            max_threads,
            static_shared,
            blocks_per_sm: blocks.max(0) as u32,
        })
    }

    fn buffer_mut(&mut self, buffer: &Buffer) -> Result<&mut DeviceBuffer<u8>, DeviceError> {
        check_buffer(&self.description, self.life, buffer, 0, 0)?;
        let device = self.description.id.clone();
        self.buffers
            .iter_mut()
            .find(|own| own.as_device_ptr().as_raw() == buffer.address)
            .ok_or(DeviceError::Released {
                device,
                address: buffer.address,
                bytes: buffer.bytes,
            })
    }
}

/// Reads what a device is and allows.
fn describe(id: &str, device: CudaDevice) -> Result<(Description, Limits), String> {
    let attribute = |attribute| match device.get_attribute(attribute) {
        Ok(value) => Ok(value as u32),
        Err(error) => Err(words(error)),
    };
    let major = attribute(DeviceAttribute::ComputeCapabilityMajor)?;
    let minor = attribute(DeviceAttribute::ComputeCapabilityMinor)?;
    let limits = Limits {
        capability: major * 10 + minor,
        multiprocessors: attribute(DeviceAttribute::MultiprocessorCount)?,
        threads_per_block: attribute(DeviceAttribute::MaxThreadsPerBlock)?,
        grid_x: attribute(DeviceAttribute::MaxGridDimX)?,
        shared_opt_in: shared_opt_in(device)?,
        memory: device.total_memory().map_err(words)? as u64,
    };
    let driver = CudaApiVersion::get().map_err(words)?;
    let description = Description {
        id: id.to_owned(),
        name: device.name().map_err(words)?,
        capability: major * 10 + minor,
        facts: format!(
            "compute capability {major}.{minor}, {} multiprocessors, {:.0} GiB, {} B shared memory a block, driver for CUDA {}.{}",
            limits.multiprocessors,
            limits.memory as f64 / f64::from(1 << 30),
            limits.shared_opt_in,
            driver.major(),
            driver.minor(),
        ),
    };
    Ok((description, limits))
}

/// Shared memory of a block that opts in; `cust` has no name for the attribute.
fn shared_opt_in(device: CudaDevice) -> Result<u32, String> {
    let mut value = 0;
    // SAFETY: `value` is valid for writing, and the device was handed out by the driver.
    let result = unsafe {
        sys::cuDeviceGetAttribute(
            &mut value,
            sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
            device.as_raw(),
        )
    };
    checked(result).map(|()| value as u32)
}

/// The result of a call that `cust` has no wrapper for; the error is in words.
fn checked(result: CUresult) -> Result<(), String> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(driver::error::describe(error)),
    }
}

/// What the driver's compiler says about a text that it refuses, in one line.
fn compiler_log(text: &CString) -> Option<String> {
    let mut log = vec![0_u8; LOG_BYTES];
    let mut options = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    // The driver takes a value that fits a pointer in the pointer itself.
    let mut values = [log.as_mut_ptr().cast(), LOG_BYTES as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: `text` ends in a zero byte, the options and values have two elements each, and the log buffer has the size given.
    let result = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            text.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if result == CUresult::CUDA_SUCCESS {
        // SAFETY: the module was just loaded and nobody else has its handle.
        unsafe { sys::cuModuleUnload(module) };
    }
    let end = log.iter().position(|&byte| byte == 0)?;
    let text = String::from_utf8_lossy(&log[..end]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!line.is_empty()).then_some(line)
}

impl Device for Cuda {
    fn describe(&self) -> &Description {
        &self.description
    }

    fn limits(&self) -> &Limits {
        &self.limits
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        let buffer = self.allocate_unwritten(bytes)?;
        self.poison(&buffer)?;
        Ok(buffer)
    }

    fn poison(&mut self, buffer: &Buffer) -> Result<(), DeviceError> {
        let failed = self.failed("memory cannot be filled");
        self.buffer_mut(buffer)?.set_8(POISON).map_err(failed)
    }

    fn upload(&mut self, buffer: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, buffer, offset, bytes.len())?;
        if bytes.is_empty() {
            return Ok(());
        }
        let failed = self.failed("memory cannot be copied to the device");
        let offset = offset as usize;
        self.buffer_mut(buffer)?
            .index(offset..offset + bytes.len())
            .copy_from(bytes)
            .map_err(failed)
    }

    fn download(&mut self, buffer: &Buffer, into: &mut [u8]) -> Result<(), DeviceError> {
        check_buffer(&self.description, self.life, buffer, 0, into.len())?;
        if into.is_empty() {
            return Ok(());
        }
        let failed = self.failed("memory cannot be copied from the device");
        let length = into.len();
        self.buffer_mut(buffer)?
            .index(0..length)
            .copy_to(into)
            .map_err(failed)
    }

    fn release(&mut self) {
        self.buffers.clear();
        self.life = self.life.wrapping_add(1);
    }

    fn resources(
        &mut self,
        entry: &'static str,
        threads: u32,
        dynamic_shared: u32,
    ) -> Result<Resources, DeviceError> {
        let function = self.function(entry)?;
        self.block_resources(entry, function, threads, dynamic_shared)
    }

    fn launch(&mut self, launch: &Prepared) -> Result<Launched, DeviceError> {
        let geometry = launch.geometry();
        self.resources(
            launch.entry(),
            geometry.threads(),
            geometry.dynamic_shared(),
        )?;
        let start = Instant::now();
        self.enqueue(launch)?;
        self.stream
            .synchronize()
            .map_err(|error| self.launch_error(launch, words(error)))?;
        Ok(Launched {
            seconds: start.elapsed().as_secs_f64(),
            outcome: None,
        })
    }

    fn time(
        &mut self,
        launches: &[Prepared],
        warm_up: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        for launch in launches {
            let geometry = launch.geometry();
            self.resources(
                launch.entry(),
                geometry.threads(),
                geometry.dynamic_shared(),
            )?;
        }
        self.samples(warm_up, samples, |device| {
            launches
                .iter()
                .try_for_each(|launch| device.enqueue(launch))
        })
    }

    fn time_copy(
        &mut self,
        to: &Buffer,
        from: &Buffer,
        warm_up: usize,
        samples: usize,
    ) -> Result<Option<Samples>, DeviceError> {
        check_buffer(&self.description, self.life, to, 0, from.bytes as usize)?;
        check_buffer(&self.description, self.life, from, 0, 0)?;
        CurrentContext::synchronize().map_err(self.failed("earlier work did not end"))?;
        let (to, from) = (*to, *from);
        self.samples(warm_up, samples, |device| {
            // SAFETY: both buffers are alive and hold as many bytes.
            checked(unsafe {
                sys::cuMemcpyDtoDAsync_v2(
                    to.address,
                    from.address,
                    from.bytes as usize,
                    device.stream.as_inner(),
                )
            })
            .map_err(device.refused("memory cannot be copied"))
        })
    }
}

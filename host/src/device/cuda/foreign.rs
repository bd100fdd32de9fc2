//! Any PTX on a CUDA device, as its author wrote it: nothing of it is in our catalogue, and it may never end.

use std::ffi::{CString, c_void};
use std::time::{Duration, Instant};

use cust::event::{Event, EventFlags, EventStatus};
use cust::memory::DeviceBuffer;
use cust::sys::{self, CUfunction_attribute};

use super::{Cuda, checked, words};
use crate::device::{Buffer, DeviceError};
use crate::driver::launch::{self, Shape};

/// How often a running kernel is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// Dynamic shared memory that a launch may have without asking for it.
const UNASKED: u32 = 48 << 10;

/// A launch of PTX that is not ours.
#[derive(Clone, Copy, Debug)]
pub struct Foreign<'a> {
    /// The whole module.
    pub text: &'a str,
    /// The entry to launch.
    pub entry: &'a str,
    /// Grid, block, cluster and dynamic shared memory.
    pub shape: Shape,
    /// One blob a parameter, of the sizes that the entry declares.
    pub params: &'a [Vec<u8>],
}

/// How a launch ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ended {
    /// By itself, after so many milliseconds.
    Done(f64),
    /// Not within the limit; the device is still at it, and [`abandon`] is the way out.
    Running,
}

impl Cuda {
    /// Memory that nobody has written, so that a tool which watches the device sees reads of it.
    ///
    /// # Errors
    /// When the device has not so much left.
    pub fn allocate_unwritten(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        let no_memory = |reason: String| DeviceError::Memory {
            device: self.description.id.clone(),
            bytes,
            reason,
        };
        // Asked before, because an allocation that fails can take seconds.
        let (free, _) = cust::memory::mem_get_info().map_err(|error| no_memory(words(error)))?;
        if bytes > free as u64 {
            return Err(no_memory(format!("{free} B are free")));
        }
        // The driver refuses an empty allocation; an empty buffer still has an address.
        // SAFETY: any byte is a valid `u8`, and what the host reads before anybody wrote it is only printed.
        let memory = unsafe { DeviceBuffer::<u8>::uninitialized(bytes.max(1) as usize) }
            .map_err(|error| no_memory(words(error)))?;
        let buffer = Buffer {
            address: memory.as_device_ptr().as_raw(),
            bytes,
            life: self.life,
        };
        self.buffers.push(memory);
        Ok(buffer)
    }

    /// Compiles and launches, and watches for at most `limit`.
    ///
    /// # Errors
    /// [`DeviceError::Load`] when the driver's compiler refuses the text, [`DeviceError::Launch`] when the kernel fails.
    pub fn launch_foreign(
        &mut self,
        launch: &Foreign<'_>,
        limit: Duration,
    ) -> Result<Ended, DeviceError> {
        let Foreign { entry, shape, .. } = *launch;
        let text = CString::new(launch.text)
            .map_err(|_| self.load_error(entry, "it holds a zero byte".to_owned()))?;
        let module = self.compile(entry, &text)?;
        let function = module
            .get_function(entry)
            .map_err(|error| self.load_error(entry, words(error)))?
            .to_raw();
        if shape.dynamic_shared > UNASKED {
            // SAFETY: the function is loaded.
            let asked = unsafe {
                sys::cuFuncSetAttribute(
                    function,
                    CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                    shape.dynamic_shared as i32,
                )
            };
            checked(asked).map_err(|reason| self.load_error(entry, reason))?;
        }
        let failed = |device: &Self, reason: String| DeviceError::Launch {
            device: device.description.id.clone(),
            entry: entry.to_owned(),
            reason,
        };
        let event = || Event::new(EventFlags::DEFAULT);
        let (start, end) = event()
            .and_then(|start| Ok((start, event()?)))
            .map_err(self.failed("no event can be made"))?;
        let mut params: Vec<*mut c_void> = launch
            .params
            .iter()
            .map(|blob| blob.as_ptr().cast_mut().cast())
            .collect();
        start
            .record(&self.stream)
            .map_err(self.failed("an event cannot be recorded"))?;
        // SAFETY: the function is loaded, the caller gives one blob a parameter of the size that the entry's declaration gives it,
        // and the driver copies the parameters before it returns.
        let launched = unsafe {
            launch::launch(
                function,
                &shape,
                self.stream.as_inner(),
                params.as_mut_ptr(),
            )
        };
        checked(launched).map_err(|reason| failed(self, reason))?;
        end.record(&self.stream)
            .map_err(self.failed("an event cannot be recorded"))?;
        let begun = Instant::now();
        loop {
            match end.query() {
                Ok(EventStatus::Ready) => break,
                Ok(EventStatus::NotReady) if begun.elapsed() > limit => {
                    // Unloading the module would wait for the kernel.
                    std::mem::forget(module);
                    return Ok(Ended::Running);
                }
                Ok(EventStatus::NotReady) => std::thread::sleep(LOOK),
                Err(error) => return Err(failed(self, words(error))),
            }
        }
        // What the kernel printed comes out when its stream is waited for.
        self.stream
            .synchronize()
            .map_err(|error| failed(self, words(error)))?;
        let milliseconds = end
            .elapsed_time_f32(&start)
            .map_err(self.failed("a time cannot be read"))?;
        Ok(Ended::Done(f64::from(milliseconds)))
    }
}

/// Ends the process at once. The driver's own clean-up would wait for a kernel that never ends; the system's takes it off the device.
pub fn abandon(code: i32) -> ! {
    // SAFETY: nothing runs after it, and whoever calls it has flushed what it wrote.
    unsafe { libc::_exit(code) }
}

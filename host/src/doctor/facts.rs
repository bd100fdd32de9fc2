//! What the machine says of itself.

use std::path::Path;

use nstage_builder::BuildError;
use nstage_builder::compiler::Compiler;

use super::State;
use crate::ptx::version::Version;
use crate::ptx::{Built, PtxSet};
use crate::tools;

/// A CUDA device.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// As in `cuda:0`.
    pub id: String,
    /// Its number.
    pub index: u32,
    /// Its product name.
    pub name: String,
    /// Ten times the compute capability.
    pub capability: u32,
    /// The newest PTX version of which the driver compiled an empty kernel for it, or why it compiled none.
    pub accepts: Result<Version, String>,
}

/// A tool of NVIDIA's.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its program.
    pub name: &'static str,
    /// Who needs it.
    pub what_for: &'static str,
    /// How it is had.
    pub remedy: &'static str,
    /// Its path and release, or what is wrong with it; `None` where it is not there.
    pub found: Option<Result<(String, String), String>>,
}

/// All that is judged.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Kernels in this program, or why there are none.
    pub built: Result<Vec<Built>, String>,
    /// The device compiler; else what was looked at, and what mends it.
    pub compiler: Result<String, (String, String)>,
    /// The driver's CUDA release.
    pub driver_release: Option<(i32, i32)>,
    /// Devices; else what is wrong, and how badly.
    pub gpus: Result<Vec<Gpu>, (String, State)>,
    /// NVIDIA's tools.
    pub tools: Vec<Tool>,
}

/// Program, who needs it, how it is had. The release in PyPI's names is the one that the tests use.
const TOOLS: &[(&str, &str, &str)] = &[
    (
        "ptxas",
        "registers and occupancy in inspect; the tests",
        "`cargo xtask setup --cuda-tools` in this repository, or `pip install nvidia-cuda-nvcc` and NSTAGE_CUDA_BIN=…/nvidia/cu13/bin",
    ),
    (
        "cuobjdump",
        "SASS in inspect; the tests",
        "`cargo xtask setup --cuda-tools` in this repository, or `pip install nvidia-cuda-cuobjdump` and NSTAGE_CUDA_BIN=…/nvidia/cu13/bin",
    ),
    (
        "nvcc",
        "the CUDA C++ peers of bench",
        "`cargo xtask setup --cuda-tools` in this repository, or install NVIDIA's CUDA toolkit",
    ),
    (
        "compute-sanitizer",
        "comparisons with the checker, on a GPU",
        "install NVIDIA's CUDA toolkit",
    ),
    (
        "ncu",
        "profiles of what a kernel stalls on, on a GPU",
        "install NVIDIA's CUDA toolkit or Nsight Compute",
    ),
];

impl Facts {
    /// Asks the machine. Slow where the driver is: it opens every device.
    pub fn gather() -> Self {
        let (driver_release, gpus) = cuda::gpus();
        Self {
            built: built(),
            compiler: compiler(),
            driver_release,
            gpus,
            tools: TOOLS.iter().map(look_for).collect(),
        }
    }
}

fn built() -> Result<Vec<Built>, String> {
    let set = PtxSet::embedded().map_err(|error| error.to_string())?;
    set.contents().map_err(|error| error.to_string())
}

fn compiler() -> Result<String, (String, String)> {
    // Where the program is run decides which toolchain is active, as for a build there.
    match Compiler::find(Path::new(".")) {
        Ok(compiler) => Ok(compiler.to_string()),
        Err(BuildError::NoCompiler { looked, remedy }) => {
            let each: Vec<String> = looked
                .iter()
                .map(|one| format!("{} {}", one.what, one.why))
                .collect();
            Err((each.join("; "), remedy))
        }
        Err(other) => Err((other.to_string(), "mend what it names".to_owned())),
    }
}

fn look_for(&(name, what_for, remedy): &(&'static str, &'static str, &'static str)) -> Tool {
    let found = tools::find(name).map(|path| {
        let shown = path.display().to_string();
        match tools::release(&path) {
            Ok(release) => Ok((shown, release)),
            Err(why) => Err(format!("{shown}: {why}")),
        }
    });
    Tool {
        name,
        what_for,
        remedy,
        found,
    }
}

/// The driver's CUDA release, and its devices or what is wrong.
type Found = (Option<(i32, i32)>, Result<Vec<Gpu>, (String, State)>);

#[cfg(feature = "cuda")]
mod cuda {
    use std::ffi::CString;

    use cust::CudaApiVersion;
    use cust::context::Context;
    use cust::device::Device;
    use cust::error::CudaError;
    use cust::module::Module;

    use super::{Found, Gpu, State, Version};
    use crate::driver;
    use crate::ptx::version;

    /// The driver's release and its devices.
    pub(super) fn gpus() -> Found {
        if let Err(missing) = driver::library() {
            let state = match missing {
                driver::DriverMissing::NotFound { .. } => State::Missing,
                driver::DriverMissing::Unloadable { .. } => State::Broken,
            };
            return (None, Err((missing.to_string(), state)));
        }
        let listed = crate::device::cuda::list();
        let release = CudaApiVersion::get()
            .ok()
            .map(|release| (release.major(), release.minor()));
        let gpus = listed
            .map(|devices| {
                let each = (0..).zip(&devices);
                each.map(|(index, (description, _))| Gpu {
                    id: description.id.clone(),
                    index,
                    name: description.name.clone(),
                    capability: description.capability,
                    accepts: newest_accepted(index),
                })
                .collect()
            })
            .map_err(|error| (error.to_string(), State::Broken));
        (release, gpus)
    }

    /// Has the driver compile an empty kernel, from the newest PTX version on.
    fn newest_accepted(index: u32) -> Result<Version, String> {
        let words = |error: CudaError| driver::error::describe_cust(error);
        let device = Device::get_device(index).map_err(words)?;
        let _context = Context::new(device).map_err(words)?;
        let mut last = String::new();
        for (major, minor) in version::newest_first() {
            let text = format!(
                ".version {major}.{minor}\n.target sm_80\n.address_size 64\n.visible .entry nothing()\n{{\n    ret;\n}}\n"
            );
            let text = CString::new(text).expect("the text has no zero");
            match Module::from_ptx_cstr(&text, &[]) {
                Ok(_) => return Ok((major, minor)),
                Err(error) => last = words(error),
            }
        }
        Err(format!("compiles no PTX version at all: {last}"))
    }
}

#[cfg(not(feature = "cuda"))]
mod cuda {
    use super::{Found, State};

    /// Nothing is known of a driver.
    pub(super) fn gpus() -> Found {
        let reason = "this nstage was built without the feature cuda".to_owned();
        (None, Err((reason, State::Missing)))
    }
}

//! `libcuda.so.1`, opened on first use.
//!
//! Three floors: this module finds the library, [`table`] declares its functions under their own names, and `cust` above gives them owners and checked errors.
//! `cust` was written to link against the driver; because [`table`] defines every name that it refers to, nothing is linked and one program serves machines with and without a driver.

pub mod error;
pub mod launch;
pub mod table;
pub mod tensor;

use std::ffi::c_int;
use std::sync::OnceLock;

use cust::sys::CUresult;
use libloading::Library;

/// Names a library file to use instead of the usual ones.
pub const LIBRARY_VARIABLE: &str = "NSTAGE_LIBCUDA";

/// Where the driver's library is looked for: the loader's own search first, then folders that containers and WSL leave out of it.
const USUAL_NAMES: &[&str] = &[
    "libcuda.so.1",
    "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
    "/usr/lib/aarch64-linux-gnu/libcuda.so.1",
    "/usr/lib64/libcuda.so.1",
    "/usr/lib/wsl/lib/libcuda.so.1",
    "/usr/local/nvidia/lib64/libcuda.so.1",
];

/// Why there is no driver.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
pub enum DriverMissing {
    /// No such file anywhere.
    #[error("no CUDA driver: {first} not found (tried {}); install the NVIDIA driver or set {LIBRARY_VARIABLE} to its library", tried.join(", "))]
    NotFound {
        /// What the loader was asked for first.
        first: String,
        /// Every name tried.
        tried: Vec<String>,
    },
    /// A file was there, but the loader refused it.
    #[error(
        "no CUDA driver: {name} cannot be loaded: {reason}; set {LIBRARY_VARIABLE} to the library of a working NVIDIA driver"
    )]
    Unloadable {
        /// The file.
        name: String,
        /// What the loader said.
        reason: String,
    },
}

/// The driver's library; the same answer for the life of the process.
pub fn library() -> Result<&'static Library, DriverMissing> {
    static LIBRARY: OnceLock<Result<Library, DriverMissing>> = OnceLock::new();
    LIBRARY
        .get_or_init(|| match std::env::var(LIBRARY_VARIABLE) {
            Ok(name) if !name.is_empty() => open(&[&name]),
            _ => open(USUAL_NAMES),
        })
        .as_ref()
        .map_err(Clone::clone)
}

/// Opens the first of `names` that the loader accepts.
fn open(names: &[&str]) -> Result<Library, DriverMissing> {
    let mut refused = None;
    for &name in names {
        // SAFETY: loading runs the library's initialisers; the names are the NVIDIA driver's, or the user's own choice.
        match unsafe { Library::new(name) } {
            Ok(library) => return Ok(library),
            Err(error) => {
                let reason = reason_of(&error);
                if !reason.contains("No such file") {
                    refused.get_or_insert((name, reason));
                }
            }
        }
    }
    Err(match refused {
        Some((name, reason)) => DriverMissing::Unloadable {
            name: name.to_owned(),
            reason,
        },
        None => DriverMissing::NotFound {
            first: names.first().copied().unwrap_or_default().to_owned(),
            tried: names.iter().map(|&name| name.to_owned()).collect(),
        },
    })
}

/// The loader's own words; `libloading` keeps them as the source of its error.
fn reason_of(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The driver's function `name`, or `None` without a driver or with one too old to have it.
///
/// # Safety
/// `F` must be the function pointer type of `name`.
unsafe fn resolve<F: Copy + 'static>(name: &str) -> Option<F> {
    let library = library().ok()?;
    // SAFETY: the caller vouches for the type; the library stays loaded for the life of the process.
    unsafe { library.get::<F>(name) }.ok().map(|symbol| *symbol)
}

/// Turns what the driver returned into `cust`'s enum, whose values a newer driver may exceed.
fn forward_result(code: Option<c_int>) -> CUresult {
    match code {
        Some(code) => error::result_from_code(code),
        None if library().is_ok() => CUresult::CUDA_ERROR_NOT_FOUND,
        None => CUresult::CUDA_ERROR_NO_DEVICE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_lists_every_name_tried() {
        let error = open(&["libnstage-none.so.1", "/nonexistent/libcuda.so.1"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no CUDA driver: libnstage-none.so.1 not found (tried libnstage-none.so.1, /nonexistent/libcuda.so.1); \
             install the NVIDIA driver or set NSTAGE_LIBCUDA to its library"
        );
    }

    #[test]
    fn a_file_that_is_no_library_is_not_reported_as_missing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "not an ELF file").unwrap();
        let name = file.path().to_str().unwrap();
        let error = open(&["libnstage-none.so.1", name]).unwrap_err();
        assert!(
            matches!(&error, DriverMissing::Unloadable { name: refused, .. } if refused == name),
            "{error}"
        );
    }
}

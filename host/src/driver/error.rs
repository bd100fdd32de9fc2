//! The driver's result codes: into `cust`'s enum, and into words when there is no driver to ask.

use std::ffi::{CStr, c_char, c_int};

use cust::sys::CUresult;

use super::resolve;

/// Every code that `cust`'s enum can hold and that a driver call can return, with its name.
macro_rules! codes {
    ($($name:ident),* $(,)?) => {
        /// The enum's value for `code`; `CUDA_ERROR_UNKNOWN` for one that a newer driver has added.
        ///
        /// A Rust enum must never hold a number that it has no variant for, and drivers keep adding codes.
        pub(super) fn result_from_code(code: c_int) -> CUresult {
            match code {
                $( code if code == CUresult::$name as c_int => CUresult::$name, )*
                _ => CUresult::CUDA_ERROR_UNKNOWN,
            }
        }

        /// The code's name as cuda.h spells it.
        fn name_of(code: CUresult) -> &'static CStr {
            match code {
                $( CUresult::$name => {
                    // The macro adds the terminator, so the conversion cannot fail.
                    const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => c"",
                    };
                    NAME
                } )*
                _ => c"CUDA_ERROR_UNKNOWN",
            }
        }
    };
}

codes! {
    CUDA_SUCCESS,
    CUDA_ERROR_INVALID_VALUE,
    CUDA_ERROR_OUT_OF_MEMORY,
    CUDA_ERROR_NOT_INITIALIZED,
    CUDA_ERROR_DEINITIALIZED,
    CUDA_ERROR_PROFILER_DISABLED,
    CUDA_ERROR_PROFILER_NOT_INITIALIZED,
    CUDA_ERROR_PROFILER_ALREADY_STARTED,
    CUDA_ERROR_PROFILER_ALREADY_STOPPED,
    CUDA_ERROR_STUB_LIBRARY,
    CUDA_ERROR_NO_DEVICE,
    CUDA_ERROR_INVALID_DEVICE,
    CUDA_ERROR_DEVICE_NOT_LICENSED,
    CUDA_ERROR_INVALID_IMAGE,
    CUDA_ERROR_INVALID_CONTEXT,
    CUDA_ERROR_CONTEXT_ALREADY_CURRENT,
    CUDA_ERROR_MAP_FAILED,
    CUDA_ERROR_UNMAP_FAILED,
    CUDA_ERROR_ARRAY_IS_MAPPED,
    CUDA_ERROR_ALREADY_MAPPED,
    CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUDA_ERROR_ALREADY_ACQUIRED,
    CUDA_ERROR_NOT_MAPPED,
    CUDA_ERROR_NOT_MAPPED_AS_ARRAY,
    CUDA_ERROR_NOT_MAPPED_AS_POINTER,
    CUDA_ERROR_ECC_UNCORRECTABLE,
    CUDA_ERROR_UNSUPPORTED_LIMIT,
    CUDA_ERROR_CONTEXT_ALREADY_IN_USE,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
    CUDA_ERROR_INVALID_PTX,
    CUDA_ERROR_INVALID_GRAPHICS_CONTEXT,
    CUDA_ERROR_NVLINK_UNCORRECTABLE,
    CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
    CUDA_ERROR_JIT_COMPILATION_DISABLED,
    CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
    CUDA_ERROR_INVALID_SOURCE,
    CUDA_ERROR_FILE_NOT_FOUND,
    CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
    CUDA_ERROR_SHARED_OBJECT_INIT_FAILED,
    CUDA_ERROR_OPERATING_SYSTEM,
    CUDA_ERROR_INVALID_HANDLE,
    CUDA_ERROR_ILLEGAL_STATE,
    CUDA_ERROR_NOT_FOUND,
    CUDA_ERROR_NOT_READY,
    CUDA_ERROR_ILLEGAL_ADDRESS,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    CUDA_ERROR_LAUNCH_TIMEOUT,
    CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
    CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE,
    CUDA_ERROR_CONTEXT_IS_DESTROYED,
    CUDA_ERROR_ASSERT,
    CUDA_ERROR_TOO_MANY_PEERS,
    CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
    CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
    CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUDA_ERROR_MISALIGNED_ADDRESS,
    CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUDA_ERROR_INVALID_PC,
    CUDA_ERROR_LAUNCH_FAILED,
    CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
    CUDA_ERROR_NOT_PERMITTED,
    CUDA_ERROR_NOT_SUPPORTED,
    CUDA_ERROR_SYSTEM_NOT_READY,
    CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
    CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE,
    CUDA_ERROR_MPS_CONNECTION_FAILED,
    CUDA_ERROR_MPS_RPC_FAILURE,
    CUDA_ERROR_MPS_SERVER_NOT_READY,
    CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
    CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUDA_ERROR_STREAM_CAPTURE_MERGE,
    CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
    CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
    CUDA_ERROR_CAPTURED_EVENT,
    CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
    CUDA_ERROR_TIMEOUT,
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
    CUDA_ERROR_EXTERNAL_DEVICE,
}

/// What the code means, where no driver is there to say it.
fn meaning_of(code: CUresult) -> &'static CStr {
    match code {
        CUresult::CUDA_SUCCESS => c"no error",
        CUresult::CUDA_ERROR_NO_DEVICE => c"no CUDA driver or no CUDA device",
        CUresult::CUDA_ERROR_NOT_INITIALIZED => c"the CUDA driver is not initialised",
        CUresult::CUDA_ERROR_NOT_FOUND => c"this CUDA driver has no such function",
        other => name_of(other),
    }
}

/// `no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)`.
pub fn describe(code: CUresult) -> String {
    let read = |function: unsafe extern "C" fn(CUresult, *mut *const c_char) -> CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: `text` is valid for writing; both functions below write a string that lives for ever.
        unsafe { function(code, &mut text) };
        if text.is_null() {
            return String::new();
        }
        // SAFETY: as above.
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    };
    format!("{} ({})", read(cuGetErrorString), read(cuGetErrorName))
}

/// As [`describe`], for an error that `cust` made of a code; the numbers are the same.
pub fn describe_cust(error: cust::error::CudaError) -> String {
    describe(result_from_code(error as c_int))
}

type ErrorText = unsafe extern "C" fn(c_int, *mut *const c_char) -> c_int;

/// The text of an error, from the driver if there is one and from here otherwise.
///
/// `cust` asks for it whenever an error is printed and panics when it gets none, so this one always answers.
///
/// # Safety
/// `text` must be null or valid for writing a pointer.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the driver's own name")]
pub unsafe extern "C" fn cuGetErrorString(code: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: passed on from the caller.
    unsafe { answer("cuGetErrorString", code, text, meaning_of(code)) }
}

/// The name of an error, `CUDA_ERROR_NO_DEVICE`; from here when there is no driver.
///
/// # Safety
/// As [`cuGetErrorString`].
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the driver's own name")]
pub unsafe extern "C" fn cuGetErrorName(code: CUresult, text: *mut *const c_char) -> CUresult {
    // SAFETY: passed on from the caller.
    unsafe { answer("cuGetErrorName", code, text, name_of(code)) }
}

/// # Safety
/// `text` must be null or valid for writing a pointer; `function` must be one of the driver's two error-text functions.
unsafe fn answer(
    function: &str,
    code: CUresult,
    text: *mut *const c_char,
    own: &'static CStr,
) -> CUresult {
    if text.is_null() {
        return CUresult::CUDA_ERROR_INVALID_VALUE;
    }
    // SAFETY: both functions have this signature.
    if let Some(function) = unsafe { resolve::<ErrorText>(function) } {
        // SAFETY: `text` is valid for writing.
        let result = unsafe { function(code as c_int, text) };
        // SAFETY: as above; the driver writes a pointer or null.
        if result == 0 && !unsafe { *text }.is_null() {
            return CUresult::CUDA_SUCCESS;
        }
    }
    // SAFETY: `text` is valid for writing, and `own` lives for ever.
    unsafe { *text = own.as_ptr() };
    CUresult::CUDA_SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_survive_and_unknown_ones_become_unknown() {
        for (code, expected) in [
            (0, CUresult::CUDA_SUCCESS),
            (100, CUresult::CUDA_ERROR_NO_DEVICE),
            (719, CUresult::CUDA_ERROR_LAUNCH_FAILED),
            (912, CUresult::CUDA_ERROR_UNKNOWN),
            (-7, CUresult::CUDA_ERROR_UNKNOWN),
        ] {
            assert_eq!(result_from_code(code), expected, "code {code}");
        }
    }

    #[test]
    fn a_code_is_described_with_its_name() {
        let text = describe_cust(cust::error::CudaError::IllegalAddress);
        assert!(text.ends_with(" (CUDA_ERROR_ILLEGAL_ADDRESS)"), "{text}");
    }

    #[test]
    fn every_error_prints() {
        for error in [
            cust::error::CudaError::NoDevice,
            cust::error::CudaError::LaunchFailed,
            cust::error::CudaError::UnknownError,
        ] {
            assert!(!error.to_string().is_empty());
        }
    }
}

//! What `--device` takes, and why it may not be had.

use std::fmt;
use std::str::FromStr;

use super::DeviceError;

/// What `--device` asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Request {
    /// A CUDA device if one works, the simulator otherwise.
    #[default]
    Auto,
    /// The CUDA device of this index.
    Cuda(u32),
    /// The simulator.
    Simulator,
}

/// A device name that does not exist.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("no device is called so; pass auto, cuda, cuda:INDEX or sim")]
pub struct UnknownDevice;

impl FromStr for Request {
    type Err = UnknownDevice;

    fn from_str(text: &str) -> Result<Self, UnknownDevice> {
        match text {
            "auto" => Ok(Self::Auto),
            "cuda" => Ok(Self::Cuda(0)),
            "sim" => Ok(Self::Simulator),
            _ => {
                let index = text.strip_prefix("cuda:").ok_or(UnknownDevice)?;
                index.parse().map(Self::Cuda).map_err(|_| UnknownDevice)
            }
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
            Self::Simulator => f.write_str("sim"),
        }
    }
}

/// Why the device asked for cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum SelectError {
    #[error("{0}")]
    NoCuda(String),
    #[error("cuda:{index}: no such device, {}", present(*count))]
    NoSuchDevice { index: u32, count: u32 },
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// What is there instead of the device asked for.
fn present(count: u32) -> String {
    match count {
        0 => "the driver finds none".to_owned(),
        1 => "the driver finds one, cuda:0".to_owned(),
        several => format!("the driver finds {several}, cuda:0 to cuda:{}", several - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names() {
        for (text, expected) in [
            ("auto", Ok(Request::Auto)),
            ("cuda", Ok(Request::Cuda(0))),
            ("cuda:3", Ok(Request::Cuda(3))),
            ("sim", Ok(Request::Simulator)),
            ("gpu", Err(UnknownDevice)),
            ("cuda:", Err(UnknownDevice)),
            ("cuda:-1", Err(UnknownDevice)),
            ("", Err(UnknownDevice)),
        ] {
            assert_eq!(text.parse::<Request>(), expected, "{text}");
        }
    }
}

//! Files in and out: `.npy` arrays and PNG images.
//!
//! Kernels compute in `f32`, so every input becomes an [`Array`] of `f32`; where that changes what the file held, a [`notice`](Loaded::notices) says so.
//! Outputs are written beside their destination and renamed over it, so that no reader ever sees half a file.

pub mod npy;
pub mod output;
pub mod png;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub use output::{Output, OutputError};

/// A dense array in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Extents, outermost first.
    pub shape: Vec<usize>,
    /// The elements, `shape`'s product of them.
    pub values: Vec<f32>,
    /// Bits of a sample where the array came from an image; decides what an image output holds.
    pub image_bits: Option<u8>,
}

impl Array {
    /// A one-dimensional array.
    pub fn line(values: Vec<f32>) -> Self {
        Self {
            shape: vec![values.len()],
            values,
            image_bits: None,
        }
    }

    /// The shape as people write it, `512 × 512`.
    pub fn shape_text(&self) -> String {
        shape_text(&self.shape)
    }
}

/// `512 × 512`, or `scalar` for no dimensions.
pub(crate) fn shape_text<N: std::fmt::Display>(shape: &[N]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    extents.join(" × ")
}

/// A file read, and what was changed on the way in.
#[derive(Debug)]
pub struct Loaded {
    /// The elements.
    pub array: Array,
    /// What the user should know: conversions to `f32`, colours reduced to luma.
    pub notices: Vec<String>,
}

/// Why an input cannot be used. Every message starts with the file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum InputError {
    #[error("{}: no such file; check the path given to --input", path.display())]
    Missing { path: PathBuf },
    #[error("{}: is a directory; name a .npy or .png file in it", path.display())]
    Directory { path: PathBuf },
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: is empty (0 bytes); write it again with numpy.save", path.display())]
    Empty { path: PathBuf },
    #[error("{}: neither a .npy array nor a PNG image; save it with numpy.save or as .png", path.display())]
    UnknownFormat { path: PathBuf },
    #[error("{}: its .npy header cannot be read: {reason}; write it again with numpy.save", path.display())]
    Header { path: PathBuf, reason: String },
    #[error("{}: is truncated: {shape} elements of {dtype} take {expected} bytes, {found} are there; write it again with numpy.save", path.display())]
    Truncated {
        path: PathBuf,
        shape: String,
        dtype: String,
        expected: u64,
        found: u64,
    },
    #[error("{}: holds {dtype}, not numbers that a kernel can take; convert it with array.astype(numpy.float32)", path.display())]
    Dtype { path: PathBuf, dtype: String },
    #[error("{}: is in Fortran order; save numpy.ascontiguousarray(array)", path.display())]
    FortranOrder { path: PathBuf },
    #[error("{}: has {dimensions} dimensions ({shape}), at most 2 are taken; save one plane of it", path.display())]
    Dimensions {
        path: PathBuf,
        dimensions: usize,
        shape: String,
    },
    #[error("{}: {elements} elements are more than a kernel indexes, at most {most}; save a part of it", path.display())]
    TooLarge {
        path: PathBuf,
        elements: u64,
        most: u64,
    },
    #[error("{}: its PNG image cannot be decoded: {reason}; save it again", path.display())]
    Png { path: PathBuf, reason: String },
}

/// Reads a `.npy` array or a PNG image; the file's first bytes decide which it is.
pub fn read(path: &Path) -> Result<Loaded, InputError> {
    let (mut file, length) = open(path)?;
    let mut magic = [0; 8];
    let known = length.min(8) as usize;
    file.read_exact(&mut magic[..known])
        .map_err(|source| unreadable(path, source))?;
    drop(file);
    if magic[..known].starts_with(b"\x93NUMPY") {
        npy::read(path)
    } else if magic == *b"\x89PNG\r\n\x1a\n" {
        png::read(path)
    } else {
        Err(InputError::UnknownFormat { path: path.into() })
    }
}

/// Opens a file that must be a non-empty regular one.
fn open(path: &Path) -> Result<(File, u64), InputError> {
    let metadata = std::fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => InputError::Missing { path: path.into() },
        _ => unreadable(path, source),
    })?;
    if metadata.is_dir() {
        return Err(InputError::Directory { path: path.into() });
    }
    if metadata.len() == 0 {
        return Err(InputError::Empty { path: path.into() });
    }
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    Ok((file, metadata.len()))
}

fn unreadable(path: &Path, source: std::io::Error) -> InputError {
    InputError::Unreadable {
        path: path.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_array_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("notes.txt");
        std::fs::write(&text, "hi").unwrap();
        let empty = folder.path().join("empty.npy");
        std::fs::write(&empty, "").unwrap();
        for (path, expected) in [
            (folder.path().join("none.npy"), "no such file"),
            (folder.path().to_path_buf(), "is a directory"),
            (empty, "is empty"),
            (text, "neither a .npy array nor a PNG image"),
        ] {
            let message = read(&path).unwrap_err().to_string();
            assert!(
                message.starts_with(&path.display().to_string()) && message.contains(expected),
                "{message}"
            );
        }
    }
}

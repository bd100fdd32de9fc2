//! Output files that appear whole or not at all.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use super::{Array, npy, png};

/// What an output file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A float32 array.
    Npy,
    /// A grey image.
    Png,
    /// Whatever its writer writes; only asked for by [`Output::claim_text`].
    Text,
}

impl Format {
    /// Decides by the file's extension.
    pub fn of(path: &Path) -> Result<Self, OutputError> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("npy") => Ok(Self::Npy),
            Some("png") => Ok(Self::Png),
            _ => Err(OutputError::UnknownFormat { path: path.into() }),
        }
    }
}

/// Why an output cannot be written. Every message starts with the file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum OutputError {
    #[error("{}: unknown output format; end the name in .npy or .png", path.display())]
    UnknownFormat { path: PathBuf },
    #[error("{}: is a directory; name a file in it", path.display())]
    Directory { path: PathBuf },
    #[error("{}: is read-only; make it writable or name another file", path.display())]
    ReadOnly { path: PathBuf },
    #[error("{}: cannot be written: {source}; name a file in a folder that exists and that you may write to", path.display())]
    Unwritable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{}: an image has 2 dimensions, this output has {dimensions}; end the name in .npy", path.display())]
    NotAnImage { path: PathBuf, dimensions: usize },
}

/// A destination that is known to be writable and not yet touched.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    format: Format,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    /// Beside the destination, renamed over it at the end and removed if that never comes.
    Beside {
        file: File,
        temporary: TempPath,
        destination: PathBuf,
    },
    /// A device or a pipe, which renaming would destroy.
    Direct(File),
}

impl Output {
    /// Claims `path` before the work starts, so that a typing error costs no run.
    pub fn claim(path: &Path) -> Result<Self, OutputError> {
        Self::claim_as(path, Format::of(path)?)
    }

    /// Claims `path` for a text, whatever its name.
    pub fn claim_text(path: &Path) -> Result<Self, OutputError> {
        Self::claim_as(path, Format::Text)
    }

    fn claim_as(path: &Path, format: Format) -> Result<Self, OutputError> {
        let unwritable = |source| OutputError::Unwritable {
            path: path.into(),
            source,
        };
        // A link stays a link: what it points to is replaced.
        let destination = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let sink = match std::fs::metadata(&destination) {
            Ok(metadata) if metadata.is_dir() => {
                return Err(OutputError::Directory { path: path.into() });
            }
            Ok(metadata) if metadata.permissions().readonly() => {
                return Err(OutputError::ReadOnly { path: path.into() });
            }
            Ok(metadata) if !metadata.is_file() => Sink::Direct(
                OpenOptions::new()
                    .write(true)
                    .open(&destination)
                    .map_err(unwritable)?,
            ),
            // The kind alone: the error's own text names the temporary file.
            existing => beside(destination, existing.ok().as_ref())
                .map_err(|error| unwritable(error.kind().into()))?,
        };
        Ok(Self {
            path: path.into(),
            format,
            sink,
        })
    }

    /// What the file will hold.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Refuses a shape that the format cannot hold; asked before the work starts.
    pub fn accept_dimensions(&self, dimensions: usize) -> Result<(), OutputError> {
        if self.format == Format::Png && dimensions != 2 {
            return Err(OutputError::NotAnImage {
                path: self.path.clone(),
                dimensions,
            });
        }
        Ok(())
    }

    /// Writes the array and puts the file in its place.
    pub fn write(self, array: &Array) -> Result<(), OutputError> {
        let format = self.format;
        self.write_with(|sink| match format {
            Format::Npy => npy::write(&array.shape, &array.values, sink),
            Format::Png => png::write(array, sink),
            Format::Text => Err(std::io::ErrorKind::Unsupported.into()),
        })
    }

    /// Has `encode` write the file and puts it in its place.
    pub fn write_with(
        self,
        encode: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<(), OutputError> {
        let Self { path, sink, .. } = self;
        let unwritable = |source| OutputError::Unwritable { path, source };
        let fill = |file: &File| -> std::io::Result<()> {
            let mut sink = BufWriter::new(file);
            encode(&mut sink)?;
            sink.flush()
        };
        match sink {
            Sink::Direct(file) => fill(&file).map_err(unwritable),
            Sink::Beside {
                file,
                temporary,
                destination,
            } => fill(&file)
                .and_then(|()| temporary.persist(destination).map_err(|error| error.error))
                .map_err(unwritable),
        }
    }
}

/// A temporary file in the destination's folder, with the permissions that the destination has or would get.
fn beside(destination: PathBuf, existing: Option<&Metadata>) -> std::io::Result<Sink> {
    let folder = match destination.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".nstage-");
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    let temporary: NamedTempFile = builder.tempfile_in(folder)?;
    if let Some(existing) = existing {
        temporary
            .as_file()
            .set_permissions(existing.permissions())?;
    }
    let (file, temporary) = temporary.into_parts();
    Ok(Sink::Beside {
        file,
        temporary,
        destination,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn nothing_appears_until_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.npy");
        let output = Output::claim(&path).unwrap();
        assert!(!path.exists());
        output.write(&Array::line(vec![1.0, 2.0])).unwrap();
        assert_eq!(super::super::read(&path).unwrap().array.values, [1.0, 2.0]);
        assert_eq!(names_in(folder.path()), ["y.npy"]);
    }

    #[test]
    fn an_output_that_is_given_up_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.npy");
        std::fs::write(&path, "old").unwrap();
        drop(Output::claim(&path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(names_in(folder.path()), ["y.npy"]);
    }

    #[test]
    fn a_destination_that_cannot_be_written_is_refused_when_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let inside = |name: &str| folder.path().join(name);
        std::fs::create_dir(inside("d.npy")).unwrap();
        std::fs::write(inside("locked.npy"), "old").unwrap();
        let mut permissions = std::fs::metadata(inside("locked.npy"))
            .unwrap()
            .permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(inside("locked.npy"), permissions).unwrap();
        for (name, expected) in [
            ("y.jpg", "unknown output format"),
            ("noextension", "unknown output format"),
            ("d.npy", "is a directory"),
            ("locked.npy", "is read-only"),
            ("none/y.npy", "cannot be written"),
        ] {
            let message = Output::claim(&inside(name)).unwrap_err().to_string();
            assert!(message.contains(expected), "{name}: {message}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_link_is_kept_and_a_device_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (
            folder.path().join("real.npy"),
            folder.path().join("link.npy"),
        );
        std::fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let array = Array::line(vec![3.0]);
        Output::claim(&link).unwrap().write(&array).unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(super::super::read(&real).unwrap().array, array);

        let null = folder.path().join("null.npy");
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        Output::claim(&null).unwrap().write(&array).unwrap();
        assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn only_two_dimensions_make_an_image() {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::claim(&folder.path().join("y.png")).unwrap();
        assert!(output.accept_dimensions(2).is_ok());
        let message = output.accept_dimensions(1).unwrap_err().to_string();
        assert!(
            message.contains("an image has 2 dimensions, this output has 1"),
            "{message}"
        );
    }
}

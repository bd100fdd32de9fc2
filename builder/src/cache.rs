//! Files that several builds may want at once: hashes, whole-file writes, the lock, and what the last build was made from.

use crate::BuildError;
use crate::inputs::Inputs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::hash::{Hash, Hasher};
use std::path::Path;

/// What the last successful compilation was made from, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Hash of the compiler, its flags and the shim.
    pub(crate) compile_key: u64,
    /// Files and variables.
    pub(crate) inputs: Inputs,
    /// Whether a build script takes part: then only cargo knows whether anything changed.
    pub(crate) ask_cargo: bool,
    /// Hash of the compiler's own output.
    pub(crate) raw: u64,
    /// What came of finishing, by target and version; nothing for a target until its checks have passed.
    pub(crate) finished: BTreeMap<String, Finished>,
}

/// PTX that has passed the checks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Finished {
    /// Hash of everything that finishing and checking depend on.
    pub(crate) key: u64,
    /// The entries in it.
    pub(crate) entries: Vec<String>,
}

impl State {
    /// The last state, unless there is none that this version can read.
    pub(crate) fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    pub(crate) fn store(&self, path: &Path) -> Result<(), BuildError> {
        let text = serde_json::to_string(self).map_err(|error| BuildError::Io {
            action: "write",
            path: path.to_owned(),
            source: error.into(),
        })?;
        write(path, &text)
    }
}

/// Held while a work folder is in use; the system frees it even if the process is killed.
pub(crate) struct Lock(#[expect(dead_code, reason = "held for its drop, which unlocks")] File);

impl Lock {
    /// Waits for the folder; `waiting` is called if somebody else has it.
    pub(crate) fn take(dir: &Path, waiting: impl FnOnce()) -> Result<Self, BuildError> {
        std::fs::create_dir_all(dir).map_err(BuildError::io("create", dir))?;
        let path = dir.join("lock");
        let file = File::create(&path).map_err(BuildError::io("create", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().map_err(BuildError::io("lock", &path))?;
            }
            Err(TryLockError::Error(error)) => return Err(BuildError::io("lock", &path)(error)),
        }
        Ok(Self(file))
    }
}

/// Writes a whole file or nothing: a reader never sees half of it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    std::fs::write(&temporary, text).map_err(BuildError::io("write", &temporary))?;
    std::fs::rename(&temporary, path).map_err(BuildError::io("write", path))
}

/// As [`write`], but leaves a file with these contents alone, so that its time does not change.
pub(crate) fn write_if_changed(path: &Path, text: &str) -> Result<(), BuildError> {
    if std::fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        Ok(())
    } else {
        write(path, text)
    }
}

/// The hash of a file's contents.
pub(crate) fn hash_file(path: &Path) -> Result<u64, BuildError> {
    std::fs::read(path)
        .map(|bytes| hash_bytes(&bytes))
        .map_err(BuildError::io("read", path))
}

/// The hash of some bytes.
pub(crate) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = Fnv::default();
    hasher.write(bytes);
    hasher.finish()
}

/// The hash of anything, the same in every process and release: unlike the standard hasher's, it may be kept on disk.
pub(crate) fn hash_of(value: impl Hash) -> u64 {
    let mut hasher = Fnv::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// FNV-1a.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        // Published test vectors.
        assert_eq!(hash_bytes(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash_bytes(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash_bytes(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn an_unchanged_file_keeps_its_time() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let path = dir.path().join("file");
        write(&path, "one").expect("written");
        let old = std::time::SystemTime::UNIX_EPOCH;
        File::options()
            .write(true)
            .open(&path)
            .expect("opened")
            .set_modified(old)
            .expect("time set");
        write_if_changed(&path, "one").expect("left alone");
        assert_eq!(
            path.metadata().expect("metadata").modified().expect("time"),
            old
        );
        write_if_changed(&path, "two").expect("written");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "two");
        assert_eq!(
            std::fs::read_dir(dir.path()).expect("listed").count(),
            1,
            "no temporary file is left"
        );
    }

    #[test]
    fn a_lock_is_waited_for() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let first = Lock::take(dir.path(), || unreachable!("nobody else is here")).expect("free");
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let second = scope.spawn(move || {
                Lock::take(dir.path(), || sender.send(()).expect("received")).map(drop)
            });
            receiver.recv().expect("the second waits");
            drop(first);
            second.join().expect("no panic").expect("locked");
        });
    }
}

//! Other people's kernels: compiled files and the table that says how each is launched.
//!
//! The table is `manifest.json` of `bench/peers`, which its README describes.
//! A peer of a workload gets the same buffers, the same sizes and the same scalars as our own kernels: its parameters are matched by name with ours,
//! so that only the kernel differs, and its result is verified as ours is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The only schema that is understood.
const SCHEMA: u32 = 1;

/// Why peers cannot be used.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum PeerError {
    #[error("{}: cannot be read: {reason}; bench/peers/build.py makes the folder", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{}: schema {found}, expected {SCHEMA}; build the peers again with this version's bench/peers/build.py", path.display())]
    Schema { path: PathBuf, found: u32 },
    #[error(
        "{entry}: takes a parameter {role}, which no kernel of nstage for {workload} has; it cannot be compared"
    )]
    NoSuchParameter {
        entry: String,
        role: String,
        workload: String,
    },
    #[error("{entry}: {role} is {ours} bytes in nstage's kernel, {theirs} in the peer's")]
    ParameterSize {
        entry: String,
        role: String,
        ours: usize,
        theirs: usize,
    },
    #[error("{entry}: {extent} = {value} is over its limit of {limit}")]
    Limit {
        entry: String,
        extent: String,
        value: u64,
        limit: u64,
    },
}

/// The whole table, and where it lies.
#[derive(Clone, Debug)]
pub struct Peers {
    folder: PathBuf,
    manifest: Manifest,
}

#[derive(Clone, Debug, Deserialize)]
struct Manifest {
    schema: u32,
    workloads: BTreeMap<String, Workload>,
    entries: Vec<Entry>,
}

/// What a job's kernels take.
#[derive(Clone, Debug, Deserialize)]
pub struct Workload {
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
}

/// One parameter.
#[derive(Clone, Debug, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub role: String,
    /// Its type.
    #[serde(rename = "type")]
    pub ty: String,
    /// For a pointer: how many elements, as a product.
    #[serde(default)]
    pub extents: Option<Vec<Extent>>,
    /// For a pointer: what the kernel does with it.
    #[serde(default)]
    pub access: Option<Access>,
    /// For a scalar: what is taken where nothing else is known.
    #[serde(default)]
    pub default: Option<f64>,
}

/// A factor of a buffer's size.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Extent {
    /// This many.
    Count(u64),
    /// As many as the extent of this name; `blocks` is the grid's size.
    Named(String),
}

/// What a kernel does with a buffer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes all of it.
    Write,
    /// Needs it, whatever it holds.
    Scratch,
    /// Needs it to be zero and leaves it so.
    Zeroed,
}

/// A number that grows with the block: `fixed + per_thread·block + per_warp·(block / 32)`.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
pub struct Linear {
    #[serde(default)]
    fixed: u64,
    #[serde(default)]
    per_thread: u64,
    #[serde(default)]
    per_warp: u64,
}

impl Linear {
    fn at(self, block: u32) -> u64 {
        self.fixed
            + self.per_thread * u64::from(block)
            + self.per_warp * u64::from(block.div_ceil(32))
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Shared {
    #[serde(flatten)]
    by_block: Linear,
    #[serde(default)]
    per_row: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct Tile {
    extent: String,
    #[serde(flatten)]
    by_block: Linear,
    /// The scalar parameter that is the tile's size instead.
    #[serde(default)]
    role: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Limit {
    extent: String,
    #[serde(flatten)]
    by_block: Linear,
}

/// One kernel.
#[derive(Clone, Debug, Deserialize)]
pub struct Entry {
    /// The job.
    pub workload: String,
    /// The variant's name.
    pub variant: String,
    /// How bytes come to shared memory.
    pub mechanism: String,
    /// Depth of the ring; 0: not asynchronous, or one tile a block.
    pub stages: u32,
    /// 16-byte pieces a thread and tile.
    pub pieces: u32,
    /// The file's name without its ending.
    pub file: String,
    /// The kernel's name in it.
    pub entry: String,
    /// Threads of a block where nothing is asked for.
    pub block: u32,
    /// Threads of a block at the least.
    pub block_min: u32,
    /// Threads of a block at the most.
    pub block_max: u32,
    shared: Shared,
    tiles: Vec<Tile>,
    persistent: bool,
    limits: Vec<Limit>,
}

/// Our own kernel's parameters by name, as bytes.
pub type Named = BTreeMap<&'static str, Vec<u8>>;

/// A parameter of a peer, as its launch has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// These bytes: a scalar, an extent, or the address of a buffer of ours.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether it is the address of an output.
        written: bool,
    },
    /// The address of memory that only the peer uses, zero at first.
    Memory {
        /// Its size, from the grid.
        bytes: u64,
    },
}

/// How a peer is launched on a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared: u32,
    /// Tiles of the job.
    pub tiles: u64,
    /// Elements of a tile.
    pub tile: u64,
    /// Whether any grid will do; otherwise it is one block a tile.
    pub persistent: bool,
}

impl Peers {
    /// What `build.py` wrote.
    pub fn read(folder: &Path) -> Result<Self, PeerError> {
        let path = folder.join("manifest.json");
        let unreadable = |reason: String| PeerError::Unreadable {
            path: path.clone(),
            reason,
        };
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
        let manifest: Manifest =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if manifest.schema != SCHEMA {
            return Err(PeerError::Schema {
                path,
                found: manifest.schema,
            });
        }
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
        })
    }

    /// The kernels of a job.
    pub fn of<'a>(&'a self, workload: &'a str) -> impl Iterator<Item = &'a Entry> {
        let own = self.manifest.entries.iter();
        own.filter(move |entry| entry.workload == workload)
    }

    /// The file that holds a kernel: machine code if it is there, PTX otherwise.
    pub fn file(&self, entry: &Entry) -> PathBuf {
        let cubin = self.folder.join(format!("{}.cubin", entry.file));
        if cubin.is_file() {
            return cubin;
        }
        self.folder.join(format!("{}.ptx", entry.file))
    }

    fn parameters(&self, entry: &Entry) -> &[Parameter] {
        let workload = self.manifest.workloads.get(&entry.workload);
        workload.map_or(&[], |workload| &workload.parameters)
    }

    /// How `entry` is launched with our kernels' sizes.
    pub fn plan(&self, entry: &Entry, block: u32, ours: &Named) -> Result<Plan, PeerError> {
        let number = |role: &str| self.number(entry, role, ours);
        for limit in &entry.limits {
            let (value, most) = (number(&limit.extent)?, limit.by_block.at(block));
            if value > most {
                return Err(PeerError::Limit {
                    entry: entry.entry.clone(),
                    extent: limit.extent.clone(),
                    value,
                    limit: most,
                });
            }
        }
        let (mut tiles, mut tile) = (1, 1);
        for side in &entry.tiles {
            let step = match &side.role {
                Some(role) => number(role)?,
                None => side.by_block.at(block),
            }
            .max(1);
            tiles *= number(&side.extent)?.div_ceil(step);
            tile *= step;
        }
        let row = match entry.shared.per_row {
            0 => 0,
            times => {
                let x = self.parameters(entry).iter().find(|p| p.role == "x");
                let each = x.map_or(0, |x| type_bytes(&x.ty) as u64);
                times * (number("width")? * each).next_multiple_of(16)
            }
        };
        Ok(Plan {
            dynamic_shared: (entry.shared.by_block.at(block) + row) as u32,
            tiles: tiles.max(1),
            tile,
            persistent: entry.persistent,
        })
    }

    /// The peer's parameters, in order, from our kernel's by name.
    ///
    /// `outputs` are the addresses of what is compared afterwards.
    pub fn bind(
        &self,
        entry: &Entry,
        ours: &Named,
        outputs: &[u64],
        blocks: u64,
    ) -> Result<Vec<Bound>, PeerError> {
        let bound = |parameter: &Parameter| match (&parameter.extents, parameter.access) {
            (Some(extents), Some(Access::Scratch | Access::Zeroed)) => {
                let mut bytes = type_bytes(&parameter.ty) as u64;
                for extent in extents {
                    bytes *= match extent {
                        Extent::Count(count) => *count,
                        Extent::Named(name) if name == "blocks" => blocks,
                        Extent::Named(name) => self.number(entry, name, ours)?,
                    };
                }
                Ok(Bound::Memory { bytes })
            }
            (Some(_), _) => {
                let bytes = ours.get(parameter.role.as_str());
                let bytes = bytes.ok_or_else(|| no_such(entry, &parameter.role))?;
                let address = <[u8; 8]>::try_from(bytes.as_slice()).ok();
                let address = address.map(u64::from_le_bytes);
                Ok(Bound::Bytes {
                    bytes: bytes.clone(),
                    written: address.is_some_and(|address| outputs.contains(&address)),
                })
            }
            (None, _) => {
                let theirs = type_bytes(&parameter.ty);
                let bytes = match (ours.get(parameter.role.as_str()), parameter.default) {
                    (Some(bytes), _) if bytes.len() == theirs => bytes.clone(),
                    // Our extent may be wider than theirs, but it is the same number.
                    (Some(bytes), None) => {
                        let mut wide = [0; 8];
                        wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
                        if wide[theirs.min(8)..].iter().any(|&byte| byte != 0) {
                            return Err(PeerError::ParameterSize {
                                entry: entry.entry.clone(),
                                role: parameter.role.clone(),
                                ours: bytes.len(),
                                theirs,
                            });
                        }
                        wide[..theirs].to_vec()
                    }
                    (_, Some(default)) => scalar(&parameter.ty, default),
                    (None, None) => return Err(no_such(entry, &parameter.role)),
                };
                Ok(Bound::Bytes {
                    bytes,
                    written: false,
                })
            }
        };
        self.parameters(entry).iter().map(bound).collect()
    }

    /// An extent or a whole-numbered scalar.
    fn number(&self, entry: &Entry, role: &str, ours: &Named) -> Result<u64, PeerError> {
        if let Some(bytes) = ours.get(role) {
            let mut wide = [0; 8];
            wide[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
            return Ok(u64::from_le_bytes(wide));
        }
        let parameters = self.parameters(entry).iter();
        let default = parameters
            .filter(|parameter| parameter.role == role)
            .find_map(|parameter| parameter.default);
        default
            .map(|value| value as u64)
            .ok_or_else(|| no_such(entry, role))
    }
}

fn no_such(entry: &Entry, role: &str) -> PeerError {
    PeerError::NoSuchParameter {
        entry: entry.entry.clone(),
        role: role.to_owned(),
        workload: entry.workload.clone(),
    }
}

fn type_bytes(ty: &str) -> usize {
    match ty {
        "u64" => 8,
        "bf16" => 2,
        _ => 4,
    }
}

fn scalar(ty: &str, value: f64) -> Vec<u8> {
    match ty {
        "u64" => (value as u64).to_le_bytes().to_vec(),
        "u32" => (value as u32).to_le_bytes().to_vec(),
        _ => (value as f32).to_le_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manifest of this repository, so that a change of either side is seen.
    fn peers() -> Peers {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../bench/peers/cuda");
        Peers::read(Path::new(folder)).unwrap()
    }

    fn entry<'a>(peers: &'a Peers, name: &str) -> &'a Entry {
        let mut all = peers.manifest.entries.iter();
        all.find(|entry| entry.entry == name).unwrap()
    }

    fn scale(n: u64) -> Named {
        Named::from([
            ("y", 0x1000_u64.to_le_bytes().to_vec()),
            ("x", 0x2000_u64.to_le_bytes().to_vec()),
            ("a", 3.5_f32.to_le_bytes().to_vec()),
            ("n", n.to_le_bytes().to_vec()),
        ])
    }

    #[test]
    fn geometry_follows_the_table() {
        let peers = peers();
        let ours = scale(10_000);
        for (name, block, shared, tiles, tile, persistent) in [
            ("cpp_scale_plain", 256, 0, 10, 1024, false),
            ("cpp_scale_ring_two_s4_p2", 128, 16_384, 10, 1024, true),
            ("cpp_scale_bulk_tile", 256, 4096, 10, 1024, false),
        ] {
            let plan = peers.plan(entry(&peers, name), block, &ours).unwrap();
            let expected = Plan {
                dynamic_shared: shared,
                tiles,
                tile,
                persistent,
            };
            assert_eq!(plan, expected, "{name}");
        }
        let rows = Named::from([
            ("rows", 5_u32.to_le_bytes().to_vec()),
            ("width", 1001_u32.to_le_bytes().to_vec()),
        ]);
        let plan = peers.plan(entry(&peers, "cpp_rmsnorm_staged"), 512, &rows);
        // 1001 elements of two bytes are 2002, rounded up to 2016 once.
        assert_eq!(plan.unwrap().dynamic_shared, 2016);
        let message = peers
            .plan(entry(&peers, "cpp_rmsnorm_registers_v1"), 32, &rows)
            .unwrap_err();
        assert_eq!(
            message.to_string(),
            "cpp_rmsnorm_registers_v1: width = 1001 is over its limit of 256"
        );
    }

    #[test]
    fn parameters_are_bound_by_name() {
        let peers = peers();
        let ours = scale(7);
        let bound = peers
            .bind(entry(&peers, "cpp_scale_plain"), &ours, &[0x1000], 1)
            .unwrap();
        let bytes = |name: &str, written| Bound::Bytes {
            bytes: ours[name].clone(),
            written,
        };
        assert_eq!(
            bound,
            [
                bytes("y", true),
                bytes("x", false),
                bytes("a", false),
                bytes("n", false)
            ]
        );

        let sum = Named::from([
            ("result", 0x1000_u64.to_le_bytes().to_vec()),
            ("x", 0x2000_u64.to_le_bytes().to_vec()),
            ("n", 7_u64.to_le_bytes().to_vec()),
        ]);
        let bound = peers
            .bind(entry(&peers, "cpp_sum_plain"), &sum, &[0x1000], 12)
            .unwrap();
        assert_eq!(bound[1], Bound::Memory { bytes: 48 });
        assert_eq!(bound[2], Bound::Memory { bytes: 4 });

        let message = peers
            .bind(entry(&peers, "cpp_triad_plain"), &ours, &[], 1)
            .unwrap_err();
        assert_eq!(
            message.to_string(),
            "cpp_triad_plain: takes a parameter z, which no kernel of nstage for triad has; it cannot be compared"
        );
    }

    #[test]
    fn what_is_missing_or_of_another_schema_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let message = Peers::read(folder.path()).unwrap_err().to_string();
        assert!(message.contains("build.py makes the folder"), "{message}");
        let text = r#"{"schema": 2, "workloads": {}, "entries": []}"#;
        std::fs::write(folder.path().join("manifest.json"), text).unwrap();
        let message = Peers::read(folder.path()).unwrap_err().to_string();
        assert!(message.contains("schema 2, expected 1"), "{message}");
    }
}

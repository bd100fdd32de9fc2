//! The shape of a launch: chosen from what is wished for, and checked before anything runs.

use nstage::catalogue::{Kernel, Schedule, Variant};

/// What a launch may ask of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks in x.
    pub grid_x: u32,
    /// Shared memory of a block that opts in.
    pub shared_opt_in: u32,
    /// Bytes of global memory.
    pub memory: u64,
}

/// What the user asked for; the rest is the kernel's and the device's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Threads of a block.
    pub block: Option<u32>,
    /// Blocks for each multiprocessor.
    pub blocks_per_sm: Option<u32>,
    /// Elements of a tile.
    pub tile: Option<u32>,
}

/// The shape of a launch that a device can run; made by [`Shaped::geometry`] alone.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    shape: Shaped,
    blocks: u32,
}

impl Geometry {
    /// The kernel's variant and its block.
    pub fn shape(&self) -> &Shaped {
        &self.shape
    }

    /// Blocks of the grid.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.shape.threads
    }

    /// Dynamic shared memory of a block, in bytes.
    pub fn dynamic_shared(&self) -> u32 {
        self.shape.dynamic_shared()
    }

    /// Elements of a tile.
    pub fn tile(&self) -> u32 {
        self.shape.tile()
    }
}

/// Why no launch has the shape asked for. Every message starts with the kernel or the entry.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are what the messages print")]
pub enum GeometryError {
    #[error("{kernel}: is synchronous and has no stages; leave --stages out")]
    NoStages { kernel: &'static str },
    #[error("{kernel}: has no variant of {stages} stages; it has {offered}")]
    Stages {
        kernel: &'static str,
        stages: u32,
        offered: String,
    },
    #[error("{kernel}: has no schedule {schedule} at {stages} stages; it has {offered}")]
    Schedule {
        kernel: &'static str,
        schedule: Schedule,
        stages: u32,
        offered: String,
    },
    #[error(
        "{entry}: a block of {threads} threads is not possible; take a multiple of 32 from {least} to {most}"
    )]
    Block {
        entry: &'static str,
        threads: u32,
        least: u32,
        most: u32,
    },
    #[error(
        "{entry}: a block of {threads} threads is over the device's limit of {limit}; pass a smaller --block"
    )]
    DeviceThreads {
        entry: &'static str,
        threads: u32,
        limit: u32,
    },
    #[error("{kernel}: no launch has tiles of {tile} elements{with}; {possible}")]
    Tile {
        kernel: &'static str,
        tile: u32,
        with: String,
        possible: String,
    },
    #[error("{entry}: {} B shared needed, device limit is {} B; {remedy}", grouped(*needed), grouped(*limit))]
    Shared {
        entry: &'static str,
        needed: u32,
        limit: u32,
        remedy: String,
    },
    #[error("{entry}: {} blocks needed, device limit is {}; pass a smaller --blocks-per-sm", grouped_u64(*blocks), grouped(*limit))]
    Grid {
        entry: &'static str,
        blocks: u64,
        limit: u32,
    },
}

/// `232,448`.
fn grouped(number: u32) -> String {
    grouped_u64(u64::from(number))
}

/// `4,194,304`.
pub fn grouped_u64(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A variant and the threads of its block.
#[derive(Clone, Copy, Debug)]
pub struct Shaped {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// The variant.
    pub variant: &'static Variant,
    /// Threads of a block.
    pub threads: u32,
}

/// The variants of `kernel` that are asked for, each with the block that gives the tile asked for.
///
/// Variants that differ only in the pieces a thread copies are alternatives; the first that fits the wish is taken.
pub fn shapes(
    kernel: &'static Kernel,
    stages: Option<u32>,
    schedule: Option<Schedule>,
    wish: &Wish,
) -> Result<Vec<Shaped>, GeometryError> {
    let mut chosen = kernel
        .variants
        .iter()
        .filter(|variant| stages.is_none_or(|stages| variant.stages() == stages))
        .peekable();
    if let (Some(stages), None) = (stages, chosen.peek()) {
        let offered = depths(kernel);
        return Err(if offered.is_empty() {
            GeometryError::NoStages {
                kernel: kernel.name,
            }
        } else {
            GeometryError::Stages {
                kernel: kernel.name,
                stages,
                offered,
            }
        });
    }
    let chosen: Vec<&'static Variant> = chosen.collect();
    // A schedule is a property of block-wide rings; what has none is not asked.
    let mut kept: Vec<&'static Variant> = chosen
        .iter()
        .copied()
        .filter(|variant| {
            schedule.is_none_or(|schedule| {
                variant.schedule() == schedule || variant.schedule() == Schedule::None
            })
        })
        .collect();
    if let (Some(schedule), Some(first), true) = (schedule, chosen.first(), kept.is_empty()) {
        let mut offered: Vec<&str> = chosen.iter().map(|v| v.schedule().name()).collect();
        offered.dedup();
        return Err(GeometryError::Schedule {
            kernel: kernel.name,
            schedule,
            stages: first.stages(),
            offered: offered.join(" and "),
        });
    }
    let mut shaped: Vec<Shaped> = Vec::new();
    let mut refused = None;
    kept.dedup_by_key(|variant| variant.entry);
    for variant in kept {
        let taken = shaped
            .iter()
            .any(|other| same_choice(other.variant, variant));
        if taken {
            continue;
        }
        match threads_for(kernel, variant, wish) {
            Ok(threads) => shaped.push(Shaped {
                kernel,
                variant,
                threads,
            }),
            Err(error) => {
                refused.get_or_insert(error);
            }
        }
    }
    match refused {
        Some(error) if shaped.is_empty() => Err(error),
        _ => Ok(shaped),
    }
}

/// Whether two variants are alternatives of one row of the table.
fn same_choice(a: &Variant, b: &Variant) -> bool {
    (a.stages(), a.schedule()) == (b.stages(), b.schedule())
}

/// The depths that a kernel has, `1 to 8` or `2, 4`; empty for a synchronous kernel.
fn depths(kernel: &Kernel) -> String {
    let mut depths: Vec<u32> = kernel
        .variants
        .iter()
        .map(Variant::stages)
        .filter(|&stages| stages > 0)
        .collect();
    depths.sort_unstable();
    depths.dedup();
    match depths.as_slice() {
        [] => String::new(),
        [one] => one.to_string(),
        [first, .., last] if (last - first) as usize + 1 == depths.len() => {
            format!("{first} to {last}")
        }
        several => several
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// The block size that the wish leads to.
fn threads_for(
    kernel: &'static Kernel,
    variant: &'static Variant,
    wish: &Wish,
) -> Result<u32, GeometryError> {
    if let Some(threads) = wish.block
        && !variant.accepts(threads)
    {
        return Err(GeometryError::Block {
            entry: variant.entry,
            threads,
            least: *variant.threads().start(),
            most: *variant.threads().end(),
        });
    }
    let Some(tile) = wish.tile else {
        return Ok(wish.block.unwrap_or(variant.default_threads()));
    };
    let fits = |&threads: &u32| variant.accepts(threads) && variant.tile(threads) == tile;
    let mut blocks = match wish.block {
        Some(threads) => threads..=threads,
        None => variant.threads(),
    };
    blocks.find(fits).ok_or_else(|| {
        let (least, most) = (*variant.threads().start(), *variant.threads().end());
        GeometryError::Tile {
            kernel: kernel.name,
            tile,
            with: wish.block.map_or_else(String::new, |threads| {
                format!(" with blocks of {threads} threads")
            }),
            possible: match wish.block {
                Some(threads) => format!("such a block has tiles of {}", variant.tile(threads)),
                None => format!(
                    "a block of {least} to {most} threads has tiles of {} to {}, in steps of {}",
                    variant.tile(least),
                    variant.tile(most),
                    variant
                        .tile(least + 32)
                        .saturating_sub(variant.tile(least))
                        .max(1),
                ),
            },
        }
    })
}

impl Shaped {
    /// Dynamic shared memory of a block.
    pub fn dynamic_shared(&self) -> u32 {
        self.variant.shared_bytes(self.threads)
    }

    /// Elements of a tile.
    pub fn tile(&self) -> u32 {
        self.variant.tile(self.threads)
    }

    /// Checks a block of this shape against the device.
    pub fn fits(&self, limits: &Limits) -> Result<(), GeometryError> {
        let Self {
            kernel,
            variant,
            threads,
        } = *self;
        if threads > limits.threads_per_block {
            return Err(GeometryError::DeviceThreads {
                entry: variant.entry,
                threads,
                limit: limits.threads_per_block,
            });
        }
        let (needed, limit) = (self.dynamic_shared(), limits.shared_opt_in);
        if needed <= limit {
            return Ok(());
        }
        // Only the depth is varied: what else the user chose stays.
        let deepest = kernel
            .variants
            .iter()
            .filter(|other| {
                other.schedule() == variant.schedule() && other.pieces() == variant.pieces()
            })
            .filter(|other| other.stages() > 0 && other.accepts(threads))
            .filter(|other| other.shared_bytes(threads) <= limit)
            .map(Variant::stages)
            .max();
        Err(GeometryError::Shared {
            entry: variant.entry,
            needed,
            limit,
            remedy: match deepest {
                Some(stages) => format!("the largest stage count that fits is {stages}"),
                None => "no stage count fits; pass a smaller --block or --tile".to_owned(),
            },
        })
    }

    /// The grid: as many blocks as are asked for or fit on the device at once, but none without a tile.
    pub fn geometry(
        &self,
        limits: &Limits,
        blocks_per_sm: u32,
        tiles: u64,
    ) -> Result<Geometry, GeometryError> {
        self.fits(limits)?;
        let resident = u64::from(limits.multiprocessors) * u64::from(blocks_per_sm);
        let blocks = resident.min(tiles).max(1);
        match u32::try_from(blocks) {
            Ok(blocks) if blocks <= limits.grid_x => Ok(Geometry {
                shape: *self,
                blocks,
            }),
            _ => Err(GeometryError::Grid {
                entry: self.variant.entry,
                blocks,
                limit: limits.grid_x,
            }),
        }
    }
}

//! The shape of a launch: chosen from what is wished for, and checked before anything runs.

use std::num::NonZeroU32;

use nstage::catalogue::{Kernel, Schedule, Variant};

/// What a launch may ask of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Compute capability, 90 for 9.0.
    pub capability: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks in x.
    pub grid_x: u32,
    /// Shared memory of a block that opts in to more than 48 KiB.
    pub shared_opt_in: u32,
    /// Bytes of global memory.
    pub memory: u64,
}

/// What the user asked for; the rest is the kernel's and the device's choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wish {
    /// Threads of a block.
    pub block: Option<u32>,
    /// Elements of a tile.
    pub tile: Option<u32>,
}

/// How many blocks at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// So many for each multiprocessor.
    PerMultiprocessor(u32),
    /// So many in all.
    Blocks(u32),
    /// One for so many tiles.
    TilesPerBlock(NonZeroU32),
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
    #[error("{entry}: needs sm_{arch}{specific}, the device is sm_{capability}; leave it out")]
    Requires {
        entry: &'static str,
        arch: u32,
        specific: &'static str,
        capability: u32,
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
    #[error("{entry}: {} B shared needed, device limit is {} B; {remedy}", grouped(u64::from(*needed)), grouped(u64::from(*limit)))]
    Shared {
        entry: &'static str,
        needed: u32,
        limit: u32,
        remedy: String,
    },
    #[error("{entry}: {} blocks needed, device limit is {}; pass a smaller --blocks-per-sm", grouped(*blocks), grouped(u64::from(*limit)))]
    Grid {
        entry: &'static str,
        blocks: u64,
        limit: u32,
    },
}

/// `4,194,304`.
pub fn grouped(number: u64) -> String {
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
    // A schedule is a way to reuse stages; what has none is not asked.
    let kept: Vec<&'static Variant> = chosen
        .iter()
        .copied()
        .filter(|variant| {
            schedule.is_none_or(|schedule| variant.stages() == 0 || variant.schedule() == schedule)
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
    let rows = kept.chunk_by(|a, b| (a.stages(), a.schedule()) == (b.stages(), b.schedule()));
    let (mut shaped, mut refused) = (Vec::new(), None);
    for alternatives in rows {
        match shape_of(kernel, alternatives, wish) {
            Ok(shape) => shaped.push(shape),
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

/// The first alternative, and its block, that gives what is wished for.
fn shape_of(
    kernel: &'static Kernel,
    alternatives: &[&'static Variant],
    wish: &Wish,
) -> Result<Shaped, GeometryError> {
    let first = alternatives[0];
    if let Some(threads) = wish.block
        && !alternatives.iter().any(|variant| variant.accepts(threads))
    {
        return Err(GeometryError::Block {
            entry: first.entry,
            threads,
            least: *first.threads().start(),
            most: *first.threads().end(),
        });
    }
    let blocks = |variant: &'static Variant| {
        let sizes = match wish.block {
            Some(threads) => threads..=threads,
            None => variant.threads(),
        };
        sizes.filter(|&threads| variant.accepts(threads))
    };
    let Some(tile) = wish.tile else {
        return Ok(Shaped {
            kernel,
            variant: first,
            threads: wish.block.unwrap_or(first.default_threads()),
        });
    };
    let mut possible = Vec::new();
    let mut fitting = None;
    for &variant in alternatives {
        // Of the blocks that give the tile, the one nearest to the default.
        let distance = |threads: &u32| threads.abs_diff(variant.default_threads());
        let fits = blocks(variant).filter(|&threads| variant.tile(threads) == tile);
        if let Some(threads) = fits.min_by_key(distance) {
            fitting.get_or_insert(Shaped {
                kernel,
                variant,
                threads,
            });
        }
        possible.extend(blocks(variant).map(|threads| variant.tile(threads)));
    }
    fitting.ok_or_else(|| GeometryError::Tile {
        kernel: kernel.name,
        tile,
        with: wish.block.map_or_else(String::new, |threads| {
            format!(" with blocks of {threads} threads")
        }),
        possible: sizes_text(possible),
    })
}

/// `256, 512 and 1024 are possible`, or for many `multiples of 128 from 128 to 16384 are possible`.
fn sizes_text(mut sizes: Vec<u32>) -> String {
    sizes.sort_unstable();
    sizes.dedup();
    let gcd = sizes.iter().fold(0, |a, &b| gcd(a, b));
    match sizes.as_slice() {
        [] => "none is possible".to_owned(),
        [one] => format!("only {one} is possible"),
        [first, .., last] if sizes.len() > 4 => {
            format!("multiples of {gcd} from {first} to {last} are possible")
        }
        [firsts @ .., last] => {
            let firsts: Vec<String> = firsts.iter().map(ToString::to_string).collect();
            format!("{} and {last} are possible", firsts.join(", "))
        }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
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

impl Shaped {
    /// A variant with its default block.
    pub fn default_of(kernel: &'static Kernel, variant: &'static Variant) -> Self {
        Self {
            kernel,
            variant,
            threads: variant.default_threads(),
        }
    }

    /// The schedule's word, where the variant has a ring.
    pub fn schedule_name(&self) -> Option<&'static str> {
        let schedule = self.variant.schedule();
        (self.variant.stages() > 0 && schedule != Schedule::None).then_some(schedule.name())
    }

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
        let (requires, capability) = (variant.requires(), limits.capability);
        let has = if requires.specific {
            capability == requires.arch
        } else {
            capability >= requires.arch
        };
        if !has {
            return Err(GeometryError::Requires {
                entry: variant.entry,
                arch: requires.arch,
                specific: if requires.specific { "a" } else { "" },
                capability,
            });
        }
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

    /// The grid: as many blocks as `grid` says, but none without a tile.
    pub fn geometry(
        &self,
        limits: &Limits,
        grid: Grid,
        tiles: u64,
    ) -> Result<Geometry, GeometryError> {
        self.fits(limits)?;
        let most = match grid {
            Grid::PerMultiprocessor(blocks) => {
                u64::from(limits.multiprocessors) * u64::from(blocks)
            }
            Grid::Blocks(blocks) => u64::from(blocks),
            // Nobody asked for a number of blocks: what is over the limit, other blocks take.
            Grid::TilesPerBlock(each) => tiles
                .div_ceil(u64::from(each.get()))
                .min(u64::from(limits.grid_x)),
        };
        // A cluster takes a tile as one block does elsewhere.
        let cluster = u64::from(self.variant.cluster());
        let blocks = (most / cluster).min(tiles).max(1) * cluster;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::fake;
    use nstage::catalogue::Shape;
    use nstage::{Entry, Launch, Uniform};

    /// A kernel body of `STAGES` stages and `PIECES` pieces that is never run.
    struct Ring<const STAGES: usize, const PIECES: usize, const TWO: bool>;

    // SAFETY: nothing is done.
    unsafe impl<Args, const STAGES: usize, const PIECES: usize, const TWO: bool> Entry<Args>
        for Ring<STAGES, PIECES, TWO>
    {
        const SHAPE: Shape = Shape::new()
            .ring(
                STAGES,
                if TWO {
                    Schedule::TwoBarrier
                } else {
                    Schedule::OneBarrier
                },
            )
            .pieces(PIECES)
            .threads(64, 1024, 128)
            .tile(|threads| threads * 4 * PIECES as u32)
            .shared(|threads| threads * 16 * PIECES as u32 * STAGES as u32);

        fn run(_: Launch, _: Uniform<Args>) {}
    }

    nstage::kernels! {
        /// Kernels to choose from.
        static TEST_KERNELS;

        /// Synchronous.
        kernel plain(
            /// Unused.
            n: u32,
        ) {
            "plain" => Ring<0, 1, true>,
        }

        /// A ring.
        kernel ring(
            /// Unused.
            n: u32,
        ) {
            "ring_s1_two_p1" => Ring<1, 1, true>,
            "ring_s2_one_p1" => Ring<2, 1, false>,
            "ring_s2_one_p2" => Ring<2, 2, false>,
            "ring_s2_two_p1" => Ring<2, 1, true>,
            "ring_s4_one_p1" => Ring<4, 1, false>,
            "ring_s4_one_p2" => Ring<4, 2, false>,
        }
    }

    fn kernel(name: &str) -> &'static Kernel {
        let mut all = TEST_KERNELS.iter().copied();
        all.find(|kernel| kernel.name == name).unwrap()
    }

    fn wish(block: Option<u32>, tile: Option<u32>) -> Wish {
        Wish { block, tile }
    }

    #[test]
    fn one_variant_is_chosen_for_each_row() {
        let (one, two) = (Some(Schedule::OneBarrier), Some(Schedule::TwoBarrier));
        for (name, stages, schedule, wish, expected) in [
            ("plain", None, one, wish(None, None), "plain/128"),
            (
                "ring",
                None,
                None,
                wish(None, None),
                "ring_s1_two_p1/128 ring_s2_one_p1/128 ring_s2_two_p1/128 ring_s4_one_p1/128",
            ),
            (
                "ring",
                None,
                two,
                wish(Some(64), None),
                "ring_s1_two_p1/64 ring_s2_two_p1/64",
            ),
            (
                "ring",
                Some(4),
                None,
                wish(None, Some(1024)),
                "ring_s4_one_p1/256",
            ),
            (
                "ring",
                Some(4),
                None,
                wish(Some(128), Some(1024)),
                "ring_s4_one_p2/128",
            ),
            (
                "ring",
                None,
                None,
                wish(Some(128), Some(1024)),
                "ring_s2_one_p2/128 ring_s4_one_p2/128",
            ),
        ] {
            let chosen = shapes(kernel(name), stages, schedule, &wish).unwrap();
            let chosen: Vec<String> = chosen
                .iter()
                .map(|shape| format!("{}/{}", shape.variant.entry, shape.threads))
                .collect();
            assert_eq!(chosen.join(" "), expected);
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (name, stages, schedule, wish, expected) in [
            (
                "plain",
                Some(2),
                None,
                wish(None, None),
                "plain: is synchronous and has no stages; leave --stages out",
            ),
            (
                "ring",
                Some(3),
                None,
                wish(None, None),
                "ring: has no variant of 3 stages; it has 1, 2, 4",
            ),
            (
                "ring",
                Some(4),
                Some(Schedule::TwoBarrier),
                wish(None, None),
                "ring: has no schedule two at 4 stages; it has one",
            ),
            (
                "ring",
                None,
                None,
                wish(Some(100), None),
                "ring_s1_two_p1: a block of 100 threads is not possible; take a multiple of 32 from 64 to 1024",
            ),
            (
                "ring",
                None,
                None,
                wish(None, Some(7)),
                "ring: no launch has tiles of 7 elements; multiples of 128 from 256 to 4096 are possible",
            ),
            (
                "ring",
                Some(2),
                None,
                wish(Some(64), Some(128)),
                "ring: no launch has tiles of 128 elements with blocks of 64 threads; 256 and 512 are possible",
            ),
            (
                "ring",
                Some(1),
                None,
                wish(Some(64), Some(128)),
                "ring: no launch has tiles of 128 elements with blocks of 64 threads; only 256 is possible",
            ),
        ] {
            let error = shapes(kernel(name), stages, schedule, &wish).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn a_launch_is_checked_against_the_device() {
        const TWO: NonZeroU32 = NonZeroU32::new(2).unwrap();
        let limits = fake::limits();
        for (stages, threads, grid, tiles, expected) in [
            (
                4,
                1024,
                Grid::PerMultiprocessor(1),
                10,
                Err(
                    "ring_s4_one_p1: a block of 1024 threads is over the device's limit of 512; pass a smaller --block",
                ),
            ),
            (4, 512, Grid::PerMultiprocessor(3), 10, Ok(6)),
            (4, 512, Grid::PerMultiprocessor(3), 5, Ok(5)),
            (4, 512, Grid::PerMultiprocessor(3), 0, Ok(1)),
            (4, 512, Grid::Blocks(1), 99, Ok(1)),
            (4, 512, Grid::TilesPerBlock(TWO), 99, Ok(50)),
            (4, 512, Grid::TilesPerBlock(TWO), 0, Ok(1)),
            (4, 512, Grid::TilesPerBlock(TWO), 1 << 40, Ok(1000)),
            (
                4,
                512,
                Grid::PerMultiprocessor(501),
                1 << 40,
                Err(
                    "ring_s4_one_p1: 1,002 blocks needed, device limit is 1,000; pass a smaller --blocks-per-sm",
                ),
            ),
        ] {
            let variant = kernel("ring").of_depth(stages).next().unwrap();
            let shape = Shaped {
                kernel: kernel("ring"),
                variant,
                threads,
            };
            let blocks = shape
                .geometry(&limits, grid, tiles)
                .map(|geometry| geometry.blocks());
            assert_eq!(
                blocks.map_err(|error| error.to_string()),
                expected.map_err(str::to_owned)
            );
        }
    }

    #[test]
    fn shared_memory_over_the_limit_names_the_deepest_ring_that_fits() {
        let kernel = kernel("ring");
        let shaped = |entry: &str, threads| {
            let mut variants = kernel.variants.iter();
            let variant = variants.find(|variant| variant.entry == entry).unwrap();
            Shaped {
                kernel,
                variant,
                threads,
            }
        };
        let limits = Limits {
            capability: 80,
            shared_opt_in: 20_000,
            ..fake::limits()
        };
        for (shape, expected) in [
            (shaped("ring_s4_one_p1", 256), None),
            (
                shaped("ring_s4_one_p1", 320),
                Some(
                    "ring_s4_one_p1: 20,480 B shared needed, device limit is 20,000 B; the largest stage count that fits is 2",
                ),
            ),
            (
                shaped("ring_s2_two_p1", 1024),
                Some(
                    "ring_s2_two_p1: a block of 1024 threads is over the device's limit of 512; pass a smaller --block",
                ),
            ),
            (
                shaped("ring_s4_one_p2", 512),
                Some(
                    "ring_s4_one_p2: 65,536 B shared needed, device limit is 20,000 B; no stage count fits; pass a smaller --block or --tile",
                ),
            ),
        ] {
            let message = shape.fits(&limits).err().map(|error| error.to_string());
            assert_eq!(message.as_deref(), expected);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (4_194_304, "4,194,304"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }
}

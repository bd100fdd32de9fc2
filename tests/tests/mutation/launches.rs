//! How each kernel is launched so that its ring goes round more than twice, and ends on a ragged tile.

use nstage::catalogue::{Kernel, Variant};

/// Bytes by which the input and the output are off the alignment of 16.
/// Where both are on it, and where results are written element by element: then a thread uses what others have copied.
const OFFSETS: [(u64, u64); 2] = [(0, 0), (0, 4)];

/// A launch, as the flags that `nstage check` takes.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) flags: String,
    /// Only the first block works.
    pub(crate) first_block_only: bool,
}

/// Kernels whose mutants nobody has gone through yet, so that this test says nothing of them.
pub(crate) const NOT_YET: &[&str] = &[
    "kernel_async_pipeline_mbarrier",
    "kernel_async_pipeline_bulk",
    "scale_roles",
    "scale_roles_mbarrier",
    "scale_roles_run_time",
    "scale_verbs_bulk",
    "scale_bulk_out",
    "matmul_mbarrier",
    "matmul_roles",
    "outer",
    "blur_tensor",
    "copy_mbarrier",
    "copy_bulk",
    "triad_mbarrier",
    "triad_bulk",
    "intensity_mbarrier",
    "intensity_bulk",
    "heat_2d_mbarrier",
    "heat_2d_bulk",
    "transpose_mbarrier",
];

/// An entry that nvcc made of `tests/cuda/scale.cu`.
pub(crate) struct OfNvcc {
    pub(crate) entry: &'static str,
    stages: u64,
    /// Vectors of a last tile that is not whole.
    ragged: u64,
    /// The advisories that it deserves.
    pub(crate) advised: &'static [&'static str],
}

/// All of them. `cuda::pipeline` counts its threads in shared memory through a generic address.
/// The pipeline of single threads gets whole tiles: its lanes would leave the loop one by one, of which divergent-commit rightly warns.
pub(crate) const OF_NVCC: &[OfNvcc] = &[
    of_nvcc("cpp_scale_sync", 0, 9, &[]),
    of_nvcc("cpp_scale_primitives", 1, 9, &["no-overlap"]),
    of_nvcc("cpp_scale_barrier", 1, 9, &["no-overlap"]),
    of_nvcc("cpp_scale_pipeline_s2", 2, 9, &["generic-shared-access"]),
    of_nvcc("cpp_scale_thread_s3", 3, 0, &[]),
    of_nvcc("cpp_scale_pipeline_s4", 4, 9, &["generic-shared-access"]),
];

const fn of_nvcc(
    entry: &'static str,
    stages: u64,
    ragged: u64,
    advised: &'static [&'static str],
) -> OfNvcc {
    OfNvcc {
        entry,
        stages,
        ragged,
        advised,
    }
}

impl OfNvcc {
    /// Its launch.
    pub(crate) fn launch(&self) -> Launch {
        let vectors = 256 * (2 * self.stages.max(1) + 1) + self.ragged;
        let n = 4 * vectors;
        Launch {
            flags: format!(
                "--grid 1 --block 256 --arg f32[{n}]=poison --arg f32[{n}]=ramp --arg f32=2 --arg u32={vectors}"
            ),
            first_block_only: false,
        }
    }
}

/// The launches of a variant; empty for a kernel that nobody has written them for.
pub(crate) fn of(kernel: &Kernel, variant: &Variant) -> Vec<Launch> {
    let stages = u64::from(variant.stages().max(1));
    let named = |name: &str| kernel.params.iter().any(|param| param.name == name);
    let threads = match kernel.name {
        // Two warps, so that the order between warps counts.
        _ if variant.accepts(64) => 64,
        _ => variant.default_threads(),
    };
    let tile = u64::from(variant.tile(threads));
    let head = |grid: u32| {
        format!(
            "--grid {grid} --block {threads} --dynamic-shared {}",
            variant.shared_bytes(threads)
        )
    };
    let launch = |flags: String| Launch {
        flags,
        first_block_only: false,
    };
    // A ring that goes around twice and more, with a ragged tile at the end; `scalars` stand between the buffers and the length.
    let one_dimensional = |scalars: &str| {
        OFFSETS
            .map(|(input, output)| {
                let n = tile * (2 * stages + 1) + 37;
                let each = format!("--arg f32[{n}]+{input}=ramp ");
                let inputs = each.repeat(if named("z") { 2 } else { 1 });
                launch(format!(
                    "{} --arg f32[{n}]+{output}=poison {inputs}{scalars} --arg u64={n}",
                    head(1)
                ))
            })
            .to_vec()
    };
    match kernel.name {
        "sum" => {
            // Partial p adds the tiles p, p + 1056, …: only a long input gives the first of them enough tiles, and the others need not run.
            let partials = u64::from(nstage_kernels::SUM_PARTIALS);
            let rounds = stages + 1;
            let n = partials * rounds * tile + 37;
            [0, 4]
                .map(|offset| Launch {
                    flags: format!(
                        "{} --arg f32[{partials}]=poison --arg f32[{n}]+{offset}=zero --arg u64={n}",
                        head(partials as u32 / 2)
                    ),
                    first_block_only: true,
                })
                .to_vec()
        }
        "sum_finish" => vec![launch(format!(
            "{} --arg f32[1]=poison --arg f32[{}]=ramp",
            head(1),
            nstage_kernels::SUM_PARTIALS
        ))],
        "blur" => OFFSETS
            .map(|(input, output)| {
                // Two patches for one block, so that a ring begins where another ended: a patch takes four rows more than it has,
                // and its last one is then in the first stage, which the next patch fills first.
                let (width, height) = (tile + 32, (4 * stages - 3).max(5));
                let n = width * height;
                launch(format!(
                    "{} --arg f32[{n}]+{output}=poison --arg f32[{n}]+{input}=ramp --arg u32={width} --arg u32={height}",
                    head(1)
                ))
            })
            .to_vec(),
        "heat_2d" => OFFSETS
            .map(|(input, output)| {
                // As for the blur, with two rows more than a patch has.
                let (width, height) = (tile + 32, (4 * stages - 1).max(5));
                let n = width * height;
                launch(format!(
                    "{} --arg f32[{n}]+{output}=poison --arg f32[{n}]+{input}=ramp --arg u32={width} --arg u32={height} --arg f32=0.5 --arg f32=0.125",
                    head(1)
                ))
            })
            .to_vec(),
        "transpose" => [0, 1]
            .map(|ragged| {
                // A row of tiles that goes around the ring twice; rows of a multiple of 16 bytes, and others.
                let side = u64::from(nstage_kernels::TRANSPOSE_TILE);
                let (rows, columns) = (side / 2, side * 2 * stages + 4 + ragged);
                let n = rows * columns;
                launch(format!(
                    "{} --arg f32[{n}]=poison --arg f32[{n}]=ramp --arg u32={rows} --arg u32={columns}",
                    head(1)
                ))
            })
            .to_vec(),
        _ if named("c") && named("a") && named("b") && named("k") => [0, 1]
            .map(|ragged| {
                // Two tiles for one block, so that a ring begins where another ended; rows of a multiple of 16 bytes, and others.
                let side = u64::from(nstage_kernels::MATMUL_TILE);
                let (m, n, k) = (side / 2, side + 4 + ragged, 16 * (stages + 2) + 4 + ragged);
                launch(format!(
                    "{} --arg f32[{}]=poison --arg f32[{}]=ramp --arg f32[{}]=ramp --arg u32={m} --arg u32={n} --arg u32={k}",
                    head(1),
                    m * n,
                    m * k,
                    k * n
                ))
            })
            .to_vec(),
        // One chunk of the chain and one step more.
        "intensity" | "intensity_plain" => one_dimensional("--arg f32=0.5 --arg f32=1 --arg u32=9"),
        "copy" | "copy_plain" => one_dimensional(""),
        _ if named("y") && named("x") && named("a") && named("n") => one_dimensional("--arg f32=2"),
        _ => Vec::new(),
    }
}

//! Warp instructions a second, with and without the checker, on one worker and on two.
//!
//! The items of the table are warp instructions. The arithmetic loop beside them does nothing but add in registers:
//! how its throughput grows from one thread to two is what the machine can give, whatever runs on it.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use nstage_sim::{DevicePointer, Fill, GlobalMemory, Launch, Options, Program, run};

fn main() {
    divan::main();
}

/// A kernel with everything that its launch needs.
struct Job {
    program: Program,
    memory: GlobalMemory,
    launch: Launch,
}

impl Job {
    fn new(text: &str, entry: &str) -> Self {
        let module = nstage_ptx::parse(text).expect("the kernel is well formed");
        let program = Program::compile(&module, entry).expect("the entry is there");
        Self {
            program,
            memory: GlobalMemory::new(),
            launch: Launch::new(1, 1),
        }
    }

    fn buffer(&mut self, words: u64) -> DevicePointer {
        self.memory
            .alloc(4 * words, Fill::Zero)
            .expect("memory for a buffer")
    }

    /// y = a·x over a ring of four stages, 2^18 elements.
    fn scale() -> Self {
        let mut job = Self::new(include_str!("kernels/scale.ptx"), "scale");
        let elements = 1 << 18;
        let (x, y) = (job.buffer(elements), job.buffer(elements));
        job.launch = Launch {
            params: vec![
                x.0.to_le_bytes().to_vec(),
                y.0.to_le_bytes().to_vec(),
                2.0f32.to_le_bytes().to_vec(),
                (elements as u32 / 4).to_le_bytes().to_vec(),
            ],
            ..Launch::new(8, 128)
        };
        job
    }

    /// A product of two 256 × 256 matrices in tiles of 16 × 16.
    fn matmul() -> Self {
        let mut job = Self::new(include_str!("kernels/matmul.ptx"), "matmul");
        let size = 256;
        let (a, b, c) = (
            job.buffer(size * size),
            job.buffer(size * size),
            job.buffer(size * size),
        );
        job.launch = Launch {
            params: vec![
                a.0.to_le_bytes().to_vec(),
                b.0.to_le_bytes().to_vec(),
                c.0.to_le_bytes().to_vec(),
                (size as u32).to_le_bytes().to_vec(),
            ],
            ..Launch::new(
                nstage_sim::Dim3::new(16, 16, 1),
                nstage_sim::Dim3::new(16, 16, 1),
            )
        };
        job
    }

    fn bench(mut self, bencher: Bencher<'_, '_>, check: bool, workers: usize) {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .expect("a pool");
        let options = Options {
            check,
            ..Options::default()
        };
        let mut once =
            || pool.install(|| run(&self.program, &mut self.memory, &self.launch, &options));
        let outcome = once();
        assert_eq!(outcome.verdict(), nstage_sim::Verdict::Clean, "{outcome:?}");
        bencher
            .counter(ItemsCount::new(outcome.warp_instructions))
            .bench_local(once);
    }
}

#[divan::bench(args = [1, 2])]
fn scale_silent(bencher: Bencher<'_, '_>, workers: usize) {
    Job::scale().bench(bencher, false, workers);
}

#[divan::bench(args = [1, 2])]
fn scale_checked(bencher: Bencher<'_, '_>, workers: usize) {
    Job::scale().bench(bencher, true, workers);
}

#[divan::bench(args = [1, 2])]
fn matmul_silent(bencher: Bencher<'_, '_>, workers: usize) {
    Job::matmul().bench(bencher, false, workers);
}

#[divan::bench(args = [1, 2])]
fn matmul_checked(bencher: Bencher<'_, '_>, workers: usize) {
    Job::matmul().bench(bencher, true, workers);
}

/// What two threads can do on this machine at this moment.
#[divan::bench(args = [1, 2])]
fn arithmetic_loop(bencher: Bencher<'_, '_>, workers: usize) {
    const ROUNDS: u64 = 1 << 22;
    let work = || (0..ROUNDS).fold(1u64, |sum, round| black_box(sum.wrapping_mul(3) ^ round));
    bencher
        .counter(ItemsCount::new(ROUNDS * workers as u64))
        .bench_local(|| {
            std::thread::scope(|scope| {
                for _ in 0..workers {
                    scope.spawn(|| black_box(work()));
                }
            });
        });
}

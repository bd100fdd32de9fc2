//! The kernels that are timed, with everything that their launches need.

use nstage_sim::{
    DevicePointer, Dim3, Fill, GlobalMemory, Launch, Options, Outcome, Program, Verdict, run,
};

/// A kernel ready to be launched again and again.
pub(crate) struct Job {
    program: Program,
    memory: GlobalMemory,
    launch: Launch,
}

impl Job {
    fn new(text: &str) -> Self {
        let module = nstage_ptx::parse(text).expect("the kernel is well formed");
        let entry = module.entries().next().expect("an entry").name.clone();
        let program = Program::compile(&module, &entry).expect("the entry is there");
        Self {
            program,
            memory: GlobalMemory::new(),
            launch: Launch::new(1, 1),
        }
    }

    fn buffer(&mut self, words: u64, fill: Fill<'_>) -> DevicePointer {
        self.memory
            .alloc(4 * words, fill)
            .expect("memory for a buffer")
    }

    /// y = a·x with a ring of four stages; the output is poison, so that the checker follows every byte of it.
    pub(crate) fn pipeline(elements: u64) -> Self {
        let mut job = Self::new(include_str!("kernels/kernel_async_pipeline.ptx"));
        let (y, x) = (
            job.buffer(elements, Fill::Poison),
            job.buffer(elements, Fill::Zero),
        );
        let threads = 256;
        job.launch = Launch {
            params: vec![
                y.0.to_le_bytes().to_vec(),
                x.0.to_le_bytes().to_vec(),
                2.0f32.to_le_bytes().to_vec(),
                elements.to_le_bytes().to_vec(),
            ],
            dynamic_shared: 4 * 16 * threads,
            ..Launch::new(64, threads)
        };
        job
    }

    /// A product of two 256 × 256 matrices in tiles of 16 × 16.
    pub(crate) fn matmul() -> Self {
        let mut job = Self::new(include_str!("kernels/matmul.ptx"));
        let size = 256;
        let [a, b, c] = [(); 3].map(|()| job.buffer(size * size, Fill::Zero));
        job.launch = Launch {
            params: vec![
                a.0.to_le_bytes().to_vec(),
                b.0.to_le_bytes().to_vec(),
                c.0.to_le_bytes().to_vec(),
                (size as u32).to_le_bytes().to_vec(),
            ],
            ..Launch::new(Dim3::new(16, 16, 1), Dim3::new(16, 16, 1))
        };
        job
    }

    /// One launch, which must be clean.
    pub(crate) fn run(&mut self, check: bool) -> Outcome {
        let options = Options {
            check,
            ..Options::default()
        };
        let outcome = run(&self.program, &mut self.memory, &self.launch, &options);
        assert_eq!(outcome.verdict(), Verdict::Clean, "{:?}", outcome.findings);
        outcome
    }
}

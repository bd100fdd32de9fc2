//! Running a kernel of compiled PTX and comparing what it leaves.

use nstage_ptx::ast::Module;
use nstage_sim::{Dim3, Fill, GlobalMemory, Landing, Launch, Options, Program, Verdict, run};

use crate::compile::{self, Skip};
use crate::values::{Number, bytes};

const LANDINGS: [Landing; 4] = [
    Landing::Late,
    Landing::Early,
    Landing::Random(1),
    Landing::Random(2),
];

/// What nvcc is asked for unless a test says otherwise.
pub(crate) const BOTH: &[&str] = &["sm_80", "sm_90"];

enum Argument {
    Scalar(Vec<u8>),
    Buffer(Vec<u8>),
    /// So many bytes that nobody has written.
    Output(usize),
}

/// Compares the bytes of a buffer; says what is wrong with them.
type Compare = Box<dyn Fn(&[u8]) -> Result<(), String>>;

/// One launch of one kernel, and what comes of it.
pub(crate) struct Run {
    entry: &'static str,
    launch: Launch,
    arguments: Vec<Argument>,
    expected: Vec<(usize, Compare)>,
    verdict: Verdict,
    printed: Option<String>,
}

impl Run {
    /// A launch without arguments.
    pub(crate) fn new(entry: &'static str, grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        Self {
            entry,
            launch: Launch::new(grid, block),
            arguments: Vec::new(),
            expected: Vec::new(),
            verdict: Verdict::Clean,
            printed: None,
        }
    }

    /// Bytes of dynamic shared memory.
    pub(crate) fn shared(mut self, bytes: u32) -> Self {
        self.launch.dynamic_shared = bytes;
        self
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster(mut self, blocks: u32) -> Self {
        self.launch.cluster = Dim3::new(blocks, 1, 1);
        self
    }

    /// A scalar, passed by value.
    pub(crate) fn scalar<T: Number>(mut self, value: T) -> Self {
        self.arguments.push(Argument::Scalar(value.bytes()));
        self
    }

    /// An aggregate, passed by value.
    pub(crate) fn aggregate(mut self, bytes: Vec<u8>) -> Self {
        self.arguments.push(Argument::Scalar(bytes));
        self
    }

    /// A buffer that holds these numbers.
    pub(crate) fn buffer<T: Number>(mut self, values: &[T]) -> Self {
        self.arguments.push(Argument::Buffer(bytes(values)));
        self
    }

    /// The same, and what it holds afterwards.
    pub(crate) fn update<T: Number>(self, before: &[T], after: &[T]) -> Self {
        let at = self.arguments.len();
        self.buffer(before).holds(at, after, 0.0)
    }

    /// A buffer that nobody has written, and what it holds afterwards.
    pub(crate) fn output<T: Number>(self, values: &[T]) -> Self {
        self.near(values, 0.0)
    }

    /// The same, up to a relative error (absolute below one).
    pub(crate) fn near<T: Number>(mut self, values: &[T], tolerance: f64) -> Self {
        let at = self.arguments.len();
        let bytes = values.len() * values.first().map_or(0, |value| value.bytes().len());
        self.arguments.push(Argument::Output(bytes));
        self.holds(at, values, tolerance)
    }

    /// A buffer that nobody has written, and about whose contents nothing is said.
    pub(crate) fn scratch(mut self, bytes: usize) -> Self {
        self.arguments.push(Argument::Output(bytes));
        self
    }

    /// The buffer that is this argument holds these numbers afterwards.
    pub(crate) fn holds<T: Number>(
        mut self,
        argument: usize,
        values: &[T],
        tolerance: f64,
    ) -> Self {
        let wanted = values.to_vec();
        let size = values.first().map_or(1, |value| value.bytes().len());
        self.expected.push((
            argument,
            Box::new(move |bytes| {
                for (at, (chunk, wanted)) in bytes.chunks(size).zip(&wanted).enumerate() {
                    let got = T::of(chunk);
                    let (real, target) = (got.real(), wanted.real());
                    let error = (real - target).abs() / target.abs().max(1.0);
                    let same =
                        got.bytes() == wanted.bytes() || tolerance > 0.0 && error <= tolerance;
                    if !same {
                        return Err(format!(
                            "argument {argument}, element {at}: got {got:?}, expected {wanted:?}"
                        ));
                    }
                }
                Ok(())
            }),
        ));
        self
    }

    /// How the run ends, where that is not clean.
    pub(crate) fn ends(mut self, verdict: Verdict) -> Self {
        self.verdict = verdict;
        self
    }

    /// What it prints.
    pub(crate) fn prints(mut self, text: &str) -> Self {
        self.printed = Some(text.to_owned());
        self
    }

    /// Whether it is of this entry.
    pub(crate) fn is(&self, entry: &str) -> bool {
        self.entry == entry
    }

    fn check(&self, module: &Module, landing: Landing) -> Result<(), String> {
        let program = Program::compile(module, self.entry).map_err(|error| error.to_string())?;
        let mut memory = GlobalMemory::new();
        let mut launch = self.launch.clone();
        let mut buffers = Vec::new();
        for argument in &self.arguments {
            let (len, fill) = match argument {
                Argument::Scalar(bytes) => {
                    launch.params.push(bytes.clone());
                    buffers.push(None);
                    continue;
                }
                Argument::Buffer(bytes) => (bytes.len(), Fill::Bytes(bytes)),
                Argument::Output(len) => (*len, Fill::Poison),
            };
            let pointer = memory.alloc(len as u64, fill).expect("memory for a buffer");
            launch.params.push(pointer.0.to_le_bytes().to_vec());
            buffers.push(Some((pointer, len)));
        }
        let options = Options {
            landing,
            max_steps: Some(1 << 24),
            ..Options::default()
        };
        let outcome = run(&program, &mut memory, &launch, &options);
        if outcome.verdict() != self.verdict {
            let why = outcome.incomplete.map(|incomplete| incomplete.message);
            let trap = outcome.trap.map(|trap| trap.message);
            return Err(format!(
                "{}: {:#?} {why:?} {trap:?}",
                outcome.findings.len(),
                outcome.findings.first()
            ));
        }
        if let Some(printed) = self
            .printed
            .as_ref()
            .filter(|text| **text != outcome.printed)
        {
            return Err(format!(
                "printed {:?}, expected {printed:?}",
                outcome.printed
            ));
        }
        for (argument, compare) in &self.expected {
            let (pointer, len) = buffers[*argument].expect("a buffer");
            let mut bytes = vec![0; len];
            memory
                .read(pointer, &mut bytes)
                .expect("the buffer is there");
            compare(&bytes)?;
        }
        Ok(())
    }
}

/// Compiles a source for each target with these flags and runs all its launches under every landing mode.
pub(crate) fn check(source: &str, targets: &[&str], flags: &[&str], runs: &[Run]) {
    let mut failures = Vec::new();
    for target in targets {
        let text = match compile::ptx(source, target, flags) {
            Ok(text) => text,
            Err(skip) => return skipped(source, &skip),
        };
        let module = nstage_ptx::parse(&text)
            .unwrap_or_else(|errors| panic!("{source} for {target}: {errors}"));
        for run in runs {
            for landing in LANDINGS {
                if let Err(why) = run.check(&module, landing) {
                    failures.push(format!("{target} {} ({landing:?}): {why}", run.entry));
                    break;
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{source} {flags:?}: {} failed\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Notes that a test cannot run here; the summary of `cargo xtask test` shows it.
fn skipped(test: &str, Skip(reason): &Skip) {
    println!("skipping: {reason}");
    if let Some(log) = std::env::var_os("NSTAGE_SKIP_LOG") {
        use std::io::Write;
        let file = std::fs::File::options().create(true).append(true).open(log);
        file.and_then(|mut file| writeln!(file, "nvcc {test}.cu: {reason}"))
            .expect("the skip is noted");
    }
}

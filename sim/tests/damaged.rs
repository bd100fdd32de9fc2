//! Whatever the bytes and whatever the launch: reading, compiling and running end, without a panic and within the budget of steps.
//!
//! Kernels of the collection are damaged line by line and word by word, and launched with extents, sizes and arguments drawn at random.
//! As a test it makes a few hundred; with `NSTAGE_FUZZ_SECONDS` set it goes on for that long, from `NSTAGE_FUZZ_SEED` on,
//! and prints what it is about to run to the file that `NSTAGE_FUZZ_LAST` names, so that what brought it down is known.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{env, fs};

use nstage_sim::{Dim3, Fill, GlobalMemory, Landing, Launch, MemoryLimit, Options, Program, run};

/// Kernels of an ordinary run.
const KERNELS: u64 = 300;

/// Pseudo-random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.bits() % end.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, list: &[&'a T]) -> &'a T {
        list[self.below(list.len())]
    }
}

/// Words that go where they do not belong.
const WORDS: &[&str] = &[
    "0",
    "-1",
    "4294967295",
    "1048576",
    "0x7fffffffffffffff",
    "%tid.x",
    "%p1",
    "%r1",
    "%rd1",
    "%f1",
    "tile",
    "bars",
    "[%r1]",
    "[%rd1+4]",
    "[0]",
    "{%r1, %r2}",
    "%clock64",
    "%laneid",
    "WARP_SZ",
    "nowhere",
    "1.5",
    "0f7fc00000",
    "",
    ";",
    "}",
    "{",
    "@%p1",
    ".shared",
    ".b8 big[1099511627776];",
    ".align 65536",
    "bra LOOP;",
    "ret;",
    "bar.sync 0;",
    "trap;",
    "call f, ();",
    "16",
    "31",
];

fn sources() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["../tests/cases/fail", "../tests/cases/pass", "tests/runs"];
    let mut files: Vec<_> = folders
        .iter()
        .flat_map(|folder| fs::read_dir(root.join(folder)).expect("a folder of kernels"))
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| fs::read_to_string(path).expect("a text"))
        .collect()
}

fn damage(sources: &[String], random: &mut Random) -> String {
    let at = random.below(sources.len());
    let other = random.below(sources.len());
    let mut lines: Vec<String> = sources[at].lines().map(str::to_owned).collect();
    let donor: Vec<&str> = sources[other].lines().collect();
    for _ in 0..=random.below(6) {
        let line = random.below(lines.len());
        match random.below(8) {
            0 => drop(lines.remove(line)),
            1 => lines.insert(line, lines[line].clone()),
            2 => {
                let with = random.below(lines.len());
                lines.swap(line, with);
            }
            3 => lines.insert(line, donor[random.below(donor.len())].to_owned()),
            4 => {
                let mut bytes = lines[line].clone().into_bytes();
                if !bytes.is_empty() {
                    let byte = random.below(bytes.len());
                    bytes[byte] = random.bits() as u8;
                }
                lines[line] = String::from_utf8_lossy(&bytes).into_owned();
            }
            _ => {
                let mut words: Vec<&str> = lines[line].split(' ').collect();
                let word = random.below(words.len());
                words[word] = random.pick(WORDS);
                lines[line] = words.join(" ");
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

/// A launch that may or may not fit.
fn launch(program: &Program, memory: &mut GlobalMemory, random: &mut Random) -> Launch {
    let extents = [1u32, 2, 3, 32, 33, 64, 100, 1024, 1025, 0];
    let mut extent = |most: usize| {
        Dim3::new(
            extents[random.below(most)],
            extents[random.below(3)],
            extents[random.below(2)],
        )
    };
    let (grid, block, cluster) = (extent(4), extent(10), extent(2));
    let params = program
        .params()
        .map(|bytes| {
            let pointer = memory.alloc(1024, Fill::Poison).expect("a kilobyte");
            let value = match random.below(4) {
                0 => random.bits(),
                1 => 64,
                _ => pointer.0,
            };
            let mut blob = value.to_le_bytes().to_vec();
            blob.resize(bytes as usize, 0);
            blob
        })
        .collect();
    Launch {
        grid,
        block,
        cluster: if random.below(4) == 0 {
            cluster
        } else {
            Dim3::ONE
        },
        dynamic_shared: [0, 16, 1024, 1 << 20, u32::MAX][random.below(5)],
        params,
    }
}

/// Reads, compiles and runs; says how many warp instructions were executed.
fn try_one(text: &str, random: &mut Random) -> u64 {
    let Ok(module) = nstage_ptx::parse(text) else {
        return 0;
    };
    let entries: Vec<String> = module.entries().map(|entry| entry.name.clone()).collect();
    let mut steps = 0;
    for entry in entries {
        let Ok(program) = Program::compile(&module, &entry) else {
            continue;
        };
        let mut memory = GlobalMemory::new();
        let launch = launch(&program, &mut memory, random);
        let options = Options {
            landing: [Landing::Late, Landing::Early, Landing::Random(1)][random.below(3)],
            check: random.below(4) != 0,
            max_steps: Some(1 << 13),
            max_memory: Some(MemoryLimit {
                meter: resident,
                bytes: 2 << 30,
            }),
        };
        let outcome = run(&program, &mut memory, &launch, &options);
        steps += outcome.warp_instructions;
    }
    steps
}

/// Bytes of this process that are in memory, where the system tells.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

#[test]
fn damaged_kernels_end_without_a_panic() {
    let number = |name: &str| {
        env::var(name)
            .ok()
            .and_then(|value| value.parse::<u64>().ok())
    };
    let seconds = number("NSTAGE_FUZZ_SECONDS");
    let last = env::var_os("NSTAGE_FUZZ_LAST");
    let sources = sources();
    let begin = Instant::now();
    let (mut kernels, mut steps) = (0, 0);
    for seed in number("NSTAGE_FUZZ_SEED").unwrap_or(0).. {
        let goes_on = match seconds {
            Some(seconds) => begin.elapsed() < Duration::from_secs(seconds),
            None => kernels < KERNELS,
        };
        if !goes_on {
            break;
        }
        let mut random = Random(seed);
        let text = damage(&sources, &mut random);
        if let Some(last) = &last {
            fs::write(last, format!("// seed {seed}\n{text}")).expect("the text is kept");
        }
        let started = Instant::now();
        let result =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| try_one(&text, &mut random)));
        match result {
            Ok(ran) => steps += ran,
            Err(_) => panic!("seed {seed} panics:\n{text}"),
        }
        if started.elapsed() > Duration::from_secs(10) {
            println!("seed {seed} took {:?}", started.elapsed());
        }
        kernels += 1;
    }
    println!("{kernels} kernels, {steps} warp instructions");
    assert!(steps > 0, "nothing ran, so nothing was tried");
}

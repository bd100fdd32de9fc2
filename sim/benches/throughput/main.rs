//! Warp instructions a second with and without the checker, how they grow from one core to two, and how much memory a large launch takes.
//!
//! The items of the table are warp instructions, on one worker. Growth is measured round by round, with an arithmetic loop in
//! every round that does nothing but add in registers: what that gains from a second thread is what the machine can give at this moment.
//! Memory is the peak of a process that does nothing but one checked launch over 2^24 elements in and out.

mod job;

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use divan::Bencher;
use divan::counter::ItemsCount;
use job::Job;

/// Elements of the launches that are timed.
const ELEMENTS: u64 = 1 << 18;
/// Elements of the launch whose memory is measured.
const MANY: u64 = 1 << 24;
/// Tells the program that it is the process whose memory is measured.
const PROBE: &str = "--memory-probe";

fn main() {
    if std::env::args().any(|argument| argument == PROBE) {
        pool(2).install(|| Job::pipeline(MANY).run(true));
        println!("{}", peak_kib().unwrap_or(0));
        return;
    }
    divan::main();
    // Cargo runs benchmarks as tests too, and people ask for some by name.
    let all = std::env::args()
        .skip(1)
        .all(|argument| argument == "--bench");
    if all && std::env::args().len() > 1 {
        scaling();
        memory();
    }
}

fn pool(workers: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("a pool")
}

fn bench(mut job: Job, bencher: Bencher<'_, '_>, check: bool) {
    let pool = pool(1);
    let outcome = pool.install(|| job.run(check));
    bencher
        .counter(ItemsCount::new(outcome.warp_instructions))
        .bench_local(|| pool.install(|| job.run(check)));
}

#[divan::bench(sample_count = 20)]
fn pipeline_silent(bencher: Bencher<'_, '_>) {
    bench(Job::pipeline(ELEMENTS), bencher, false);
}

#[divan::bench(sample_count = 20)]
fn pipeline_checked(bencher: Bencher<'_, '_>) {
    bench(Job::pipeline(ELEMENTS), bencher, true);
}

#[divan::bench(sample_count = 20)]
fn matmul_silent(bencher: Bencher<'_, '_>) {
    bench(Job::matmul(), bencher, false);
}

#[divan::bench(sample_count = 20)]
fn matmul_checked(bencher: Bencher<'_, '_>) {
    bench(Job::matmul(), bencher, true);
}

/// The same work for each of so many threads, and the time that it takes them all.
fn arithmetic(workers: usize) -> Duration {
    const ROUNDS: u64 = 1 << 25;
    let work = || (0..ROUNDS).fold(1u64, |sum, round| black_box(sum.wrapping_mul(3) ^ round));
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| black_box(work()));
        }
    });
    begin.elapsed()
}

/// How throughput grows from one worker to two.
fn scaling() {
    const ROUNDS: usize = 15;
    let pools = [pool(1), pool(2)];
    let mut jobs = [
        ("pipeline, silent", Job::pipeline(8 * ELEMENTS), false),
        ("pipeline, checked", Job::pipeline(8 * ELEMENTS), true),
        ("matmul, silent", Job::matmul(), false),
        ("matmul, checked", Job::matmul(), true),
    ];
    let mut gains = vec![Vec::new(); jobs.len() + 1];
    for _ in 0..ROUNDS {
        for (at, (_, job, check)) in jobs.iter_mut().enumerate() {
            let [one, two] = [0, 1].map(|workers: usize| {
                let begin = Instant::now();
                pools[workers].install(|| job.run(*check));
                begin.elapsed()
            });
            gains[at].push(one.as_secs_f64() / two.as_secs_f64());
        }
        let (one, two) = (arithmetic(1), arithmetic(2));
        gains[jobs.len()].push(2.0 * one.as_secs_f64() / two.as_secs_f64());
    }
    println!(
        "\ngrowth from one core to two, median (and quartiles) of {ROUNDS} interleaved rounds"
    );
    let names = jobs
        .iter()
        .map(|(name, ..)| *name)
        .chain(["arithmetic loop"]);
    for (name, mut gains) in names.zip(gains) {
        gains.sort_by(f64::total_cmp);
        let at = |part: usize| gains[gains.len() * part / 4];
        println!("  {name:<18} {:.2} ({:.2} to {:.2})", at(2), at(1), at(3));
    }
}

/// Peak memory of a checked launch, in a process of its own.
fn memory() {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .arg(PROBE)
        .output()
        .expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    match text.trim().parse::<u64>() {
        Ok(kib @ 1..) => println!(
            "\npeak memory, checked, {MANY} elements in and out: {:.2} GiB, of which the buffers are {:.2}",
            kib as f64 / (1 << 20) as f64,
            (2 * 4 * MANY) as f64 / (1u64 << 30) as f64
        ),
        _ => println!("\npeak memory: this system does not tell"),
    }
}

/// The largest resident size of this process so far, where the system tells.
fn peak_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

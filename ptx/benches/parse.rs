//! How long a large file takes to parse: about a megabyte of one kernel's text, over and over under other names.

use divan::Bencher;
use divan::counter::BytesCount;

fn main() {
    divan::main();
}

/// A module of at least so many bytes.
fn module(bytes: usize) -> String {
    let kernel = include_str!("../../sim/benches/throughput/kernels/kernel_async_pipeline.ptx");
    let (head, entry) = kernel.split_at(kernel.find(".visible").expect("an entry"));
    let name = "kernel_async_pipeline_s4_two_p1";
    let mut text = head.to_owned();
    for copy in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&entry.replace(name, &format!("copy_{copy}")));
    }
    text
}

#[divan::bench(args = [1_000_000, 4_000_000], sample_count = 10)]
fn parse(bencher: Bencher<'_, '_>, bytes: usize) {
    let text = module(bytes);
    bencher
        .counter(BytesCount::of_str(&text))
        .bench_local(|| nstage_ptx::parse(&text).expect("the module is well formed"));
}

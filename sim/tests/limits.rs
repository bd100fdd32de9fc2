//! What a launch may cost: each limit ends it as incomplete, soon, and says what to do.

use std::sync::atomic::{AtomicU64, Ordering};

use nstage_sim::{GlobalMemory, Launch, MemoryLimit, Options, Outcome, Program, Verdict, run};

fn launch(body: &str, threads: u32, options: &Options) -> Outcome {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n{body}\nret;\n}}\n"
    );
    let module = nstage_ptx::parse(&text).unwrap_or_else(|errors| panic!("{errors}"));
    let program = Program::compile(&module, "k").unwrap_or_else(|error| panic!("{error}"));
    run(
        &program,
        &mut GlobalMemory::new(),
        &Launch::new(2, threads),
        options,
    )
}

#[track_caller]
fn ends_saying(outcome: &Outcome, part: &str) {
    assert_eq!(outcome.verdict(), Verdict::Incomplete, "{outcome:?}");
    let message = &outcome.incomplete.as_ref().expect("a reason").message;
    assert!(message.contains(part), "{message}");
}

/// The body of a loop that only ends after 2³² turns.
fn endless(inside: &str) -> String {
    format!(
        ".reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd<3>; mov.b32 %r1, 0;\n\
         LOOP:\n{inside}\nadd.u32 %r1, %r1, 1;\nsetp.ne.u32 %p, %r1, 0;\n@%p bra LOOP;"
    )
}

#[test]
fn no_more_is_executed_than_the_budget_has() {
    // Two blocks of four warps: the budget is that of the launch, and ends inside a warp's turn.
    for budget in [1, 100, 4_097, 50_000] {
        for check in [false, true] {
            let options = Options {
                check,
                max_steps: Some(budget),
                ..Options::default()
            };
            let outcome = launch(&endless(""), 128, &options);
            ends_saying(
                &outcome,
                &format!("the budget of {budget} warp instructions ran out"),
            );
            // Workers that run other blocks at the time may each finish an instruction.
            let ran = outcome.warp_instructions;
            assert!(ran >= budget && ran <= 2 * budget + 2, "{ran} of {budget}");
        }
    }
}

#[test]
fn mbarriers_without_end_are_too_many() {
    let body = format!(
        ".shared .align 8 .b8 bar[8];\n{}",
        endless("mbarrier.init.shared.b64 [bar], 1;\nmbarrier.inval.shared.b64 [bar];")
    );
    let outcome = launch(&body, 1, &Options::default());
    ends_saying(&outcome, "initialises mbarriers more than 65536 times");
}

#[test]
fn registers_and_memories_are_counted_before_they_are_taken() {
    let options = Options {
        max_memory: Some(MemoryLimit {
            meter: || 0,
            bytes: 64 << 20,
        }),
        ..Options::default()
    };
    let body = ".local .align 8 .b8 depot[262144];\n.reg .b32 %r<2>;\nmov.b32 %r1, 0;\nst.local.u32 [depot], %r1;";
    let outcome = launch(body, 1024, &options);
    ends_saying(
        &outcome,
        "over the limit of 67108864; raise the limit, or launch smaller blocks",
    );
    assert_eq!(outcome.warp_instructions, 0);
    assert_eq!(launch(body, 32, &options).verdict(), Verdict::Clean);
}

#[test]
fn memory_is_looked_at_while_it_runs() {
    static LOOKS: AtomicU64 = AtomicU64::new(0);
    let options = Options {
        max_memory: Some(MemoryLimit {
            // A simulation that takes a mebibyte more at each look.
            meter: || LOOKS.fetch_add(1, Ordering::Relaxed) << 20,
            bytes: 16 << 20,
        }),
        ..Options::default()
    };
    let outcome = launch(&endless(""), 64, &options);
    ends_saying(
        &outcome,
        "over the limit of 16777216; raise the limit, or launch fewer threads",
    );
    assert!(LOOKS.load(Ordering::Relaxed) < 32);
}

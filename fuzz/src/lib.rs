//! What the fuzz targets do with bytes. The test `fuzz_corpus` does the same with every file of the corpus.
//!
//! Nothing may panic, and nothing may take long or much memory: the limits are those that a service would set that checks what strangers send.

use nstage_host::check::{Check, annotated, findings};
use nstage_sim::Landing;

/// Warp instructions of one run.
const MOST_STEPS: u64 = 1 << 12;
/// Bytes of memory of the process.
const MOST_MEMORY: u64 = 1 << 30;

/// An entry with one parameter of each kind that launches are written for.
const ENTRY: &str = "
.version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_0, .param .u32 k_1)
{
  .reg .b64 %rd<2>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [k_0];
  ld.param.u32 %r1, [k_1];
  st.global.u32 [%rd1], %r1;
  ret;
}
";

/// Reads a text; what reads must print to a text that reads the same.
pub fn parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match nstage_ptx::parse(&text) {
        Ok(module) => {
            let printed = module.to_string();
            let again = nstage_ptx::parse(&printed).expect("what was printed reads");
            assert_eq!(again.to_string(), printed);
        }
        Err(errors) => assert!(!errors.errors.is_empty(), "refused without a reason"),
    }
}

/// Reads the bytes as the launch of a kernel, and launches.
pub fn launch(bytes: &[u8]) {
    let flags = String::from_utf8_lossy(bytes);
    let mut text = String::new();
    for line in flags.lines() {
        text.push_str("// nstage: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push_str(ENTRY);
    run(&text, &[Landing::Late]);
}

/// Checks a text with the launch in its comments, under every landing.
pub fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    run(&text, &[Landing::Late, Landing::Early, Landing::Random(1)]);
}

fn run(text: &str, landings: &[Landing]) {
    let Ok(check) = Check::new(text) else {
        return;
    };
    let check = check.within(MOST_STEPS, MOST_MEMORY);
    for landing in landings {
        if let Ok(run) = check.run(*landing) {
            let _ = findings("kernel.ptx", &run.outcome);
            let annotated = annotated(text, &run.outcome);
            nstage_ptx::parse(&annotated).expect("an annotated text reads");
        }
    }
}

//! What a call of the library costs in a hot loop, beside the same loop written by hand in PTX: machine instructions a turn.

mod way;

use nstage_host::ptx::PtxSet;
use nstage_sim::{Fill, GlobalMemory, Launch, Options, Program, Verdict};
use std::path::{Path, PathBuf};
use std::process::Command;
use way::Code;

/// The references: one entry each, whole kernels.
const REFERENCE: &str = include_str!("reference.ptx");

/// A loop that the library makes and the same by hand.
struct Row {
    what: &'static str,
    library: &'static str,
    reference: &'static str,
    /// What a turn passes: the words of an instruction, for each.
    marks: &'static [&'static str],
    /// Instructions of the library's turn where they are not within the limit yet; they may not become more.
    known: Option<usize>,
}

/// A turn of the library's may have this many percent more instructions than one by hand.
const LIMIT_PERCENT: usize = 5;

/// Use of a tile: 16 bytes out of shared memory, products to global memory.
const USE: [&str; 2] = ["LDS.128", "STG .128"];

const ROWS: &[Row] = &[
    Row {
        what: "copy, commit groups, two barriers",
        library: "kernel_async_pipeline_s3_two_p1",
        reference: "groups_two",
        marks: &["LDGSTS", USE[0], USE[1]],
        known: Some(35),
    },
    Row {
        what: "copy, arrivals at a barrier",
        library: "kernel_async_pipeline_mbarrier_s3_two_p1",
        reference: "arrivals_two",
        marks: &["LDGSTS", USE[0], USE[1]],
        known: None,
    },
    Row {
        what: "copy, bulk: the thread that starts it",
        library: "kernel_async_pipeline_bulk_s3_two_p1",
        reference: "bulk_two",
        marks: &["UBLKCP", "BAR.SYNC", USE[0], USE[1]],
        known: Some(53),
    },
    Row {
        what: "ring step, one barrier",
        library: "kernel_async_pipeline_s4_one_p1",
        reference: "groups_one",
        marks: &["LDGSTS", USE[0], USE[1]],
        known: Some(34),
    },
    Row {
        what: "hand-over, consumer",
        library: "scale_roles_s4_p1",
        reference: "roles",
        marks: &["SYNCS.ARRIVE", "SYNCS.PHASECHK", USE[0], USE[1]],
        known: None,
    },
    Row {
        what: "hand-over, producer",
        library: "scale_roles_s4_p1",
        reference: "roles",
        marks: &["UBLKCP", "SYNCS.PHASECHK", "SYNCS.ARRIVE"],
        known: Some(40),
    },
];

#[test]
fn a_turn_of_the_library_costs_what_one_by_hand_does() {
    let Some(bin) = std::env::var_os("NSTAGE_CUDA_BIN").map(PathBuf::from) else {
        eprintln!("skipping: needs ptxas and nvdisasm (NSTAGE_CUDA_BIN)");
        return;
    };
    let set = PtxSet::embedded().expect("built in");
    let folder = tempfile::tempdir().expect("a folder");
    let mut table = format!(
        "{:40} library  by hand   excess  bound\n",
        "instructions a turn, sm_90"
    );
    let mut wrong = Vec::new();
    for row in ROWS {
        let text = set.entry(row.library, 90).expect("built in").text;
        let library = turn(&bin, folder.path(), &text, row.library, row.marks);
        let reference = turn(&bin, folder.path(), REFERENCE, row.reference, row.marks);
        let within = library * 100 <= reference * (100 + LIMIT_PERCENT);
        let excess = (library as f64 / reference as f64 - 1.0) * 100.0;
        let bound = row.known.map_or_else(
            || format!("{LIMIT_PERCENT} %"),
            |most| format!("{most}, known"),
        );
        table += &format!(
            "{:40} {library:>7} {reference:>8} {excess:>+7.1}%  {bound}\n",
            row.what
        );
        match row.known {
            None if !within => wrong.push(format!(
                "{}: more than {LIMIT_PERCENT} % above the loop by hand",
                row.what
            )),
            Some(most) if library > most => wrong.push(format!(
                "{}: {library} instructions, {most} before",
                row.what
            )),
            Some(_) if within => wrong.push(format!(
                "{}: within {LIMIT_PERCENT} % now; drop `known`",
                row.what
            )),
            _ => {}
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
}

/// Instructions of a turn that do something: ptxas puts loads without a target before some copies, and fills gaps.
fn turn(bin: &Path, folder: &Path, ptx: &str, entry: &str, marks: &[&str]) -> usize {
    let (source, cubin) = (folder.join("k.ptx"), folder.join("k.cubin"));
    std::fs::write(&source, ptx).expect("written");
    let mut ptxas = Command::new(bin.join("ptxas"));
    ptxas
        .args(["--gpu-name", "sm_90", "--output-file"])
        .arg(&cubin)
        .arg(&source);
    output(&mut ptxas, entry);
    let sass = output(
        Command::new(bin.join("nvdisasm")).arg("-c").arg(&cubin),
        entry,
    );
    let code = Code::read(&sass, entry);
    let way = code.way_round(marks);
    let way = way.unwrap_or_else(|| panic!("{entry}: no loop with {marks:?}"));
    way.iter()
        .filter(|text| !text.contains("LDS RZ") && **text != "NOP")
        .count()
}

fn output(command: &mut Command, entry: &str) -> String {
    let out = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        out.status.success(),
        "{entry}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).into_owned()
}

/// A reference that is wrong would be cheap.
#[test]
fn the_references_scale_without_a_hazard() {
    let module = nstage_ptx::parse(REFERENCE).expect("PTX");
    for entry in [
        "groups_two",
        "groups_one",
        "arrivals_two",
        "bulk_two",
        "roles",
    ] {
        let threads = 64;
        // 0 to 9 tiles for two blocks, of 64 threads with 16 bytes each, or of 32 where a warp fetches.
        for tiles in 0..10_u64 {
            let n = tiles * if entry == "roles" { 128 } else { 256 };
            let x: Vec<u8> = (0..n).flat_map(|i| (i as f32).to_le_bytes()).collect();
            let mut memory = GlobalMemory::new();
            let x_address = memory.alloc(4 * n, Fill::Bytes(&x)).expect("allocated");
            let y_address = memory.alloc(4 * n, Fill::Poison).expect("allocated");
            let mut launch = Launch::new(2, threads);
            launch.dynamic_shared = 8192;
            launch.params = vec![
                y_address.0.to_le_bytes().to_vec(),
                x_address.0.to_le_bytes().to_vec(),
                2.5_f32.to_le_bytes().to_vec(),
                n.to_le_bytes().to_vec(),
            ];
            let program = Program::compile(&module, entry).expect("modelled");
            let outcome = nstage_sim::run(&program, &mut memory, &launch, &Options::default());
            assert_eq!(
                outcome.verdict(),
                Verdict::Clean,
                "{entry}, {tiles} tiles: {:?}",
                outcome.findings
            );
            let mut y = x.clone();
            memory.read(y_address, &mut y).expect("read");
            let wanted: Vec<u8> = (0..n)
                .flat_map(|i| (2.5 * i as f32).to_le_bytes())
                .collect();
            assert!(y == wanted, "{entry}, {tiles} tiles: another result");
        }
    }
}

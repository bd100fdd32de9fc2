//! What NVIDIA's tools make of a PTX file: ptxas its registers, cuobjdump the machine code.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use nstage_ptx::ast::Module;
use serde::Serialize;

use crate::cli::Failure;
use crate::tools;

/// Opcodes of machine code that copy asynchronously, wait for such copies, order them or multiply from shared memory; the rest is counted in the total only.
const TOLD: &[&str] = &[
    "LDGSTS",
    "LDGDEPBAR",
    "DEPBAR",
    "ARRIVES",
    "SYNCS",
    "UBLKCP",
    "UBLKPF",
    "UBLKRED",
    "UTMALDG",
    "UTMASTG",
    "UTMAREDG",
    "UTMAPF",
    "UTMACMDFLUSH",
    "FENCE",
    "BAR",
    "UCGABAR_ARV",
    "UCGABAR_WAIT",
    "LDSM",
    "STSM",
    "HMMA",
    "IMMA",
    "HGMMA",
    "WARPGROUP",
    "USETMAXREG",
];

/// What ptxas says of an entry, and its machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Compiled {
    pub(super) registers: u32,
    pub(super) shared_bytes: u32,
    pub(super) local_bytes: u32,
    pub(super) spill_stores: u32,
    pub(super) spill_loads: u32,
    /// `None` where there is no cuobjdump.
    pub(super) sass: Option<Sass>,
}

/// An entry's machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Sass {
    /// All instructions but the filler behind the last.
    pub(super) instructions: usize,
    /// Instructions by opcode, those of [`TOLD`] only.
    pub(super) told: BTreeMap<String, usize>,
    /// One instruction a line, without addresses and encodings.
    #[serde(skip)]
    pub(super) lines: Vec<String>,
}

/// Every entry compiled; `None` where there is no ptxas.
pub(super) fn compile(
    module: &Module,
    path: &Path,
) -> Result<Option<BTreeMap<String, Compiled>>, Failure> {
    let Some(ptxas) = tools::find("ptxas") else {
        return Ok(None);
    };
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::Usage(format!("no folder for the machine code: {error}")))?;
    let cubin = folder.path().join("inspected.cubin");
    let target = module.target.first().map_or("sm_80", String::as_str);
    let mut command = Command::new(&ptxas);
    command
        .args(["--verbose", "--gpu-name", target, "--output-file"])
        .arg(&cubin)
        .arg(path);
    let said = run(&mut command, &format!("ptxas refuses {}", path.display()))?;
    let mut found = read_ptxas(&String::from_utf8_lossy(&said.stderr));
    if let Some(cuobjdump) = tools::find("cuobjdump") {
        let mut command = Command::new(&cuobjdump);
        command.arg("-sass").arg(&cubin);
        let said = run(&mut command, "cuobjdump refuses what ptxas wrote")?;
        let code = read_cuobjdump(&String::from_utf8_lossy(&said.stdout));
        for (entry, sass) in code {
            if let Some(compiled) = found.get_mut(&entry) {
                compiled.sass = Some(sass);
            }
        }
    }
    Ok(Some(found))
}

fn run(command: &mut Command, refused: &str) -> Result<Output, Failure> {
    let done = command.output().map_err(|error| {
        let tool = command.get_program().to_string_lossy().into_owned();
        Failure::Usage(format!("{tool}: cannot be run: {error}"))
    })?;
    if done.status.success() {
        return Ok(done);
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(Failure::Usage(format!("{refused}: {}", said.trim())))
}

/// The verbose output of ptxas.
fn read_ptxas(said: &str) -> BTreeMap<String, Compiled> {
    let mut found: BTreeMap<String, Compiled> = BTreeMap::new();
    let mut entry = String::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            entry = rest.split('\'').next().unwrap_or_default().to_owned();
            found.entry(entry.clone()).or_default();
        }
        let Some(compiled) = found.get_mut(&entry) else {
            continue;
        };
        let mut before = |text: &str, field: fn(&mut Compiled) -> &mut u32| {
            let number = line
                .split(text)
                .next()
                .filter(|head| head.len() < line.len());
            let digits = number.and_then(|head| head.rsplit([' ', ',']).next());
            if let Some(value) = digits.and_then(|digits| digits.parse().ok()) {
                *field(compiled) = value;
            }
        };
        before(" registers", |c| &mut c.registers);
        before(" bytes smem", |c| &mut c.shared_bytes);
        before(" bytes stack frame", |c| &mut c.local_bytes);
        before(" bytes spill stores", |c| &mut c.spill_stores);
        before(" bytes spill loads", |c| &mut c.spill_loads);
    }
    found
}

/// The listing of cuobjdump, by function.
fn read_cuobjdump(said: &str) -> BTreeMap<String, Sass> {
    let mut found: BTreeMap<String, Sass> = BTreeMap::new();
    let mut function = None;
    for line in said.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("Function : ") {
            function = Some(name.to_owned());
            continue;
        }
        let Some(instruction) = instruction_of(line) else {
            continue;
        };
        let Some(name) = &function else { continue };
        found
            .entry(name.clone())
            .or_default()
            .lines
            .push(instruction.to_owned());
    }
    for sass in found.values_mut() {
        let last = sass.lines.iter().rposition(|line| line != "NOP");
        sass.lines.truncate(last.map_or(0, |last| last + 1));
        // Behind the end stands a jump to itself, so that nothing is fetched past it.
        if let [.., end, filler] = &sass.lines[..]
            && filler.starts_with("BRA")
            && end.contains("EXIT")
        {
            sass.lines.pop();
        }
        sass.instructions = sass.lines.len();
        for line in &sass.lines {
            let words = line.split_whitespace();
            let Some(opcode) = words.into_iter().find(|word| !word.starts_with('@')) else {
                continue;
            };
            let name = opcode.split('.').next().unwrap_or_default();
            if TOLD.contains(&name) {
                *sass.told.entry(opcode.to_owned()).or_insert(0) += 1;
            }
        }
    }
    found
}

/// `LDG.E R0, …` of `/*0010*/  LDG.E R0, … ;  /* 0x… */`; nothing for the encoding's second line.
fn instruction_of(line: &str) -> Option<&str> {
    let (address, rest) = line.strip_prefix("/*")?.split_once("*/")?;
    let hexadecimal = !address.is_empty() && address.chars().all(|c| c.is_ascii_hexdigit());
    let (instruction, _) = rest.split_once(';')?;
    hexadecimal.then(|| instruction.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listing_of_cuobjdump_becomes_counts() {
        let said = "
	code for sm_90
		Function : ring
	.headerflags	@\"EF_CUDA_SM90\"
        /*0000*/                   LDC R1, c[0x0][0x28] ;   /* 0x00000a00ff017b82 */
                                                            /* 0x000fe20000000800 */
        /*0010*/               @P0 LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64] ;  /* 0x1 */
        /*0020*/                   LDGSTS.E.BYPASS.128 [R5+0x10], desc[UR4][R2.64] ;  /* 0x1 */
        /*0030*/                   LDGDEPBAR ;              /* 0x2 */
        /*0040*/                   EXIT ;                   /* 0x3 */
        /*0050*/                   BRA 0x50;                /* 0x4 */
        /*0060*/                   NOP;                     /* 0x5 */
		..........
		Function : other
        /*0000*/                   EXIT ;                   /* 0x3 */
";
        let found = read_cuobjdump(said);
        let ring = &found["ring"];
        assert_eq!(ring.instructions, 5);
        let told: Vec<(&str, usize)> = ring.told.iter().map(|(k, n)| (k.as_str(), *n)).collect();
        assert_eq!(told, [("LDGDEPBAR", 1), ("LDGSTS.E.BYPASS.128", 2)]);
        assert_eq!(
            ring.lines[1],
            "@P0 LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64]"
        );
        assert_eq!(found["other"].instructions, 1);
    }

    #[test]
    fn the_words_of_ptxas_are_read() {
        let said = "ptxas info    : Compiling entry function 'first' for 'sm_90'\n\
            ptxas info    : Function properties for first\n\
            \x20   8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n\
            ptxas info    : Used 40 registers, used 1 barriers, 8 bytes stack frame, 1024 bytes smem\n\
            ptxas info    : Compiling entry function 'second' for 'sm_90'\n\
            ptxas info    : Used 16 registers\n";
        let found = read_ptxas(said);
        let first = Compiled {
            registers: 40,
            shared_bytes: 1024,
            local_bytes: 8,
            spill_stores: 4,
            spill_loads: 12,
            sass: None,
        };
        assert_eq!(found["first"], first);
        let second = Compiled {
            registers: 16,
            ..Compiled::default()
        };
        assert_eq!(found["second"], second);
    }
}

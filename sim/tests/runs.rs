//! Small kernels, each with one claim about how threads proceed and what memory holds.
//!
//! Every `.ptx` file under `runs/` says in comments how it is launched and what comes of it:
//!
//! ```text
//! // launch: grid=2 block=64 cluster=1 shared=128
//! // param: buffer 64 ramp            a buffer of 64 bytes: `zero`, `poison`, or `ramp` (32-bit word i is i)
//! // param: u32 7                     a scalar: u32, u64 or f32
//! // expect: clean                    or `trap`, `incomplete`, `hazard NAME`
//! // message: deadlock                part of the finding's, trap's or incomplete's message
//! // printed: hello                   what the kernel printed, `\n` for a line end
//! // memory 0: 1 2 3                  the first 32-bit words of the first buffer
//! // memory 0 early: 4 5 6            the same under one landing only
//! ```
//!
//! Each runs under every landing without the checker; what is clean there also runs under it,
//! and must be clean again, or what `// checked: hazard NAME` says.

use std::path::Path;

use nstage_sim::{
    Dim3, Fill, GlobalMemory, Landing, Launch, Options, Outcome, Program, Severity, Verdict, run,
};

const LANDINGS: [(&str, Landing); 4] = [
    ("late", Landing::Late),
    ("random", Landing::Random(1)),
    ("random", Landing::Random(2)),
    ("early", Landing::Early),
];

#[derive(Default)]
struct Case {
    launch: Vec<(String, u32)>,
    params: Vec<Vec<String>>,
    expect: Vec<String>,
    /// What the checker says, where that is something else.
    checked: Option<Vec<String>>,
    message: Option<String>,
    printed: Option<String>,
    /// Which buffer, under which landing, and its words.
    memory: Vec<(usize, Option<String>, Vec<u32>)>,
}

fn parse(text: &str) -> Case {
    let mut case = Case::default();
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for line in text.lines() {
        let Some((key, value)) = line
            .strip_prefix("// ")
            .and_then(|line| line.split_once(": "))
        else {
            continue;
        };
        match key.split_whitespace().collect::<Vec<_>>()[..] {
            ["launch"] => {
                let pairs = value
                    .split_whitespace()
                    .map(|pair| pair.split_once('=').expect("key=number"));
                case.launch = pairs
                    .map(|(key, value)| (key.to_owned(), value.parse().expect("a number")))
                    .collect();
            }
            ["param"] => case.params.push(words(value)),
            ["expect"] => case.expect = words(value),
            ["checked"] => case.checked = Some(words(value)),
            ["message"] => case.message = Some(value.to_owned()),
            ["printed"] => case.printed = Some(value.replace("\\n", "\n")),
            ["memory", index, ref landing @ ..] => {
                let numbers = value.split_whitespace().map(number).collect();
                let landing = landing.first().map(|landing| (*landing).to_owned());
                case.memory
                    .push((index.parse().expect("an index"), landing, numbers));
            }
            _ => {}
        }
    }
    assert!(!case.expect.is_empty(), "no `// expect:`");
    case
}

fn number(text: &str) -> u32 {
    if let Some(hex) = text.strip_prefix("0x") {
        u32::from_str_radix(hex, 16).expect("hexadecimal bits")
    } else if text.contains('.') {
        text.parse::<f32>().expect("a float").to_bits()
    } else {
        text.parse::<i64>().expect("an integer") as u32
    }
}

struct Ran {
    outcome: Outcome,
    /// The buffers' words, in order.
    buffers: Vec<Vec<u32>>,
}

fn execute(program: &Program, case: &Case, landing: Landing, check: bool) -> Ran {
    let get = |key: &str, default| {
        case.launch
            .iter()
            .find(|(known, _)| known == key)
            .map_or(default, |(_, value)| *value)
    };
    let mut memory = GlobalMemory::new();
    let mut buffers = Vec::new();
    let mut params = Vec::new();
    for param in &case.params {
        let words: Vec<&str> = param.iter().map(String::as_str).collect();
        match words[..] {
            ["buffer", bytes, fill] => {
                let bytes: u64 = bytes.parse().expect("a size");
                let ramp: Vec<u8> = (0..bytes as u32 / 4).flat_map(u32::to_le_bytes).collect();
                let fill = match fill {
                    "zero" => Fill::Zero,
                    "poison" => Fill::Poison,
                    "ramp" => Fill::Bytes(&ramp),
                    other => panic!("unknown fill {other}"),
                };
                let pointer = memory.alloc(bytes, fill).unwrap();
                buffers.push((pointer, bytes));
                params.push(pointer.0.to_le_bytes().to_vec());
            }
            ["u64", value] => params.push(value.parse::<u64>().unwrap().to_le_bytes().to_vec()),
            [_, value] => params.push(number(value).to_le_bytes().to_vec()),
            _ => panic!("unknown parameter {param:?}"),
        }
    }
    let launch = Launch {
        cluster: Dim3::new(get("cluster", 1), 1, 1),
        dynamic_shared: get("shared", 0),
        params,
        ..Launch::new(get("grid", 1), get("block", 32))
    };
    let options = Options {
        landing,
        check,
        max_steps: Some(2_000_000),
    };
    let outcome = run(program, &mut memory, &launch, &options);
    let buffers = buffers
        .iter()
        .map(|&(pointer, bytes)| {
            let mut data = vec![0; bytes as usize];
            memory.read(pointer, &mut data).unwrap();
            data.chunks_exact(4)
                .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
                .collect()
        })
        .collect();
    Ran { outcome, buffers }
}

fn compare(case: &Case, expect: &[String], name: &str, ran: &Ran) -> Result<(), String> {
    let outcome = &ran.outcome;
    let verdict = outcome.verdict().to_string();
    if verdict != expect[0] {
        return Err(format!("{verdict}, {} wanted: {outcome:?}", expect[0]));
    }
    if let Some(class) = expect.get(1)
        && !outcome
            .findings
            .iter()
            .any(|finding| finding.class.name() == class && finding.severity == Severity::Error)
    {
        return Err(format!("no finding `{class}` among {:?}", outcome.findings));
    }
    if let Some(part) = &case.message {
        let findings = outcome
            .findings
            .iter()
            .flat_map(|finding| finding.notes.iter().chain([&finding.message]));
        let ends = [
            outcome.trap.as_ref().map(|trap| &trap.message),
            outcome.incomplete.as_ref().map(|end| &end.message),
        ];
        let mut messages = findings.chain(ends.into_iter().flatten());
        if !messages.any(|message| message.contains(part)) {
            return Err(format!("nothing says `{part}`: {outcome:?}"));
        }
    }
    if let Some(printed) = &case.printed
        && *printed != outcome.printed
    {
        return Err(format!("printed {:?}, {printed:?} wanted", outcome.printed));
    }
    for (index, landing, wanted) in &case.memory {
        if landing.as_ref().is_some_and(|landing| landing != name) {
            continue;
        }
        let got = &ran.buffers[*index][..wanted.len()];
        if got != wanted {
            return Err(format!("buffer {index} holds {got:?}, {wanted:?} wanted"));
        }
    }
    Ok(())
}

#[test]
fn kernels_come_to_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/runs");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut failures = Vec::new();
    for path in &paths {
        let name = path.file_name().unwrap().to_string_lossy();
        let text = std::fs::read_to_string(path).unwrap();
        let case = parse(&text);
        let module = nstage_ptx::parse(&text).unwrap_or_else(|errors| panic!("{name}: {errors}"));
        let program =
            Program::compile(&module, "test").unwrap_or_else(|error| panic!("{name}: {error}"));
        for (landing, mode) in LANDINGS {
            if let Err(message) = compare(
                &case,
                &case.expect,
                landing,
                &execute(&program, &case, mode, false),
            ) {
                failures.push(format!("{name}, {landing}: {message}"));
            }
        }
        if case.expect[0] == Verdict::Clean.to_string() {
            let ran = execute(&program, &case, Landing::Late, true);
            let expect = case.checked.as_ref().unwrap_or(&case.expect);
            if let Err(message) = compare(&case, expect, "late", &ran) {
                failures.push(format!("{name}, under the checker: {message}"));
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

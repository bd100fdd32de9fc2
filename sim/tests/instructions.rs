//! One instruction at a time against expected values.
//!
//! Each `.cases` file holds instructions and rows of values:
//!
//! ```text
//! add.sat.s32 %d, %a, %b; : s32 = s32 s32
//! 2147483647 = 2147483647 1
//! ```
//!
//! After the colon stand the types of the results (`%d`, then `%e`) and of the operands (`%a`, `%b`, `%c`, `%f`), `pred` among them.
//! Each row is one thread: results, `=`, operands. A float is a number, `inf`, `nan` (any NaN), or its bits as `0x…`;
//! an f16 or bf16 is always its bits. Lines that start with `#` are comments.

use std::fmt::Write as _;
use std::path::Path;

use nstage_sim::{Dim3, Fill, GlobalMemory, Launch, Options, Program, Verdict, run};

const RESULTS: [&str; 2] = ["d", "e"];
const OPERANDS: [&str; 4] = ["a", "b", "c", "f"];

struct Case {
    line: usize,
    instruction: String,
    results: Vec<String>,
    operands: Vec<String>,
    rows: Vec<(usize, Vec<String>, Vec<String>)>,
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let words = |text: &str| {
        text.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((instruction, types)) = line.rsplit_once(" : ") {
            let (results, operands) = types
                .split_once('=')
                .expect("types are `results = operands`");
            cases.push(Case {
                line: index + 1,
                instruction: instruction.to_owned(),
                results: words(results),
                operands: words(operands),
                rows: Vec::new(),
            });
        } else {
            let (results, operands) = line.split_once('=').expect("a row is `results = operands`");
            let case = cases.last_mut().expect("a row belongs to an instruction");
            case.rows.push((index + 1, words(results), words(operands)));
        }
    }
    cases
}

fn bits(text: &str, ty: &str) -> u64 {
    if let Some(hex) = text.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).expect("hexadecimal bits");
    }
    match ty {
        "f32" => u64::from(text.parse::<f32>().expect("a float").to_bits()),
        "f64" => text.parse::<f64>().expect("a float").to_bits(),
        _ => text.parse::<i128>().expect("an integer") as u64,
    }
}

fn width(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "f16x2" | "bf16x2" => 32,
        _ => ty
            .trim_start_matches(|c: char| c.is_ascii_alphabetic())
            .parse()
            .expect("a type with its width"),
    }
}

fn is_nan(bits: u64, ty: &str) -> bool {
    match ty {
        "f32" => f32::from_bits(bits as u32).is_nan(),
        "f64" => f64::from_bits(bits).is_nan(),
        _ => false,
    }
}

fn module(case: &Case) -> String {
    let mut text = String::from(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry test(.param .u64 input, .param .u64 output)\n{\n\
         .reg .b64 %in, %out, %row;\n.reg .b32 %tid, %word;\n\
         ld.param.u64 %in, [input];\nld.param.u64 %out, [output];\nmov.u32 %tid, %tid.x;\n\
         mul.wide.u32 %row, %tid, 32;\nadd.s64 %in, %in, %row;\n\
         mul.wide.u32 %row, %tid, 16;\nadd.s64 %out, %out, %row;\n",
    );
    let declare = |text: &mut String, name: &str, ty: &str| {
        let register = match width(ty) {
            1 => "pred".to_owned(),
            // Registers of eight bits are not used: such values live in larger ones.
            8 => "b16".to_owned(),
            width => format!("b{width}"),
        };
        writeln!(text, ".reg .{register} %{name};").unwrap();
    };
    for (name, ty) in RESULTS.iter().zip(&case.results) {
        declare(&mut text, name, ty);
    }
    for (index, (name, ty)) in OPERANDS.iter().zip(&case.operands).enumerate() {
        declare(&mut text, name, ty);
        match width(ty) {
            1 => writeln!(
                text,
                "ld.global.u32 %word, [%in+{}];\nsetp.ne.u32 %{name}, %word, 0;",
                8 * index
            )
            .unwrap(),
            width => writeln!(text, "ld.global.b{width} %{name}, [%in+{}];", 8 * index).unwrap(),
        }
    }
    writeln!(text, "{}", case.instruction).unwrap();
    for (index, (name, ty)) in RESULTS.iter().zip(&case.results).enumerate() {
        match width(ty) {
            1 => writeln!(
                text,
                "selp.u32 %word, 1, 0, %{name};\nst.global.u32 [%out+{}], %word;",
                8 * index
            )
            .unwrap(),
            width => writeln!(text, "st.global.b{width} [%out+{}], %{name};", 8 * index).unwrap(),
        }
    }
    text.push_str("ret;\n}\n");
    text
}

fn check(path: &Path, case: &Case, failures: &mut Vec<String>) {
    let place = |line: usize| format!("{}:{line}: {}", path.display(), case.instruction);
    let text = module(case);
    let module = nstage_ptx::parse(&text)
        .unwrap_or_else(|errors| panic!("{}: {errors}\n{text}", place(case.line)));
    let program = Program::compile(&module, "test")
        .unwrap_or_else(|error| panic!("{}: {error}", place(case.line)));
    let mut input = Vec::new();
    for (_, _, operands) in &case.rows {
        for index in 0..OPERANDS.len() {
            let value = operands
                .get(index)
                .map_or(0, |text| bits(text, &case.operands[index]));
            input.extend_from_slice(&value.to_le_bytes());
        }
    }
    let rows = case.rows.len();
    let mut memory = GlobalMemory::new();
    let from = memory
        .alloc(input.len() as u64, Fill::Bytes(&input))
        .unwrap();
    let to = memory.alloc(16 * rows as u64, Fill::Zero).unwrap();
    let launch = Launch {
        params: vec![from.0.to_le_bytes().to_vec(), to.0.to_le_bytes().to_vec()],
        ..Launch::new(Dim3::ONE, rows as u32)
    };
    let options = Options {
        check: false,
        max_steps: Some(100_000),
        ..Options::default()
    };
    let outcome = run(&program, &mut memory, &launch, &options);
    if outcome.verdict() != Verdict::Clean {
        failures.push(format!(
            "{}: {}: {outcome:?}",
            place(case.line),
            outcome.verdict()
        ));
        return;
    }
    for (row, (line, results, _)) in case.rows.iter().enumerate() {
        for (index, (wanted, ty)) in results.iter().zip(&case.results).enumerate() {
            let mut bytes = [0; 8];
            memory
                .read(to.offset((16 * row + 8 * index) as u64), &mut bytes)
                .unwrap();
            let got = u64::from_le_bytes(bytes);
            let width = width(ty);
            let mask = if width == 64 {
                u64::MAX
            } else {
                (1 << width) - 1
            };
            let same = if wanted == "nan" {
                is_nan(got, ty)
            } else {
                bits(wanted, ty) & mask == got & mask
            };
            if !same {
                failures.push(format!(
                    "{}: %{} is {got:#x}, {wanted} wanted",
                    place(*line),
                    RESULTS[index]
                ));
            }
        }
    }
}

#[test]
fn instructions_give_the_expected_values() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions");
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut failures = Vec::new();
    let mut count = 0;
    for path in paths {
        for case in parse(&std::fs::read_to_string(&path).unwrap()) {
            assert!(
                !case.rows.is_empty(),
                "{}:{}: no rows",
                path.display(),
                case.line
            );
            check(&path, &case, &mut failures);
            count += case.rows.len();
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {count} rows:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

//! Kernels with a launch and what comes of it in their comments, as the files under `runs/` have them.
//!
//! Every `.ptx` file under `runs/` says in comments how it is launched and what comes of it:
//!
//! ```text
//! // launch: grid=2 block=64 cluster=1 shared=128
//! // param: buffer 64 ramp            a buffer of 64 bytes: `zero`, `poison`, or `ramp` (32-bit word i is i)
//! // param: u32 7                     a scalar: u32, u64 or f32
//! // param: tensor u32[4,8] box=4,8 =ramp   a buffer, filled so, and the map of a tensor in it
//! // expect: clean                    or `trap`, `incomplete`, `hazard NAME`
//! // message: deadlock                part of the finding's, trap's or incomplete's message
//! // printed: hello                   what the kernel printed, `\n` for a line end
//! // memory 0: 1 2 3                  the first 32-bit words of the first buffer
//! // memory 0 early: 4 5 6            the same under one landing only
//! ```

use nstage_sim::matrix::tensor_text::TensorText;
use nstage_sim::{Dim3, Fill, GlobalMemory, Landing, Launch, Options, Outcome, Program, run};

/// What a file says about itself.
#[derive(Default)]
pub(crate) struct Case {
    pub(crate) launch: Vec<(String, u32)>,
    pub(crate) params: Vec<Vec<String>>,
    pub(crate) expect: Vec<String>,
    /// What the checker says, where that is something else.
    pub(crate) checked: Option<Vec<String>>,
    pub(crate) message: Option<String>,
    pub(crate) printed: Option<String>,
    /// Which buffer, under which landing, and its words.
    pub(crate) memory: Vec<(usize, Option<String>, Vec<u32>)>,
}

/// Reads the comments of a file.
pub(crate) fn parse(text: &str) -> Case {
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

/// What a run leaves.
pub(crate) struct Ran {
    pub(crate) outcome: Outcome,
    /// The buffers' words, in order.
    #[allow(
        dead_code,
        reason = "not every test that includes this file looks at memory"
    )]
    pub(crate) buffers: Vec<Vec<u32>>,
}

/// Runs a file's kernel, with or without the checker.
pub(crate) fn execute(program: &Program, case: &Case, landing: Landing, check: bool) -> Ran {
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
            ["tensor", ref rest @ ..] => {
                let text = rest.join(" ");
                let (tensor, fill) = TensorText::parse(&text).expect("a tensor");
                let bytes = tensor.bytes();
                let pointer = memory.alloc(bytes, Fill::Zero).unwrap();
                if fill == Some("ramp") {
                    let ramp: Vec<u8> = (0..bytes as u32 / 4).flat_map(u32::to_le_bytes).collect();
                    memory.write(pointer, &ramp).unwrap();
                }
                buffers.push((pointer, bytes));
                params.push(tensor.map(pointer.0).expect("a map").encode().to_vec());
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
        ..Options::default()
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

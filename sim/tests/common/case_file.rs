//! Cases of the collection `tests/cases`, with the flags of `nstage check` that they use in their heads.

use nstage_sim::check::{Policy, advise};
use nstage_sim::matrix::tensor_text::TensorText;
use nstage_sim::{
    DevicePointer, Dim3, Fill, GlobalMemory, Landing, Launch, Options, Outcome, Program,
    run_with_policy,
};

/// What a file says about itself.
struct Head {
    launch: Launch,
    policy: Policy,
    memory: GlobalMemory,
}

/// The flags of a `// nstage:` line; quotes keep blanks together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().expect("never empty").push(c),
        }
    }
    words
}

fn extent(text: &str) -> Dim3 {
    let numbers: Vec<u32> = text
        .split(',')
        .map(|n| n.parse().expect("an extent"))
        .collect();
    let at = |index: usize| numbers.get(index).copied().unwrap_or(1);
    Dim3::new(at(0), at(1), at(2))
}

/// `u32=5`, `f32[64]+4=ramp`, or `tensor:f32[8,8] box=4,4=ramp`: the parameter's bytes.
fn argument(memory: &mut GlobalMemory, spec: &str) -> Vec<u8> {
    if let Some(tensor) = spec.strip_prefix("tensor:") {
        let (tensor, fill) = TensorText::parse(tensor).expect("a tensor");
        let count = tensor.bytes() as u32 / 4;
        let pointer = allocate(memory, tensor.data.name(), count, fill.expect("a fill"));
        return tensor.map(pointer.0).expect("a map").encode().to_vec();
    }
    let (place, value) = spec.split_once('=').expect("TYPE=VALUE");
    let Some((ty, rest)) = place.split_once('[') else {
        return value.parse::<u32>().expect("a u32").to_le_bytes().to_vec();
    };
    let (count, offset) = rest.split_once(']').expect("TYPE[COUNT]");
    let count: u32 = count.parse().expect("a count");
    let offset: u64 = offset
        .strip_prefix('+')
        .map_or(0, |bytes| bytes.parse().expect("bytes"));
    let pointer = allocate(memory, ty, count, value);
    pointer.offset(offset).0.to_le_bytes().to_vec()
}

fn allocate(memory: &mut GlobalMemory, ty: &str, count: u32, fill: &str) -> DevicePointer {
    let ramp: Vec<u8> = (0..count)
        .flat_map(|i| match ty {
            "f32" => (i as f32).to_le_bytes(),
            _ => i.to_le_bytes(),
        })
        .collect();
    let fill = match fill {
        "zero" => Fill::Zero,
        "poison" => Fill::Poison,
        "ramp" => Fill::Bytes(&ramp),
        other => panic!("`{other}` is no fill that cases use"),
    };
    memory.alloc(u64::from(count) * 4, fill).expect("memory")
}

fn head(text: &str) -> Head {
    let mut head = Head {
        launch: Launch::new(1, 1),
        policy: Policy::default(),
        memory: GlobalMemory::new(),
    };
    for line in text.lines() {
        if let Some(flags) = line.strip_prefix("// nstage: ") {
            for pair in words(flags).chunks(2) {
                let [flag, value] = pair else {
                    panic!("a flag without a value in `{line}`");
                };
                match flag.as_str() {
                    "--grid" => head.launch.grid = extent(value),
                    "--block" => head.launch.block = extent(value),
                    "--cluster" => head.launch.cluster = extent(value),
                    "--dynamic-shared" => {
                        head.launch.dynamic_shared = value.parse().expect("bytes")
                    }
                    "--arg" => {
                        let bytes = argument(&mut head.memory, value);
                        head.launch.params.push(bytes);
                    }
                    "--policy" => {
                        let (name, level) = value.split_once('=').expect("NAME=LEVEL");
                        head.policy.set(name, level).expect("a policy");
                    }
                    other => panic!("`{other}` is no flag that cases use"),
                }
            }
        }
    }
    head
}

/// Runs a case under its own policy.
pub(crate) fn run_case(text: &str, landing: Landing) -> Outcome {
    let module = nstage_ptx::parse(text).unwrap_or_else(|errors| panic!("{errors}"));
    let entry = module.entries().next().expect("an entry").name.clone();
    let program = Program::compile(&module, &entry).unwrap_or_else(|error| panic!("{error}"));
    let mut head = head(text);
    let options = Options {
        landing,
        max_steps: Some(1 << 20),
        ..Options::default()
    };
    let clusters = head.launch.cluster != Dim3::ONE;
    let mut outcome = run_with_policy(
        &program,
        &mut head.memory,
        &head.launch,
        &options,
        &head.policy,
    );
    outcome
        .findings
        .extend(advise(&module, clusters, &head.policy));
    outcome
}

//! `nstage launch`: runs any PTX on a CUDA device, with the launch that `nstage check` reads.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use nstage_sim::{Landing, Options};
use serde::Serialize;

use super::check::{claim_dumps, no_buffer, read_text};
use super::out::{self, Format};
use super::{Failure, notice};
use crate::check::flags::{Dump, Flags};
use crate::check::place::Buffer;
use crate::check::{Check, Ready};
use crate::device::Request;
use crate::io::Output;

/// Launch a PTX file on a CUDA device, with the flags that check takes.
#[derive(Debug, Args)]
#[command(
    after_help = "Example: nstage launch kernel.ptx --grid 2 --block 128 --arg 'f32[1024]=ramp' --arg 'f32[1024]=poison' --compare\n\
    A file may hold its own flags: // nstage: --grid 2 --block 128"
)]
pub(super) struct Arguments {
    /// The PTX.
    #[arg(value_name = "FILE.ptx")]
    file: PathBuf,
    #[command(flatten)]
    flags: Flags,
    /// Where to run: cuda or cuda:INDEX. The simulator's command is check.
    #[arg(long, value_name = "DEVICE", default_value = "cuda")]
    device: Request,
    /// Seconds after which a kernel that has not ended is given up, and the process with it.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    timeout: f64,
    /// Run it in the simulator too, and compare every buffer bit for bit.
    #[arg(long)]
    compare: bool,
    /// Leave poison unwritten, for tools that watch for reads of memory that nobody wrote.
    #[arg(long, conflicts_with = "compare")]
    unwritten: bool,
    /// Write an argument's buffer after the run: its number, from zero, and a file.
    #[arg(long = "dump", value_name = "INDEX=FILE.npy")]
    dumps: Vec<Dump>,
    /// What to print.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A launch ready for a device: the arguments as the simulator's memory holds them.
#[cfg_attr(
    not(feature = "cuda"),
    expect(dead_code, reason = "without CUDA nothing is launched")
)]
struct Job {
    check: Check,
    ready: Ready,
    text: String,
}

/// How the device is used.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "cuda"),
    expect(dead_code, reason = "without CUDA nothing is launched")
)]
struct Wants {
    /// Poison stays unwritten.
    unwritten: bool,
    /// Somebody will look at the buffers; otherwise a tool would take the copy for a read of unwritten memory.
    read_back: bool,
    limit: Duration,
}

/// What came back from the device.
struct Back {
    device: String,
    milliseconds: f64,
    /// The bytes of each argument that is a buffer, where they were read back.
    buffers: Vec<Option<Vec<u8>>>,
}

#[derive(Debug, Serialize)]
struct Report<'a> {
    file: &'a str,
    entry: &'a str,
    device: &'a str,
    milliseconds: f64,
    /// Null unless compared.
    equal: Option<bool>,
    buffers: Vec<BufferLine>,
}

#[derive(Debug, Serialize)]
struct BufferLine {
    argument: usize,
    r#type: String,
    elements: u64,
    /// The first element that the simulator has otherwise; null where there is none, or nothing was compared.
    difference: Option<Difference>,
}

/// An element in hexadecimal, since equal means equal bits.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Difference {
    element: u64,
    device: String,
    simulator: String,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let file = arguments.file.display().to_string();
    let usage = |message: String| Failure::Usage(format!("{file}: {message}"));
    let index = match arguments.device {
        Request::Cuda(index) => index,
        Request::Auto => 0,
        Request::Simulator => {
            return Err(Failure::Usage(
                "--device sim: launch is for CUDA devices; nstage check runs the same file in the simulator".to_owned(),
            ));
        }
    };
    let limit = Duration::try_from_secs_f64(arguments.timeout)
        .map_err(|error| Failure::Usage(format!("--timeout {}: {error}", arguments.timeout)))?;
    let text = read_text(&arguments.file).map_err(usage)?;
    let check = Check::with_flags(&text, arguments.flags.clone()).map_err(usage)?;
    let outputs = claim_dumps(&arguments.dumps, check.flags().args.len())?;
    let ready = check.ready().map_err(usage)?;
    let mut job = Job { check, ready, text };
    let wants = Wants {
        unwritten: arguments.unwritten,
        read_back: arguments.compare || !arguments.dumps.is_empty(),
        limit,
    };
    let back = on_device(&job, index, wants)?;
    let simulated = if arguments.compare {
        Some(simulate(&mut job)?)
    } else {
        None
    };
    for (dump, output) in arguments.dumps.iter().zip(outputs) {
        write_dump(dump, output, &job, &back)?;
    }
    let report = report(&file, &job, &back, simulated.as_deref());
    match arguments.format {
        Format::Text => out::line(&told(&report))?,
        Format::Json => out::json(&report)?,
    }
    match report.equal {
        Some(false) => Err(Failure::Verdict),
        _ => Ok(()),
    }
}

#[cfg(feature = "cuda")]
fn on_device(job: &Job, index: u32, wants: Wants) -> Result<Back, Failure> {
    use crate::check::spec::{Fill, Spec};
    use crate::device::Device;
    use crate::device::cuda::foreign::{Ended, Foreign, abandon};
    use crate::driver::launch::Shape;

    let mut cuda = crate::device::cuda::Cuda::open(index, crate::ptx::PtxSet::none().into())?;
    let (mut params, mut buffers) = (Vec::new(), Vec::new());
    for (argument, spec) in job.check.flags().args.iter().enumerate() {
        let mut param = job.ready.launch.params[argument].clone();
        let buffer = match spec {
            Spec::Buffer(spec) | Spec::Slice(spec) | Spec::Tensor(_, spec) => {
                let bytes = spec.offset + spec.count * spec.ty.bytes() as u64;
                let buffer = if wants.unwritten {
                    cuda.allocate_unwritten(bytes)?
                } else {
                    cuda.allocate(bytes)?
                };
                if spec.fill != Fill::Poison {
                    cuda.upload(&buffer, spec.offset, &held(job, argument))?;
                }
                Some((buffer, spec.offset))
            }
            Spec::Again(earlier) => buffers.get(*earlier).copied().flatten(),
            Spec::Scalar(..) | Spec::Bytes(_) => None,
        };
        if let (Spec::Tensor(tensor, _), Some((buffer, _))) = (spec, buffer) {
            let refused = |reason: String| Failure::Fault(format!("argument {argument}: {reason}"));
            let map = tensor
                .map(buffer.address())
                .map_err(|error| refused(error.to_string()))?;
            param = crate::driver::tensor::encode(&map)
                .map_err(|code| refused(format!("the driver encodes no tensor map: {code:?}")))?
                .to_vec();
        } else if let Some((buffer, offset)) = buffer {
            // The address is the first half of a slice and all of any other buffer's parameter.
            param[..8].copy_from_slice(&(buffer.address() + offset).to_le_bytes());
        }
        params.push(param);
        buffers.push(buffer);
    }
    let extents = |extent: nstage_sim::Dim3| [extent.x, extent.y, extent.z];
    let foreign = Foreign {
        text: &job.text,
        entry: job.check.entry(),
        shape: Shape {
            grid: extents(job.ready.launch.grid),
            block: extents(job.ready.launch.block),
            cluster: extents(job.ready.launch.cluster),
            dynamic_shared: job.ready.launch.dynamic_shared,
        },
        params: &params,
    };
    let device = cuda.describe().to_string();
    let milliseconds = match cuda.launch_foreign(&foreign, wants.limit)? {
        Ended::Done(milliseconds) => milliseconds,
        Ended::Running => {
            let seconds = wants.limit.as_secs_f64();
            let _ = Failure::Fault(format!(
                "{}: still running on {device} after {seconds} s; it may wait for what never comes, which nstage check would name, or need a longer --timeout",
                job.check.entry()
            ))
            .report();
            abandon(1)
        }
    };
    let download = |(argument, held): (usize, &Option<(crate::device::Buffer, u64)>)| {
        let (Some((buffer, offset)), true) = (held, wants.read_back) else {
            return Ok(None);
        };
        let mut bytes = vec![0; buffer.bytes() as usize];
        cuda.download(buffer, &mut bytes)?;
        bytes.drain(..*offset as usize);
        // A buffer passed again has the length of its first mention.
        bytes.truncate(length(job, argument));
        Ok::<_, Failure>(Some(bytes))
    };
    Ok(Back {
        buffers: buffers
            .iter()
            .enumerate()
            .map(download)
            .collect::<Result<_, _>>()?,
        device: device.clone(),
        milliseconds,
    })
}

#[cfg(not(feature = "cuda"))]
fn on_device(_: &Job, _: u32, _: Wants) -> Result<Back, Failure> {
    Err(crate::device::SelectError::NoCuda(
        "this nstage was built without CUDA; build it with the feature cuda".to_owned(),
    )
    .into())
}

/// Bytes of the buffer that an argument passes.
fn length(job: &Job, argument: usize) -> usize {
    let buffer = job.ready.placed.buffers[argument];
    buffer.map_or(0, |buffer| buffer.count as usize * buffer.ty.bytes())
}

/// What the simulator's memory holds of an argument's buffer.
fn held(job: &Job, argument: usize) -> Vec<u8> {
    let mut bytes = vec![0; length(job, argument)];
    if let Some(buffer) = job.ready.placed.buffers[argument] {
        // It was placed there with this length, so reading it cannot fail.
        let read = job.ready.memory.read(buffer.address, &mut bytes);
        debug_assert!(read.is_ok(), "{read:?}");
    }
    bytes
}

/// Runs the launch in the simulator and gives what each buffer then holds.
fn simulate(job: &mut Job) -> Result<Vec<Vec<u8>>, Failure> {
    let options = Options {
        check: false,
        ..job.check.flags().options(Landing::Late)
    };
    let Ready { launch, memory, .. } = &mut job.ready;
    let outcome = nstage_sim::run(job.check.program(), memory, launch, &options);
    if let Some(incomplete) = &outcome.incomplete {
        notice(&format!("the simulator: {}", incomplete.message));
        return Err(Failure::Incomplete);
    }
    if !outcome.approximate.is_empty() {
        notice(&format!(
            "{} may differ from the device's bits within the ISA's error bounds",
            outcome.approximate.join(", ")
        ));
    }
    Ok((0..job.ready.placed.buffers.len())
        .map(|argument| held(job, argument))
        .collect())
}

fn report<'a>(
    file: &'a str,
    job: &'a Job,
    back: &'a Back,
    simulated: Option<&[Vec<u8>]>,
) -> Report<'a> {
    let buffers: Vec<BufferLine> = job
        .ready
        .placed
        .buffers
        .iter()
        .enumerate()
        .filter_map(|(argument, placed)| {
            let Buffer { ty, count, .. } = (*placed)?;
            let device = back.buffers.get(argument)?.as_deref()?;
            let difference =
                simulated.and_then(|simulated| differs(device, &simulated[argument], ty.bytes()));
            Some(BufferLine {
                argument,
                r#type: ty.to_string(),
                elements: count,
                difference,
            })
        })
        .collect();
    Report {
        file,
        entry: job.check.entry(),
        device: &back.device,
        milliseconds: back.milliseconds,
        equal: simulated.map(|_| buffers.iter().all(|buffer| buffer.difference.is_none())),
        buffers,
    }
}

/// The first element that differs.
fn differs(device: &[u8], simulator: &[u8], size: usize) -> Option<Difference> {
    let hex = |bytes: &[u8]| {
        let digits: String = bytes
            .iter()
            .rev()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("0x{digits}")
    };
    let mut elements = device.chunks(size).zip(simulator.chunks(size));
    let element = elements.position(|(device, simulator)| device != simulator)?;
    let at = element * size..(element + 1) * size;
    Some(Difference {
        element: element as u64,
        device: hex(&device[at.clone()]),
        simulator: hex(&simulator[at]),
    })
}

/// The report for people.
fn told(report: &Report<'_>) -> String {
    let mut text = String::new();
    for buffer in &report.buffers {
        let BufferLine {
            argument,
            r#type,
            elements,
            difference,
        } = buffer;
        match (report.equal, difference) {
            (None, _) => {}
            (Some(_), None) => {
                text += &format!("argument {argument}, {type}[{elements}]: as in the simulator\n");
            }
            (Some(_), Some(first)) => {
                text += &format!(
                    "argument {argument}, {type}[{elements}]: element {} is {}, in the simulator {}\n",
                    first.element, first.device, first.simulator
                );
            }
        }
    }
    text + &format!(
        "{}: {}: done in {:.3} ms on {}",
        report.file, report.entry, report.milliseconds, report.device
    )
}

fn write_dump(dump: &Dump, output: Output, job: &Job, back: &Back) -> Result<(), Failure> {
    let (Some(Some(buffer)), Some(Some(bytes))) = (
        job.ready.placed.buffers.get(dump.argument),
        back.buffers.get(dump.argument),
    ) else {
        return Err(no_buffer(dump));
    };
    Ok(output.write_with(|sink| buffer.ty.write_npy(bytes, sink))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_told_in_hexadecimal() {
        let (device, simulator) = ([1, 0, 2, 0, 3, 1], [1, 0, 2, 0, 3, 0]);
        assert_eq!(differs(&device, &device, 2), None);
        let difference = differs(&device, &simulator, 2);
        let expected = Difference {
            element: 2,
            device: "0x0103".to_owned(),
            simulator: "0x0003".to_owned(),
        };
        assert_eq!(difference, Some(expected));
        let report = Report {
            file: "a.ptx",
            entry: "k",
            device: "cuda:0 (X)",
            milliseconds: 0.25,
            equal: Some(false),
            buffers: vec![BufferLine {
                argument: 1,
                r#type: "u16".to_owned(),
                elements: 3,
                difference,
            }],
        };
        assert_eq!(
            told(&report),
            "argument 1, u16[3]: element 2 is 0x0103, in the simulator 0x0003\na.ptx: k: done in 0.250 ms on cuda:0 (X)"
        );
    }
}

//! Arguments in memory: buffers allocated and filled, parameters as the bytes that a launch passes.

use std::ops::Range;
use std::path::Path;

use nstage_sim::{DevicePointer, Fill as Start, Finding, GlobalMemory};
use rayon::prelude::*;

use super::limits::Bytes;
use super::number::Type;
use super::spec::{BufferSpec, Fill, Spec};
use crate::io::npy::{self, Number};

/// Elements that one task makes.
const CHUNK: u64 = 1 << 16;

/// A buffer in the simulator's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    /// The first element.
    pub(crate) address: DevicePointer,
    /// Element type.
    pub(crate) ty: Type,
    /// Elements.
    pub(crate) count: u64,
}

/// Arguments ready for a launch.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// One blob a parameter.
    pub(crate) params: Vec<Vec<u8>>,
    /// The buffer that an argument passes, if it is one.
    pub(crate) buffers: Vec<Option<Buffer>>,
}

/// How far past its end bytes are still told by a buffer.
const NEAR: u64 = 4096;

impl Placed {
    /// Which argument's buffer a finding's bytes of global memory are in, or just behind: an address alone says nothing to whoever wrote `--arg`.
    pub(super) fn argument_note(&self, finding: &Finding) -> Option<String> {
        if finding.space != "global" {
            return None;
        }
        let Range { start, end } = finding.bytes;
        let buffers = || {
            let all = self.buffers.iter().enumerate();
            all.filter_map(|(index, buffer)| {
                let buffer = (*buffer)?;
                let from = buffer.address.0;
                Some((
                    index,
                    buffer,
                    from,
                    from + buffer.count * buffer.ty.bytes() as u64,
                ))
            })
        };
        let name = |index: usize, buffer: Buffer| {
            format!("argument {index}, {}[{}]", buffer.ty, buffer.count)
        };
        if let Some((index, buffer, from, _)) =
            buffers().find(|&(.., from, to)| from <= start && start < to)
        {
            return Some(format!(
                "these are bytes [{}..{}) of {}",
                start - from,
                end - from,
                name(index, buffer)
            ));
        }
        let (index, buffer, _, to) = buffers()
            .filter(|&(.., to)| to <= start && start - to < NEAR)
            .max_by_key(|&(.., to)| to)?;
        Some(format!(
            "these bytes start {} past the end of {}",
            start - to,
            name(index, buffer)
        ))
    }
}

/// Allocates and fills what the arguments need, together no more than `most`. The error starts with the argument's number.
pub(crate) fn place(
    specs: &[Spec],
    memory: &mut GlobalMemory,
    most: Bytes,
) -> Result<Placed, String> {
    let mut placed = Placed::default();
    let mut total = 0u64;
    for (index, spec) in specs.iter().enumerate() {
        total = total.saturating_add(spec.buffer_bytes());
        if total > most.0 {
            return Err(format!(
                "argument {index}: the buffers up to here take {total} bytes, over the limit of {most}; pass less, or raise --max-memory"
            ));
        }
        let (param, buffer) = one(spec, memory, &placed.buffers)
            .map_err(|error| format!("argument {index}: {error}"))?;
        placed.params.push(param);
        placed.buffers.push(buffer);
    }
    Ok(placed)
}

fn one(
    spec: &Spec,
    memory: &mut GlobalMemory,
    earlier: &[Option<Buffer>],
) -> Result<(Vec<u8>, Option<Buffer>), String> {
    let address_of = |buffer: &Buffer| buffer.address.0.to_le_bytes().to_vec();
    Ok(match spec {
        Spec::Scalar(ty, number) => {
            let mut bytes = Vec::new();
            ty.encode(*number, &mut bytes);
            (bytes, None)
        }
        Spec::Bytes(bytes) => (bytes.clone(), None),
        Spec::Again(index) => match earlier.get(*index) {
            Some(Some(buffer)) => (address_of(buffer), Some(*buffer)),
            Some(None) => return Err(format!("argument {index} passes no buffer")),
            None => return Err(format!("there is no argument {index} before it")),
        },
        Spec::Buffer(spec) => {
            let buffer = allocate(spec, memory)?;
            (address_of(&buffer), Some(buffer))
        }
        Spec::Tensor(tensor, spec) => {
            let buffer = allocate(spec, memory)?;
            let map = tensor
                .map(buffer.address.0)
                .map_err(|error| error.to_string())?;
            (map.encode().to_vec(), Some(buffer))
        }
        Spec::Slice(spec) => {
            let buffer = allocate(spec, memory)?;
            let mut bytes = address_of(&buffer);
            bytes.extend_from_slice(&buffer.count.to_le_bytes());
            (bytes, Some(buffer))
        }
    })
}

fn allocate(spec: &BufferSpec, memory: &mut GlobalMemory) -> Result<Buffer, String> {
    let &BufferSpec {
        ty, count, offset, ..
    } = spec;
    let bytes = count * ty.bytes() as u64;
    // What lies before the first element stays unwritten, so that reading it is seen.
    let start = match (&spec.fill, offset) {
        (Fill::Zero, 0) => Start::Zero,
        (Fill::Zero, offset) => Start::ZeroFrom(offset),
        _ => Start::Poison,
    };
    let base = memory
        .alloc(offset + bytes, start)
        .map_err(|error| error.to_string())?;
    let address = base.offset(offset);
    let mut write = |bytes: &[u8]| {
        memory
            .write(address, bytes)
            .map_err(|error| error.to_string())
    };
    match &spec.fill {
        Fill::Poison | Fill::Zero => {}
        Fill::Ramp => write(&encode(ty, count, |index| ty.ramp(index)))?,
        Fill::Random(seed) => write(&encode(ty, count, |index| ty.random(*seed, index)))?,
        Fill::Repeat(numbers) => {
            let length = numbers.len().max(1) as u64;
            write(&encode(ty, count, |index| {
                numbers[(index % length) as usize]
            }))?;
        }
        Fill::File(path) => {
            let numbers = elements_of(path, count)?;
            write(&encode(ty, count, |index| numbers[index as usize]))?;
        }
    }
    Ok(Buffer { address, ty, count })
}

/// The numbers of a file that must hold exactly as many as the buffer.
fn elements_of(path: &Path, count: u64) -> Result<Vec<Number>, String> {
    let numbers = npy::read_numbers(path).map_err(|error| error.to_string())?;
    if numbers.len() as u64 != count {
        return Err(format!(
            "{} holds {} elements, the buffer {count}; make them the same",
            path.display(),
            numbers.len()
        ));
    }
    Ok(numbers)
}

fn encode(ty: Type, count: u64, number: impl Fn(u64) -> Number + Sync) -> Vec<u8> {
    let chunks: Vec<Vec<u8>> = (0..count.div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let (from, to) = (chunk * CHUNK, count.min((chunk + 1) * CHUNK));
            let mut bytes = Vec::with_capacity((to - from) as usize * ty.bytes());
            (from..to).for_each(|index| ty.encode(number(index), &mut bytes));
            bytes
        })
        .collect();
    chunks.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(specs: &[&str], memory: &mut GlobalMemory) -> Result<Placed, String> {
        let specs: Vec<Spec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
        place(&specs, memory, Bytes(1 << 32))
    }

    #[test]
    fn arguments_become_parameters_and_memory() {
        let mut memory = GlobalMemory::new();
        let placed = placed(
            &[
                "u32=7",
                "i16[5]+6=1,-1",
                "@1",
                "slice:f32[3]=ramp",
                "bytes[3]=0102ff",
            ],
            &mut memory,
        )
        .unwrap();
        assert_eq!(placed.params[0], [7, 0, 0, 0]);
        assert_eq!(placed.params[4], [1, 2, 255]);
        assert_eq!(placed.params[1], placed.params[2]);

        let buffer = placed.buffers[1].unwrap();
        assert_eq!(buffer.address.0 % 256, 6);
        let mut bytes = [0; 10];
        memory.read(buffer.address, &mut bytes).unwrap();
        assert_eq!(bytes, [1, 0, 255, 255, 1, 0, 255, 255, 1, 0]);

        let slice = placed.buffers[3].unwrap();
        assert_eq!(placed.params[3][..8], slice.address.0.to_le_bytes());
        assert_eq!(placed.params[3][8..], 3_u64.to_le_bytes());
        let mut floats = [0; 12];
        memory.read(slice.address, &mut floats).unwrap();
        assert_eq!(
            bytemuck::pod_collect_to_vec::<u8, f32>(&floats),
            [0.0, 1.0, 2.0]
        );
    }

    #[test]
    fn a_tensor_is_a_map_over_its_buffer() {
        let mut memory = GlobalMemory::new();
        let placed = placed(&["tensor:tf32[3,5] box=2,4=ramp", "@0"], &mut memory).unwrap();
        let buffer = placed.buffers[0].unwrap();
        assert_eq!((buffer.ty, buffer.count), (Type::F32, 24));
        let map = placed.params[0].as_slice().try_into().unwrap();
        let map = nstage_sim::matrix::tensor_map::TensorMap::decode(map).unwrap();
        assert_eq!(map.address(), buffer.address.0);
        assert_eq!(placed.params[1], buffer.address.0.to_le_bytes());
    }

    #[test]
    fn a_long_buffer_is_filled_in_order() {
        let mut memory = GlobalMemory::new();
        let count = 2 * CHUNK + 3;
        let placed = placed(&[&format!("u32[{count}]=ramp")], &mut memory).unwrap();
        let mut bytes = vec![0; 4 * count as usize];
        memory
            .read(placed.buffers[0].unwrap().address, &mut bytes)
            .unwrap();
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&bytes);
        assert!(words.iter().copied().eq(0..count as u32));
    }

    #[test]
    fn a_file_is_converted_to_the_buffers_type() {
        let file = tempfile::Builder::new().suffix(".npy").tempfile().unwrap();
        npy::write(&[2, 2], &[1.0_f64, -2.5, 3.0, 400.0], file.as_file()).unwrap();
        let path = file.path().display();
        let mut memory = GlobalMemory::new();
        let placed = placed(&[&format!("i16[4]=file:{path}")], &mut memory).unwrap();
        let mut bytes = [0; 8];
        memory
            .read(placed.buffers[0].unwrap().address, &mut bytes)
            .unwrap();
        assert_eq!(
            bytemuck::pod_collect_to_vec::<u8, i16>(&bytes),
            [1, -2, 3, 400]
        );
    }

    #[test]
    fn a_finding_in_global_memory_is_told_by_its_argument() {
        let mut memory = GlobalMemory::new();
        let placed = placed(&["u32=7", "f32[4]+4=ramp", "u8[3]=zero"], &mut memory).unwrap();
        let at = |index: usize| placed.buffers[index].unwrap().address.0;
        let note = |space, bytes| {
            placed.argument_note(&Finding {
                class: nstage_sim::Class::GlobalRace,
                severity: nstage_sim::Severity::Error,
                certain: true,
                count: 1,
                message: String::new(),
                space,
                bytes,
                parties: Vec::new(),
                notes: Vec::new(),
                remedy: String::new(),
            })
        };
        let (x, y) = (at(1), at(2));
        assert_eq!(
            note("global", x + 8..x + 12).unwrap(),
            "these are bytes [8..12) of argument 1, f32[4]"
        );
        assert_eq!(
            note("global", y + 3..y + 4).unwrap(),
            "these bytes start 0 past the end of argument 2, u8[3]"
        );
        assert_eq!(note("shared", x..x + 4), None);
        assert_eq!(note("global", 8..12), None);
    }

    #[test]
    fn mistakes_name_the_argument() {
        let file = tempfile::NamedTempFile::new().unwrap();
        npy::write(&[2], &[1.0_f32, 2.0], file.as_file()).unwrap();
        let wrong_length = format!("f32[3]=file:{}", file.path().display());
        for (specs, expected) in [
            (
                &["u32=1", "@1"][..],
                "argument 1: there is no argument 1 before it",
            ),
            (&["u32=1", "@0"], "argument 1: argument 0 passes no buffer"),
            (
                &["f32[2]=file:/none.npy"],
                "argument 0: /none.npy: no such file",
            ),
            (&[&wrong_length], "holds 2 elements, the buffer 3"),
        ] {
            let message = placed(specs, &mut GlobalMemory::new()).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}

//! The grammar of `--arg`.
//!
//! ```text
//! spec   = "@" INDEX | "tensor:" tensor "=" fill | "slice:" buffer | buffer | "bytes[" N "]=" HEX | TYPE "=" NUMBER
//! buffer = TYPE "[" N "]" [ "+" BYTES ] "=" fill
//! tensor = TYPE "[" N { "," N } "]" " box=" N { "," N } { " " word }      as nstage_sim::matrix::tensor_text says
//! fill   = "zero" | "poison" | "ramp" | "random:" SEED | "file:" PATH | NUMBER { "," NUMBER }
//! ```

use std::path::PathBuf;
use std::str::FromStr;

use nstage_sim::matrix::tensor_map::DataType;
use nstage_sim::matrix::tensor_text::TensorText;

use super::number::Type;
use crate::io::npy::Number;

/// One argument.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spec {
    /// A number by value.
    Scalar(Type, Number),
    /// A buffer, its address passed.
    Buffer(BufferSpec),
    /// A buffer, its address and length passed as one parameter.
    Slice(BufferSpec),
    /// The address that this argument passes, again.
    Again(usize),
    /// An aggregate by value.
    Bytes(Vec<u8>),
    /// A buffer, the map of a tensor in it passed by value.
    Tensor(TensorText, BufferSpec),
}

/// Memory to allocate and fill.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct BufferSpec {
    /// Element type.
    pub(crate) ty: Type,
    /// Elements.
    pub(crate) count: u64,
    /// Bytes between the allocation's start and the first element.
    pub(crate) offset: u64,
    /// What it holds.
    pub(crate) fill: Fill,
}

/// What a buffer holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fill {
    /// Zeros.
    Zero,
    /// Nothing yet.
    Poison,
    /// Element i is i.
    Ramp,
    /// Random numbers of this seed.
    Random(u64),
    /// The elements of a `.npy` file.
    File(PathBuf),
    /// These, repeated.
    Repeat(Vec<Number>),
}

/// Bytes that a buffer may have: the simulator's address space is larger than any machine's memory.
const MOST_BYTES: u64 = 1 << 40;

impl Spec {
    /// Bytes of memory that it asks for, those before its first element too.
    pub(super) fn buffer_bytes(&self) -> u64 {
        match self {
            Self::Scalar(..) | Self::Again(_) | Self::Bytes(_) => 0,
            Self::Buffer(buffer) | Self::Slice(buffer) | Self::Tensor(_, buffer) => {
                // No overflow: what is read as a spec is below a terabyte.
                buffer.count * buffer.ty.bytes() as u64 + buffer.offset
            }
        }
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(index) = text.strip_prefix('@') {
            let index = index.parse();
            return index
                .map(Self::Again)
                .map_err(|_| "write @2 to pass the buffer of argument 2 again".to_owned());
        }
        if let Some(tensor) = text.strip_prefix("tensor:") {
            return tensor_spec(tensor);
        }
        if let Some(buffer) = text.strip_prefix("slice:") {
            return buffer_spec(buffer).map(Self::Slice);
        }
        if let Some(rest) = text.strip_prefix("bytes[") {
            return aggregate(rest).map(Self::Bytes);
        }
        if text
            .split('=')
            .next()
            .is_some_and(|left| left.contains('['))
        {
            return buffer_spec(text).map(Self::Buffer);
        }
        let (name, value) = text
            .split_once('=')
            .ok_or("write TYPE=VALUE, TYPE[N]=FILL, slice:TYPE[N]=FILL, bytes[N]=HEX or @INDEX")?;
        let ty = type_named(name)?;
        Ok(Self::Scalar(ty, ty.parse(value)?))
    }
}

fn type_named(name: &str) -> Result<Type, String> {
    Type::from_name(name).ok_or_else(|| format!("`{name}` is no type; there are {}", Type::names()))
}

fn count_of(text: &str, what: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no number of {what}"))
}

fn buffer_spec(text: &str) -> Result<BufferSpec, String> {
    let (name, rest) = text
        .split_once('[')
        .ok_or("a buffer is written TYPE[N]=FILL")?;
    let ty = type_named(name)?;
    let (count, rest) = rest
        .split_once(']')
        .ok_or("the ] after the number of elements is missing")?;
    let count = count_of(count, "elements")?;
    let (offset, fill) = rest.split_once('=').ok_or(
        "the fill is missing; write =zero, =poison, =ramp, =random:SEED, =file:PATH or =1,2,3",
    )?;
    let offset = match offset.strip_prefix('+') {
        Some(bytes) => count_of(bytes, "bytes")?,
        None if offset.is_empty() => 0,
        None => {
            return Err(format!(
                "`{offset}` stands between ] and =; only +BYTES may"
            ));
        }
    };
    let bytes = count
        .checked_mul(ty.bytes() as u64)
        .and_then(|bytes| bytes.checked_add(offset));
    if bytes.is_none_or(|bytes| bytes > MOST_BYTES) {
        return Err(format!(
            "{count} elements of {ty} are more than {MOST_BYTES} bytes"
        ));
    }
    Ok(BufferSpec {
        ty,
        count,
        offset,
        fill: fill_of(ty, fill)?,
    })
}

fn tensor_spec(text: &str) -> Result<Spec, String> {
    let (tensor, fill) = TensorText::parse(text)?;
    // The types that differ only in how they are copied are filled as what they are made of.
    let ty = match tensor.data {
        DataType::F32Ftz | DataType::Tf32 | DataType::Tf32Ftz => Type::F32,
        other => type_named(other.name())?,
    };
    let fill = fill.ok_or(
        "the fill is missing; write =zero, =poison, =ramp, =random:SEED, =file:PATH or =1,2,3",
    )?;
    if tensor.bytes() > MOST_BYTES {
        return Err(format!("the tensor has more than {MOST_BYTES} bytes"));
    }
    let buffer = BufferSpec {
        ty,
        count: tensor.bytes() / ty.bytes() as u64,
        offset: 0,
        fill: fill_of(ty, fill)?,
    };
    Ok(Spec::Tensor(tensor, buffer))
}

fn fill_of(ty: Type, text: &str) -> Result<Fill, String> {
    Ok(match text {
        "zero" => Fill::Zero,
        "poison" => Fill::Poison,
        "ramp" => Fill::Ramp,
        "" => {
            return Err(
                "the fill is empty; write zero, poison, ramp, random:SEED, file:PATH or 1,2,3"
                    .to_owned(),
            );
        }
        _ => {
            if let Some(seed) = text.strip_prefix("random:") {
                let seed = seed
                    .parse()
                    .map_err(|_| format!("`{seed}` is no seed; write random:1"))?;
                Fill::Random(seed)
            } else if let Some(path) = text.strip_prefix("file:") {
                Fill::File(path.into())
            } else if text == "random" {
                return Err("random needs a seed; write random:1".to_owned());
            } else {
                let numbers = text.split(',').map(|number| ty.parse(number.trim()));
                Fill::Repeat(numbers.collect::<Result<_, _>>()?)
            }
        }
    })
}

fn aggregate(rest: &str) -> Result<Vec<u8>, String> {
    let (count, hex) = rest
        .split_once("]=")
        .ok_or("an aggregate is written bytes[N]=HEX")?;
    let count = count_of(count, "bytes")?;
    let digits: Vec<u8> = hex
        .bytes()
        .filter(|byte| !matches!(byte, b' ' | b'_'))
        .collect();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let bytes: Option<Vec<u8>> = digits
        .chunks(2)
        .map(|pair| match *pair {
            [high, low] => Some(value(high)? << 4 | value(low)?),
            _ => None,
        })
        .collect();
    let bytes = bytes.ok_or("an aggregate's bytes are pairs of hexadecimal digits")?;
    if bytes.len() as u64 != count {
        return Err(format!(
            "{} bytes are given for bytes[{count}]",
            bytes.len()
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(ty: Type, count: u64, offset: u64, fill: Fill) -> BufferSpec {
        BufferSpec {
            ty,
            count,
            offset,
            fill,
        }
    }

    #[test]
    fn specs_are_read() {
        use Number::{Float, Integer};
        for (text, expected) in [
            ("u32=1024", Spec::Scalar(Type::U32, Integer(1024))),
            ("f32=2.5", Spec::Scalar(Type::F32, Float(2.5))),
            ("i8=-3", Spec::Scalar(Type::I8, Integer(-3))),
            (
                "f32[4096]=zero",
                Spec::Buffer(buffer(Type::F32, 4096, 0, Fill::Zero)),
            ),
            (
                "f32[0]=poison",
                Spec::Buffer(buffer(Type::F32, 0, 0, Fill::Poison)),
            ),
            (
                "f32[4096]+4=ramp",
                Spec::Buffer(buffer(Type::F32, 4096, 4, Fill::Ramp)),
            ),
            (
                "bf16[8]=random:7",
                Spec::Buffer(buffer(Type::Bf16, 8, 0, Fill::Random(7))),
            ),
            (
                "u8[2]=file:a=b.npy",
                Spec::Buffer(buffer(Type::U8, 2, 0, Fill::File("a=b.npy".into()))),
            ),
            (
                "i32[6]=1,-2,0x3",
                Spec::Buffer(buffer(
                    Type::I32,
                    6,
                    0,
                    Fill::Repeat(vec![Integer(1), Integer(-2), Integer(3)]),
                )),
            ),
            ("@2", Spec::Again(2)),
            (
                "slice:f32[4]=ramp",
                Spec::Slice(buffer(Type::F32, 4, 0, Fill::Ramp)),
            ),
            ("bytes[4]=00ff a0_01", Spec::Bytes(vec![0, 255, 160, 1])),
        ] {
            assert_eq!(text.parse::<Spec>().as_ref(), Ok(&expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, expected) in [
            ("", "write TYPE=VALUE"),
            ("1024", "write TYPE=VALUE"),
            ("int=3", "`int` is no type; there are u8, u16"),
            ("u8=300", "out of range for u8"),
            (
                "f32[12=ramp",
                "the ] after the number of elements is missing",
            ),
            ("f32[x]=ramp", "`x` is no number of elements"),
            ("f32[-1]=ramp", "`-1` is no number of elements"),
            ("f32[4]", "the fill is missing"),
            ("f32[4]=", "the fill is empty"),
            ("f32[4]=random", "random needs a seed"),
            ("f32[4]=random:x", "`x` is no seed"),
            ("f32[4]=ones", "`ones` is no number of type f32"),
            ("f32[4]4=ramp", "`4` stands between ] and ="),
            ("f32[4]+x=ramp", "`x` is no number of bytes"),
            ("f32[99999999999999]=zero", "are more than"),
            ("f64[18446744073709551615]=zero", "are more than"),
            ("@x", "write @2"),
            ("slice:u32=4", "a buffer is written TYPE[N]=FILL"),
            ("bytes[2]=00", "1 bytes are given for bytes[2]"),
            ("bytes[1]=0", "pairs of hexadecimal digits"),
            ("bytes[1]=é0", "pairs of hexadecimal digits"),
            ("bytes[2]", "an aggregate is written"),
            ("tensor:f32[8,8] box=4,4", "the fill is missing"),
            ("tensor:f32[8,8]=ramp", "the box of the copies is missing"),
            ("tensor:i8[16] box=16=ramp", "`i8` is no type of tensors"),
        ] {
            let message = text.parse::<Spec>().unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}

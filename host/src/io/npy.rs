//! `.npy` arrays: any float or integer type in, `f32` out.

use std::io::{BufReader, Cursor, Read, Write};
use std::ops::RangeInclusive;
use std::path::Path;

use npyz::{AutoSerialize, DType, Endianness, NpyHeader, Order, TypeChar, WriterBuilder};
use rayon::prelude::*;

use super::{Array, InputError, Loaded, open, shape_text, unreadable};

/// Elements that a kernel indexes with 32 bits.
const MOST_ELEMENTS: u64 = i32::MAX as u64;

/// numpy itself reads no longer header; ours has a few dozen characters.
const LONGEST_HEADER: u64 = 10_000;

/// A number as a file holds it, without loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Of an integer type.
    Integer(i128),
    /// Of a floating-point type.
    Float(f64),
}

/// Reads a `.npy` file of one or two dimensions in C order.
pub fn read(path: &Path) -> Result<Loaded, InputError> {
    let raw = read_raw(path, 1..=2)?;
    let notices = (!raw.scalar.is_f32())
        .then(|| {
            format!(
                "{}: {} converted to float32",
                path.display(),
                raw.scalar.name()
            )
        })
        .into_iter()
        .collect();
    let values = raw.map(|number| match number {
        Number::Integer(value) => value as f32,
        Number::Float(value) => value as f32,
    });
    Ok(Loaded {
        array: Array {
            shape: raw.shape,
            values,
            image_bits: None,
        },
        notices,
    })
}

/// Reads the numbers of a `.npy` file in C order, whatever its shape.
pub fn read_numbers(path: &Path) -> Result<Vec<Number>, InputError> {
    Ok(read_raw(path, 0..=usize::MAX)?.map(|number| number))
}

/// A file's elements, not yet converted.
struct Raw {
    scalar: Scalar,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Raw {
    fn map<T: Send>(&self, convert: impl Fn(Number) -> T + Sync) -> Vec<T> {
        let elements = self.bytes.par_chunks_exact(self.scalar.bytes);
        elements
            .map(|bytes| convert(self.scalar.number(bytes)))
            .collect()
    }
}

fn read_raw(path: &Path, dimensions: RangeInclusive<usize>) -> Result<Raw, InputError> {
    let (file, length) = open(path)?;
    let mut reader = BufReader::new(file);
    let (header, header_length) = read_header(path, &mut reader)?;
    let scalar = Scalar::of(&header.dtype()).ok_or_else(|| InputError::Dtype {
        path: path.into(),
        dtype: dtype_name(&header.dtype()),
    })?;
    let shape = header.shape();
    if !dimensions.contains(&shape.len()) {
        return Err(InputError::Dimensions {
            path: path.into(),
            dimensions: shape.len(),
            shape: shape_text(shape),
        });
    }
    if header.order() == Order::Fortran {
        return Err(InputError::FortranOrder { path: path.into() });
    }
    let elements: u64 = shape.iter().product();
    if elements > MOST_ELEMENTS {
        return Err(InputError::TooLarge {
            path: path.into(),
            elements,
            most: MOST_ELEMENTS,
        });
    }
    let (expected, found) = (
        elements * scalar.bytes as u64,
        length.saturating_sub(header_length),
    );
    if found < expected {
        return Err(InputError::Truncated {
            path: path.into(),
            shape: shape_text(shape),
            dtype: scalar.name(),
            expected,
            found,
        });
    }
    let mut bytes = vec![0; expected as usize];
    reader
        .read_exact(&mut bytes)
        .map_err(|source| unreadable(path, source))?;
    Ok(Raw {
        scalar,
        shape: shape.iter().map(|&extent| extent as usize).collect(),
        bytes,
    })
}

/// Reads the header and says how many bytes it took.
///
/// The text is looked at before the parser sees it, because the parser recurses on brackets and multiplies the extents unchecked.
fn read_header(path: &Path, reader: &mut impl Read) -> Result<(NpyHeader, u64), InputError> {
    let refuse = |reason: String| InputError::Header {
        path: path.into(),
        reason,
    };
    let mut head = vec![0; 8];
    let ends_early = |_| refuse("the file ends inside it".to_owned());
    reader.read_exact(&mut head).map_err(ends_early)?;
    let width = if head[6] == 1 { 2 } else { 4 };
    let mut length = [0; 4];
    reader
        .read_exact(&mut length[..width])
        .map_err(ends_early)?;
    head.extend_from_slice(&length[..width]);
    let text_length = u64::from(u32::from_le_bytes(length));
    if text_length > LONGEST_HEADER {
        return Err(refuse(format!(
            "it claims {text_length} characters, at most {LONGEST_HEADER} are read"
        )));
    }
    let mut text = vec![0; text_length as usize];
    reader.read_exact(&mut text).map_err(ends_early)?;
    if nesting(&text) > 16 {
        return Err(refuse("its brackets are nested too deeply".to_owned()));
    }
    if shape_product(&text).is_none() {
        return Err(refuse("its shape overflows".to_owned()));
    }
    head.extend_from_slice(&text);
    let header_length = head.len() as u64;
    let header = NpyHeader::from_reader(Cursor::new(head))
        .map_err(|error| refuse(error.to_string().replace('\n', " ")))?;
    Ok((header, header_length))
}

/// How deep the brackets of a header go.
fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// The product of the extents after `'shape'`, each counted at least once, unless it overflows.
fn shape_product(text: &[u8]) -> Option<u64> {
    let text = String::from_utf8_lossy(text);
    let Some((_, rest)) = text.split_once("shape") else {
        return Some(0);
    };
    let inside = rest.split(['(', '[']).nth(1).unwrap_or_default();
    let inside = inside.split([')', ']']).next().unwrap_or_default();
    let mut product = 8_u64;
    for word in inside.split(',').map(str::trim).filter(|w| !w.is_empty()) {
        // What is no number is the parser's to refuse.
        let extent = if word.bytes().all(|byte| byte.is_ascii_digit()) {
            word.parse::<u64>().ok()?
        } else {
            1
        };
        product = product.checked_mul(extent.max(1))?;
    }
    Some(product)
}

/// A number type of numpy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Scalar {
    kind: TypeChar,
    bytes: usize,
    big_endian: bool,
}

impl Scalar {
    /// The type, if it is a float or an integer of a size that Rust can read.
    fn of(dtype: &DType) -> Option<Self> {
        let DType::Plain(ty) = dtype else { return None };
        let bytes = ty.num_bytes()?;
        let readable = match ty.type_char() {
            TypeChar::Int | TypeChar::Uint => matches!(bytes, 1 | 2 | 4 | 8),
            TypeChar::Float => matches!(bytes, 2 | 4 | 8),
            _ => false,
        };
        readable.then_some(Self {
            kind: ty.type_char(),
            bytes,
            big_endian: ty.endianness() == Endianness::Big,
        })
    }

    fn is_f32(self) -> bool {
        self.kind == TypeChar::Float && self.bytes == 4
    }

    /// numpy's name, `float64`.
    fn name(self) -> String {
        let stem = match self.kind {
            TypeChar::Int => "int",
            TypeChar::Uint => "uint",
            _ => "float",
        };
        format!("{stem}{}", self.bytes * 8)
    }

    /// One element.
    fn number(self, bytes: &[u8]) -> Number {
        let mut word = [0; 8];
        let word_part = &mut word[..self.bytes];
        word_part.copy_from_slice(bytes);
        if self.big_endian {
            word_part.reverse();
        }
        let word = u64::from_le_bytes(word);
        // Moves the sign bit to the top, from where the shift back copies it.
        let unused = 64 - 8 * self.bytes as u32;
        match (self.kind, self.bytes) {
            (TypeChar::Int, _) => Number::Integer(((word << unused) as i64 >> unused).into()),
            (TypeChar::Uint, _) => Number::Integer(word.into()),
            (_, 2) => Number::Float(half::f16::from_bits(word as u16).to_f64()),
            (_, 4) => Number::Float(f32::from_bits(word as u32).into()),
            _ => Number::Float(f64::from_bits(word)),
        }
    }
}

/// What to call a type that is refused.
fn dtype_name(dtype: &DType) -> String {
    match dtype {
        DType::Plain(ty) => {
            let what = match ty.type_char() {
                TypeChar::Object => "Python objects",
                TypeChar::Bool => "booleans",
                TypeChar::Complex => "complex numbers",
                TypeChar::TimeDelta | TypeChar::DateTime => "times",
                TypeChar::ByteStr | TypeChar::UnicodeStr => "strings",
                TypeChar::RawData => "raw bytes",
                _ => "an unusual number type",
            };
            format!("{what} (dtype '{ty}')")
        }
        DType::Record(_) | DType::Array(..) => format!("records (dtype {})", dtype.descr()),
    }
}

/// Writes numbers in C order, as the type that they have in memory.
pub fn write<T: AutoSerialize + Copy>(
    shape: &[usize],
    values: &[T],
    sink: impl Write,
) -> std::io::Result<()> {
    let shape: Vec<u64> = shape.iter().map(|&extent| extent as u64).collect();
    let mut writer = npyz::WriteOptions::new()
        .default_dtype()
        .shape(&shape)
        .writer(sink)
        .begin_nd()?;
    writer.extend(values.iter().copied())?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `.npy` file of version 1.0 with this header dictionary and data.
    fn file(header: &str, data: &[u8]) -> tempfile::NamedTempFile {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(data);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    fn header(dtype: &str, fortran: &str, shape: &str) -> String {
        format!("{{'descr': {dtype}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n")
    }

    #[test]
    fn every_number_type_becomes_f32() {
        for (dtype, data, expected, notice) in [
            ("<f4", &1.5_f32.to_le_bytes()[..], 1.5, None),
            (">f4", &1.5_f32.to_be_bytes()[..], 1.5, None),
            ("<f2", &[0x00, 0x3e][..], 1.5, Some("float16")),
            (
                "<f8",
                &(-2.25_f64).to_le_bytes()[..],
                -2.25,
                Some("float64"),
            ),
            ("|i1", &[0xff][..], -1.0, Some("int8")),
            ("|u1", &[0xff][..], 255.0, Some("uint8")),
            (">i2", &(-300_i16).to_be_bytes()[..], -300.0, Some("int16")),
            (
                "<u4",
                &u32::MAX.to_le_bytes()[..],
                4_294_967_296.0,
                Some("uint32"),
            ),
            (
                "<i8",
                &i64::MIN.to_le_bytes()[..],
                -9_223_372_036_854_775_808.0,
                Some("int64"),
            ),
            ("<u8", &7_u64.to_le_bytes()[..], 7.0, Some("uint64")),
        ] {
            let file = file(&header(&format!("'{dtype}'"), "False", "(1,)"), data);
            let loaded = read(file.path()).unwrap();
            assert_eq!(loaded.array.values, [expected], "{dtype}");
            let notices = notice
                .map(|name| format!("{}: {name} converted to float32", file.path().display()));
            assert_eq!(loaded.notices, Vec::from_iter(notices), "{dtype}");
        }
    }

    #[test]
    fn bad_files_are_refused_by_name() {
        let deep = format!("{}1{}", "(".repeat(40), ")".repeat(40));
        for (header, data, expected) in [
            (
                header("'|O'", "False", "(2,)"),
                &[0; 64][..],
                "holds Python objects (dtype '|O')",
            ),
            (
                header("'|b1'", "False", "(2,)"),
                &[0; 2],
                "holds booleans (dtype '|b1')",
            ),
            (
                header("'<c8'", "False", "(2,)"),
                &[0; 16],
                "holds complex numbers",
            ),
            (header("'<U3'", "False", "(2,)"), &[0; 24], "holds strings"),
            (
                header("'<M8[ns]'", "False", "(2,)"),
                &[0; 16],
                "holds times",
            ),
            (
                header("'<f16'", "False", "(1,)"),
                &[0; 16],
                "holds an unusual number type",
            ),
            (
                header("[('a', '<f4')]", "False", "(2,)"),
                &[0; 8],
                "holds records",
            ),
            (header("'<f4'", "True", "(2, 2)"), &[0; 16], "Fortran order"),
            (
                header("'<f4'", "False", "(2, 2, 2)"),
                &[0; 32],
                "has 3 dimensions (2 × 2 × 2)",
            ),
            (
                header("'<f4'", "False", "()"),
                &[0; 4],
                "has 0 dimensions (scalar)",
            ),
            (
                header("'<f4'", "False", "(4,)"),
                &[0; 15],
                "4 elements of float32 take 16 bytes, 15 are there",
            ),
            (
                header("'<f4'", "False", "(99999999999,)"),
                &[0; 15],
                "99999999999 elements are more",
            ),
            (
                header("'<f4'", "False", "(18446744073709551615, 8)"),
                &[0; 15],
                "its shape overflows",
            ),
            (
                header("'<f4'", "False", &deep),
                &[0; 15],
                "nested too deeply",
            ),
            (
                header("'<f4'", "False", "(-1,)"),
                &[0; 15],
                "header cannot be read",
            ),
            ("{'descr': ".to_owned(), &[0; 0], "header cannot be read"),
        ] {
            let message = read(file(&header, data).path()).unwrap_err().to_string();
            assert!(message.contains(expected), "{header}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_header_cut_short_is_refused() {
        let whole = file(&header("'<f4'", "False", "(1,)"), &[0; 4]);
        let bytes = std::fs::read(whole.path()).unwrap();
        for length in 1..bytes.len() {
            std::fs::write(whole.path(), &bytes[..length]).unwrap();
            assert!(read(whole.path()).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let array = Array {
            shape: vec![2, 3],
            values: vec![0.0, -1.5, f32::MIN_POSITIVE, f32::INFINITY, 4.0, 5.0],
            image_bits: None,
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        write(&array.shape, &array.values, file.as_file()).unwrap();
        assert_eq!(read(file.path()).unwrap().array, array);
    }
}

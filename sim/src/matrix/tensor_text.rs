//! Tensor maps as text, for the arguments of launches: `f32[64,128] box=32,32 swizzle=128`.
//!
//! ```text
//! tensor = TYPE "[" N { "," N } "]" { " " word }
//! word   = "box=" N { "," N } | "step=" N { "," N } | "swizzle=" ( "0" | "32" | "64" | "128" ) | "outside=nan" | "pitch=" BYTES
//! ```
//!
//! Dimensions are written as the shape of an array is, the outermost first. A line of the innermost dimension takes `pitch` bytes,
//! or what it needs rounded up to 16; the other dimensions follow without gaps.

use super::swizzle::Swizzle;
use super::tensor_map::{DataType, Fill, TensorMap, TensorMapError, Tiling};

/// A tensor and its boxes, without an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorText {
    /// Type of the elements.
    pub data: DataType,
    /// Bytes of a line of the innermost dimension.
    pub pitch: u64,
    /// Innermost first, as everything here.
    dimensions: Vec<u64>,
    extents: Vec<u32>,
    steps: Vec<u32>,
    swizzle: Swizzle,
    outside: Fill,
}

impl TensorText {
    /// Reads a tensor, up to the end or a word that starts with `=`; the rest is what follows that.
    pub fn parse(text: &str) -> Result<(Self, Option<&str>), String> {
        let (name, rest) = text
            .split_once('[')
            .ok_or("a tensor is written TYPE[N,N] box=N,N=FILL")?;
        let data = DataType::from_name(name).ok_or_else(|| {
            let names: Vec<&str> = DataType::ALL.iter().map(|data| data.name()).collect();
            format!(
                "`{name}` is no type of tensors; there are {}",
                names.join(", ")
            )
        })?;
        let (shape, mut rest) = rest
            .split_once(']')
            .ok_or("the ] after the tensor's shape is missing")?;
        let dimensions: Vec<u64> = numbers(shape, "the shape")?;
        let line = dimensions[0].saturating_mul(data.bytes().into());
        let mut tensor = Self {
            data,
            pitch: line.saturating_add(15) & !15,
            extents: Vec::new(),
            steps: vec![1; dimensions.len()],
            dimensions,
            swizzle: Swizzle::None,
            outside: Fill::Zero,
        };
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            if let Some(fill) = rest.strip_prefix('=') {
                return Ok((tensor.with_box()?, Some(fill)));
            }
            let (key, value) = rest
                .split_once('=')
                .ok_or_else(|| format!("`{rest}` is no word of a tensor, which is KEY=VALUE"))?;
            let end = value.find([' ', '=']).unwrap_or(value.len());
            rest = &value[end..];
            tensor.word(key, &value[..end])?;
        }
        Ok((tensor.with_box()?, None))
    }

    fn word(&mut self, key: &str, value: &str) -> Result<(), String> {
        match (key, value) {
            ("box", _) => self.extents = numbers(value, "box")?,
            ("step", _) => self.steps = numbers(value, "step")?,
            ("swizzle", "0") => self.swizzle = Swizzle::None,
            ("swizzle", "32") => self.swizzle = Swizzle::B32,
            ("swizzle", "64") => self.swizzle = Swizzle::B64,
            ("swizzle", "128") => self.swizzle = Swizzle::B128,
            ("swizzle", _) => {
                return Err(format!(
                    "`{value}` is no swizzle; there are 0, 32, 64 and 128"
                ));
            }
            ("outside", "zero") => self.outside = Fill::Zero,
            ("outside", "nan") => self.outside = Fill::Nan,
            ("pitch", _) => self.pitch = number(value, "pitch")?,
            _ => {
                return Err(format!(
                    "`{key}={value}` is no word of a tensor; there are box, step, swizzle, outside and pitch"
                ));
            }
        }
        Ok(())
    }

    fn with_box(self) -> Result<Self, String> {
        if self.extents.is_empty() {
            return Err("the box of the copies is missing; write box=N,N behind the ]".to_owned());
        }
        // Whatever is wrong is wrong at every address.
        self.map(0).map_err(|error| error.to_string())?;
        Ok(self)
    }

    /// Bytes that the tensor takes up.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let outer = self.dimensions.iter().skip(1);
        outer.fold(self.pitch, |bytes, count| bytes.saturating_mul(*count))
    }

    /// The map of such a tensor at an address.
    pub fn map(&self, address: u64) -> Result<TensorMap, TensorMapError> {
        let mut stride = self.pitch;
        let mut strides = Vec::new();
        for count in self.dimensions.iter().skip(1) {
            strides.push(stride);
            stride = stride.saturating_mul(*count);
        }
        TensorMap::new(&Tiling {
            data: self.data,
            address,
            dimensions: &self.dimensions,
            strides: &strides,
            extents: &self.extents,
            steps: &self.steps,
            swizzle: self.swizzle,
            fill: self.outside,
        })
    }
}

fn number<T: std::str::FromStr>(text: &str, what: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is no number in {what}"))
}

/// Numbers written outermost first, innermost first.
fn numbers<T: std::str::FromStr>(text: &str, what: &str) -> Result<Vec<T>, String> {
    text.rsplit(',').map(|text| number(text, what)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_written_outermost_first() {
        let text = "f32[5,9] box=4,8 swizzle=32=ramp";
        let (tensor, fill) = TensorText::parse(text).unwrap();
        assert_eq!(fill, Some("ramp"));
        assert_eq!(tensor.bytes(), 5 * 48);
        let map = tensor.map(256).unwrap();
        assert_eq!(
            (map.elements(0), map.elements(1), map.stride(1)),
            (9, 5, 48)
        );
        assert_eq!((map.taken(0), map.taken(1)), (8, 4));
        assert_eq!(map.swizzle(), Swizzle::B32);
    }

    #[test]
    fn words_stand_in_any_order_and_the_fill_is_whole() {
        let text = "bf16[4,6,8] pitch=64 step=1,2,1 outside=nan box=2,4,8 =file:a b=c.npy";
        let (tensor, fill) = TensorText::parse(text).unwrap();
        assert_eq!(fill, Some("file:a b=c.npy"));
        assert_eq!(tensor.bytes(), 4 * 6 * 64);
        let map = tensor.map(0).unwrap();
        assert_eq!((map.stride(1), map.stride(2)), (64, 384));
        assert_eq!((map.taken(1), map.fill()), (2, Fill::Nan));
        assert_eq!(TensorText::parse("u8[16] box=16").unwrap().1, None);
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, expected) in [
            ("f32", "a tensor is written TYPE[N,N]"),
            ("i8[16] box=16", "`i8` is no type of tensors"),
            ("f32[16 box=16", "the ] after the tensor's shape is missing"),
            ("f32[4,x] box=4,4", "`x` is no number in the shape"),
            ("f32[16]", "the box of the copies is missing"),
            ("f32[16] box", "`box` is no word of a tensor"),
            ("f32[16] box=16 swizzle=16", "`16` is no swizzle"),
            ("f32[16] box=16 tile=2", "`tile=2` is no word of a tensor"),
            ("f32[16] box=300", "the box has 300 elements in dimension 0"),
            ("f32[16,16] box=8", "1 box extents given, 2 expected"),
            ("f32[16,16] box=8,3", "a line of the box has 12 bytes"),
            ("f32[8,8] box=8,8 pitch=24", "stride of dimension 1 is 24"),
            ("u32[8] box=8 outside=nan", "integers cannot be filled"),
        ] {
            let message = TensorText::parse(text).unwrap_err();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}

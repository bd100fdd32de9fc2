//! PNG images: 0 to the largest sample in the file, 0 to 1 inside.

use std::io::{BufReader, Write};
use std::path::Path;

use png::{BitDepth, ColorType, Decoder, Encoder, OutputInfo, Transformations};

use super::{Array, InputError, Loaded, open};

/// The most bytes that a decoded image may take. A file of a few bytes can claim any size.
const LARGEST: usize = 1 << 30;

/// Reads an image of any PNG kind; colour is reduced to luma and transparency dropped, each with a notice.
pub fn read(path: &Path) -> Result<Loaded, InputError> {
    let refuse = |reason: String| InputError::Png {
        path: path.into(),
        reason: reason.replace('\n', " "),
    };
    let (file, _) = open(path)?;
    let mut decoder = Decoder::new(BufReader::new(file));
    // Palettes become colours and samples of fewer than 8 bits become 8.
    decoder.set_transformations(Transformations::EXPAND);
    let mut reader = decoder
        .read_info()
        .map_err(|error| refuse(error.to_string()))?;
    let bytes = reader
        .output_buffer_size()
        .filter(|&bytes| bytes <= LARGEST);
    let Some(bytes) = bytes else {
        let (width, height) = reader.info().size();
        return Err(refuse(format!(
            "{width} x {height} pixels take more than {LARGEST} bytes; cut it into smaller images"
        )));
    };
    let mut samples = vec![0; bytes];
    let info = reader
        .next_frame(&mut samples)
        .map_err(|error| refuse(error.to_string()))?;
    let mut notices = Vec::new();
    if matches!(info.color_type, ColorType::Rgb | ColorType::Rgba) {
        notices.push(format!(
            "{}: colour converted to luma (0.2126 R + 0.7152 G + 0.0722 B)",
            path.display()
        ));
    }
    if matches!(info.color_type, ColorType::GrayscaleAlpha | ColorType::Rgba) {
        notices.push(format!("{}: transparency dropped", path.display()));
    }
    let shape = vec![info.height as usize, info.width as usize];
    let (values, bits) = luma(&samples[..info.buffer_size()], &info);
    Ok(Loaded {
        array: Array {
            shape,
            values,
            image_bits: Some(bits),
        },
        notices,
    })
}

/// Luma from 0 to 1 by Rec. 709's weights, and the bits that a sample had.
fn luma(bytes: &[u8], info: &OutputInfo) -> (Vec<f32>, u8) {
    let channels = info.color_type.samples();
    let weigh = |pixel: &[f64]| match *pixel {
        [r, g, b, ..] => 0.2126 * r + 0.7152 * g + 0.0722 * b,
        [grey, ..] => grey,
        [] => 0.0,
    };
    let scaled = |samples: Vec<f64>, most: f64| -> Vec<f32> {
        samples
            .chunks_exact(channels)
            .map(|pixel| (weigh(pixel) / most) as f32)
            .collect()
    };
    if info.bit_depth == BitDepth::Sixteen {
        let samples = bytes.as_chunks::<2>().0.iter();
        let samples = samples.map(|&pair| f64::from(u16::from_be_bytes(pair)));
        (scaled(samples.collect(), 65_535.0), 16)
    } else {
        let samples = bytes.iter().map(|&sample| f64::from(sample));
        (scaled(samples.collect(), 255.0), 8)
    }
}

/// Writes a two-dimensional array as a grey image, rounded to the nearest sample and clamped to 0..1; NaN becomes 0.
pub fn write(array: &Array, sink: &mut dyn Write) -> std::io::Result<()> {
    let &[height, width] = array.shape.as_slice() else {
        return Err(std::io::Error::other(format!(
            "an image has 2 dimensions, this array has {}",
            array.shape.len()
        )));
    };
    let (Ok(width), Ok(height)) = (u32::try_from(width), u32::try_from(height)) else {
        return Err(std::io::Error::other("the image is too large for PNG"));
    };
    let mut encoder = Encoder::new(sink, width, height);
    encoder.set_color(ColorType::Grayscale);
    let samples: Vec<u8> = if array.image_bits == Some(16) {
        encoder.set_depth(BitDepth::Sixteen);
        let samples = array.values.iter().map(|&v| sample(v, 65_535.0) as u16);
        samples.flat_map(u16::to_be_bytes).collect()
    } else {
        encoder.set_depth(BitDepth::Eight);
        let samples = array.values.iter().map(|&v| sample(v, 255.0) as u8);
        samples.collect()
    };
    let mut writer = encoder.write_header().map_err(into_io)?;
    writer.write_image_data(&samples).map_err(into_io)?;
    writer.finish().map_err(into_io)
}

/// What the system said stays what it was: a closed pipe must be told from a full disk.
fn into_io(error: png::EncodingError) -> std::io::Error {
    match error {
        png::EncodingError::IoError(error) => error,
        other => std::io::Error::other(other),
    }
}

/// The nearest sample of `value` in 0..1. A cast from a float saturates and turns NaN into 0.
fn sample(value: f32, most: f32) -> f32 {
    (value.clamp(0.0, 1.0) * most).round()
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, ImageFormat};

    use super::*;

    /// Written by another library than the one that reads it.
    fn round_trip(image: DynamicImage) -> Loaded {
        let file = tempfile::NamedTempFile::new().unwrap();
        image
            .save_with_format(file.path(), ImageFormat::Png)
            .unwrap();
        read(file.path()).unwrap()
    }

    #[test]
    fn grey_samples_scale_to_one() {
        let eight = image::GrayImage::from_raw(3, 1, vec![0, 51, 255]).unwrap();
        let loaded = round_trip(DynamicImage::ImageLuma8(eight));
        assert_eq!(loaded.array.values, [0.0, 0.2, 1.0]);
        assert_eq!(
            (loaded.array.shape, loaded.array.image_bits),
            (vec![1, 3], Some(8))
        );
        assert!(loaded.notices.is_empty());

        let sixteen = image::ImageBuffer::from_raw(2, 1, vec![13_107_u16, 65_535]).unwrap();
        let loaded = round_trip(DynamicImage::ImageLuma16(sixteen));
        assert_eq!(loaded.array.values, [0.2, 1.0]);
        assert_eq!(loaded.array.image_bits, Some(16));
    }

    #[test]
    fn colour_is_weighed_and_alpha_dropped_with_notices() {
        let image = image::RgbaImage::from_raw(2, 1, vec![255, 0, 0, 9, 0, 255, 255, 255]).unwrap();
        let loaded = round_trip(DynamicImage::ImageRgba8(image));
        let expected = [0.2126_f32, 0.7874];
        for (got, expected) in loaded.array.values.iter().zip(expected) {
            assert!((got - expected).abs() < 1e-6, "{got} for {expected}");
        }
        assert_eq!(loaded.notices.len(), 2);
    }

    #[test]
    fn sixteen_bits_of_colour_keep_their_precision() {
        let samples = vec![65_535_u16, 0, 257, 0, 65_535, 0];
        let image = image::ImageBuffer::from_raw(2, 1, samples).unwrap();
        let loaded = round_trip(DynamicImage::ImageRgb16(image));
        let expected = [0.2126 + 0.0722 * 257.0 / 65_535.0, 0.7152];
        for (got, expected) in loaded.array.values.iter().zip(expected) {
            assert!(
                (f64::from(*got) - expected).abs() < 1e-7,
                "{got} for {expected}"
            );
        }
        assert_eq!(loaded.array.image_bits, Some(16));
    }

    #[test]
    fn what_is_written_is_read_by_another_library() {
        for (bits, values) in [
            (8, [0.2, 1.0, 0.0, 0.6, f32::NAN, -1.0]),
            (16, [0.2, 1.0, 0.0, 0.6, f32::NAN, -1.0]),
        ] {
            let array = Array {
                shape: vec![2, 3],
                values: values.to_vec(),
                image_bits: Some(bits),
            };
            let mut encoded = Vec::new();
            write(&array, &mut encoded).unwrap();
            let image = image::load_from_memory_with_format(&encoded, ImageFormat::Png).unwrap();
            let expected: [f64; 6] = [0.2, 1.0, 0.0, 0.6, 0.0, 0.0];
            let (most, got): (f64, Vec<f64>) = match image {
                DynamicImage::ImageLuma8(image) => {
                    (255.0, image.iter().map(|&v| f64::from(v)).collect())
                }
                DynamicImage::ImageLuma16(image) => {
                    (65_535.0, image.iter().map(|&v| f64::from(v)).collect())
                }
                other => panic!("{:?}", other.color()),
            };
            assert_eq!(got, expected.map(|v| v * most), "{bits} bits");
        }
    }

    #[test]
    fn a_claimed_size_is_not_allocated() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let header = Encoder::new(file.reopen().unwrap(), 60_000, 60_000).write_header();
        let begun = header.unwrap().write_chunk(png::chunk::IDAT, &[0; 16]);
        begun.unwrap();
        let message = read(file.path()).unwrap_err().to_string();
        assert!(
            message.contains("60000 x 60000 pixels take more"),
            "{message}"
        );
    }

    #[test]
    fn samples_are_rounded_and_clamped() {
        for (value, expected) in [
            (0.5, 128.0),
            (0.001, 0.0),
            (0.002, 1.0),
            (-3.0, 0.0),
            (1.5, 255.0),
            (f32::INFINITY, 255.0),
        ] {
            assert_eq!(sample(value, 255.0), expected, "{value}");
        }
        assert_eq!(sample(f32::NAN, 255.0) as u8, 0);
    }

    #[test]
    fn a_broken_image_is_refused_in_one_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"\x89PNG\r\n\x1a\nrubbish").unwrap();
        let message = read(file.path()).unwrap_err().to_string();
        assert!(message.contains("cannot be decoded"), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

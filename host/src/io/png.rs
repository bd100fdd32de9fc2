//! PNG images: 0 to the largest sample in the file, 0 to 1 inside.

use std::io::{Cursor, Seek, Write};
use std::path::Path;

use image::{ColorType, DynamicImage, ImageFormat, ImageReader};

use super::{Array, InputError, Loaded, open};

/// Reads an 8- or 16-bit image; colour is reduced to luma and transparency dropped, each with a notice.
pub fn read(path: &Path) -> Result<Loaded, InputError> {
    let refuse = |error: &dyn std::error::Error| InputError::Png {
        path: path.into(),
        reason: error.to_string().replace('\n', " "),
    };
    open(path)?;
    let reader = ImageReader::open(path)
        .map_err(|error| refuse(&error))
        .map(|mut reader| {
            reader.set_format(ImageFormat::Png);
            reader
        })?;
    let image = reader.decode().map_err(|error| refuse(&error))?;
    let mut notices = Vec::new();
    let color = image.color();
    if color.has_color() {
        notices.push(format!(
            "{}: colour converted to luma (0.2126 R + 0.7152 G + 0.0722 B)",
            path.display()
        ));
    }
    if color.has_alpha() {
        notices.push(format!("{}: transparency dropped", path.display()));
    }
    let shape = vec![image.height() as usize, image.width() as usize];
    let (values, bits) = luma(&image);
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
fn luma(image: &DynamicImage) -> (Vec<f32>, u8) {
    let weigh = |r: f64, g: f64, b: f64| 0.2126 * r + 0.7152 * g + 0.0722 * b;
    match image.color() {
        ColorType::L8 | ColorType::La8 => {
            let grey = image.to_luma8();
            (grey.iter().map(|&v| f32::from(v) / 255.0).collect(), 8)
        }
        ColorType::L16 | ColorType::La16 => {
            let grey = image.to_luma16();
            (grey.iter().map(|&v| f32::from(v) / 65_535.0).collect(), 16)
        }
        ColorType::Rgb16 | ColorType::Rgba16 => {
            let pixels = image.to_rgb16();
            let values = pixels.pixels().map(|p| {
                let [r, g, b] = p.0.map(f64::from);
                (weigh(r, g, b) / 65_535.0) as f32
            });
            (values.collect(), 16)
        }
        _ => {
            let pixels = image.to_rgb8();
            let values = pixels.pixels().map(|p| {
                let [r, g, b] = p.0.map(f64::from);
                (weigh(r, g, b) / 255.0) as f32
            });
            (values.collect(), 8)
        }
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
    let image = if array.image_bits == Some(16) {
        let samples = array.values.iter().map(|&v| sample(v, 65_535.0) as u16);
        image::ImageBuffer::from_raw(width, height, samples.collect())
            .map(DynamicImage::ImageLuma16)
    } else {
        let samples = array.values.iter().map(|&v| sample(v, 255.0) as u8);
        image::ImageBuffer::from_raw(width, height, samples.collect()).map(DynamicImage::ImageLuma8)
    };
    let image = image.ok_or_else(|| std::io::Error::other("fewer elements than pixels"))?;
    // The encoder wants to seek; a pipe cannot.
    let mut encoded = Cursor::new(Vec::new());
    image
        .write_to(&mut encoded, ImageFormat::Png)
        .map_err(std::io::Error::other)?;
    encoded.rewind()?;
    sink.write_all(encoded.get_ref())
}

/// The nearest sample of `value` in 0..1. A cast from a float saturates and turns NaN into 0.
fn sample(value: f32, most: f32) -> f32 {
    (value.clamp(0.0, 1.0) * most).round()
}

#[cfg(test)]
mod tests {
    use super::*;

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

//! Inputs that no bug can hide in: every element differs from its neighbours and from where it would land by mistake.

use rayon::prelude::*;

/// `count` floats in [−1, 1), a different one at each index, the same for the same seed.
pub fn floats(count: usize, seed: u64) -> Vec<f32> {
    (0..count as u64)
        .into_par_iter()
        .map(|index| float(hash(seed, index)))
        .collect()
}

/// A float in [−1, 1) from the top 24 bits, which an `f32` holds exactly.
pub fn float(bits: u64) -> f32 {
    let signed = (bits as i64) >> 40;
    signed as f32 / (1 << 23) as f32
}

/// A well-mixed number for each index (the output function of SplitMix64).
pub fn hash(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Replaces a few elements by values that arithmetic likes to lose: NaN, infinities, signed zero, the extremes of the range.
pub fn sprinkle(values: &mut [f32], seed: u64) {
    const SPECIAL: [f32; 8] = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -0.0,
        f32::MIN_POSITIVE,
        1e-45,
        f32::MAX,
        f32::MIN,
    ];
    if values.is_empty() {
        return;
    }
    let count = values.len() as u64;
    for (special, draw) in SPECIAL.iter().zip(0..) {
        values[(hash(seed, draw) % count) as usize] = *special;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_in_range_and_differ() {
        let values = floats(10_000, 7);
        assert!(values.iter().all(|value| (-1.0..1.0).contains(value)));
        assert!(values.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(values, floats(10_000, 7));
        assert_ne!(values, floats(10_000, 8));
    }

    #[test]
    fn the_extremes_of_the_bits_are_the_extremes_of_the_range() {
        assert_eq!(float(1 << 63), -1.0);
        assert_eq!(float(u64::MAX >> 1), 1.0 - f32::EPSILON);
        assert_eq!(float(0), 0.0);
    }

    #[test]
    fn special_values_are_sprinkled() {
        let mut values = floats(1000, 1);
        sprinkle(&mut values, 1);
        assert!(values.iter().any(|value| value.is_nan()));
        assert!(values.iter().any(|value| value.is_infinite()));
        sprinkle(&mut [], 1);
    }
}

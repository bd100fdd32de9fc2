//! `numbers.cu` and `device_code.cu`: arithmetic of every width, printing, assertions.

use half::{bf16, f16};
use nstage_sim::Verdict;

use crate::harness::{BOTH, Run, check};
use crate::values::Random;

fn u64s(x: &[u64]) -> Vec<u64> {
    x.windows(2)
        .map(|pair| {
            let (a, b) = (pair[0], pair[1] | 1);
            let (s, t) = (a as i64, b as i64);
            let high = ((u128::from(a) * u128::from(b)) >> 64) as u64;
            let signed_high = ((i128::from(s) * i128::from(t)) >> 64) as u64;
            let mut r = (a / b)
                .wrapping_add((a % b).wrapping_mul(3))
                .wrapping_add((s / t) as u64)
                .wrapping_add(((s % t) as u64).wrapping_mul(5))
                .wrapping_add(high)
                .wrapping_add(signed_high);
            let counts = u64::from(
                a.count_ones() + a.leading_zeros() * 64 + (b.trailing_zeros() + 1) * 4096,
            );
            r ^= counts.wrapping_add(a.reverse_bits());
            let wide = u128::from(a)
                .wrapping_mul(u128::from(b))
                .wrapping_add(u128::from(a));
            r = r
                .wrapping_add((wide >> 64) as u64)
                .wrapping_add((wide / u128::from(b >> 32 | 1)) as u64);
            r.wrapping_add(a >> (b & 63))
                .wrapping_add((s >> (a & 63)) as u64)
                .wrapping_add(a << (b & 31))
        })
        .collect()
}

fn u32s(x: &[u32]) -> Vec<u32> {
    let bytes = u32::to_le_bytes;
    let by_byte = |a: u32, b: u32, f: &dyn Fn(u8, u8) -> u8| {
        let (a, b) = (bytes(a), bytes(b));
        u32::from_le_bytes(std::array::from_fn(|i| f(a[i], b[i])))
    };
    let by_half = |a: u32, b: u32, f: &dyn Fn(u16, u16) -> u16| {
        u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
    };
    x.windows(2)
        .map(|pair| {
            let (a, b) = (pair[0], pair[1]);
            let (s, t) = (a as i32, b as i32);
            let permuted = u32::from_le_bytes([bytes(a)[1], bytes(b)[0], bytes(a)[2], bytes(b)[1]]);
            let dot: i32 = (0..4)
                .map(|i| i32::from(bytes(a)[i] as i8) * i32::from(bytes(b)[i] as i8))
                .sum();
            let unsigned_dot: u32 = (0..4)
                .map(|i| u32::from(bytes(a)[i]) * u32::from(bytes(b)[i]))
                .sum();
            let (odd, signed_odd) = (b | 1, t | 1);
            [
                ((u64::from(a) * u64::from(b)) >> 32) as u32,
                ((i64::from(s) * i64::from(t)) >> 32) as u32,
                (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff),
                permuted,
                b << 7 | a >> 25,
                a >> 13 | b << 19,
                s.abs_diff(t).wrapping_add(5),
                a.abs_diff(b).wrapping_add(7),
                (dot + 9) as u32,
                unsigned_dot + 11,
                ((i64::from(s) + i64::from(t)) >> 1) as u32,
                ((u64::from(a) + u64::from(b) + 1) >> 1) as u32,
                by_byte(a, b, &u8::wrapping_add),
                by_half(a, b, &u16::wrapping_sub),
                by_byte(a, b, &|a, b| a.max(b)),
                by_half(a, b, &|a, b| if a as i16 > b as i16 { 0xffff } else { 0 }),
                a / odd,
                a % odd,
                s.wrapping_div(signed_odd) as u32,
                s.wrapping_rem(signed_odd) as u32,
                s.min(t) as u32,
                a.max(b),
                s.unsigned_abs(),
                a.count_ones(),
                b.leading_zeros(),
                if a == 0 { 0 } else { a.trailing_zeros() + 1 },
                b.reverse_bits(),
                a >> 3 & 0x1f,
                a << 7,
                a as i16 as u32,
                b as i8 as u32,
                a >> 8 & 0xff,
            ]
            .into_iter()
            .fold(0, u32::wrapping_add)
        })
        .collect()
}

fn rounding(x: &[f32]) -> Vec<f32> {
    x.windows(2)
        .map(|pair| {
            let (fa, fb) = (pair[0], pair[1] + 2.5);
            let (a, b) = (f64::from(fa), f64::from(fb));
            let sums = [
                a + b,
                a * b,
                a * b + a,
                a / b,
                a.abs().sqrt(),
                1.0 / b,
                a - b,
                a.floor() + a.ceil() + a.round_ties_even() + a.trunc(),
                f64::from(fa.to_bits() as i32) * 1e-10,
                f64::from(fb.to_bits()) * 1e-10,
                a.floor() + a.ceil() + a.trunc() + a.round_ties_even() + a.round(),
                a.min(b) + a.max(b) + a.copysign(b) + a.clamp(0.0, 1.0) + a % b,
                f64::from(u8::from(a.is_sign_negative())) + (a - b).max(0.0),
            ];
            sums.into_iter().sum::<f64>() as f32
        })
        .collect()
}

fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, 0.0);
    for n in 0..60 {
        sum += term / f64::from(2 * n + 1);
        term *= -x * x / f64::from(n + 1);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

/// The logarithm of the gamma function, after Lanczos.
fn ln_gamma(x: f64) -> f64 {
    const C: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let x = x - 1.0;
    let sum = (1..9).fold(C[0], |sum, i| sum + C[i] / (x + i as f64));
    let t = x + 7.5;
    (2.0 * std::f64::consts::PI).sqrt().ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

fn doubles(x: &[f64]) -> Vec<f64> {
    x.windows(2)
        .map(|pair| {
            let (a, b) = (pair[0], pair[1] + 2.5);
            [
                a.exp() + (a.abs() + 1.0).ln() + a.sin() + (a.abs() + 0.5).powf(b),
                a.mul_add(b, a) + a / b + a.abs().sqrt() + a.cbrt() + a.atan2(b) + a.tanh(),
                a + b + a * b + a / b + 1.0 / b + a.round_ties_even() + (a * 1e6).floor(),
                f64::from(a as f32) + a.hypot(b) + erf(a) + ln_gamma(b),
            ]
            .into_iter()
            .sum()
        })
        .collect()
}

/// Both halves of each pair, by their neighbours.
fn halves(x: &[f16]) -> Vec<f16> {
    let r = |value: f64| f16::from_f64(value);
    x.chunks(2)
        .zip(x.chunks(2).skip(1))
        .flat_map(|(p, q)| {
            let mut out: [f16; 2] = std::array::from_fn(|i| {
                let (a, b) = (p[i].to_f64(), q[i].to_f64());
                let sum = r(r(a * b + a).to_f64() + r(a * b).to_f64());
                let less = r(sum.to_f64() - a.min(b)).to_f64();
                r(less.max(-b))
            });
            if p[0] > q[1] {
                out.swap(0, 1);
            }
            let added = [
                f16::from_f32(p[0].to_f32() * 1.5),
                f16::from_f32(q[1].to_f32() - 0.25),
            ];
            let whole = p[0].to_f64().trunc();
            std::array::from_fn::<_, 2, _>(|i| {
                let sum = r(out[i].to_f64() + added[i].to_f64()).to_f64();
                let sum = r(sum + whole).to_f64();
                let saturated = r(p[i].to_f64() + q[i].to_f64()).to_f64().clamp(0.0, 1.0);
                r((sum + saturated).abs())
            })
        })
        .collect()
}

fn brains(x: &[bf16]) -> Vec<bf16> {
    let r = |value: f64| bf16::from_f64(value);
    x.chunks(2)
        .zip(x.chunks(2).skip(1))
        .flat_map(|(p, q)| {
            let added = [bf16::from_f32(p[0].to_f32() * 1.5), q[1]];
            std::array::from_fn::<_, 2, _>(|i| {
                let (a, b) = (p[i].to_f64(), q[i].to_f64());
                let sum = r(r(a * b + a).to_f64() + r(a * b).to_f64()).to_f64();
                let most = sum.max(r(b - a).to_f64());
                r(most + added[i].to_f64())
            })
        })
        .collect()
}

fn fast(x: &[f32]) -> Vec<f32> {
    x.iter()
        .map(|x| {
            let x = f64::from(*x);
            let far = f64::from(x as f32 * 1000.0);
            let elementary = x.exp() + (x + 20.0).ln() + x.sin() + x.cos() + x / 3.0 + 2f64.powf(x);
            let more = (x * 0.1).tan() + 1.0 / (x + 20.0).sqrt() + x.exp2() + far.sin();
            (elementary + more + (x + 20.0).powf(1.3) + erf(x) + (x + 20.0).sqrt()) as f32
        })
        .collect()
}

fn number_runs() -> Vec<Run> {
    let mut random = Random(13);
    let wide: Vec<u64> = random.list(128, |random| {
        let shift = random.below(60);
        random.bits() >> shift
    });
    let words = random.list(128, |random| random.bits() as u32);
    let reals = random.list(128, Random::real);
    let doubled: Vec<f64> = reals.iter().map(|x| f64::from(*x)).collect();
    let half = random.list(128, |random| f16::from_f32(random.real() * 4.0));
    let brain = random.list(128, |random| bf16::from_f32(random.real() * 4.0));
    vec![
        Run::new("numbers_u64", 1, 128)
            .output(&u64s(&wide))
            .buffer(&wide)
            .scalar(128),
        Run::new("numbers_u32", 1, 128)
            .output(&u32s(&words))
            .buffer(&words)
            .scalar(128),
        Run::new("numbers_rounding", 1, 128)
            .near(&rounding(&reals), 1e-5)
            .buffer(&reals)
            .scalar(128),
        Run::new("numbers_double", 1, 128)
            .near(&doubles(&doubled), 1e-12)
            .buffer(&doubled)
            .scalar(128),
        Run::new("numbers_half", 1, 64)
            .output(&halves(&half))
            .buffer(&half)
            .scalar(64),
        Run::new("numbers_bf16", 1, 64)
            .output(&brains(&brain))
            .buffer(&brain)
            .scalar(64),
        Run::new("numbers_fast", 1, 128)
            .near(&fast(&reals), 1e-4)
            .buffer(&reals)
            .scalar(128),
    ]
}

#[test]
fn numbers() {
    check("numbers", BOTH, &[], &number_runs());
}

#[test]
fn numbers_with_fast_math() {
    // Approximate divisions and flushed subnormals leave the others as they are.
    let runs: Vec<Run> = number_runs()
        .into_iter()
        .filter(|run| !run.is("numbers_rounding"))
        .collect();
    check("numbers", &["sm_90"], &["--use_fast_math"], &runs);
}

#[test]
fn numbers_for_the_debugger() {
    check("numbers", &["sm_80"], &["-G"], &number_runs());
}

fn votes(x: &[u32]) -> Vec<u32> {
    (0..x.len())
        .map(|t| {
            let (warp, lane) = (&x[t / 32 * 32..t / 32 * 32 + 32], t % 32);
            let v = x[t];
            let lanes = |of: &dyn Fn(u32) -> bool| {
                (0..32)
                    .filter(|lane| of(warp[*lane]))
                    .fold(0u32, |all, lane| all | 1 << lane)
            };
            let same = lanes(&|w| w % 4 == v % 4);
            let rank = (same & ((1u32 << lane) - 1)).count_ones();
            let first = if v == 0 { 0 } else { v.trailing_zeros() + 1 };
            let sum = warp.iter().fold(0, |sum: u32, w| sum.wrapping_add(*w));
            lanes(&|w| w & 1 == 1) ^ rank << 24 ^ v.reverse_bits() ^ first ^ v.leading_zeros() ^ sum
        })
        .collect()
}

fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

fn device_runs() -> Vec<Run> {
    let mut random = Random(17);
    let ramp: Vec<i32> = (0..50).collect();
    let mut negative = ramp.clone();
    negative[3] = -5;
    negative[40] = -1;
    let floats = random.list(1000, |random| random.below(64) as f32);
    let weights = [0.5f32, 0.25, 0.125, 0.0625];
    let weighed: f32 = floats
        .iter()
        .enumerate()
        .map(|(i, x)| x * weights[i % 4])
        .sum();
    let words = random.list(128, |random| random.bits() as u32);
    let half = random.list(100, |random| f16::from_f32(random.real()));
    let single = random.list(100, Random::real);
    let fused: Vec<f16> = half
        .iter()
        .map(|x| f16::from_f64(x.to_f64() * 2.0 + 0.5))
        .collect();
    let tripled: Vec<bf16> = single.iter().map(|x| bf16::from_f32(x * 3.0)).collect();
    let numbers = random.list(1000, |random| random.below(200) as i32);
    let best: Vec<i32> = (0..64)
        .map(|t| {
            let mut bins = [0; 16];
            for x in numbers.iter().skip(t).step_by(64) {
                bins[*x as usize & 15] += x;
            }
            let best = (0..16).fold(0, |best, b| if bins[b] > bins[best] { b } else { best });
            best as i32 * 100_000 + bins[best]
        })
        .collect();
    let positive: Vec<f64> = random.list(100, |random| f64::from(random.real() + 1.5));
    let doubled: Vec<f64> = positive
        .iter()
        .map(|x| x.sqrt() / (1.0 + x) + f64::from(*x as f32) + x.floor() + x % 3.0)
        .collect();
    let elementary: Vec<f32> = single
        .iter()
        .map(|x| {
            let x = f64::from(*x);
            (x.exp() + (1.0 + x.abs()).ln() + x.sin() + 1.0 / (1.0 + x * x).sqrt() + x.tanh() / 3.0)
                as f32
        })
        .collect();
    vec![
        Run::new("misc_print", 1, 64)
            .buffer(&negative)
            .scalar(50)
            .prints("x[3] = -5 is negative (a string, -2.50)\nx[40] = -1 is negative (a string, -0.50)\n"),
        Run::new("misc_assert", 1, 64).buffer(&ramp).scalar(50),
        Run::new("misc_assert", 1, 64).buffer(&negative).scalar(50).ends(Verdict::Trap),
        Run::new("misc_sum", 2, 128).update(&[0f32], &[weighed]).buffer(&floats).scalar(1000),
        Run::new("misc_votes", 1, 128).output(&votes(&words)).buffer(&words),
        Run::new("misc_half", 1, 128).output(&fused).buffer(&half).output(&tripled).buffer(&single).scalar(100),
        Run::new("misc_recursion", 1, 64).output(&(0..64).map(|t| fib(t % 12)).collect::<Vec<_>>()),
        Run::new("misc_local", 1, 64).output(&best).buffer(&numbers).scalar(1000),
        Run::new("misc_double", 1, 128).near(&doubled, 1e-12).buffer(&positive).scalar(100),
        Run::new("misc_math", 1, 128).near(&elementary, 1e-5).buffer(&single).scalar(100),
    ]
}

#[test]
fn device_code() {
    check("device_code", BOTH, &[], &device_runs());
}

#[test]
fn device_code_for_the_debugger() {
    check("device_code", BOTH, &["-G"], &device_runs());
}

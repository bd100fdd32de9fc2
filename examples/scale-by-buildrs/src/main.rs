//! Runs the embedded kernel on the simulator and looks at every element.

use nstage::catalogue::KernelArgs;
use nstage::{GlobalMut, GlobalPtr};
use nstage_sim::{Fill, GlobalMemory, Launch, Options, Program, Verdict};
use scale_kernels::{CATALOGUE, scale};
use std::error::Error;

/// Each target's name and PTX.
static PTX: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/ptx.rs"));

fn main() -> Result<(), Box<dyn Error>> {
    for n in [0, 1, 1000, 100_000] {
        run(n)?;
        println!("scale: {n} elements verified, no hazard");
    }
    Ok(())
}

/// Scales `n` elements.
fn run(n: usize) -> Result<(), Box<dyn Error>> {
    let (_, ptx) = PTX[0];
    let variant = CATALOGUE[0].variants[0];
    let module = nstage_ptx::parse(ptx)?;
    let program = Program::compile(&module, variant.entry)?;

    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    let mut memory = GlobalMemory::new();
    let x_address = memory.alloc(bytes.len() as u64, Fill::Bytes(&bytes))?;
    let y_address = memory.alloc(bytes.len() as u64, Fill::Poison)?;

    let threads = variant.default_threads();
    let mut launch = Launch::new(4, threads);
    launch.dynamic_shared = variant.shared_bytes(threads);
    let args = scale::Args {
        y: GlobalMut::new(y_address.0),
        x: GlobalPtr::new(x_address.0),
        a: 2.5,
        n: n as u64,
    };
    args.visit(&mut |_, bytes| launch.params.push(bytes.to_vec()));

    let outcome = nstage_sim::run(&program, &mut memory, &launch, &Options::default());
    if outcome.verdict() != Verdict::Clean {
        return Err(format!("{n} elements: {:?}", outcome.findings).into());
    }
    let mut bytes = bytes;
    memory.read(y_address, &mut bytes)?;
    for (i, y) in bytes.chunks_exact(4).enumerate() {
        let y = f32::from_le_bytes([y[0], y[1], y[2], y[3]]);
        let expected = 2.5 * x[i];
        if y != expected {
            return Err(format!("{n} elements: y[{i}]: got {y}, expected {expected}").into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_element_is_scaled_without_a_hazard() {
        // Around the tile of 256 threads × 4 elements.
        for n in [0, 1, 3, 1023, 1024, 1025, 10_000] {
            super::run(n).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

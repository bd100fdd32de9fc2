//! Builds `kernels/` to PTX and makes it a table that `main.rs` includes.

use nstage_builder::{Builder, Target};

fn main() {
    let built = Builder::new("kernels").targets([Target::SM_80]).build();
    match built.and_then(|built| {
        built.emit_rerun();
        built.embed("ptx.rs")
    }) {
        Ok(()) => {}
        Err(error) => {
            // Cargo shows these lines; each says what to do.
            error
                .to_string()
                .lines()
                .for_each(|line| println!("cargo::error={line}"));
            std::process::exit(1);
        }
    }
}

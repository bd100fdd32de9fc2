//! The embedded simulator as a device.

use super::{Description, Limits};

/// What the simulator is called.
pub fn description() -> Description {
    Description {
        id: "sim".to_owned(),
        name: "nstage simulator".to_owned(),
        capability: 90,
        facts: "runs the same PTX on the CPU, values and rules but no timing".to_owned(),
    }
}

/// What a launch may ask of it: the limits of an sm_90 device, with few multiprocessors so that every block works through several tiles.
pub fn limits() -> Limits {
    Limits {
        multiprocessors: 4,
        threads_per_block: 1024,
        grid_x: i32::MAX as u32,
        shared_opt_in: 227 << 10,
        memory: 8 << 30,
    }
}

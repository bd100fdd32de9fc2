//! What a GPU can do by its data sheet and by the limits of its architecture: the denominators of every ratio.
//!
//! Architecture limits are those of the table of technical specifications in NVIDIA's CUDA C++ Programming Guide;
//! memory rates, multiprocessors and caches are those of the products' data sheets and architecture papers.

use serde::{Deserialize, Serialize};

/// What one multiprocessor holds, and what memory moves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hardware {
    /// The device's name.
    pub name: String,
    /// Compute capability, 90 for 9.0.
    pub capability: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Threads on one multiprocessor at once.
    pub threads_per_sm: u32,
    /// Blocks on one multiprocessor at once.
    pub blocks_per_sm: u32,
    /// 32-bit registers of one multiprocessor.
    pub registers_per_sm: u32,
    /// Shared memory of one multiprocessor, in bytes.
    pub shared_per_sm: u32,
    /// Shared memory that the system takes of each block, in bytes.
    pub shared_reserved: u32,
    /// Shared memory of a block that opts in, in bytes.
    pub shared_opt_in: u32,
    /// The L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Gigabytes a second by the data sheet; `None` where the product is not in our list and its memory clock is not told.
    pub memory_gigabytes_per_second: Option<f64>,
    /// Multiply-adds of `f32` in a second, times two, in units of 10^12.
    pub teraflops_f32: Option<f64>,
}

/// A product of the list.
struct Product {
    /// A word that `--gpu` takes.
    key: &'static str,
    /// What the driver's name of it contains, all of it.
    contains: &'static [&'static str],
    name: &'static str,
    capability: u32,
    multiprocessors: u32,
    l2_mebibytes: u64,
    gigabytes_per_second: f64,
    teraflops_f32: f64,
}

const PRODUCTS: &[Product] = &[
    Product {
        key: "h200",
        contains: &["H200"],
        name: "NVIDIA H200",
        capability: 90,
        multiprocessors: 132,
        l2_mebibytes: 60,
        gigabytes_per_second: 4800.0,
        teraflops_f32: 66.9,
    },
    Product {
        key: "h100-pcie",
        contains: &["H100", "PCIe"],
        name: "NVIDIA H100 PCIe",
        capability: 90,
        multiprocessors: 114,
        l2_mebibytes: 50,
        gigabytes_per_second: 2039.0,
        teraflops_f32: 51.2,
    },
    Product {
        key: "h100",
        contains: &["H100"],
        name: "NVIDIA H100 SXM5",
        capability: 90,
        multiprocessors: 132,
        l2_mebibytes: 50,
        gigabytes_per_second: 3352.0,
        teraflops_f32: 66.9,
    },
    Product {
        key: "a100",
        contains: &["A100", "80GB"],
        name: "NVIDIA A100 80GB",
        capability: 80,
        multiprocessors: 108,
        l2_mebibytes: 40,
        gigabytes_per_second: 2039.0,
        teraflops_f32: 19.5,
    },
    Product {
        key: "a100-40gb",
        contains: &["A100"],
        name: "NVIDIA A100 40GB",
        capability: 80,
        multiprocessors: 108,
        l2_mebibytes: 40,
        gigabytes_per_second: 1555.0,
        teraflops_f32: 19.5,
    },
    Product {
        key: "l40s",
        contains: &["L40S"],
        name: "NVIDIA L40S",
        capability: 89,
        multiprocessors: 142,
        l2_mebibytes: 96,
        gigabytes_per_second: 864.0,
        teraflops_f32: 91.6,
    },
    Product {
        key: "rtx-4090",
        contains: &["RTX 4090"],
        name: "NVIDIA GeForce RTX 4090",
        capability: 89,
        multiprocessors: 128,
        l2_mebibytes: 72,
        gigabytes_per_second: 1008.0,
        teraflops_f32: 82.6,
    },
];

/// Limits of one multiprocessor by compute capability.
struct Architecture {
    capability: u32,
    threads: u32,
    blocks: u32,
    shared_kibibytes: u32,
    opt_in_kibibytes: u32,
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        capability: 80,
        threads: 2048,
        blocks: 32,
        shared_kibibytes: 164,
        opt_in_kibibytes: 163,
    },
    Architecture {
        capability: 86,
        threads: 1536,
        blocks: 16,
        shared_kibibytes: 100,
        opt_in_kibibytes: 99,
    },
    Architecture {
        capability: 89,
        threads: 1536,
        blocks: 24,
        shared_kibibytes: 100,
        opt_in_kibibytes: 99,
    },
    Architecture {
        capability: 90,
        threads: 2048,
        blocks: 32,
        shared_kibibytes: 228,
        opt_in_kibibytes: 227,
    },
    Architecture {
        capability: 100,
        threads: 2048,
        blocks: 32,
        shared_kibibytes: 228,
        opt_in_kibibytes: 227,
    },
    Architecture {
        capability: 120,
        threads: 1536,
        blocks: 24,
        shared_kibibytes: 100,
        opt_in_kibibytes: 99,
    },
];

/// 32-bit registers of one multiprocessor, the same for all of [`ARCHITECTURES`].
const REGISTERS: u32 = 64 << 10;

/// Shared memory that the system takes of each block since compute capability 8.0.
const RESERVED: u32 = 1 << 10;

/// A product name that is not in the list.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{given}: no data sheet of that name here; there are {}", keys().collect::<Vec<_>>().join(", "))]
pub struct UnknownProduct {
    given: String,
}

/// What `--gpu` takes.
pub fn keys() -> impl Iterator<Item = &'static str> {
    PRODUCTS.iter().map(|product| product.key)
}

/// Compute capabilities whose limits are known.
pub fn capabilities() -> impl Iterator<Item = u32> {
    ARCHITECTURES.iter().map(|known| known.capability)
}

impl Hardware {
    /// By the word that `--gpu` takes, without a device.
    pub fn of_product(key: &str) -> Result<Self, UnknownProduct> {
        let key = key.to_ascii_lowercase();
        let product = PRODUCTS.iter().find(|product| product.key == key);
        let product = product.ok_or(UnknownProduct { given: key })?;
        let mut hardware = Self::of_capability(product.capability);
        hardware.name = product.name.to_owned();
        hardware.multiprocessors = product.multiprocessors;
        hardware.l2_bytes = product.l2_mebibytes << 20;
        hardware.memory_gigabytes_per_second = Some(product.gigabytes_per_second);
        hardware.teraflops_f32 = Some(product.teraflops_f32);
        Ok(hardware)
    }

    /// The limits of an architecture; of the newest older one where it is not in the list.
    pub fn of_capability(capability: u32) -> Self {
        let mut newest_first = ARCHITECTURES.iter().rev();
        let known = newest_first
            .find(|known| known.capability <= capability)
            .unwrap_or(&ARCHITECTURES[0]);
        Self {
            name: format!("sm_{capability}"),
            capability,
            multiprocessors: 1,
            threads_per_sm: known.threads,
            blocks_per_sm: known.blocks,
            registers_per_sm: REGISTERS,
            shared_per_sm: known.shared_kibibytes << 10,
            shared_reserved: RESERVED,
            shared_opt_in: known.opt_in_kibibytes << 10,
            l2_bytes: 0,
            memory_gigabytes_per_second: None,
            teraflops_f32: None,
        }
    }

    /// Takes the memory rate and the arithmetic rate of the product that the driver's name is of.
    #[must_use]
    pub fn with_data_sheet(mut self) -> Self {
        let of_name = |product: &&Product| {
            let mut words = product.contains.iter();
            words.all(|word| self.name.contains(word))
        };
        if let Some(product) = PRODUCTS.iter().find(of_name) {
            self.memory_gigabytes_per_second = Some(product.gigabytes_per_second);
            self.teraflops_f32 = Some(product.teraflops_f32);
        }
        self
    }

    /// Blocks on one multiprocessor at once: the least of what threads, blocks, registers and shared memory allow.
    ///
    /// Registers are given to warps in units of 256 and warps to four schedulers; shared memory to blocks in units of 128 bytes after the system's share
    /// (NVIDIA's occupancy calculator, compute capability 8.0 and later).
    pub fn occupancy(&self, threads: u32, registers: u32, shared: u32) -> u32 {
        if threads == 0 || shared > self.shared_opt_in {
            return 0;
        }
        let warps = threads.div_ceil(32);
        let by_threads = self.threads_per_sm / (warps * 32);
        let per_warp = (registers * 32).next_multiple_of(256).max(256);
        // Whole warps for each of four schedulers.
        let by_registers = (self.registers_per_sm / 4 / per_warp) * 4 / warps;
        let per_block = (shared + self.shared_reserved).next_multiple_of(128);
        let by_shared = self.shared_per_sm / per_block;
        by_threads
            .min(self.blocks_per_sm)
            .min(by_registers)
            .min(by_shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_driver_find_their_data_sheet() {
        for (name, expected) in [
            ("NVIDIA H200", Some(4800.0)),
            ("NVIDIA H100 80GB HBM3", Some(3352.0)),
            ("NVIDIA H100 PCIe", Some(2039.0)),
            ("NVIDIA A100-SXM4-80GB", Some(2039.0)),
            ("NVIDIA A100-SXM4-40GB", Some(1555.0)),
            ("Something Else", None),
        ] {
            let hardware = Hardware {
                name: name.to_owned(),
                ..Hardware::of_capability(90)
            };
            let found = hardware.with_data_sheet().memory_gigabytes_per_second;
            assert_eq!(found, expected, "{name}");
        }
        let message = Hardware::of_product("h300").unwrap_err().to_string();
        assert!(message.contains("h300: no data sheet") && message.contains("h200"));
    }

    #[test]
    fn occupancy_is_the_scarcest_thing() {
        let h200 = Hardware::of_product("h200").unwrap();
        for (threads, registers, shared, expected) in [
            // Threads: 2048 of 256.
            (256, 32, 0, 8),
            (1024, 32, 0, 2),
            // Blocks: 32 of 32 threads.
            (32, 16, 0, 32),
            // Registers: 64 a thread are 2048 a warp, 8 warps a scheduler.
            (256, 64, 0, 4),
            (256, 255, 0, 1),
            // Shared memory: 228 KiB of 32 + 1 KiB.
            (256, 32, 32 << 10, 6),
            (256, 32, 227 << 10, 1),
            (256, 32, 228 << 10, 0),
            (1024, 128, 0, 0),
        ] {
            let found = h200.occupancy(threads, registers, shared);
            assert_eq!(found, expected, "{threads}, {registers}, {shared}");
        }
    }

    #[test]
    fn an_architecture_that_is_not_listed_is_the_one_before() {
        assert_eq!(Hardware::of_capability(103).threads_per_sm, 2048);
        assert_eq!(Hardware::of_capability(87).threads_per_sm, 1536);
        assert_eq!(Hardware::of_capability(75).shared_opt_in, 163 << 10);
    }
}

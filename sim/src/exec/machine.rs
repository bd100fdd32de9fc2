//! What all blocks of a launch share, made once.

use crate::event::Pc;
use crate::lanes::{LANES, Registers, Row};
use crate::launch::{Dim3, Launch, Options};
use crate::memory::segment::{Segment, Segments};
use crate::memory::{Fill, GlobalMemory, MemoryError, Storage};
use crate::program::{Program, Relocation, Special, Target};

/// A launch, ready to run blocks of.
pub(crate) struct Machine<'m> {
    pub(crate) program: &'m Program,
    pub(crate) grid: Dim3,
    pub(crate) block: Dim3,
    pub(crate) cluster: Dim3,
    pub(crate) dynamic_shared: u32,
    pub(crate) options: Options,
    /// Threads of a block.
    pub(crate) threads: u32,
    pub(crate) globals: Segments,
    pub(crate) constants: Segments,
    pub(crate) params: Segments,
    /// Registers of a warp before its first instruction, but for what differs between threads.
    pub(crate) template: Registers,
    /// Keeps the bytes behind `constants` and `params`.
    _storage: [Storage; 2],
    memory: &'m GlobalMemory,
}

impl<'m> Machine<'m> {
    /// Puts the program's variables into memory and the launch's values into registers.
    pub(crate) fn new(
        program: &'m Program,
        memory: &'m mut GlobalMemory,
        launch: &Launch,
        options: Options,
    ) -> Result<Self, MemoryError> {
        let addresses = place_globals(program, memory)?;
        let memory = &*memory;
        let exhausted = |bytes: usize| MemoryError::Exhausted {
            requested: bytes as u64,
        };

        let mut bank = program.constant_bank.image.clone();
        relocate(&mut bank, &program.constant_bank.relocations, &addresses);
        let mut constants = Storage::zeroed(bank.len()).ok_or_else(|| exhausted(bank.len()))?;
        constants.as_mut_slice().copy_from_slice(&bank);

        let param_bytes = program.param_bytes as usize;
        let mut params = Storage::zeroed(param_bytes).ok_or_else(|| exhausted(param_bytes))?;
        for (slot, blob) in program.params.iter().zip(&launch.params) {
            let at = slot.offset as usize;
            params.as_mut_slice()[at..at + slot.bytes as usize].copy_from_slice(blob);
        }

        let mut template = Registers {
            r32: vec![Row([0; LANES]); program.counts.r32 as usize],
            r64: vec![Row([0; LANES]); program.counts.r64 as usize],
            pred: vec![0; program.counts.pred as usize],
        };
        for &(reg, value) in &program.constants.r32 {
            template.r32[reg as usize] = Row([value; LANES]);
        }
        for &(reg, value) in &program.constants.r64 {
            template.r64[reg as usize] = Row([value; LANES]);
        }
        for &(reg, value) in &program.constants.pred {
            template.pred[reg as usize] = if value { u32::MAX } else { 0 };
        }
        for &(reg, variable, offset) in &program.constants.globals {
            template.r64[reg as usize] =
                Row([addresses[variable as usize].wrapping_add(offset as u64); LANES]);
        }
        for load in &program.constants.params {
            let at = load.offset as usize;
            let mut bytes = [0; 8];
            bytes[..load.bytes as usize]
                .copy_from_slice(&params.as_slice()[at..at + load.bytes as usize]);
            let mut value = u64::from_le_bytes(bytes);
            if load.signed {
                let unused = 64 - 8 * load.bytes;
                value = ((value << unused) as i64 >> unused) as u64;
            }
            value &= load.keep;
            if load.wide {
                template.r64[load.d as usize] = Row([value; LANES]);
            } else {
                template.r32[load.d as usize] = Row([value as u32; LANES]);
            }
        }

        let globals = memory
            .allocations()
            .iter()
            .map(|allocation| Segment {
                base: allocation.base,
                len: allocation.len,
                host: allocation.bytes.pointer(),
                valid: allocation
                    .valid
                    .as_ref()
                    .map_or(std::ptr::null(), |valid| valid.as_ptr()),
                valid_base: allocation.base,
                writable: true,
            })
            .collect();
        let read_only = |base: u64, len: u64, storage: &Storage| Segment {
            base,
            len,
            host: storage.pointer().wrapping_add(base as usize),
            valid: std::ptr::null(),
            valid_base: 0,
            writable: false,
        };
        let bank = &program.constant_bank.variables;
        Ok(Self {
            program,
            grid: launch.grid,
            block: launch.block,
            cluster: launch.cluster,
            dynamic_shared: launch.dynamic_shared,
            options,
            threads: launch.block.count() as u32,
            globals: Segments::new(globals),
            constants: Segments::new(
                bank.iter()
                    .map(|(_, at, len)| read_only((*at).into(), (*len).into(), &constants))
                    .collect(),
            ),
            params: Segments::new(
                program
                    .params
                    .iter()
                    .map(|slot| read_only(slot.offset.into(), slot.bytes.into(), &params))
                    .collect(),
            ),
            template,
            _storage: [constants, params],
            memory,
        })
    }

    /// Blocks that run together: a cluster, or one.
    pub(crate) fn group_blocks(&self) -> u32 {
        self.cluster.count() as u32
    }

    /// About how much memory a group takes.
    pub(crate) fn group_bytes(&self) -> u64 {
        let counts = self.program.counts;
        let registers =
            u64::from(counts.r32) * 128 + u64::from(counts.r64) * 256 + u64::from(counts.pred) * 4;
        let warp = registers + u64::from(self.program.local_bytes) * 32;
        let shared = u64::from(self.program.shared.dynamic + self.dynamic_shared);
        let executions = if self.options.check {
            self.executions() as u64 * 4
        } else {
            0
        };
        u64::from(self.group_blocks()) * (u64::from(self.warps()) * warp + shared) + executions
    }

    /// Counters of how often each warp of a group came to each instruction.
    pub(crate) fn executions(&self) -> usize {
        self.first_execution(self.group_blocks(), 0)
    }

    /// Where those of a warp begin.
    pub(crate) fn first_execution(&self, rank: u32, warp: u32) -> usize {
        (rank * self.warps() + warp) as usize * self.program.code.len()
    }

    /// Groups of the launch.
    pub(crate) fn groups(&self) -> u64 {
        self.grid.count() / self.cluster.count()
    }

    /// Warps of a block.
    pub(crate) fn warps(&self) -> u32 {
        self.threads.div_ceil(LANES as u32)
    }

    /// Lanes of a warp of a block.
    pub(crate) fn lanes(&self, warp: u32) -> u32 {
        match self.threads - warp * LANES as u32 {
            count @ 0..32 => (1 << count) - 1,
            _ => u32::MAX,
        }
    }

    /// Index in the grid of the block with this rank in this group.
    pub(crate) fn block_index(&self, group: u64, rank: u32) -> [u32; 3] {
        let Dim3 { x, y, z } = self.cluster;
        let clusters = Dim3::new(self.grid.x / x, self.grid.y / y, self.grid.z / z);
        let [cx, cy, cz] = clusters.index(group);
        let [rx, ry, rz] = self.cluster.index(rank.into());
        [cx * x + rx, cy * y + ry, cz * z + rz]
    }

    /// Where a global address is, or what is nearest, in words.
    pub(crate) fn describe_global(&self, address: u64) -> String {
        self.memory.describe_nearest(address)
    }

    /// Fills the registers of a warp.
    pub(crate) fn fill(&self, registers: &mut Registers, group: u64, rank: u32, warp: u32) {
        if registers.r32.is_empty() && registers.r64.is_empty() && registers.pred.is_empty() {
            registers.clone_from(&self.template);
        } else {
            // Constants are still there, and what is only used inside one instruction is written before it is read.
            let own = &self.program.own;
            for range in &own.r32 {
                registers.r32[range.start as usize..range.end as usize].fill(Row([0; LANES]));
            }
            for range in &own.r64 {
                registers.r64[range.start as usize..range.end as usize].fill(Row([0; LANES]));
            }
            for range in &own.pred {
                registers.pred[range.start as usize..range.end as usize].fill(0);
            }
        }
        let block = self.block_index(group, rank);
        let [rx, ry, rz] = self.cluster.index(rank.into());
        let axes = |dim: Dim3| [dim.x, dim.y, dim.z, 1];
        let pick = |values: [u32; 3], axis: u8| values.get(usize::from(axis)).copied().unwrap_or(0);
        let (grid, size, cluster) = (axes(self.grid), axes(self.block), axes(self.cluster));
        for &(special, reg) in &self.program.constants.specials {
            let row = &mut registers.r32[reg as usize].0;
            let value = match special {
                Special::Tid(axis) => {
                    for (lane, value) in row.iter_mut().enumerate() {
                        *value = pick(
                            self.block
                                .index(u64::from(warp) * LANES as u64 + lane as u64),
                            axis,
                        );
                    }
                    continue;
                }
                Special::Laneid => {
                    *row = std::array::from_fn(|lane| lane as u32);
                    continue;
                }
                Special::LanemaskEq => {
                    *row = std::array::from_fn(|lane| 1 << lane);
                    continue;
                }
                Special::LanemaskLe => {
                    *row = std::array::from_fn(|lane| u32::MAX >> (31 - lane));
                    continue;
                }
                Special::LanemaskLt => {
                    *row = std::array::from_fn(|lane| (1 << lane) - 1);
                    continue;
                }
                Special::LanemaskGe => {
                    *row = std::array::from_fn(|lane| u32::MAX << lane);
                    continue;
                }
                Special::LanemaskGt => {
                    *row = std::array::from_fn(|lane| !(u32::MAX >> (31 - lane)));
                    continue;
                }
                Special::Ntid(axis) => size[usize::from(axis)],
                Special::Nctaid(axis) => grid[usize::from(axis)],
                Special::Ctaid(axis) => pick(block, axis),
                Special::ClusterCtaid(axis) => pick([rx, ry, rz], axis),
                Special::ClusterNctaid(axis) => cluster[usize::from(axis)],
                Special::ClusterId(axis) => pick(
                    [
                        block[0] / self.cluster.x,
                        block[1] / self.cluster.y,
                        block[2] / self.cluster.z,
                    ],
                    axis,
                ),
                Special::NclusterId(axis) => grid[usize::from(axis)] / cluster[usize::from(axis)],
                Special::ClusterCtarank => rank,
                Special::ClusterNctarank => self.group_blocks(),
                Special::Warpid => warp,
                Special::Nwarpid => self.warps(),
                Special::Smid => (group % 132) as u32,
                Special::Nsmid => 132,
                Special::DynamicSmemSize => self.dynamic_shared,
                Special::TotalSmemSize => self.dynamic_shared + self.program.static_shared(),
                Special::IsExplicitCluster => u32::from(self.cluster != Dim3::ONE),
                Special::ReservedSmem => self.program.shared.reserved.unwrap_or(0),
                Special::Zero => 0,
            };
            *row = [value; LANES];
        }
    }

    /// Where threads start.
    pub(crate) fn start(&self) -> Pc {
        self.program.start
    }
}

/// Allocates the program's global variables, or finds them from an earlier run, and answers with their addresses.
fn place_globals(program: &Program, memory: &mut GlobalMemory) -> Result<Vec<u64>, MemoryError> {
    let mut addresses = Vec::with_capacity(program.globals.len());
    let mut fresh = Vec::new();
    for variable in &program.globals {
        match memory.variable(program.module, &variable.name) {
            Some(address) => addresses.push(address),
            None => {
                let bytes = variable.image.len() as u64;
                let address = memory
                    .alloc_named(bytes, Fill::Zero, Some(variable.name.clone()))?
                    .0;
                memory.remember(program.module, &variable.name, address);
                addresses.push(address);
                fresh.push((address, variable));
            }
        }
    }
    for (address, variable) in fresh {
        let mut image = variable.image.clone();
        relocate(&mut image, &variable.relocations, &addresses);
        memory.write(crate::DevicePointer(address), &image)?;
    }
    Ok(addresses)
}

fn relocate(image: &mut [u8], relocations: &[Relocation], globals: &[u64]) {
    for relocation in relocations {
        let target = match relocation.target {
            Target::Global(index) => globals[index as usize],
            Target::Fixed(address) => address,
        };
        let mut value = target.wrapping_add(relocation.addend as u64);
        if let Some(mask) = relocation.mask {
            value = (value & mask) >> mask.trailing_zeros().min(63);
        }
        let (at, len) = (relocation.at as usize, relocation.bytes as usize);
        image[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
    }
}

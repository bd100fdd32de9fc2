//! One entry of a module, decoded for execution.

mod allocate;
mod decode;
mod flow;
pub(crate) mod layout;
pub(crate) mod op;

use nstage_ptx::ast::Module;

use crate::check::{Listed, Listing};

use crate::event::Pc;
pub(crate) use layout::{
    ConstantBank, GlobalVariable, ParamSlot, Relocation, SharedLayout, SharedVariable, Target,
};
use op::{Inst, Reg};

/// Why a module or an entry cannot be run at all.
///
/// An instruction that is merely not modelled is no such reason: it ends the run as incomplete when it is executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// No entry of this name.
    #[error(
        "no entry `{entry}` with a body in this module; it has {}",
        list(known)
    )]
    NoSuchEntry {
        /// What was asked for.
        entry: String,
        /// What there is.
        known: Vec<String>,
    },
    /// A name that nothing declares.
    #[error("line {line}: `{name}` is not declared")]
    Undeclared {
        /// The name.
        name: String,
        /// Where it is used.
        line: u32,
    },
    /// A variable that cannot be laid out.
    #[error("line {line}: variable `{name}`: {reason}")]
    Variable {
        /// The variable.
        name: String,
        /// Where it is declared.
        line: u32,
        /// What is wrong, with both numbers.
        reason: String,
    },
}

fn list(known: &[String]) -> String {
    if known.is_empty() {
        "none".to_owned()
    } else {
        known.join(", ")
    }
}

/// The PTX place of a decoded instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Line, from one.
    pub(crate) line: u32,
    /// Index of the instruction's text.
    pub(crate) text: u32,
    /// File number and line of `.loc`; zero where none was seen.
    pub(crate) source: (u32, u32),
    /// Whether the result is only within the ISA's error bounds.
    pub(crate) approximate: bool,
}

/// A special register that is fixed for a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterId(u8),
    NclusterId(u8),
    ClusterCtarank,
    ClusterNctarank,
    IsExplicitCluster,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    LanemaskEq,
    LanemaskLe,
    LanemaskLt,
    LanemaskGe,
    LanemaskGt,
    DynamicSmemSize,
    TotalSmemSize,
    ReservedSmem,
    Zero,
}

/// A constant register whose value is known only at launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParamLoad {
    pub(crate) d: Reg,
    /// Whether `d` is a 64-bit register.
    pub(crate) wide: bool,
    pub(crate) offset: u32,
    pub(crate) bytes: u32,
    /// Sign-extend into the bits of `keep`.
    pub(crate) signed: bool,
    pub(crate) keep: u64,
}

/// What instructions need beyond their own words, a table a kind.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) memory: Vec<op::Memory>,
    pub(crate) atomics: Vec<op::Atomic>,
    pub(crate) copies: Vec<op::CopyElements>,
    pub(crate) copy_arrives: Vec<op::CopyArrive>,
    pub(crate) bulks: Vec<op::CopyBulk>,
    pub(crate) tensors: Vec<op::CopyTensor>,
    pub(crate) async_stores: Vec<op::StoreAsync>,
    pub(crate) mbarriers: Vec<op::Mbarrier>,
    pub(crate) systems: Vec<op::System>,
    /// Where the thunk of each function starts, if there are calls through registers.
    pub(crate) thunks: Vec<Pc>,
    /// The registers of each function.
    pub(crate) frames: Vec<op::Frame>,
    pub(crate) barriers: Vec<op::Barrier>,
    pub(crate) collectives: Vec<op::Collective>,
    pub(crate) matrices: Vec<op::Matrix>,
    pub(crate) touches: Vec<op::RegisterTouch>,
    pub(crate) unsupported: Vec<String>,
    /// Registers of vectors, branch targets.
    pub(crate) lists: Vec<u32>,
}

/// How many registers a warp has, by file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) r32: u32,
    pub(crate) r64: u32,
    pub(crate) pred: u32,
}

/// Registers that hold the same value in every thread of a launch.
#[derive(Debug, Default)]
pub(crate) struct Constants {
    pub(crate) r32: Vec<(Reg, u32)>,
    pub(crate) r64: Vec<(Reg, u64)>,
    pub(crate) pred: Vec<(Reg, bool)>,
    /// Addresses of global variables: register, variable, bytes added.
    pub(crate) globals: Vec<(Reg, u32, i64)>,
    pub(crate) params: Vec<ParamLoad>,
    pub(crate) specials: Vec<(Special, Reg)>,
}

/// One entry with its functions and variables, ready to run any number of times.
#[derive(Debug)]
pub struct Program {
    pub(crate) entry: String,
    /// Tells modules apart whose variables live in the same memory.
    pub(crate) module: u64,
    pub(crate) code: Vec<Inst>,
    pub(crate) places: Vec<Place>,
    pub(crate) texts: Vec<String>,
    pub(crate) files: Vec<(u32, String)>,
    pub(crate) tables: Tables,
    pub(crate) counts: Counts,
    pub(crate) constants: Constants,
    /// Rows of the program's own registers, which start as zero.
    pub(crate) own: op::Frame,
    pub(crate) params: Vec<ParamSlot>,
    pub(crate) param_bytes: u32,
    pub(crate) shared: SharedLayout,
    pub(crate) constant_bank: ConstantBank,
    pub(crate) globals: Vec<GlobalVariable>,
    pub(crate) local_bytes: u32,
    /// Where the thread starts.
    pub(crate) start: Pc,
}

impl Program {
    /// Decodes `entry` of the module with everything that it reaches.
    ///
    /// # Errors
    /// When the module has no such entry, or a name or a variable of it makes no sense.
    pub fn compile(module: &Module, entry: &str) -> Result<Self, CompileError> {
        decode::compile(module, entry)
    }

    /// The entry's name.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.entry
    }

    /// What the code contains that is not modelled, with its line; a run that comes to one of these ends as incomplete.
    pub fn unsupported(&self) -> impl Iterator<Item = (&str, u32)> {
        self.code
            .iter()
            .zip(&self.places)
            .filter_map(|(inst, place)| match inst.op {
                op::Op::Unsupported(at) => {
                    Some((self.tables.unsupported[at as usize].as_str(), place.line))
                }
                _ => None,
            })
    }

    /// Sizes of the entry's parameters in bytes, in order.
    pub fn params(&self) -> impl Iterator<Item = u32> {
        self.params.iter().map(|slot| slot.bytes)
    }

    /// Source file and line of a place.
    pub(crate) fn source(&self, place: Place) -> Option<(String, u32)> {
        let (file, line) = place.source;
        self.files
            .iter()
            .find(|(index, _)| *index == file)
            .map(|(_, name)| (name.clone(), line))
    }

    /// What reports of the checker need to know about the program.
    #[must_use]
    pub fn listing(&self, dynamic_shared: u32) -> Listing {
        let listed = |place: &Place| Listed {
            line: place.line,
            mnemonic: self
                .texts
                .get(place.text as usize)
                .cloned()
                .unwrap_or_default(),
            source: self.source(*place),
        };
        let shared = self.shared.variables.iter().map(|variable| {
            let bytes = if variable.dynamic {
                dynamic_shared
            } else {
                variable.bytes
            };
            let from = u64::from(variable.offset);
            (variable.name.clone(), from..from + u64::from(bytes))
        });
        Listing {
            instructions: self.places.iter().map(listed).collect(),
            shared: shared.collect(),
            async_proxy: !self.tables.bulks.is_empty()
                || !self.tables.tensors.is_empty()
                || self
                    .tables
                    .matrices
                    .iter()
                    .any(|matrix| matches!(matrix, op::Matrix::GroupProduct(_))),
        }
    }

    /// Bytes of static shared memory.
    #[must_use]
    pub fn static_shared(&self) -> u32 {
        self.shared
            .variables
            .iter()
            .filter(|variable| !variable.dynamic)
            .map(|variable| variable.bytes)
            .sum()
    }
}

//! The special registers, and what each depends on.

use crate::ast::Type;

/// Threads for which a special register can differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Varies {
    /// One value for the whole grid.
    Grid,
    /// One value for each cluster.
    Cluster,
    /// One value for each block.
    Block,
    /// One value for each warp.
    Warp,
    /// One value for each thread.
    Thread,
    /// Another value at each read.
    Read,
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialRegister {
    /// The name with its `%`; where it ends in digits, that of the first of several.
    pub name: &'static str,
    /// How many there are of the name with a number behind it; one for a plain register.
    pub count: u8,
    /// The type of a value, or of each component.
    pub ty: Type,
    /// Whether it is read by component, `.x`, `.y`, `.z`.
    pub components: bool,
    /// What it depends on.
    pub varies: Varies,
    /// One sentence.
    pub doc: &'static str,
}

const fn one(name: &'static str, ty: Type, varies: Varies, doc: &'static str) -> SpecialRegister {
    SpecialRegister {
        name,
        count: 1,
        ty,
        components: false,
        varies,
        doc,
    }
}

const fn vector(name: &'static str, varies: Varies, doc: &'static str) -> SpecialRegister {
    SpecialRegister {
        name,
        count: 1,
        ty: Type::U32,
        components: true,
        varies,
        doc,
    }
}

const fn several(
    name: &'static str,
    count: u8,
    ty: Type,
    varies: Varies,
    doc: &'static str,
) -> SpecialRegister {
    SpecialRegister {
        name,
        count,
        ty,
        components: false,
        varies,
        doc,
    }
}

/// Every special register.
pub const SPECIAL_REGISTERS: &[SpecialRegister] = &[
    vector("%tid", Varies::Thread, "Thread in its block."),
    vector("%ntid", Varies::Grid, "Threads of a block."),
    one("%laneid", Type::U32, Varies::Thread, "Lane in its warp."),
    one(
        "%warpid",
        Type::U32,
        Varies::Warp,
        "Warp of the block, which can change while it runs.",
    ),
    one(
        "%nwarpid",
        Type::U32,
        Varies::Grid,
        "Most warps a block can have.",
    ),
    vector("%ctaid", Varies::Block, "Block in its grid."),
    vector("%nctaid", Varies::Grid, "Blocks of the grid."),
    one(
        "%smid",
        Type::U32,
        Varies::Block,
        "Multiprocessor, which can change while the block runs.",
    ),
    one(
        "%nsmid",
        Type::U32,
        Varies::Grid,
        "Most multiprocessor numbers.",
    ),
    one("%gridid", Type::U64, Varies::Grid, "Number of the grid."),
    one(
        "%is_explicit_cluster",
        Type::Pred,
        Varies::Grid,
        "Whether the launch names a cluster.",
    ),
    vector("%clusterid", Varies::Cluster, "Cluster in its grid."),
    vector("%nclusterid", Varies::Grid, "Clusters of the grid."),
    vector("%cluster_ctaid", Varies::Block, "Block in its cluster."),
    vector(
        "%cluster_nctaid",
        Varies::Grid,
        "Blocks of a cluster, by dimension.",
    ),
    one(
        "%cluster_ctarank",
        Type::U32,
        Varies::Block,
        "Rank of the block in its cluster.",
    ),
    one(
        "%cluster_nctarank",
        Type::U32,
        Varies::Grid,
        "Blocks of a cluster.",
    ),
    one(
        "%lanemask_eq",
        Type::U32,
        Varies::Thread,
        "The lane's own bit.",
    ),
    one(
        "%lanemask_le",
        Type::U32,
        Varies::Thread,
        "Bits of the lanes up to this one.",
    ),
    one(
        "%lanemask_lt",
        Type::U32,
        Varies::Thread,
        "Bits of the lanes below this one.",
    ),
    one(
        "%lanemask_ge",
        Type::U32,
        Varies::Thread,
        "Bits of the lanes from this one on.",
    ),
    one(
        "%lanemask_gt",
        Type::U32,
        Varies::Thread,
        "Bits of the lanes above this one.",
    ),
    one(
        "%clock",
        Type::U32,
        Varies::Read,
        "Cycle counter, lower half.",
    ),
    one(
        "%clock_hi",
        Type::U32,
        Varies::Read,
        "Cycle counter, upper half.",
    ),
    one("%clock64", Type::U64, Varies::Read, "Cycle counter."),
    several("%pm0", 8, Type::U32, Varies::Read, "Performance counters."),
    several(
        "%pm0_64",
        8,
        Type::U64,
        Varies::Read,
        "Performance counters.",
    ),
    several(
        "%envreg0",
        32,
        Type::B32,
        Varies::Grid,
        "Registers that the driver sets before the launch.",
    ),
    one("%globaltimer", Type::U64, Varies::Read, "Nanoseconds."),
    one(
        "%globaltimer_lo",
        Type::U32,
        Varies::Read,
        "Nanoseconds, lower half.",
    ),
    one(
        "%globaltimer_hi",
        Type::U32,
        Varies::Read,
        "Nanoseconds, upper half.",
    ),
    one(
        "%reserved_smem_offset_begin",
        Type::B32,
        Varies::Grid,
        "Start of the system's own shared memory.",
    ),
    one(
        "%reserved_smem_offset_end",
        Type::B32,
        Varies::Grid,
        "End of the system's own shared memory.",
    ),
    one(
        "%reserved_smem_offset_cap",
        Type::B32,
        Varies::Grid,
        "Size of the system's own shared memory.",
    ),
    several(
        "%reserved_smem_offset_0",
        2,
        Type::B32,
        Varies::Grid,
        "Offsets in the system's own shared memory.",
    ),
    one(
        "%total_smem_size",
        Type::U32,
        Varies::Grid,
        "Shared memory of a block in all, without the system's own.",
    ),
    one(
        "%aggr_smem_size",
        Type::U32,
        Varies::Grid,
        "Shared memory of a block in all, with the system's own.",
    ),
    one(
        "%dynamic_smem_size",
        Type::U32,
        Varies::Grid,
        "Shared memory that the launch asked for.",
    ),
    one(
        "%current_graph_exec",
        Type::U64,
        Varies::Grid,
        "The running graph, or zero.",
    ),
];

/// A special register by its name with `%`, and which of several it is.
#[must_use]
pub fn special_register(name: &str) -> Option<(&'static SpecialRegister, u8)> {
    SPECIAL_REGISTERS.iter().find_map(|register| {
        if register.count == 1 {
            return (register.name == name).then_some((register, 0));
        }
        // `%pm0_64` has its number in the middle.
        let (stem, tail) = register.name.split_once('0')?;
        let digits = name.strip_prefix(stem)?.strip_suffix(tail)?;
        let number: u8 = digits.parse().ok()?;
        (number < register.count && number.to_string() == digits).then_some((register, number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found() {
        let found = |name| special_register(name).map(|(register, number)| (register.name, number));
        for register in SPECIAL_REGISTERS {
            assert_eq!(found(register.name), Some((register.name, 0)));
        }
        assert_eq!(found("%envreg31"), Some(("%envreg0", 31)));
        assert_eq!(found("%envreg32"), None);
        assert_eq!(found("%pm7_64"), Some(("%pm0_64", 7)));
        assert_eq!(found("%pm07"), None);
        assert_eq!(found("%r1"), None);
    }
}

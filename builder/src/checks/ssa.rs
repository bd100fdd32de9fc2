//! A body with every value told apart by where it is defined.
//!
//! A compiler's output writes the same register at the end of each way back into a loop, and reuses registers for unrelated things.
//! Whether two ways bring different values can only be asked of definitions, so the body is put into static single assignment form, where ways that meet get a *merge* of what each brings.

use super::Code;
use super::control::Control;
use nstage_ptx::ast::{Operand, Space};
use nstage_ptx::body::RegisterId;
use nstage_ptx::cfg::BlockId;
use nstage_ptx::uses::{Role, reads_carry, writes_carry};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What holds values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Place {
    Register(RegisterId),
    /// A declaration in the `.param` space, through which calls pass values.
    Param(usize),
    Carry,
}

/// Index of a value.
pub(super) type ValueId = usize;

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Definition {
    /// Whatever was there before: every place at the start of the body. Parameters are told apart by their place.
    Start(Place),
    /// An instruction. If it is guarded or writes a part only, it also reads the value before.
    Line { line: usize },
    /// Several ways meet at the start of a block; one value for each block that control comes from, `None` where the body starts.
    Merge {
        block: BlockId,
        place: Place,
        from: Vec<(Option<BlockId>, ValueId)>,
    },
}

/// A body in single assignment form.
pub(super) struct Ssa {
    pub(super) values: Vec<Definition>,
    /// For each line, the values of the places that it reads.
    reads: Vec<BTreeMap<Place, ValueId>>,
    /// For each line, the values that it defines.
    writes: Vec<BTreeMap<Place, ValueId>>,
    /// For each value, the first one that is certainly equal to it.
    same: Vec<ValueId>,
    /// For each value, the block that defines it; `None` at the start.
    blocks: Vec<Option<BlockId>>,
}

impl Ssa {
    pub(super) fn new(code: &Code<'_>, control: &Control) -> Self {
        let mut construction = Construction::new(code, control);
        construction.place_merges();
        construction.rename();
        let mut ssa = construction.ssa;
        ssa.find_copies(code);
        ssa
    }

    /// The value of a place as a line reads it.
    pub(super) fn read(&self, line: usize, place: Place) -> Option<ValueId> {
        self.reads[line].get(&place).copied()
    }

    /// All values that a line reads.
    pub(super) fn all_read(&self, line: usize) -> impl Iterator<Item = ValueId> {
        self.reads[line].values().copied()
    }

    /// The value that a line gives to a place.
    pub(super) fn written(&self, line: usize) -> &BTreeMap<Place, ValueId> {
        &self.writes[line]
    }

    /// Whether two values are certainly equal, seen from one place at one time. What was never written may be taken for anything.
    pub(super) fn are_same(&self, a: ValueId, b: ValueId) -> bool {
        self.same[a] == self.same[b] || self.is_nothing(a) || self.is_nothing(b)
    }

    /// The definition behind copies.
    pub(super) fn source(&self, value: ValueId) -> &Definition {
        &self.values[self.same[value]]
    }

    fn is_nothing(&self, value: ValueId) -> bool {
        matches!(
            self.values[self.same[value]],
            Definition::Start(Place::Register(_) | Place::Carry)
        )
    }

    /// The block that defines a value; `None` for what was there before.
    pub(super) fn block_of(&self, value: ValueId) -> Option<BlockId> {
        self.blocks[value]
    }

    /// Finds values that are copies of others, merges of one value, and repeated computations.
    fn find_copies(&mut self, code: &Code<'_>) {
        let computations = self.computations(code);
        let mut changed = true;
        while changed {
            changed = false;
            let mut computed: HashMap<(usize, Vec<ValueId>), ValueId> = HashMap::new();
            for (value, computation) in computations.iter().enumerate() {
                let equal = match (&self.values[value], computation) {
                    (Definition::Merge { from, .. }, _) => self.equal_of_merge(from, value),
                    (
                        _,
                        Some(Computation {
                            text: None,
                            operands,
                        }),
                    ) => operands.first().map(|operand| self.same[*operand]),
                    (
                        _,
                        Some(Computation {
                            text: Some(text),
                            operands,
                        }),
                    ) => {
                        let operands = operands.iter().map(|operand| self.same[*operand]).collect();
                        let first = *computed.entry((*text, operands)).or_insert(value);
                        (first != value).then(|| self.same[first])
                    }
                    (_, None) => None,
                };
                if let Some(equal) = equal.filter(|equal| *equal != self.same[value]) {
                    self.same[value] = equal;
                    changed = true;
                }
            }
        }
    }

    /// What each value is computed from, where that is all that it depends on.
    fn computations(&self, code: &Code<'_>) -> Vec<Option<Computation>> {
        let mut texts: HashMap<String, usize> = HashMap::new();
        let of_value = |definition: &Definition| match definition {
            Definition::Line { line } => self.computation(code, *line, &mut texts),
            _ => None,
        };
        self.values.iter().map(of_value).collect()
    }

    /// A merge of one value with itself is that value.
    fn equal_of_merge(
        &self,
        from: &[(Option<BlockId>, ValueId)],
        value: ValueId,
    ) -> Option<ValueId> {
        let others = from.iter().map(|(_, from)| self.same[*from]);
        let mut others = others.filter(|other| *other != self.same[value] && *other != value);
        let first = others.next()?;
        others.all(|other| other == first).then_some(first)
    }

    fn computation(
        &self,
        code: &Code<'_>,
        line: usize,
        texts: &mut HashMap<String, usize>,
    ) -> Option<Computation> {
        let instruction = code.body.lines[line].instruction;
        let pure = PURE.contains(&instruction.opcode.as_str()) || self.loads_param(code, line);
        if instruction.guard.is_some() || self.writes[line].len() != 1 || !pure {
            return None;
        }
        // Registers are told apart by their values, everything else by how it is written.
        let mut text = instruction.mnemonic();
        let mut operands = Vec::new();
        for operand in instruction.operands.iter().skip(1) {
            let value = match operand {
                Operand::Name { name, .. } | Operand::Not(name) => {
                    register_place(code, line, name).and_then(|place| self.read(line, place))
                }
                Operand::Address(_) => self.all_read(line).next(),
                _ => None,
            };
            operands.extend(value);
            text += match operand {
                Operand::Not(_) if value.is_some() => ", !",
                Operand::Name { .. } if value.is_some() => ", ",
                other => {
                    text += &format!(", {other}");
                    continue;
                }
            };
        }
        let is_copy = instruction.opcode == "mov"
            && matches!(
                &instruction.operands[..],
                [
                    _,
                    Operand::Name {
                        component: None,
                        ..
                    }
                ]
            )
            && operands.len() == 1;
        let number = texts.len();
        let text = (!is_copy).then(|| *texts.entry(text).or_insert(number));
        Some(Computation { text, operands })
    }

    /// Whether a line loads a parameter by its name alone.
    fn loads_param(&self, code: &Code<'_>, line: usize) -> bool {
        let instruction = code.body.lines[line].instruction;
        let from_param = instruction
            .modifiers
            .first()
            .is_some_and(|word| word.starts_with("param"));
        instruction.opcode == "ld"
            && from_param
            && self.reads[line].len() == 1
            && self.reads[line]
                .keys()
                .all(|place| matches!(place, Place::Param(_)))
    }
}

/// How a value is computed.
struct Computation {
    /// A number for the instruction as written, registers left out; `None` for a plain copy.
    text: Option<usize>,
    /// The values that it reads.
    operands: Vec<ValueId>,
}

/// Instructions whose result depends on nothing but their operands.
const PURE: &[&str] = &[
    "abs", "add", "and", "bfe", "bfi", "brev", "clz", "cvt", "cvta", "div", "fma", "lop3", "mad",
    "max", "min", "mov", "mul", "neg", "not", "or", "popc", "prmt", "rem", "selp", "set", "setp",
    "shf", "shl", "shr", "slct", "sub", "xor",
];

fn register_place(code: &Code<'_>, line: usize, name: &str) -> Option<Place> {
    let used = code
        .body
        .uses(line)
        .iter()
        .find(|used| used.name == name && used.role != Role::Write)?;
    used.register.map(Place::Register)
}

/// The `.param` declaration of a name that a line uses.
pub(super) fn param_place(code: &Code<'_>, line: usize, name: &str) -> Option<Place> {
    let (declaration, _) = code.body.declaration(code.body.lines[line].scope, name)?;
    (code.body.declarations[declaration].space == Space::Param).then_some(Place::Param(declaration))
}

/// The places that a line reads and writes. What is written only in part, or only under a guard, is read as well.
fn effects(code: &Code<'_>, line: usize) -> (BTreeSet<Place>, BTreeSet<Place>) {
    let instruction = code.body.lines[line].instruction;
    let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
    let stores_param = instruction.opcode == "st"
        && instruction
            .modifiers
            .iter()
            .any(|word| word.starts_with("param"));
    for used in code.body.uses(line) {
        let place = used
            .register
            .map(Place::Register)
            .or_else(|| param_place(code, line, used.name));
        let Some(place) = place else { continue };
        let stored = stores_param && used.role == Role::Address && matches!(place, Place::Param(_));
        if used.role == Role::Write || stored {
            writes.insert(place);
        }
        if used.role != Role::Write {
            reads.insert(place);
        }
    }
    if reads_carry(instruction) {
        reads.insert(Place::Carry);
    }
    if writes_carry(instruction) {
        writes.insert(Place::Carry);
    }
    if instruction.guard.is_some() {
        reads.extend(writes.iter().copied());
    }
    (reads, writes)
}

struct Construction<'c> {
    control: &'c Control,
    effects: Vec<(BTreeSet<Place>, BTreeSet<Place>)>,
    /// For each block, the merges at its start.
    merges: Vec<BTreeMap<Place, ValueId>>,
    /// What places hold at the start.
    starts: HashMap<Place, ValueId>,
    ssa: Ssa,
}

impl<'c> Construction<'c> {
    fn new(code: &Code<'_>, control: &'c Control) -> Self {
        let lines = code.body.lines.len();
        Self {
            control,
            effects: (0..lines).map(|line| effects(code, line)).collect(),
            merges: vec![BTreeMap::new(); control.cfg().blocks.len()],
            starts: HashMap::new(),
            ssa: Ssa {
                values: Vec::new(),
                reads: vec![BTreeMap::new(); lines],
                writes: vec![BTreeMap::new(); lines],
                same: Vec::new(),
                blocks: Vec::new(),
            },
        }
    }

    fn define(&mut self, definition: Definition, block: Option<BlockId>) -> ValueId {
        let value = self.ssa.values.len();
        self.ssa.values.push(definition);
        self.ssa.same.push(value);
        self.ssa.blocks.push(block);
        value
    }

    /// Puts a merge wherever ways with different definitions of a place may meet: on the iterated dominance frontier of its definitions.
    fn place_merges(&mut self) {
        let frontiers = self.frontiers();
        let cfg = self.control.cfg();
        let mut definitions: BTreeMap<Place, BTreeSet<BlockId>> = BTreeMap::new();
        let mut crossing = BTreeSet::new();
        for (id, block) in cfg.blocks.iter().enumerate() {
            let mut written = BTreeSet::new();
            for (reads, writes) in &self.effects[block.lines.clone()] {
                // A place whose reads all follow a write in their own block needs no merge.
                crossing.extend(reads.difference(&written).copied());
                written.extend(writes.iter().copied());
            }
            for place in written {
                definitions.entry(place).or_default().insert(id);
            }
        }
        for (place, blocks) in definitions
            .into_iter()
            .filter(|(place, _)| crossing.contains(place))
        {
            let mut open: Vec<BlockId> = blocks.iter().copied().collect();
            while let Some(block) = open.pop() {
                for &meeting in &frontiers[block] {
                    if !self.merges[meeting].contains_key(&place) {
                        let merge = self.define(
                            Definition::Merge {
                                block: meeting,
                                place,
                                from: Vec::new(),
                            },
                            Some(meeting),
                        );
                        self.merges[meeting].insert(place, merge);
                        open.push(meeting);
                    }
                }
            }
        }
    }

    /// For each block, where its dominance ends.
    fn frontiers(&self) -> Vec<BTreeSet<BlockId>> {
        let cfg = self.control.cfg();
        let dominators = cfg.dominators();
        let mut frontiers = vec![BTreeSet::new(); cfg.blocks.len()];
        for (id, block) in cfg
            .blocks
            .iter()
            .enumerate()
            .filter(|(id, block)| block.predecessors.len() + usize::from(*id == 0) > 1)
        {
            for &predecessor in &block.predecessors {
                let mut at = Some(predecessor);
                while at != dominators.immediate(id)
                    && let Some(runner) = at
                {
                    frontiers[runner].insert(id);
                    at = dominators.immediate(runner);
                }
            }
        }
        frontiers
    }

    /// Gives every read and write its value, going down the dominator tree.
    fn rename(&mut self) {
        let cfg = self.control.cfg();
        let dominators = cfg.dominators();
        let mut children = vec![Vec::new(); cfg.blocks.len()];
        for id in 0..cfg.blocks.len() {
            if let Some(parent) = dominators.immediate(id) {
                children[parent].push(id);
            }
        }
        for (place, merge) in self.merges.first().cloned().unwrap_or_default() {
            let start = self.start(place);
            if let Definition::Merge { from, .. } = &mut self.ssa.values[merge] {
                from.push((None, start));
            }
        }
        let mut open: Vec<(BlockId, BTreeMap<Place, ValueId>)> = vec![(0, BTreeMap::new())];
        while let Some((block, mut current)) = open.pop() {
            current.extend(
                self.merges[block]
                    .iter()
                    .map(|(place, value)| (*place, *value)),
            );
            for line in cfg.blocks[block].lines.clone() {
                let (reads, writes) = self.effects[line].clone();
                for place in reads {
                    let value = self.current(&current, place);
                    self.ssa.reads[line].insert(place, value);
                }
                for place in writes {
                    let value = self.define(Definition::Line { line }, Some(block));
                    self.ssa.writes[line].insert(place, value);
                    current.insert(place, value);
                }
            }
            for &successor in &cfg.blocks[block].successors {
                for (place, merge) in self.merges[successor].clone() {
                    let value = self.current(&current, place);
                    if let Definition::Merge { from, .. } = &mut self.ssa.values[merge] {
                        from.push((Some(block), value));
                    }
                }
            }
            open.extend(
                children[block]
                    .iter()
                    .map(|&child| (child, current.clone())),
            );
        }
    }

    fn current(&mut self, current: &BTreeMap<Place, ValueId>, place: Place) -> ValueId {
        current
            .get(&place)
            .copied()
            .unwrap_or_else(|| self.start(place))
    }

    fn start(&mut self, place: Place) -> ValueId {
        if let Some(&value) = self.starts.get(&place) {
            return value;
        }
        let value = self.define(Definition::Start(place), None);
        self.starts.insert(place, value);
        value
    }
}

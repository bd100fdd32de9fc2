//! The control-flow graph of a body: basic blocks, edges, dominators and post-dominators.

use std::ops::Range;

use thiserror::Error;

use crate::ast::{Operand, Pos};
use crate::body::Body;

/// Index of a basic block.
pub type BlockId = usize;

/// A run of instructions that is entered at its first and left behind its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its instructions, as indices into [`Body::lines`]. Only the block behind a trailing label is empty.
    pub lines: Range<usize>,
    /// Where control goes next: the branch's targets first, in their order and once each, then the block behind. Empty: the function ends.
    pub successors: Vec<BlockId>,
    /// Where control comes from.
    pub predecessors: Vec<BlockId>,
    /// Whether the function can end here: `ret`, `exit`, `trap` (guarded or not) or the end of the text.
    pub leaves: bool,
}

/// A body's basic blocks in textual order; block zero is the entry.
#[derive(Clone, Debug)]
pub struct Cfg {
    /// The blocks.
    pub blocks: Vec<Block>,
    block_of: Vec<BlockId>,
}

/// A branch that goes nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CfgError {
    /// A label that no scope around the branch has.
    #[error("{}:{}: `bra` to `{label}`, expected a label of this scope or one around it", pos.line, pos.column)]
    UnknownLabel {
        /// The label.
        label: String,
        /// The branch.
        pos: Pos,
    },
    /// A `brx.idx` without a list of labels.
    #[error("{}:{}: `brx.idx` with `{list}`, expected the name of a `.branchtargets` list", pos.line, pos.column)]
    UnknownTargets {
        /// What stands in the list's place.
        list: String,
        /// The branch.
        pos: Pos,
    },
}

impl Cfg {
    /// Cuts a body into blocks. A body without instructions has one empty block.
    ///
    /// # Errors
    /// The first branch whose target does not exist.
    pub fn new(body: &Body<'_>) -> Result<Self, CfgError> {
        let count = body.lines.len();
        let mut jumps = Vec::with_capacity(count);
        let mut starts = vec![false; count + 1];
        starts[0] = true;
        for index in 0..count {
            let jump = jump(body, index)?;
            for &target in &jump.targets {
                starts[target] = true;
            }
            if !jump.targets.is_empty() || jump.leaves {
                starts[index + 1] = true;
            }
            jumps.push(jump);
        }
        // A label at the very end makes an empty last block; the boundary alone makes none.
        let trailing = count == 0 || jumps.iter().any(|jump| jump.targets.contains(&count));
        let firsts: Vec<usize> = (0..=count)
            .filter(|&at| starts[at] && (at < count || trailing))
            .collect();
        let mut block_of = vec![0; count + 1];
        let mut blocks: Vec<Block> = Vec::with_capacity(firsts.len());
        for (id, &first) in firsts.iter().enumerate() {
            let end = firsts.get(id + 1).copied().unwrap_or(count);
            block_of[first..end.max(first + 1)].fill(id);
            blocks.push(Block {
                lines: first..end,
                successors: Vec::new(),
                predecessors: Vec::new(),
                leaves: false,
            });
        }
        let last = blocks.len() - 1;
        for (id, block) in blocks.iter_mut().enumerate() {
            let jump = block.lines.clone().last().map(|line| &jumps[line]);
            let targets = jump.map_or(&[][..], |jump| &jump.targets);
            let falls = jump.is_none_or(|jump| jump.falls);
            let next = (falls && id != last).then_some(id + 1);
            for successor in targets.iter().map(|&line| block_of[line]).chain(next) {
                if !block.successors.contains(&successor) {
                    block.successors.push(successor);
                }
            }
            block.leaves = jump.is_some_and(|jump| jump.leaves) || falls && id == last;
        }
        for id in 0..blocks.len() {
            for at in 0..blocks[id].successors.len() {
                let successor = blocks[id].successors[at];
                blocks[successor].predecessors.push(id);
            }
        }
        block_of.truncate(count);
        Ok(Cfg { blocks, block_of })
    }

    /// The block that holds an instruction.
    #[must_use]
    pub fn block_of(&self, line: usize) -> Option<BlockId> {
        self.block_of.get(line).copied()
    }

    /// Dominators: the immediate dominator of a block is the last block that every way from the entry passes before it.
    #[must_use]
    pub fn dominators(&self) -> Dominators {
        let successors: Vec<&[BlockId]> = self
            .blocks
            .iter()
            .map(|block| &block.successors[..])
            .collect();
        Dominators::new(&successors, 0)
    }

    /// Post-dominators: the immediate post-dominator of a block is the first block that every way from it to the function's end passes after it.
    /// A block has none if its ways meet only at the end, or if it never gets there.
    #[must_use]
    pub fn post_dominators(&self) -> Dominators {
        // The graph is turned around, with one more node where all ends meet.
        let end = self.blocks.len();
        let leaving: Vec<BlockId> = (0..end).filter(|&id| self.blocks[id].leaves).collect();
        let mut successors: Vec<&[BlockId]> = self
            .blocks
            .iter()
            .map(|block| &block.predecessors[..])
            .collect();
        successors.push(&leaving);
        let mut tree = Dominators::new(&successors, end);
        tree.parents.truncate(end);
        for parent in &mut tree.parents {
            *parent = parent.filter(|&parent| parent != end);
        }
        tree
    }
}

/// Where one instruction can go.
struct Jump {
    /// Lines, as far as they are branched to.
    targets: Vec<usize>,
    /// Whether control can go to the next line.
    falls: bool,
    /// Whether the function can end here.
    leaves: bool,
}

fn jump(body: &Body<'_>, index: usize) -> Result<Jump, CfgError> {
    let line = &body.lines[index];
    let instruction = line.instruction;
    let (pos, guarded) = (instruction.pos, instruction.guard.is_some());
    let target = |label: &str| {
        body.label(line.scope, label)
            .ok_or_else(|| CfgError::UnknownLabel {
                label: label.to_owned(),
                pos,
            })
    };
    match instruction.opcode.as_str() {
        "bra" => {
            let label = instruction
                .operands
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            Ok(Jump {
                targets: vec![target(&label)?],
                falls: guarded,
                leaves: false,
            })
        }
        "brx" => {
            let list = match instruction.operands.get(1) {
                Some(Operand::Name { name, .. }) => name.clone(),
                other => other.map(ToString::to_string).unwrap_or_default(),
            };
            let Some(labels) = body.targets(line.scope, &list) else {
                return Err(CfgError::UnknownTargets { list, pos });
            };
            let targets = labels
                .iter()
                .map(|label| target(label))
                .collect::<Result<_, _>>()?;
            Ok(Jump {
                targets,
                falls: guarded,
                leaves: false,
            })
        }
        "ret" | "exit" | "trap" => Ok(Jump {
            targets: Vec::new(),
            falls: guarded,
            leaves: true,
        }),
        _ => Ok(Jump {
            targets: Vec::new(),
            falls: true,
            leaves: false,
        }),
    }
}

/// A dominator tree (or, for the graph turned around, a post-dominator tree).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dominators {
    parents: Vec<Option<BlockId>>,
}

impl Dominators {
    /// The immediate (post-)dominator; `None` for the root and for what the root does not reach.
    #[must_use]
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.parents.get(block).copied().flatten()
    }

    /// Whether `above` (post-)dominates `block`. Every block does so to itself.
    #[must_use]
    pub fn dominates(&self, above: BlockId, block: BlockId) -> bool {
        std::iter::successors(Some(block), |&at| self.immediate(at)).any(|at| at == above)
    }

    /// The iterative algorithm of Cooper, Harvey and Kennedy over a reverse postorder.
    fn new(successors: &[&[BlockId]], root: BlockId) -> Self {
        let order = postorder(successors, root);
        let mut rank = vec![usize::MAX; successors.len()];
        for (position, &node) in order.iter().enumerate() {
            rank[node] = position;
        }
        let mut predecessors: Vec<Vec<BlockId>> = vec![Vec::new(); successors.len()];
        for &node in &order {
            for &successor in successors[node] {
                predecessors[successor].push(node);
            }
        }
        // The root is its own parent while the others look for theirs.
        let mut parents = vec![UNKNOWN; successors.len()];
        parents[root] = root;
        let mut changed = true;
        while changed {
            changed = false;
            for &node in order.iter().rev().filter(|&&node| node != root) {
                let known = predecessors[node]
                    .iter()
                    .copied()
                    .filter(|&predecessor| parents[predecessor] != UNKNOWN);
                let parent = known
                    .reduce(|a, b| meet(&parents, &rank, a, b))
                    .unwrap_or(UNKNOWN);
                if parent != parents[node] {
                    parents[node] = parent;
                    changed = true;
                }
            }
        }
        parents[root] = UNKNOWN;
        Dominators {
            parents: parents
                .into_iter()
                .map(|parent| Some(parent).filter(|&parent| parent != UNKNOWN))
                .collect(),
        }
    }
}

/// No parent found yet, or none at all.
const UNKNOWN: BlockId = usize::MAX;

/// The nearest common ancestor of two nodes whose ancestors are known.
fn meet(parents: &[BlockId], rank: &[usize], mut a: BlockId, mut b: BlockId) -> BlockId {
    while a != b {
        let lower = if rank[a] < rank[b] { &mut a } else { &mut b };
        *lower = parents[*lower];
    }
    a
}

/// Nodes that the root reaches, each behind its successors (those on a cycle apart). Without recursion: bodies are long.
fn postorder(successors: &[&[BlockId]], root: BlockId) -> Vec<BlockId> {
    let mut order = Vec::with_capacity(successors.len());
    let mut seen = vec![false; successors.len()];
    let mut open = vec![(root, 0)];
    seen[root] = true;
    while let Some((node, next)) = open.last_mut() {
        match successors[*node].get(*next) {
            Some(&successor) => {
                *next += 1;
                if !std::mem::replace(&mut seen[successor], true) {
                    open.push((successor, 0));
                }
            }
            None => {
                order.push(*node);
                open.pop();
            }
        }
    }
    order
}

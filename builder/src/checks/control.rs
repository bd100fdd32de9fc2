//! Which branches decide whether a block of instructions runs.
//!
//! A block is control-dependent on a branch if one way out of the branch always leads to the block and another may miss it: it lies on the post-dominator tree between a successor of the branch and the place where all its ways meet again.
//! Ways that end in a trap do not count: a trap ends the whole grid, so no other thread is left waiting at a barrier.

use super::{Code, Context, callee};
use nstage_ptx::cfg::{Block, BlockId, Cfg, CfgError, Dominators};

/// A body's control flow without the ways that end in a trap.
pub(super) struct Control {
    cfg: Cfg,
    meets: Dominators,
    /// For each block, the branches that decide whether it runs, the nearest first; those included that decide whether such a branch is reached.
    deciders: Vec<Vec<usize>>,
}

impl Control {
    /// `traps` tells which functions never return.
    pub(super) fn new(
        context: &Context<'_>,
        code: &Code<'_>,
        traps: &[bool],
    ) -> Result<Self, CfgError> {
        let mut cfg = Cfg::new(&code.body)?;
        let doomed = doomed(context, code, &cfg, traps);
        cut(code, &mut cfg, &doomed);
        open_endless_loops(&mut cfg);
        let meets = cfg.post_dominators();
        let direct = deciders(&cfg, &meets);
        let branch = |block: BlockId| cfg.blocks[block].lines.clone().last();
        let all = |block| {
            closure(&direct, block)
                .into_iter()
                .filter_map(branch)
                .collect()
        };
        let deciders = (0..direct.len()).map(all).collect();
        Ok(Self {
            cfg,
            meets,
            deciders,
        })
    }

    pub(super) fn cfg(&self) -> &Cfg {
        &self.cfg
    }

    /// The branches that decide whether `line` runs, the nearest first.
    pub(super) fn deciders(&self, line: usize) -> &[usize] {
        self.cfg
            .block_of(line)
            .map_or(&[], |block| &self.deciders[block])
    }

    /// Blocks that end in a branch with more than one way out.
    pub(super) fn branches(&self) -> impl Iterator<Item = BlockId> {
        (0..self.cfg.blocks.len()).filter(|&block| ways(&self.cfg, block) > 1)
    }

    /// What lies between a branch and the place where its ways have all met again.
    pub(super) fn region(&self, branch: BlockId) -> Region {
        let meet = self.meets.immediate(branch);
        let inside = self.walk(branch, meet, |block| &block.successors);
        let before = self.walk(branch, meet, |block| &block.predecessors);
        let is_loop = inside[branch];
        let turns = inside
            .iter()
            .zip(before)
            .map(|(inside, before)| is_loop && *inside && before);
        Region {
            branch,
            meet,
            turns: turns.collect(),
            inside,
        }
    }

    /// Which blocks are reached from one, itself only if a way leads back to it; the walk goes up to `stop` and not into it.
    fn walk(
        &self,
        from: BlockId,
        stop: Option<BlockId>,
        next: impl Fn(&Block) -> &Vec<BlockId>,
    ) -> Vec<bool> {
        let mut found = vec![false; self.cfg.blocks.len()];
        let mut open = next(&self.cfg.blocks[from]).clone();
        while let Some(block) = open.pop() {
            if Some(block) != stop && !std::mem::replace(&mut found[block], true) {
                open.extend(next(&self.cfg.blocks[block]));
            }
        }
        found
    }
}

/// See [`Control::region`]. Sets of blocks are rows of flags.
pub(super) struct Region {
    branch: BlockId,
    /// Blocks that some ways pass and others may not.
    inside: Vec<bool>,
    /// Where all ways have met.
    meet: Option<BlockId>,
    /// Blocks of a loop that the branch may leave or not: threads may run them different numbers of times.
    turns: Vec<bool>,
}

impl Region {
    /// Whether ways of the branch may meet at the start of a block.
    pub(super) fn may_meet_at(&self, block: BlockId) -> bool {
        self.meet == Some(block) || self.inside[block]
    }

    /// Whether a way of the branch comes from a block.
    pub(super) fn comes_from(&self, block: BlockId) -> bool {
        block == self.branch || self.inside[block]
    }

    /// Whether a value defined in one block may be seen in the other as of different turns of a loop.
    pub(super) fn parts(&self, defined: BlockId, used: BlockId) -> bool {
        self.turns[defined] && !self.turns[used]
    }
}

/// How many ways lead out of a block; leaving the function is one.
fn ways(cfg: &Cfg, block: BlockId) -> usize {
    cfg.blocks[block].successors.len() + usize::from(cfg.blocks[block].leaves)
}

/// For each function with a body, whether every way through it ends in a trap.
pub(super) fn trapping_functions(context: &Context<'_>) -> Vec<bool> {
    let mut traps = vec![false; context.functions.len()];
    loop {
        let before = traps.clone();
        for (index, code) in context.functions.iter().enumerate() {
            // A body whose branches lead nowhere is reported by the rule that needs them.
            let Ok(cfg) = Cfg::new(&code.body) else {
                continue;
            };
            traps[index] = doomed(context, code, &cfg, &traps)
                .first()
                .copied()
                .unwrap_or(false);
        }
        if before == traps {
            return traps;
        }
    }
}

/// For each block, whether every way from it ends in a trap.
fn doomed(context: &Context<'_>, code: &Code<'_>, cfg: &Cfg, traps: &[bool]) -> Vec<bool> {
    let ends_here = |line: usize| {
        let instruction = code.body.lines[line].instruction;
        let never_returns = |name: &str| {
            name == "__assertfail"
                || context
                    .function(name)
                    .is_some_and(|function| traps[function])
        };
        instruction.guard.is_none()
            && (instruction.opcode == "trap" || callee(instruction).is_some_and(never_returns))
    };
    let mut doomed: Vec<bool> = cfg
        .blocks
        .iter()
        .map(|block| block.lines.clone().any(ends_here))
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for (id, block) in cfg.blocks.iter().enumerate() {
            let all = !block.leaves
                && !block.successors.is_empty()
                && block.successors.iter().all(|&next| doomed[next]);
            if all && !doomed[id] {
                doomed[id] = true;
                changed = true;
            }
        }
    }
    doomed
}

/// Takes the doomed blocks out of the graph. A guarded trap is no way out either.
fn cut(code: &Code<'_>, cfg: &mut Cfg, doomed: &[bool]) {
    for (id, block) in cfg.blocks.iter_mut().enumerate() {
        block.successors.retain(|&next| !doomed[next]);
        block.predecessors.retain(|&before| !doomed[before]);
        let last = block
            .lines
            .clone()
            .last()
            .map(|line| code.body.lines[line].instruction);
        if last.is_some_and(|last| last.opcode == "trap") {
            block.leaves = false;
        }
        if doomed[id] {
            block.successors.clear();
            block.predecessors.clear();
            block.leaves = false;
        }
    }
}

/// Gives every loop without an exit one, so that each block has a place in the post-dominator tree.
fn open_endless_loops(cfg: &mut Cfg) {
    loop {
        let mut ends: Vec<bool> = cfg.blocks.iter().map(|block| block.leaves).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for (id, block) in cfg.blocks.iter().enumerate() {
                if !ends[id] && block.successors.iter().any(|&next| ends[next]) {
                    ends[id] = true;
                    changed = true;
                }
            }
        }
        // The last block of such a loop in the text is the one that jumps back.
        match (0..cfg.blocks.len()).rev().find(|&id| !ends[id]) {
            Some(id) => cfg.blocks[id].leaves = true,
            None => return,
        }
    }
}

/// For each block, the branches that decide directly whether it runs.
fn deciders(cfg: &Cfg, meets: &Dominators) -> Vec<Vec<BlockId>> {
    let mut deciders = vec![Vec::new(); cfg.blocks.len()];
    for (branch, block) in cfg
        .blocks
        .iter()
        .enumerate()
        .filter(|(branch, _)| ways(cfg, *branch) > 1)
    {
        let meet = meets.immediate(branch);
        for &successor in &block.successors {
            let mut at = Some(successor);
            while at != meet
                && let Some(id) = at
            {
                if !deciders[id].contains(&branch) {
                    deciders[id].push(branch);
                }
                at = meets.immediate(id);
            }
        }
    }
    deciders
}

/// The deciders of a block, then theirs, and so on.
fn closure(direct: &[Vec<BlockId>], block: BlockId) -> Vec<BlockId> {
    let mut found = direct[block].clone();
    let mut next = 0;
    while let Some(&decider) = found.get(next) {
        let new: Vec<BlockId> = direct[decider]
            .iter()
            .copied()
            .filter(|outer| !found.contains(outer))
            .collect();
        found.extend(new);
        next += 1;
    }
    found
}

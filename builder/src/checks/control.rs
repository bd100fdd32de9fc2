//! Which branches decide whether a block of instructions runs.
//!
//! A block is control-dependent on a branch if one way out of the branch always leads to the block and another may miss it: it lies on the post-dominator tree between a successor of the branch and the place where all its ways meet again.
//! Ways that end in a trap do not count: a trap ends the whole grid, so no other thread is left waiting at a barrier.

use super::{Code, Context, callee};
use nstage_ptx::cfg::{BlockId, Cfg, CfgError};

/// For each block, the branches that decide whether it runs, those included that decide whether such a branch is reached.
pub(super) struct Control {
    cfg: Cfg,
    /// Lines, the nearest branch first.
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
        let direct = deciders(&cfg);
        let branch = |block: BlockId| cfg.blocks[block].lines.clone().last();
        let all = |block| {
            closure(&direct, block)
                .into_iter()
                .filter_map(branch)
                .collect()
        };
        let deciders = (0..direct.len()).map(all).collect();
        Ok(Self { cfg, deciders })
    }

    /// The branches that decide whether `line` runs, the nearest first.
    pub(super) fn deciders(&self, line: usize) -> &[usize] {
        self.cfg
            .block_of(line)
            .map_or(&[], |block| &self.deciders[block])
    }
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

fn deciders(cfg: &Cfg) -> Vec<Vec<BlockId>> {
    let tree = cfg.post_dominators();
    let mut deciders = vec![Vec::new(); cfg.blocks.len()];
    for (branch, block) in cfg.blocks.iter().enumerate() {
        if block.successors.len() + usize::from(block.leaves) < 2 {
            continue;
        }
        let meet = tree.immediate(branch);
        for &successor in &block.successors {
            let mut at = Some(successor);
            while at != meet
                && let Some(id) = at
            {
                if !deciders[id].contains(&branch) {
                    deciders[id].push(branch);
                }
                at = tree.immediate(id);
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

//! Control flow of one function: where divergent lanes meet again.
//!
//! Lanes of a branch meet at its immediate post-dominator. Paths that end the thread do not count:
//! whoever takes one is gone, and nobody waits for it. So an edge into a block that only ends (`ret`, `trap`) is left out;
//! that is exact. A loop that nothing else leads out of keeps those edges: without them there is no end to meet before.
//! Where two blocks with work of their own both end the thread, one is taken for the function's end:
//! the last in the text, which is a guess, and marked as such.

use crate::event::Pc;

use super::op::{Guard, Inst, Meet, Op};

/// A basic block: its first instruction, one past its last, and its successors.
#[derive(Debug)]
struct Block {
    start: usize,
    end: usize,
    next: Vec<usize>,
    /// Whether a path ends in this block.
    ends: Ending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Goes on.
    No,
    /// Some lanes end here, others go on.
    Guarded,
    /// All end here: `ret`, `exit`.
    Return,
    /// All end here in a trap.
    Trap,
}

/// Sets the meeting points of the branches in `code`, which is one function whose first instruction has index `base`.
/// `is_entry` tells whether a return ends the thread.
pub(crate) fn set_meeting_points(code: &mut [Inst], base: usize, lists: &[u32], is_entry: bool) {
    let blocks = split(code, base, lists);
    if !blocks.iter().any(|block| block.next.len() > 1) {
        return;
    }
    // Whoever returns from a function is not gone, but comes to its caller; only traps end a path there.
    let mut at_once: Vec<bool> = blocks
        .iter()
        .map(|block| is_entry && ends_at_once(block, code))
        .collect();
    // What only branches there ends at once too; text for the debugger has such blocks.
    let mut changed = is_entry;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate() {
            if !at_once[index]
                && branches_only(block, code)
                && block.next.iter().all(|next| at_once[*next])
            {
                at_once[index] = true;
                changed = true;
            }
        }
    }
    let traps: Vec<bool> = blocks
        .iter()
        .map(|block| block.ends == Ending::Trap)
        .collect();
    let exact = post_dominators(
        &blocks,
        &left_out(&blocks, &at_once, traps.clone()),
        is_entry,
    );
    // What never ends without the edges that were left out, a loop over all work that is left by `ret`, meets before those.
    let nowhere = vec![false; blocks.len()];
    let endless = post_dominators(
        &blocks,
        &left_out(&blocks, &nowhere, traps.clone()),
        is_entry,
    );
    // Blocks with work of their own that end the function; the last in the text stands for its regular end.
    let works_and_ends = |block: &Block| match block.ends {
        _ if !is_entry => false,
        Ending::Return => true,
        Ending::Trap => false,
        Ending::No | Ending::Guarded => {
            !block.next.is_empty() && block.next.iter().all(|next| at_once[*next])
        }
    };
    let mut early: Vec<bool> = blocks
        .iter()
        .zip(&at_once)
        .map(|(block, at_once)| works_and_ends(block) && !at_once)
        .collect();
    if let Some(last) = early.iter().rposition(|early| *early) {
        early[last] = false;
    }
    let early = early
        .iter()
        .zip(&traps)
        .map(|(early, trap)| *early || *trap)
        .collect();
    let guessed = post_dominators(&blocks, &left_out(&blocks, &at_once, early), is_entry);
    for (index, block) in blocks.iter().enumerate() {
        let Some(inst) = code.get_mut(block.end - 1) else {
            continue;
        };
        let (Op::Branch { meet, .. } | Op::BranchTable { meet, .. }) = &mut inst.op else {
            continue;
        };
        *meet = match (exact[index].or(endless[index]), guessed[index]) {
            (Some(at), _) => Meet::At {
                pc: (blocks[at].start + base) as Pc,
                exact: true,
            },
            (None, Some(at)) => Meet::At {
                pc: (blocks[at].start + base) as Pc,
                exact: false,
            },
            (None, None) if is_entry => Meet::Never,
            (None, None) => Meet::Return,
        };
    }
}

/// Whether the block does nothing but end the thread or the function.
fn ends_at_once(block: &Block, code: &[Inst]) -> bool {
    block.ends == Ending::Return
        && code[block.start..block.end - 1]
            .iter()
            .all(|inst| matches!(inst.op, Op::Nop))
}

/// Whether the block does nothing but branch, always to the same place.
fn branches_only(block: &Block, code: &[Inst]) -> bool {
    let (last, before) = match code[block.start..block.end].split_last() {
        Some((last, before)) => (last, before),
        None => return false,
    };
    block.next.len() == 1
        && last.guard == Guard::ALWAYS
        && matches!(last.op, Op::Branch { .. })
        && before.iter().all(|inst| matches!(inst.op, Op::Nop))
}

/// Blocks that no lane comes back from: those that end at once, the given ones, and those that lead only to given ones.
fn left_out(blocks: &[Block], at_once: &[bool], mut ending: Vec<bool>) -> Vec<bool> {
    let mut changed = true;
    while changed {
        changed = false;
        for (index, block) in blocks.iter().enumerate() {
            let doomed = block.ends == Ending::No
                && !block.next.is_empty()
                && block.next.iter().all(|next| ending[*next]);
            if doomed && !ending[index] {
                ending[index] = true;
                changed = true;
            }
        }
    }
    ending
        .iter()
        .zip(at_once)
        .map(|(ending, at_once)| *ending || *at_once)
        .collect()
}

fn targets(op: &Op, base: usize, lists: &[u32]) -> Vec<usize> {
    match *op {
        Op::Branch { target, .. } => vec![target as usize - base],
        Op::BranchTable { first, count, .. } => lists[first as usize..(first + count) as usize]
            .iter()
            .map(|pc| *pc as usize - base)
            .collect(),
        _ => Vec::new(),
    }
}

fn split(code: &[Inst], base: usize, lists: &[u32]) -> Vec<Block> {
    let mut leader = vec![false; code.len() + 1];
    leader[0] = true;
    for (index, inst) in code.iter().enumerate() {
        let ends = matches!(
            inst.op,
            Op::Branch { .. } | Op::BranchTable { .. } | Op::Return | Op::Exit | Op::Trap
        );
        if ends {
            leader[index + 1] = true;
        }
        for target in targets(&inst.op, base, lists) {
            leader[target] = true;
        }
    }
    let starts: Vec<usize> = (0..code.len()).filter(|index| leader[*index]).collect();
    let mut block_of = vec![0; code.len()];
    for (block, start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).copied().unwrap_or(code.len());
        block_of[*start..end].fill(block);
    }
    starts
        .iter()
        .enumerate()
        .map(|(block, &start)| {
            let end = starts.get(block + 1).copied().unwrap_or(code.len());
            let last = &code[end - 1];
            let mut next: Vec<usize> = targets(&last.op, base, lists)
                .into_iter()
                .map(|target| block_of[target])
                .collect();
            let always = last.guard == Guard::ALWAYS;
            let ends = match last.op {
                Op::Return | Op::Exit if always => Ending::Return,
                Op::Trap if always => Ending::Trap,
                Op::Return | Op::Exit | Op::Trap => Ending::Guarded,
                _ => Ending::No,
            };
            let falls = match last.op {
                Op::Branch { .. } => !always,
                Op::BranchTable { .. } => false,
                _ => !matches!(ends, Ending::Return | Ending::Trap),
            };
            if falls && end < code.len() && !next.contains(&block_of[end]) {
                next.push(block_of[end]);
            }
            Block {
                start,
                end,
                next,
                ends,
            }
        })
        .collect()
}

/// The immediate post-dominator of each block in the graph without the blocks that are left out.
///
/// A block from which only such blocks are reached counts as an end.
fn post_dominators(blocks: &[Block], left_out: &[bool], is_entry: bool) -> Vec<Option<usize>> {
    let count = blocks.len();
    let exit = count;
    let successors = |block: &Block| -> Vec<usize> {
        let mut kept: Vec<usize> = block
            .next
            .iter()
            .copied()
            .filter(|next| !left_out[*next])
            .collect();
        // A guarded return goes to the caller, a guarded exit nowhere.
        if kept.is_empty() || block.ends == Ending::Guarded && !is_entry {
            kept.push(exit);
        }
        kept
    };
    let next: Vec<Vec<usize>> = blocks.iter().map(successors).collect();
    let mut previous = vec![Vec::new(); count + 1];
    for (block, next) in next.iter().enumerate() {
        for &to in next {
            previous[to].push(block);
        }
    }
    // Post-order of the reversed graph from the exit.
    let mut order = Vec::with_capacity(count + 1);
    let mut number = vec![usize::MAX; count + 1];
    let mut seen = vec![false; count + 1];
    let mut stack = vec![(exit, 0)];
    seen[exit] = true;
    while let Some((node, child)) = stack.pop() {
        if let Some(&to) = previous[node].get(child) {
            stack.push((node, child + 1));
            if !seen[to] {
                seen[to] = true;
                stack.push((to, 0));
            }
        } else {
            number[node] = order.len();
            order.push(node);
        }
    }
    let mut dominator = vec![usize::MAX; count + 1];
    dominator[exit] = exit;
    let mut changed = true;
    while changed {
        changed = false;
        for &node in order.iter().rev().skip(1) {
            let mut new = usize::MAX;
            for &to in next[node].iter().filter(|to| dominator[**to] != usize::MAX) {
                new = if new == usize::MAX {
                    to
                } else {
                    common(&dominator, &number, to, new)
                };
            }
            if dominator[node] != new {
                dominator[node] = new;
                changed = true;
            }
        }
    }
    (0..count)
        .map(|block| Some(dominator[block]).filter(|at| *at < count))
        .collect()
}

fn common(dominator: &[usize], number: &[usize], mut a: usize, mut b: usize) -> usize {
    while a != b {
        while number[a] < number[b] {
            a = dominator[a];
        }
        while number[b] < number[a] {
            b = dominator[b];
        }
    }
    a
}

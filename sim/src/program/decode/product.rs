//! `wgmma`: products of four warps together, and what orders them.

use nstage_ptx::ast::{Immediate, Instruction, Operand};
use nstage_ptx::uses::Role;

use super::matrix::{accumulator, element, shape};
use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::lanes::File;
use crate::matrix::descriptor::Major;
use crate::matrix::wgmma::Wgmma;
use crate::program::allocate::slot;
use crate::program::op::{CollectiveKind, GroupProduct, Matrix, NONE, Op, RegisterTouch};

/// Registers of the left factor, of whatever type.
const FRAGMENTS: usize = 4;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Fence,
    Multiply,
    Commit,
    Wait,
}

impl<'m> Decoder<'m> {
    pub(super) fn wgmma(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        let verb = mods.need(&[
            ("fence", Verb::Fence),
            ("mma_async", Verb::Multiply),
            ("commit_group", Verb::Commit),
            ("wait_group", Verb::Wait),
        ])?;
        Self::together(mods)?;
        if verb == Verb::Multiply {
            return self.group_product(instruction, guard, mods);
        }
        mods.finish()?;
        let everybody = self.constant32(u32::MAX);
        match (verb, operands) {
            (Verb::Fence, []) => {
                self.push_collective(guard, everybody, CollectiveKind::ProductFence);
            }
            (Verb::Commit, []) => {
                self.push_collective(guard, everybody, CollectiveKind::ProductCommit);
            }
            (Verb::Wait, [Operand::Immediate(Immediate::Int { bits, .. })]) => {
                // The assembler takes a number that is not one; it counts as more groups than there can be.
                let allowed = u32::try_from(*bits).unwrap_or(u32::MAX);
                self.push_collective(guard, everybody, CollectiveKind::Converge);
                self.push(guard, Op::WaitProducts(allowed));
            }
            _ => return Err(Refusal::NotModelled),
        }
        Ok(())
    }

    fn group_product(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let word = instruction.modifiers.iter().find_map(|word| shape(word));
        let shape = word.ok_or(Refusal::NotModelled)?;
        mods.shape();
        let saturate = mods.flag("satfinite");
        let (d, a, b) = (mods.ty()?, mods.ty()?, mods.ty()?);
        mods.finish()?;
        let factors = [element(a)?, element(b)?];
        let sum = accumulator(d, saturate)?;
        let wgmma = Wgmma::new(shape, factors, sum).ok_or(Refusal::NotModelled)?;
        let [d, a, b, scale, rest @ ..] = instruction.operands.as_slice() else {
            return Err(Refusal::NotModelled);
        };
        let in_registers = matches!(a, Operand::Vector(_));
        let numbers: Vec<i64> = rest.iter().map(number).collect::<Decoded<_>>()?;
        // Integers have no signs to turn, and only 16-bit elements directions to choose.
        let turns = !factors[0].is_integer();
        let directed = factors[0].bytes() == 2;
        let (signs, directions) = match (turns, directed, in_registers, &numbers[..]) {
            (false, _, _, []) => ([1, 1], [0, 0]),
            (true, false, _, &[a, b]) => ([a, b], [0, 0]),
            (true, true, true, &[a, b, of_b]) => ([a, b], [0, of_b]),
            (true, true, false, &[a, b, of_a, of_b]) => ([a, b], [of_a, of_b]),
            _ => return Err(Refusal::NotModelled),
        };
        let sign = |sign| match sign {
            1 => Ok(false),
            -1 => Ok(true),
            _ => Err(Refusal::NotModelled),
        };
        let major = |direction| match direction {
            0 => Ok(Major::K),
            1 => Ok(Major::Mn),
            _ => Err(Refusal::NotModelled),
        };
        let descriptor = if in_registers {
            NONE
        } else {
            self.source::<u64>(a)?
        };
        let product = GroupProduct {
            wgmma,
            a: descriptor,
            b: self.source::<u64>(b)?,
            accumulate: self.signed_pred(scale)?,
            negate: [sign(signs[0])?, sign(signs[1])?],
            majors: [major(directions[0])?, major(directions[1])?],
            first: if in_registers {
                self.matrix_registers(&[(d, wgmma.registers(), false), (a, FRAGMENTS, true)])?
            } else {
                self.matrix_registers(&[(d, wgmma.registers(), false)])?
            },
        };
        self.push_matrix(guard, Matrix::GroupProduct(product))
    }

    /// Says before an instruction which registers of products it touches, if any.
    pub(super) fn tell_touched(&mut self, instruction: &'m Instruction) {
        let Some((allocation, first)) = &self.allocation else {
            return;
        };
        let first = first[slot(File::R32)];
        let mut touch = RegisterTouch::default();
        for &(row, role) in allocation.touched(self.line) {
            match role {
                Role::Write => touch.writes.push(first + row),
                Role::Guard | Role::Read | Role::Address => touch.reads.push(first + row),
            }
        }
        if touch.reads.is_empty() && touch.writes.is_empty() {
            return;
        }
        let guard = instruction.guard.as_ref().map(|guard| self.guard(guard));
        let guard = guard.and_then(Result::ok).unwrap_or(Guard::ALWAYS);
        self.tables.touches.push(touch);
        let op = Op::Registers(self.tables.touches.len() as u32 - 1);
        self.push(guard, op);
    }
}

fn number(operand: &Operand) -> Decoded<i64> {
    match operand {
        Operand::Immediate(Immediate::Int { bits, .. }) => Ok(*bits as i64),
        _ => Err(Refusal::NotModelled),
    }
}

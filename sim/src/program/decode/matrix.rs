//! `ldmatrix`, `stmatrix`, `movmatrix`, `mma.sync`, `wmma`.

use nstage_ptx::ast::{Instruction, Operand, Type};

use super::{Decoded, Decoder, Guard, Mods, Refusal};
use crate::matrix::element::{Accumulator, Element};
use crate::matrix::fragment::Shape;
use crate::matrix::mma::Mma;
use crate::matrix::quad::{Order, Orders};
use crate::matrix::wmma::{Fragment, Part, Wmma};
use crate::program::op::{CollectiveKind, FragmentMove, Matrix, Product, ProductKind, RowMove};

const ORDERS: [(&str, Order); 2] = [("row", Order::Row), ("col", Order::Column)];

/// A shape's word, `m16n8k16`.
pub(super) fn shape(word: &str) -> Option<Shape> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some(Shape::new(
        m.parse().ok()?,
        n.parse().ok()?,
        k.parse().ok()?,
    ))
}

pub(super) fn element(ty: Type) -> Decoded<Element> {
    Ok(match ty {
        Type::F16 => Element::F16,
        Type::BF16 => Element::Bf16,
        Type::TF32 => Element::Tf32,
        Type::E4M3 => Element::E4m3,
        Type::E5M2 => Element::E5m2,
        Type::S8 => Element::S8,
        Type::U8 => Element::U8,
        _ => return Err(Refusal::NotModelled),
    })
}

pub(super) fn accumulator(ty: Type, saturate: bool) -> Decoded<Accumulator> {
    Ok(match ty {
        Type::F32 => Accumulator::F32,
        Type::F16 => Accumulator::F16,
        Type::S32 => Accumulator::S32 { saturate },
        _ => return Err(Refusal::NotModelled),
    })
}

impl<'m> Decoder<'m> {
    pub(super) fn matrix(
        &mut self,
        instruction: &'m Instruction,
        guard: Guard,
        mods: &mut Mods<'_>,
    ) -> Decoded {
        let operands = instruction.operands.as_slice();
        let shape = instruction.modifiers.iter().find_map(|word| shape(word));
        if shape.is_some() {
            mods.shape();
        }
        match (instruction.opcode.as_str(), shape) {
            ("ldmatrix" | "stmatrix", _) => {
                self.rows(instruction.opcode == "stmatrix", guard, operands, mods)
            }
            ("movmatrix", _) => self.movmatrix(guard, operands, mods),
            ("mma", Some(shape)) => self.mma(shape, guard, operands, mods),
            ("wmma", Some(shape)) => self.wmma(shape, guard, operands, mods),
            _ => Err(Refusal::NotModelled),
        }
    }

    /// `.sync.aligned`, which all of them have.
    pub(super) fn together(mods: &mut Mods<'_>) -> Decoded {
        if mods.flag("sync") && mods.flag("aligned") {
            Ok(())
        } else {
            Err(Refusal::NotModelled)
        }
    }

    pub(super) fn push_matrix(&mut self, guard: Guard, matrix: Matrix) -> Decoded {
        self.tables.matrices.push(matrix);
        let at = self.tables.matrices.len() as u32 - 1;
        let everybody = self.constant32(u32::MAX);
        self.push_collective(guard, everybody, CollectiveKind::Matrix(at));
        Ok(())
    }

    fn rows(
        &mut self,
        store: bool,
        guard: Guard,
        operands: &[Operand],
        mods: &mut Mods<'_>,
    ) -> Decoded {
        Self::together(mods)?;
        let square = mods.flag("m8n8");
        let count = mods.need(&[("x1", 1), ("x2", 2), ("x4", 4)])?;
        let transpose = mods.flag("trans");
        let space = mods.space();
        if !square || mods.ty()? != Type::B16 {
            return Err(Refusal::NotModelled);
        }
        mods.finish()?;
        let (registers, address) = match operands {
            [registers, address] if !store => (registers, address),
            [address, registers] => (registers, address),
            _ => return Err(Refusal::NotModelled),
        };
        let address = self.address(address)?;
        let first = self.matrix_registers(&[(registers, count, store)])?;
        self.push_matrix(
            guard,
            Matrix::Rows(RowMove {
                store,
                space,
                address,
                matrices: count as u32,
                transpose,
                first,
            }),
        )
    }

    fn movmatrix(&mut self, guard: Guard, operands: &[Operand], mods: &mut Mods<'_>) -> Decoded {
        Self::together(mods)?;
        if !mods.flag("m8n8") || !mods.flag("trans") || mods.ty()? != Type::B16 {
            return Err(Refusal::NotModelled);
        }
        mods.finish()?;
        let [d, a] = operands else {
            return Err(Refusal::NotModelled);
        };
        let a = self.source::<u32>(a)?;
        let d = self.destination::<u32>(d)?;
        self.push_matrix(guard, Matrix::Transpose { d, a })
    }

    fn mma(
        &mut self,
        shape: Shape,
        guard: Guard,
        operands: &[Operand],
        mods: &mut Mods<'_>,
    ) -> Decoded {
        Self::together(mods)?;
        let orders = Orders {
            a: mods.need(&ORDERS)?,
            b: mods.need(&ORDERS)?,
        };
        let saturate = mods.flag("satfinite");
        let (d, a, b, c) = (mods.ty()?, mods.ty()?, mods.ty()?, mods.ty()?);
        mods.finish()?;
        let factors = [element(a)?, element(b)?];
        let sums = [accumulator(c, saturate)?, accumulator(d, saturate)?];
        let mma = Mma::new(shape, factors, sums, orders).ok_or(Refusal::NotModelled)?;
        self.product(guard, ProductKind::Mma(mma), operands)
    }

    fn product(&mut self, guard: Guard, kind: ProductKind, operands: &[Operand]) -> Decoded {
        let [d, a, b, c] = operands else {
            return Err(Refusal::NotModelled);
        };
        let counts = Product { kind, first: 0 }.registers();
        let first = self.matrix_registers(&[
            (d, counts[3], false),
            (a, counts[0], true),
            (b, counts[1], true),
            (c, counts[2], true),
        ])?;
        self.push_matrix(guard, Matrix::Product(Product { kind, first }))
    }

    fn wmma(
        &mut self,
        shape: Shape,
        guard: Guard,
        operands: &[Operand],
        mods: &mut Mods<'_>,
    ) -> Decoded {
        #[derive(Clone, Copy, PartialEq, Eq)]
        enum Verb {
            Load,
            Store,
            Multiply,
        }
        let verb = mods.need(&[
            ("load", Verb::Load),
            ("store", Verb::Store),
            ("mma", Verb::Multiply),
        ])?;
        if verb == Verb::Multiply {
            Self::together(mods)?;
            // The orders say how the fragments were loaded, which they know themselves.
            mods.need(&ORDERS)?;
            mods.need(&ORDERS)?;
            let mut types = Vec::new();
            while let Some(ty) = mods.maybe_ty() {
                types.push(ty);
            }
            let saturate = mods.flag("satfinite");
            mods.finish()?;
            // f16 factors are not named.
            let (d, a, b, c) = match types[..] {
                [d, c] => (d, Type::F16, Type::F16, c),
                [d, a, b, c] => (d, a, b, c),
                _ => return Err(Refusal::NotModelled),
            };
            let factors = [element(a)?, element(b)?];
            let sums = [accumulator(c, saturate)?, accumulator(d, saturate)?];
            let wmma = Wmma::new(shape, factors, sums).ok_or(Refusal::NotModelled)?;
            return self.product(guard, ProductKind::Wmma(wmma), operands);
        }
        let part = mods.need(&[("a", 'a'), ("b", 'b'), ("c", 'c'), ("d", 'd')])?;
        Self::together(mods)?;
        let order = mods.need(&ORDERS)?;
        let space = mods.space();
        let ty = mods.ty()?;
        mods.finish()?;
        let store = verb == Verb::Store;
        let part = match (part, store) {
            ('a', false) => Part::A(element(ty)?),
            ('b', false) => Part::B(element(ty)?),
            ('c', false) | ('d', true) => Part::C(accumulator(ty, false)?),
            _ => return Err(Refusal::NotModelled),
        };
        let fragment = Fragment::new(shape, part).ok_or(Refusal::NotModelled)?;
        let (first, second, stride) = match operands {
            [first, second] => (first, second, None),
            [first, second, stride] => (first, second, Some(stride)),
            _ => return Err(Refusal::NotModelled),
        };
        let (registers, address) = if store {
            (second, first)
        } else {
            (first, second)
        };
        let (rows, columns) = fragment.extent();
        let line = if order == Order::Row { columns } else { rows };
        let op = FragmentMove {
            store,
            space,
            address: self.address(address)?,
            stride: match stride {
                Some(stride) => self.source::<u32>(stride)?,
                None => self.constant32(line as u32),
            },
            order,
            fragment,
            first: self.matrix_registers(&[(registers, fragment.registers(), store)])?,
        };
        self.push_matrix(guard, Matrix::Fragment(op))
    }

    /// Puts the registers of vectors into the register list, one after the other; says where they start.
    pub(super) fn matrix_registers(&mut self, vectors: &[(&Operand, usize, bool)]) -> Decoded<u32> {
        let first = self.tables.lists.len() as u32;
        for &(vector, count, read) in vectors {
            for element in self.vector(vector, count)? {
                let register = if read {
                    self.source::<u32>(&element)?
                } else {
                    self.destination::<u32>(&element)?
                };
                self.tables.lists.push(register);
            }
        }
        Ok(first)
    }
}

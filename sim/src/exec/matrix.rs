//! Matrix instructions of one warp: rows and fragments between memory and registers, products.
//!
//! What goes where and what is computed is in [`crate::matrix`]; here are the bytes and registers.

use super::access::{Region, Touch, addresses};
use super::group::{Group, Stop};
use super::warp::Warp;
use crate::event::{AccessKind, Monitor, Ordering, Pc, Scope};
use crate::lanes::{LANES, lanes_of};
use crate::matrix::{Row, rows};
use crate::memory::lanes::{Lanes, load8, load16, load32, store8, store16, store32};
use crate::program::op::{FragmentMove, Matrix, Product, Reg, RowMove};

/// Bytes of a row of an 8 × 8 matrix.
const ROW_BYTES: u32 = 16;
/// The most registers of one matrix in a product.
const MAX_REGISTERS: usize = 16;

impl<M: Monitor> Group<'_, M> {
    /// A matrix instruction, all of whose lanes have come.
    pub(crate) fn matrix(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        at: u32,
        mask: u32,
    ) -> Result<(), Stop> {
        let program = self.machine.program;
        match &program.tables.matrices[at as usize] {
            Matrix::Rows(rows) => self.move_rows(warp, pc, rows, mask),
            Matrix::Transpose { d, a } => {
                let moved = rows::transpose(warp.registers.row32(*a));
                warp.registers.set32(*d, &moved, mask);
                Ok(())
            }
            Matrix::Fragment(fragment) => self.move_fragment(warp, pc, fragment, mask),
            Matrix::GroupProduct(product) => self.issue_product(warp, pc, product, mask),
            Matrix::Product(product) => {
                multiply(warp, &program.tables.lists, product, mask);
                Ok(())
            }
        }
    }

    /// `ldmatrix`, `stmatrix`.
    fn move_rows(&mut self, warp: &mut Warp, pc: Pc, op: &RowMove, mask: u32) -> Result<(), Stop> {
        let count = op.matrices as usize;
        let lanes = rows::addressing_lanes(count);
        let addressing = if lanes == LANES {
            mask
        } else {
            mask & ((1 << lanes) - 1)
        };
        let program = self.machine.program;
        let list = &program.tables.lists[op.first as usize..op.first as usize + count];
        let mut words = [[0; LANES]; 4];
        if op.store {
            let registers: Vec<&Row> = list
                .iter()
                .map(|register| warp.registers.row32(*register))
                .collect();
            words = rows::store(&registers, op.transpose);
            self.writes += 1;
        }
        let addresses = addresses(&warp.registers, op.address);
        let kind = if op.store {
            AccessKind::Write
        } else {
            AccessKind::Read
        };
        self.by_region(
            op.space,
            addresses,
            addressing,
            &mut |group, region, addresses, mask| {
                group.plain(
                    warp,
                    (pc, kind, ROW_BYTES),
                    region,
                    addresses,
                    mask,
                    &mut |lanes| {
                        for (index, words) in words.iter_mut().enumerate() {
                            let lanes = Lanes {
                                offset: 4 * index as u64,
                                ..lanes
                            };
                            // SAFETY: `plain` found sixteen bytes a lane in one segment, aligned.
                            unsafe {
                                if op.store {
                                    store32(lanes, words, |bits| bits)
                                } else {
                                    load32(lanes, words, |bits| bits)
                                }
                            }
                        }
                    },
                )
            },
        )?;
        if !op.store {
            let registers = rows::load(&words, count, op.transpose);
            for (register, values) in list.iter().zip(&registers) {
                warp.registers.set32(*register, values, mask);
            }
        }
        Ok(())
    }

    /// `wmma.load`, `wmma.store`.
    fn move_fragment(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        op: &FragmentMove,
        mask: u32,
    ) -> Result<(), Stop> {
        let fragment = op.fragment;
        let program = self.machine.program;
        let list =
            &program.tables.lists[op.first as usize..op.first as usize + fragment.registers()];
        let base = addresses(&warp.registers, op.address);
        let stride = *warp.registers.row32(op.stride);
        let bytes = fragment.element_bytes() as u32;
        let kind = if op.store {
            AccessKind::Write
        } else {
            AccessKind::Read
        };
        self.writes += u64::from(op.store);
        for element in 0..fragment.elements() {
            let register = list[element / fragment.per_register()];
            let shift = (element % fragment.per_register()) as u32 * 8 * bytes;
            let mut values = warp.registers.row32(register).map(|bits| bits >> shift);
            let at: [u64; LANES] = std::array::from_fn(|lane| {
                base[lane].wrapping_add(fragment.offset(
                    op.order,
                    stride[lane].into(),
                    lane,
                    element,
                ))
            });
            self.by_region(op.space, at, mask, &mut |group, region, addresses, mask| {
                group.plain(
                    warp,
                    (pc, kind, bytes),
                    region,
                    addresses,
                    mask,
                    &mut |lanes| {
                        // SAFETY: `plain` found the element of each lane in one segment, aligned.
                        unsafe {
                            match (bytes, op.store) {
                                (4, true) => store32(lanes, &values, |bits| bits),
                                (2, true) => store16(lanes, &values, |bits| bits as u16),
                                (_, true) => store8(lanes, &values, |bits| bits as u8),
                                (4, false) => load32(lanes, &mut values, |bits| bits),
                                (2, false) => load16(lanes, &mut values, u32::from),
                                (_, false) => load8(lanes, &mut values, u32::from),
                            }
                        }
                    },
                )
            })?;
            if !op.store {
                let row = &mut warp.registers.r32[register as usize].0;
                let keep = !(u32::MAX >> (32 - 8 * bytes) << shift);
                for lane in lanes_of(mask) {
                    row[lane] = (row[lane] & keep) | (values[lane] << shift);
                }
            }
        }
        Ok(())
    }

    /// A weak access of these lanes, whose bytes `each` moves; lanes in different segments come one by one.
    fn plain(
        &mut self,
        warp: &Warp,
        (pc, kind, bytes): (Pc, AccessKind, u32),
        region: Region,
        addresses: &[u64; LANES],
        mask: u32,
        each: &mut dyn FnMut(Lanes<'_>),
    ) -> Result<(), Stop> {
        let touch = Touch {
            pc,
            region,
            kind,
            ordering: Ordering::Weak,
            scope: Scope::Cta,
            bytes,
            addresses,
            mask,
        };
        // Shares the last cache slot with the atomics.
        let cache = self.caches.len() - 1;
        match self.touch(warp, &touch, cache)? {
            Some((host, step)) => {
                each(Lanes {
                    host,
                    addresses,
                    offset: 0,
                    step,
                    mask,
                });
                Ok(())
            }
            None => lanes_of(mask).try_for_each(|lane| {
                self.plain(warp, (pc, kind, bytes), region, addresses, 1 << lane, each)
            }),
        }
    }
}

/// `mma.sync`, `wmma.mma`.
fn multiply(warp: &mut Warp, lists: &[Reg], op: &Product, mask: u32) {
    let [a, b, c, d] = op.registers();
    let mut at = op.first as usize;
    let mut next = |count: usize| {
        at += count;
        &lists[at - count..at]
    };
    let (into, a, b, c) = (next(d), next(a), next(b), next(c));
    let mut results = [[0; LANES]; MAX_REGISTERS];
    {
        let rows = |list: &[Reg]| {
            list.iter()
                .map(|register| warp.registers.row32(*register))
                .collect::<Vec<_>>()
        };
        op.multiply(&rows(a), &rows(b), &rows(c), &mut results[..d]);
    }
    for (register, values) in into.iter().zip(&results) {
        warp.registers.set32(*register, values, mask);
    }
}

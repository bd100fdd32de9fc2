//! Work that blocks take one item at a time, and results of which a block has one.

use super::Out;
use crate::{Block, Uniform, ptx};

/// The items `0..count`, of which each belongs to one block of the grid.
#[derive(Debug)]
pub struct Items {
    next: u32,
    step: u32,
    count: u32,
}

impl Items {
    /// The items of this block, where blocks take turns: block `b` of `g` takes the items `b`, `b + g`, `b + 2g`, …
    #[inline(always)]
    pub fn new(block: &Block, count: Uniform<u32>) -> Self {
        Self {
            next: block.index().get(),
            step: block.blocks().get(),
            count: count.get(),
        }
    }
}

impl Iterator for Items {
    type Item = Item;

    #[inline(always)]
    fn next(&mut self) -> Option<Item> {
        if self.next >= self.count {
            return None;
        }
        let item = Item(self.next);
        // At the end of the numbers, the last item was the last.
        self.next = self.next.checked_add(self.step).unwrap_or(self.count);
        Some(item)
    }
}

/// A number that one block of the grid holds.
#[derive(Debug)]
pub struct Item(u32);

impl Item {
    /// The number.
    #[inline(always)]
    pub fn index(&self) -> Uniform<u32> {
        // SAFETY: items are made of uniform values.
        unsafe { Uniform::assume(self.0) }
    }
}

/// A value that one thread of the block holds: the result of a collective computation.
#[derive(Clone, Copy, Debug)]
pub struct Elected<T>(pub(crate) T);

impl<T: Copy> Elected<T> {
    /// The value.
    #[inline(always)]
    pub fn get(&self) -> T {
        self.0
    }
}

/// An output of which each item's block writes one element.
#[derive(Debug)]
pub struct OutItems<T> {
    out: Out<T>,
}

impl<T: Copy> Out<T> {
    /// Divides the output among items: element `i` belongs to item `i`.
    #[inline(always)]
    pub fn items(self) -> OutItems<T> {
        OutItems { out: self }
    }
}

impl<T: Copy> OutItems<T> {
    /// Writes the element of `item`.
    ///
    /// Traps where the output has none.
    #[inline(always)]
    pub fn put(&mut self, item: &Item, value: Elected<T>) {
        if u64::from(item.0) >= self.out.len {
            ptx::trap();
        }
        // SAFETY: the element lies in the view; the item belongs to one block and the value to one thread of it,
        // and every thread of the grid divides this output in the same way.
        unsafe { self.out.base.add(item.0 as usize).write(value.0) };
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_item_belongs_to_one_block() {
        for count in [0, 1, 5, 1056] {
            for blocks in [1, 2, 7, 2000] {
                let mut taken: Vec<u32> = (0..blocks)
                    .flat_map(|block| Items {
                        next: block,
                        step: blocks,
                        count,
                    })
                    .map(|item| item.0)
                    .collect();
                taken.sort_unstable();
                assert!(
                    taken.into_iter().eq(0..count),
                    "{count} items, {blocks} blocks"
                );
            }
        }
    }

    #[test]
    fn turns_end_where_numbers_do() {
        let items = Items {
            next: u32::MAX - 1,
            step: 2,
            count: u32::MAX,
        };
        assert_eq!(items.count(), 1);
    }
}

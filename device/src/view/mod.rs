//! Global memory as a kernel sees it: views that know their length, and writes that only one thread can make.
//!
//! Making a view is `unsafe`, since only the launch contract knows what is behind a pointer; everything after that is safe:
//! reads past the end do not happen, and a write needs a witness of an index that no other thread holds.

mod items;
mod plane;
mod tiles;
mod unstaged;
mod width;
mod word;

pub use items::{Elected, Item, Items, OutItems};
pub use plane::{Lane, OutPlane, Patch, Patches, Plane};
pub use tiles::{
    Any, Assignment, GridStride, Layout, OutTiles, Packed, Piece, Share, Striped, Tiling,
};
pub use width::Width;
pub use word::{Vector, Word};

use crate::{GlobalMut, GlobalPtr, Uniform};

/// Elements of global memory that nobody writes during the launch.
#[derive(Clone, Copy, Debug)]
pub struct In<T> {
    pub(crate) base: *const T,
    pub(crate) len: u64,
}

impl<T> In<T> {
    /// The view of `len` elements at `pointer`.
    ///
    /// # Safety
    /// - `len` elements at `pointer` are readable during the whole launch and aligned as their type wants.
    /// - Nobody writes them during the launch.
    #[inline(always)]
    pub unsafe fn new(pointer: Uniform<GlobalPtr<T>>, len: Uniform<u64>) -> Self {
        Self {
            base: pointer.get().as_raw(),
            len: len.get(),
        }
    }

    /// Its elements.
    #[inline(always)]
    pub fn len(&self) -> Uniform<u64> {
        // SAFETY: a view is made of uniform values.
        unsafe { Uniform::assume(self.len) }
    }

    /// Whether it has no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> Uniform<bool> {
        self.len().map(|len| len == 0)
    }

    /// The widest copy whose pieces are aligned, counted from the first element.
    #[inline(always)]
    pub fn width(&self) -> Uniform<Width> {
        // SAFETY: a view is made of uniform values.
        unsafe { Uniform::assume(Width::of(self.base as u64)) }
    }
}

impl<T: Copy> In<T> {
    /// The element `index`, if there is one.
    #[inline(always)]
    pub fn get(&self, index: u64) -> Option<T> {
        // SAFETY: the index is in the view, whose maker promised that it is readable.
        (index < self.len).then(|| unsafe { self.base.add(index as usize).read() })
    }
}

/// Elements of global memory that this launch writes.
///
/// Not copyable: it is turned into a partition, by which each thread can write its own elements and no others.
#[derive(Debug)]
pub struct Out<T> {
    pub(crate) base: *mut T,
    pub(crate) len: u64,
}

impl<T> Out<T> {
    /// The view of `len` elements at `pointer`.
    ///
    /// # Safety
    /// - `len` elements at `pointer` are writable during the whole launch and aligned as their type wants.
    /// - Nobody but this view's owners, one in each thread of the grid, accesses them during the launch.
    /// - Every thread of the grid turns its view into the same partition.
    #[inline(always)]
    pub unsafe fn new(pointer: Uniform<GlobalMut<T>>, len: Uniform<u64>) -> Self {
        Self {
            base: pointer.get().as_raw(),
            len: len.get(),
        }
    }

    /// Its elements.
    #[inline(always)]
    pub fn len(&self) -> Uniform<u64> {
        // SAFETY: a view is made of uniform values.
        unsafe { Uniform::assume(self.len) }
    }

    /// Whether it has no elements.
    #[inline(always)]
    pub fn is_empty(&self) -> Uniform<bool> {
        self.len().map(|len| len == 0)
    }

    /// The widest store whose addresses are aligned, counted from the first element.
    #[inline(always)]
    pub fn width(&self) -> Uniform<Width> {
        // SAFETY: a view is made of uniform values.
        unsafe { Uniform::assume(Width::of(self.base as u64)) }
    }
}

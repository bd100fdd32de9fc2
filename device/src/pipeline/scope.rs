//! Who shares the stages of a ring.

use super::mechanism::Mechanism;
use super::ring::{Engine, Misuse};
use crate::{Block, ptx};
use core::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::BlockScope {}
    impl Sealed for super::ThreadScope {}
}

/// Who shares the stages: [`BlockScope`] or [`ThreadScope`].
pub trait Scope: sealed::Sealed {
    /// Whether threads read what others copied, so that barriers are needed.
    const SHARED: bool;
}

/// All threads of the block fill a stage together and read all of it.
#[derive(Clone, Copy, Debug)]
pub enum BlockScope {}

/// Each thread fills its own part of a stage and reads that alone: no barrier is needed.
#[derive(Clone, Copy, Debug)]
pub enum ThreadScope {}

impl Scope for BlockScope {
    const SHARED: bool = true;
}

impl Scope for ThreadScope {
    const SHARED: bool = false;
}

/// The engine of the device: the ring's decisions as instructions.
#[derive(Debug)]
pub struct Hardware<'b, C, M> {
    block: &'b Block,
    kind: PhantomData<(C, M)>,
}

impl<'b, C: Scope, M: Mechanism> Hardware<'b, C, M> {
    /// The engine of `block`.
    #[inline(always)]
    pub(crate) fn new(block: &'b Block) -> Self {
        Self {
            block,
            kind: PhantomData,
        }
    }

    /// The block.
    #[inline(always)]
    pub(crate) fn block(&self) -> &'b Block {
        self.block
    }
}

impl<C: Scope, M: Mechanism> Engine for Hardware<'_, C, M> {
    #[inline(always)]
    fn commit(&mut self) {
        M::commit();
    }

    #[inline(always)]
    fn wait<const PENDING: usize>(&mut self) {
        M::wait::<PENDING>();
    }

    #[inline(always)]
    fn barrier(&mut self) {
        if C::SHARED {
            self.block.sync();
        }
    }

    #[inline(always)]
    fn misuse(&mut self, _: Misuse) -> ! {
        ptx::trap()
    }

    #[inline(always)]
    fn opaque(&mut self, value: u32) -> u32 {
        ptx::opaque(value)
    }
}

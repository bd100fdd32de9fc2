//! Loads and stores.

use super::group::{Group, Stop};
use super::warp::Warp;
use crate::event::{self, Access, AccessKind, Monitor, Ordering, Pc, Window};
use crate::lanes::{LANES, Registers, lanes_of, twice};
use crate::memory::lanes::{self, Extent, Lanes, extent};
use crate::memory::segment::{Segment, low_bits};
use crate::memory::window;
use crate::program::op::{Address, Cell, Memory, NONE, Space};
use crate::report::Fault;

/// A window of the machine as an access finds it; offsets are counted from its own start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    Global,
    Shared {
        rank: u16,
    },
    Local,
    Const,
    Param,
    /// An address in no window.
    Nowhere,
}

impl Region {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Shared { .. } => "shared",
            Self::Local => "local",
            Self::Const => "const",
            Self::Param => "param",
            Self::Nowhere => "generic",
        }
    }

    pub(crate) const fn window(self) -> Option<Window> {
        match self {
            Self::Global => Some(Window::Global),
            Self::Shared { rank } => Some(Window::Shared { rank }),
            _ => None,
        }
    }
}

/// Lanes of one access whose bytes are in so many have them close together.
const NEAR: u64 = 1024;

/// What [`Group::by_region`] calls for each window.
type Each<'a, G> = dyn FnMut(&mut G, Region, &[u64; LANES], u32) -> Result<(), Stop> + 'a;

/// The addresses of an operand, by lane.
#[inline(always)]
pub(crate) fn addresses(registers: &Registers, address: Address) -> [u64; LANES] {
    let mut addresses = [0; LANES];
    if address.wide {
        let base = registers.row64(address.base);
        for (address_of, base) in addresses.iter_mut().zip(base) {
            *address_of = base.wrapping_add(address.offset as u64);
        }
    } else {
        let (base, offset) = (registers.row32(address.base), address.offset as u32);
        for (address_of, base) in addresses.iter_mut().zip(base) {
            *address_of = u64::from(base.wrapping_add(offset));
        }
    }
    addresses
}

/// What one access does with its bytes, apart from moving them.
pub(crate) struct Touch<'a> {
    pub(crate) pc: Pc,
    pub(crate) region: Region,
    pub(crate) kind: AccessKind,
    pub(crate) ordering: Ordering,
    pub(crate) scope: event::Scope,
    pub(crate) bytes: u32,
    pub(crate) addresses: &'a [u64; LANES],
    pub(crate) mask: u32,
}

impl<M: Monitor> Group<'_, M> {
    /// Splits the lanes by window, turns their addresses into offsets in it, and calls `each` for every window.
    #[inline(always)]
    pub(crate) fn by_region(
        &mut self,
        space: Space,
        mut addresses: [u64; LANES],
        mask: u32,
        each: &mut Each<'_, Self>,
    ) -> Result<(), Stop> {
        let mut rest = mask;
        while rest != 0 {
            let region = self.region(space, addresses[rest.trailing_zeros() as usize]);
            let mut here = 0;
            for lane in lanes_of(rest) {
                if self.region(space, addresses[lane]) == region {
                    here |= 1 << lane;
                    addresses[lane] = offset_in(region, space, addresses[lane]);
                }
            }
            each(self, region, &addresses, here)?;
            rest &= !here;
        }
        Ok(())
    }

    /// The window that an address is in, and its offset there.
    pub(crate) fn locate(&self, space: Space, address: u64) -> (Region, u64) {
        let region = self.region(space, address);
        (region, offset_in(region, space, address))
    }

    /// The window that an address of this space is in.
    #[inline(always)]
    fn region(&self, space: Space, address: u64) -> Region {
        match space {
            Space::Global => Region::Global,
            Space::Shared => Region::Shared { rank: self.rank },
            Space::Local => Region::Local,
            Space::Const => Region::Const,
            Space::Param => Region::Param,
            Space::Cluster => self.shared_region(address),
            Space::Generic => match address >> 40 {
                0 => Region::Global,
                1 => self.shared_region(address - window::SHARED),
                2 => Region::Local,
                3 => Region::Const,
                4 => Region::Param,
                _ => Region::Nowhere,
            },
        }
    }

    fn shared_region(&self, address: u64) -> Region {
        match address / window::SHARED_STRIDE {
            0 => Region::Shared { rank: self.rank },
            block if block <= self.blocks.len() as u64 => Region::Shared {
                rank: (block - 1) as u16,
            },
            _ => Region::Nowhere,
        }
    }

    /// Finds the bytes of an access, having checked alignment and bounds and told the monitor:
    /// what addresses are added to, and the step of [`Lanes`].
    /// Answers `None`, and has told nobody, when the lanes' bytes are in different segments.
    #[inline(always)]
    pub(crate) fn touch(
        &mut self,
        warp: &Warp,
        touch: &Touch<'_>,
        cache: usize,
    ) -> Result<Option<(*mut u8, u64)>, Stop> {
        let bytes = u64::from(touch.bytes);
        let extent = extent(touch.addresses, touch.mask, bytes);
        let Extent {
            low, high, dense, ..
        } = extent;
        if extent.bits & (bytes - 1) != 0 {
            return Err(self.misaligned(warp, touch));
        }
        let segments = match touch.region {
            Region::Global => &self.machine.globals,
            Region::Shared { rank } => &self.blocks[usize::from(rank)].shared.segments,
            Region::Const => &self.machine.constants,
            Region::Param => &self.machine.params,
            Region::Local | Region::Nowhere => return Err(self.out_of_bounds(warp, touch)),
        };
        let Some(segment) = segments.find(low, high, &mut self.caches[cache]).copied() else {
            return self.scattered(warp, touch);
        };
        if !segment.writable && touch.kind != AccessKind::Read {
            let bytes = low..low + bytes;
            return Err(self.fault(
                warp,
                touch.pc,
                touch.mask,
                Fault::ReadOnly {
                    space: touch.region.name(),
                    bytes,
                },
            ));
        }
        if let Some(window) = touch.region.window() {
            let site = self.site(touch.pc, touch.mask);
            self.monitor.access(
                site,
                &Access {
                    window,
                    kind: touch.kind,
                    ordering: touch.ordering,
                    scope: touch.scope,
                    bytes: touch.bytes,
                    addresses: touch.addresses,
                },
            );
        }
        if !segment.valid.is_null() {
            self.validity(warp, touch, &segment, extent);
        }
        Ok(Some((segment.biased(), if dense { bytes } else { 0 })))
    }

    /// No segment has the bytes of all lanes: a fault, unless each lane's are in one.
    #[cold]
    fn scattered(
        &mut self,
        warp: &Warp,
        touch: &Touch<'_>,
    ) -> Result<Option<(*mut u8, u64)>, Stop> {
        let bytes = u64::from(touch.bytes);
        let inside = |lane: usize| {
            let at = touch.addresses[lane];
            self.segment(touch.region, at, at.saturating_add(bytes))
                .is_some()
        };
        if lanes_of(touch.mask).all(inside) {
            return Ok(None);
        }
        Err(self.out_of_bounds(warp, touch))
    }

    /// Checks that what is read was written, and marks what is written.
    #[inline(always)]
    fn validity(&mut self, warp: &Warp, touch: &Touch<'_>, segment: &Segment, extent: Extent) {
        let reads = touch.kind != AccessKind::Write;
        let shared = touch.region == Region::Global;
        if extent.dense {
            let mut at = extent.low;
            while at < extent.high {
                let len = (extent.high - at).min(64) as u32;
                if reads && segment.valid_bits(at, len) != low_bits(len) {
                    self.uninitialized(warp, touch, segment);
                    break;
                }
                if touch.kind != AccessKind::Read {
                    segment.mark_valid(at, len, shared);
                }
                at += u64::from(len);
            }
            return;
        }
        // Mostly all is written between the lanes too, which takes fewer words to see.
        if touch.kind == AccessKind::Read
            && extent.high - extent.low <= NEAR
            && segment.is_valid(extent.low, extent.high)
        {
            return;
        }
        for lane in lanes_of(touch.mask) {
            let at = touch.addresses[lane];
            if reads && segment.valid_bits(at, touch.bytes) != low_bits(touch.bytes) {
                self.uninitialized(warp, touch, segment);
            }
            if touch.kind != AccessKind::Read {
                segment.mark_valid(at, touch.bytes, shared);
            }
        }
    }

    twice! {
    /// A load by the lanes of the mask.
    pub(crate) fn load / load_wide / load_body(&mut self, warp: &mut Warp, pc: Pc, index: u32, mask: u32) -> Result<(), Stop> {
        let memory = &self.machine.program.tables.memory[index as usize];
        let addresses = addresses(&warp.registers, memory.address);
        if memory.ordering != Ordering::Weak {
            warp.polls += 1;
        }
        match memory.space {
            Space::Global => self.load_region(warp, pc, index, Region::Global, &addresses, mask),
            Space::Shared => {
                let region = Region::Shared { rank: self.rank };
                self.load_region(warp, pc, index, region, &addresses, mask)
            }
            space => self.by_region(
                space,
                addresses,
                mask,
                &mut |group, region, addresses, mask| {
                    group.load_region(warp, pc, index, region, addresses, mask)
                },
            ),
        }
    }
    }

    #[inline(always)]
    fn load_region(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        index: u32,
        region: Region,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> Result<(), Stop> {
        let program = self.machine.program;
        let memory = &program.tables.memory[index as usize];
        let touch = Touch {
            pc,
            region,
            kind: AccessKind::Read,
            ordering: memory.ordering,
            scope: memory.scope,
            bytes: memory.bytes * memory.count,
            addresses,
            mask,
        };
        if region == Region::Local {
            return self.local(warp, &touch, memory, true);
        }
        let Some((host, step)) = self.touch(warp, &touch, index as usize)? else {
            return self.load_scattered(warp, pc, index, region, addresses, mask);
        };
        if memory.ordering != Ordering::Weak {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        }
        let list =
            &program.tables.lists[memory.first as usize..(memory.first + memory.count) as usize];
        for (element, &register) in list.iter().enumerate() {
            let lanes = Lanes {
                host,
                addresses,
                offset: element as u64 * u64::from(memory.bytes),
                step,
                mask,
            };
            // SAFETY: `touch` found the bytes of every lane in one segment, aligned.
            unsafe { read(&mut warp.registers, register, memory, lanes) };
        }
        Ok(())
    }

    /// Lanes whose bytes are in different segments: rare enough to go one by one.
    #[cold]
    fn load_scattered(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        index: u32,
        region: Region,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> Result<(), Stop> {
        lanes_of(mask)
            .try_for_each(|lane| self.load_region(warp, pc, index, region, addresses, 1 << lane))
    }

    /// The same for stores.
    #[cold]
    fn store_scattered(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        index: u32,
        region: Region,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> Result<(), Stop> {
        lanes_of(mask)
            .try_for_each(|lane| self.store_region(warp, pc, index, region, addresses, 1 << lane))
    }

    twice! {
    /// A store by the lanes of the mask.
    pub(crate) fn store / store_wide / store_body(&mut self, warp: &mut Warp, pc: Pc, index: u32, mask: u32) -> Result<(), Stop> {
        let memory = &self.machine.program.tables.memory[index as usize];
        let addresses = addresses(&warp.registers, memory.address);
        self.writes += 1;
        match memory.space {
            Space::Global => self.store_region(warp, pc, index, Region::Global, &addresses, mask),
            Space::Shared => {
                let region = Region::Shared { rank: self.rank };
                self.store_region(warp, pc, index, region, &addresses, mask)
            }
            space => self.by_region(
                space,
                addresses,
                mask,
                &mut |group, region, addresses, mask| {
                    group.store_region(warp, pc, index, region, addresses, mask)
                },
            ),
        }
    }
    }

    #[inline(always)]
    fn store_region(
        &mut self,
        warp: &mut Warp,
        pc: Pc,
        index: u32,
        region: Region,
        addresses: &[u64; LANES],
        mask: u32,
    ) -> Result<(), Stop> {
        let program = self.machine.program;
        let memory = &program.tables.memory[index as usize];
        let touch = Touch {
            pc,
            region,
            kind: AccessKind::Write,
            ordering: memory.ordering,
            scope: memory.scope,
            bytes: memory.bytes * memory.count,
            addresses,
            mask,
        };
        if region == Region::Local {
            return self.local(warp, &touch, memory, false);
        }
        let Some((host, step)) = self.touch(warp, &touch, index as usize)? else {
            return self.store_scattered(warp, pc, index, region, addresses, mask);
        };
        let list =
            &program.tables.lists[memory.first as usize..(memory.first + memory.count) as usize];
        for (element, &register) in list.iter().enumerate() {
            let lanes = Lanes {
                host,
                addresses,
                offset: element as u64 * u64::from(memory.bytes),
                step,
                mask,
            };
            // SAFETY: `touch` found the bytes of every lane in one writable segment, aligned.
            unsafe { write(&warp.registers, register, memory, lanes) };
        }
        if memory.ordering != Ordering::Weak {
            std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        }
        Ok(())
    }

    /// A load or store of the threads' own local memory.
    fn local(
        &mut self,
        warp: &mut Warp,
        touch: &Touch<'_>,
        memory: &Memory,
        load: bool,
    ) -> Result<(), Stop> {
        let size = u64::from(self.machine.program.local_bytes);
        let stride = size.next_multiple_of(16);
        let Extent { high, bits, .. } = extent(touch.addresses, touch.mask, touch.bytes.into());
        if bits & u64::from(touch.bytes - 1) != 0 {
            return Err(self.misaligned(warp, touch));
        }
        if high > size {
            return Err(self.out_of_bounds(warp, touch));
        }
        let placed: [u64; LANES] =
            std::array::from_fn(|lane| touch.addresses[lane].wrapping_add(lane as u64 * stride));
        let program = self.machine.program;
        let list =
            &program.tables.lists[memory.first as usize..(memory.first + memory.count) as usize];
        for (element, &register) in list.iter().enumerate() {
            let offset = element as u64 * u64::from(memory.bytes);
            let host = warp.local.as_mut_ptr().cast::<u8>();
            let lanes = Lanes {
                host,
                addresses: &placed,
                offset,
                step: 0,
                mask: touch.mask,
            };
            // SAFETY: every lane's bytes are inside its own part of the warp's local memory, which starts 16-byte aligned.
            unsafe {
                if load {
                    read(&mut warp.registers, register, memory, lanes);
                } else {
                    write(&warp.registers, register, memory, lanes);
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn misaligned(&mut self, warp: &Warp, touch: &Touch<'_>) -> Stop {
        let bytes = u64::from(touch.bytes);
        let lane = lanes_of(touch.mask)
            .find(|lane| touch.addresses[*lane] & (bytes - 1) != 0)
            .unwrap_or(0);
        let at = touch.addresses[lane];
        let fault = Fault::Misaligned {
            space: touch.region.name(),
            bytes: at..at.saturating_add(bytes),
            needed: bytes,
        };
        self.fault(warp, touch.pc, 1 << lane, fault)
    }

    #[cold]
    fn out_of_bounds(&mut self, warp: &Warp, touch: &Touch<'_>) -> Stop {
        let bytes = u64::from(touch.bytes);
        let outside = |lane: &usize| {
            let at = touch.addresses[*lane];
            self.segment(touch.region, at, at.saturating_add(bytes))
                .is_none()
        };
        let lane = lanes_of(touch.mask)
            .find(outside)
            .unwrap_or(touch.mask.trailing_zeros() as usize);
        let at = touch.addresses[lane];
        let verb = match touch.kind {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Atomic | AccessKind::Reduction => "updates",
        };
        let fault = Fault::OutOfBounds {
            space: touch.region.name(),
            bytes: at..at.saturating_add(bytes),
            verb,
            nearest: self.describe(touch.region, at),
        };
        self.fault(warp, touch.pc, 1 << lane, fault)
    }

    #[cold]
    pub(crate) fn uninitialized(&mut self, warp: &Warp, touch: &Touch<'_>, segment: &Segment) {
        let unwritten = |lane: &usize| {
            segment.valid_bits(touch.addresses[*lane], touch.bytes) != low_bits(touch.bytes)
        };
        let lane = lanes_of(touch.mask).find(unwritten).unwrap_or(0);
        let at = touch.addresses[lane];
        let missing = !segment.valid_bits(at, touch.bytes) & low_bits(touch.bytes);
        let from = at + u64::from(missing.trailing_zeros());
        let to = at + 64 - u64::from(missing.leading_zeros());
        let (space, bytes) = (touch.region.name(), from..to);
        let copy = match touch.region {
            Region::Shared { rank } => self.in_flight_into(warp, rank, &bytes),
            _ => None,
        };
        let fault = match copy {
            Some(copy) => Fault::InFlight { space, bytes, copy },
            None => Fault::Uninitialized { space, bytes },
        };
        self.note(warp, touch.pc, 1 << lane, fault);
    }
}

/// An address as an offset in its window.
#[inline(always)]
fn offset_in(region: Region, space: Space, address: u64) -> u64 {
    match (region, space) {
        (Region::Nowhere | Region::Global, _) => address,
        (Region::Shared { .. }, Space::Generic | Space::Cluster) => address % window::SHARED_STRIDE,
        (_, Space::Generic) => address & (window::SHARED - 1),
        _ => address,
    }
}

/// # Safety
/// As for [`lanes::load32`].
#[inline(always)]
unsafe fn read(registers: &mut Registers, register: u32, memory: &Memory, from: Lanes<'_>) {
    if register == NONE {
        return;
    }
    match memory.cell {
        Cell::Narrow { signed, keep } => {
            let row = &mut registers.r32[register as usize].0;
            // SAFETY: the caller vouches for the bytes.
            unsafe {
                match (memory.bytes, signed) {
                    (4, _) => lanes::load32(from, row, |bits| bits),
                    (2, false) => lanes::load16(from, row, u32::from),
                    (2, true) => {
                        lanes::load16(from, row, |bits| i32::from(bits as i16) as u32 & keep)
                    }
                    (1, false) => lanes::load8(from, row, u32::from),
                    _ => lanes::load8(from, row, |bits| i32::from(bits as i8) as u32 & keep),
                }
            }
        }
        Cell::Wide { signed } => {
            let row = &mut registers.r64[register as usize].0;
            // SAFETY: the caller vouches for the bytes.
            unsafe {
                match (memory.bytes, signed) {
                    (8, _) => lanes::load64(from, row, |bits| bits),
                    (4, false) => lanes::load32(from, row, u64::from),
                    (4, true) => lanes::load32(from, row, |bits| i64::from(bits as i32) as u64),
                    (2, false) => lanes::load16(from, row, u64::from),
                    (2, true) => lanes::load16(from, row, |bits| i64::from(bits as i16) as u64),
                    (1, false) => lanes::load8(from, row, u64::from),
                    _ => lanes::load8(from, row, |bits| i64::from(bits as i8) as u64),
                }
            }
        }
        Cell::Pair => {
            for half in 0..2 {
                let row = &mut registers.r64[register as usize + half].0;
                let from = Lanes {
                    offset: from.offset + 8 * half as u64,
                    ..from
                };
                // SAFETY: the caller vouches for all sixteen bytes.
                unsafe { lanes::load64(from, row, |bits| bits) };
            }
        }
    }
}

/// # Safety
/// As for [`lanes::store32`].
#[inline(always)]
unsafe fn write(registers: &Registers, register: u32, memory: &Memory, to: Lanes<'_>) {
    match memory.cell {
        Cell::Narrow { .. } => {
            let row = registers.row32(register);
            // SAFETY: the caller vouches for the bytes.
            unsafe {
                match memory.bytes {
                    4 => lanes::store32(to, row, |bits| bits),
                    2 => lanes::store16(to, row, |bits| bits as u16),
                    _ => lanes::store8(to, row, |bits| bits as u8),
                }
            }
        }
        Cell::Wide { .. } => {
            let row = registers.row64(register);
            // SAFETY: the caller vouches for the bytes.
            unsafe {
                match memory.bytes {
                    8 => lanes::store64(to, row, |bits| bits),
                    4 => lanes::store32(to, row, |bits| bits as u32),
                    2 => lanes::store16(to, row, |bits| bits as u16),
                    _ => lanes::store8(to, row, |bits| bits as u8),
                }
            }
        }
        Cell::Pair => {
            for half in 0..2 {
                let row = registers.row64(register + half as u32);
                let to = Lanes {
                    offset: to.offset + 8 * half as u64,
                    ..to
                };
                // SAFETY: the caller vouches for all sixteen bytes.
                unsafe { lanes::store64(to, row, |bits| bits) };
            }
        }
    }
}

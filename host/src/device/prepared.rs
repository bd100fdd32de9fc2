//! Launches that have been proven.

use nstage::catalogue::{Kernel, KernelArgs, Variant};

use super::geometry::Geometry;

/// Arguments of one kernel given for an entry of another.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{entry}: is no entry of {kernel}, whose arguments were given")]
pub struct OtherKernel {
    entry: &'static str,
    kernel: &'static str,
}

impl OtherKernel {
    /// The geometry is one of a kernel that whoever has the arguments does not know.
    pub fn of(geometry: &Geometry, known: &Kernel) -> Self {
        Self {
            entry: geometry.shape().variant.entry,
            kernel: known.name,
        }
    }
}

/// An entry, its geometry and its arguments, checked against each other and against a device.
///
/// There is no other way to launch: a [`Geometry`] has passed the device's limits, and the arguments come from the kernel's own typed list, so that a missing or mistyped one does not compile.
#[derive(Clone, Debug)]
pub struct Prepared {
    geometry: Geometry,
    params: Vec<Vec<u8>>,
}

impl Prepared {
    /// Joins a proven geometry and its kernel's arguments.
    pub fn new<A: KernelArgs>(geometry: Geometry, args: &A) -> Result<Self, OtherKernel> {
        let (kernel, entry) = (A::kernel(), geometry.shape().variant.entry);
        if !kernel.variants.iter().any(|own| own.entry == entry) {
            return Err(OtherKernel::of(&geometry, kernel));
        }
        let mut params = Vec::with_capacity(kernel.params.len());
        args.visit(&mut |_, bytes| params.push(bytes.to_vec()));
        Ok(Self { geometry, params })
    }

    /// The entry's name in the PTX.
    pub fn entry(&self) -> &'static str {
        self.variant().entry
    }

    /// The variant.
    pub fn variant(&self) -> &'static Variant {
        self.geometry.shape().variant
    }

    /// The shape of the launch.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// One little-endian blob a parameter, in order.
    pub fn params(&self) -> &[Vec<u8>] {
        &self.params
    }
}

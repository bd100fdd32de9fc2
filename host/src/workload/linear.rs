//! How kernels over a line of elements divide it: tiles dealt to the blocks in turn.

use super::compare::{Layout, Place};
use crate::device::{Geometry, Shaped};

/// Elements of one 16-byte piece of `f32`.
const PIECE: usize = 4;

/// A line cut into tiles; block `b` of `g` takes the tiles `b`, `b + g`, `b + 2g` and so on, each into the next stage.
pub(super) struct Line {
    elements: usize,
    tile: usize,
    blocks: u64,
    stages: u32,
    threads: usize,
}

impl Line {
    pub(super) fn new(elements: usize, geometry: &Geometry) -> Self {
        Self {
            elements,
            tile: geometry.tile().max(1) as usize,
            blocks: u64::from(geometry.blocks()),
            stages: geometry.shape().variant.stages(),
            threads: geometry.threads() as usize,
        }
    }
}

/// Tiles of a line of `elements` elements.
pub(super) fn tiles(elements: u64, shape: &Shaped) -> u64 {
    elements.div_ceil(u64::from(shape.tile().max(1)))
}

impl Layout for Line {
    fn tile_elements(&self) -> usize {
        self.tile
    }

    fn place(&self, index: usize) -> Place {
        let (tile, inside) = ((index / self.tile) as u64, index % self.tile);
        let step = tile / self.blocks;
        Place {
            tile,
            block: tile % self.blocks,
            stage: (self.stages > 0).then(|| (step % u64::from(self.stages.max(1))) as u32),
            thread: Some((inside / PIECE % self.threads) as u32),
        }
    }

    fn elements_of(&self, tile: u64) -> usize {
        let before = tile as usize * self.tile;
        self.elements.saturating_sub(before).min(self.tile)
    }

    fn tiles(&self) -> u64 {
        self.elements.div_ceil(self.tile) as u64
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn stages(&self) -> u32 {
        self.stages
    }
}

/// Line lengths at which tiles and rings begin and end.
pub(super) fn self_test_lengths(shape: &Shaped, thorough: bool) -> Vec<usize> {
    let tile = shape.tile().max(1) as usize;
    let ring = tile * shape.variant.stages().max(1) as usize;
    let large = if thorough {
        1_000_003
    } else {
        5 * ring + tile / 2 + 3
    };
    let mut lengths = vec![0, 1, tile - 1, tile, tile + 1, ring - 1, ring + 1, large];
    lengths.sort_unstable();
    lengths.dedup();
    lengths
}

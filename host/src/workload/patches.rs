//! How stencils over a plane divide it: patches dealt to the blocks in turn, each streamed row by row.

use super::compare::{Layout, Place};
use crate::device::Shaped;

/// Elements that a thread owns in a row.
pub(super) const LANES: usize = 4;

/// Patches of `rows` rows in a plane of a height and a width.
pub(super) fn count([height, width]: [usize; 2], rows: usize, shape: &Shaped) -> u64 {
    if height == 0 || width == 0 {
        return 0;
    }
    let strips = width.div_ceil(shape.tile() as usize);
    (strips * height.div_ceil(rows)) as u64
}

/// A plane cut into patches, which are dealt to the blocks in turn; what a stage holds is some rows of a patch.
pub(super) struct Patches {
    /// Columns of the plane, at least one.
    pub(super) width: usize,
    /// Columns of a patch.
    pub(super) strip: usize,
    /// Rows of a patch.
    pub(super) rows: usize,
    /// Rows above and below a result that it is computed from.
    pub(super) reach: usize,
    /// Patches of the plane.
    pub(super) patches: u64,
    /// Blocks of the grid.
    pub(super) blocks: u64,
    /// Depth of the ring.
    pub(super) stages: u32,
    /// Rows that a stage holds.
    pub(super) rows_a_stage: u32,
}

impl Patches {
    fn strips(&self) -> usize {
        self.width.div_ceil(self.strip)
    }
}

impl Layout for Patches {
    fn tile_elements(&self) -> usize {
        self.strip
    }

    fn place(&self, index: usize) -> Place {
        let (row, column) = (index / self.width, index % self.width);
        let patch = (row / self.rows * self.strips() + column / self.strip) as u64;
        let inside = row % self.rows;
        // A result is complete with the last row that it is computed from; a patch takes in rows from `reach` above it on.
        let stage = ((inside + 2 * self.reach) as u32 / self.rows_a_stage).checked_rem(self.stages);
        Place {
            tile: patch * self.rows as u64 + inside as u64,
            block: patch % self.blocks,
            stage,
            thread: Some((column % self.strip / LANES) as u32),
        }
    }

    fn elements_of(&self, tile: u64) -> usize {
        let strip = tile as usize / self.rows % self.strips();
        self.strip.min(self.width - strip * self.strip)
    }

    fn tiles(&self) -> u64 {
        self.patches * self.rows as u64
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn stages(&self) -> u32 {
        self.stages
    }

    fn several_stages(&self) -> bool {
        self.stages > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_an_image_of_two_strips_and_two_patches_high() {
        let layout = Patches {
            width: 300,
            strip: 256,
            rows: 64,
            reach: 2,
            patches: 4,
            blocks: 3,
            stages: 4,
            rows_a_stage: 1,
        };
        for (row, column, tile, block, stage, thread) in [
            (0, 0, 0, 0, 0, 0),
            (1, 9, 1, 0, 1, 2),
            (0, 256, 64, 1, 0, 0),
            (64, 299, 192, 0, 0, 10),
        ] {
            let place = layout.place(row * 300 + column);
            let expected = Place {
                tile,
                block,
                stage: Some(stage),
                thread: Some(thread),
            };
            assert_eq!(place, expected, "{row}, {column}");
        }
        assert_eq!((layout.elements_of(0), layout.elements_of(64)), (256, 44));
    }
}

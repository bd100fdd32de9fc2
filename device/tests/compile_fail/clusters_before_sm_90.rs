//! Clusters need sm_90, and a shape says so.

use nstage::catalogue::Shape;

const SHAPE: Shape = Shape::new().cluster(2);

fn main() {
    let _ = SHAPE;
}

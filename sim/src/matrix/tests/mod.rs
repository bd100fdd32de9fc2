//! Known places, bijections, and products against plain loops.

mod layouts;
mod products;
mod rows;
mod tensors;
mod wgmma;
mod wmma;

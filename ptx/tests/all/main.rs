//! One test program for the whole crate, so that it is linked once.

mod common;
mod errors;
mod graph;
mod properties;
mod real_files;
mod retain;
mod table;

//! Runs PTX on the CPU and finds asynchronous-copy hazards.
pub mod event;

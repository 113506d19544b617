//! Reads the stacks of other processes' threads, with the names of functions and global variables. The crate neither
//! stops a process nor writes to it.
//!
//! A [`Process`] unwinds stacks and finds the names of addresses. [`CpuStacks`] samples running code. [`StackCounts`]
//! adds up stacks and prints them as folded text. Files and memory of another process are untrusted, so the size of
//! each read and the number of steps of each loop are limited.

mod call_site;
#[cfg(test)]
mod corrupted;
mod counts;
mod cpu;
mod debug_file;
mod elf;
mod frame;
mod go;
mod go_bytes;
mod go_inlined;
mod go_process;
mod goroutines;
mod image;
mod images;
mod java;
mod lines;
mod maps;
mod memory;
mod names;
mod perf_map;
mod process;
mod processes;
mod prologue;
mod python;
mod reading_cost;
mod registers;
mod room;
mod root;
mod rules;
mod scan;
mod space;
mod status;
mod symbols;
mod unwind;

pub use counts::{HotFunction, StackCounts};
pub use cpu::{CpuProfile, CpuStacks, threads_of};
pub use frame::Frame;
pub use goroutines::{Goroutine, Goroutines};
pub use images::Images;
pub use maps::is_readable;
pub use process::{Global, Process};
pub use processes::Processes;
pub use status::inner_id;
pub use unwind::Addresses;

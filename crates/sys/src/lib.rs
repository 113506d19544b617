//! The only unsafe code of loadline: thin, safe doors to the kernel, one file a mechanism.
//!
//! Every other crate forbids unsafe code. Each block here says why it is sound; nothing here decides anything.

pub mod usage;

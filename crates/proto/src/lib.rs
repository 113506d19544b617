//! Protocol sessions without I/O: each file holds both halves of one protocol.

mod session;

pub use session::{Fault, Progress, Session};

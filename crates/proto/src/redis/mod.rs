//! Redis: commands in RESP, replies of RESP2 and RESP3 of any shape. The client half; errors are unexpected answers.

mod client;
mod command;
mod reply;
mod spec;

pub use client::{ClientPlan, ClientSession};
pub(crate) use spec::{SPEC, client};

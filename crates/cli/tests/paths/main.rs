//! The main uses of the program, with one test for each. Each test measures something, and needs the machine for
//! itself.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compare;
mod experiment;
mod find;
mod hosts_find;
mod testbed;
#[path = "../shared/testbed_command.rs"]
mod testbed_command;

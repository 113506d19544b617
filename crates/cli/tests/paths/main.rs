//! Tests of the main uses of the program, with one test for each use. Each test measures something, so no other test
//! may run at the same time.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod compare;
mod experiment;
mod find;
mod hosts_find;
mod testbed;
#[path = "../shared/testbed_command.rs"]
mod testbed_command;

//! Tests whose results depend on measurements. While one of these tests runs, no other test may run on the machine.
//! `make verify` runs these tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod applications;
mod arena;
#[path = "../shared/arena_file.rs"]
mod arena_file;
mod compare;
mod doctored_counters;
mod hosts;
mod inside;
mod live_connects;
mod live_count;
mod live_environment;
mod live_failures;
mod live_kinds;
mod live_levers;
mod live_limits;
mod live_proof;
mod live_protocols;
mod live_verdicts;
mod live_waits;
mod live_what_if;
mod live_window;
mod near_tie;
mod records;
mod size;
mod slowed_media;
mod thousand_agents;

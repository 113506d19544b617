//! Tests whose results depend on measurements. While one of these tests runs, no other test may run on the machine.
//! Tests of modules `idle` are an exception: they leave the CPUs idle, so one of them runs per CPU. Tests of modules
//! `light` are another exception: one of them runs per two CPUs. `make verify` runs these tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod applications;
mod arena;
#[path = "../shared/arena_file.rs"]
mod arena_file;
mod compare;
#[path = "../shared/compare_command.rs"]
mod compare_command;
mod doctored_counters;
mod hosts;
mod idle;
mod inside;
mod light;
mod live_connects;
mod live_count;
mod live_environment;
mod live_failures;
mod live_kinds;
mod live_limits;
mod live_proof;
mod live_protocols;
mod live_verdicts;
mod live_waits;
mod live_what_if;
mod near_tie;
mod one_packet_cpu;
mod size;
mod thousand_agents;
#[path = "../shared/whole_find.rs"]
mod whole_find;

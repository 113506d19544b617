//! The conductor: starts agents, leads them through the phases of a trial, searches for the capacity, and runs the
//! experiments of the sources. It decides what to try; what came out is judged by `judge` and shown by `report`.

mod act;
pub mod agent;
mod by_hand;
mod class_turns;
pub mod cold;
mod command_line;
mod compare;
mod conduct;
mod error;
mod files;
mod find;
mod handshake_turns;
mod host;
mod host_watch;
mod hosts;
#[allow(clippy::module_inception)]
mod lab;
pub mod levers;
mod live;
mod load_once;
mod look;
mod merge;
mod observation;
mod on_hosts;
mod order;
mod parts;
pub mod people;
mod placement;
pub mod preflight;
mod program;
mod progress;
mod prove;
mod prove_target;

mod remote_observer;
mod samplers;
pub mod search;
mod server_counters;
mod split;
mod stream;
mod stretches;
pub mod target;
mod target_setup;
mod turns;
pub mod via;
mod watch;
mod watch_server;

pub use compare::{InTurns, in_turns};
pub use conduct::Load;
pub use error::LabError;
pub use find::find;
pub use host::{Host, Local, NamespaceHost};
pub use lab::Lab;
pub use load_once::load;
pub use merge::{Point, trial as merged};
pub use observation::{Observation, Watched};
pub use on_hosts::OnHosts;
pub use placement::Places;
pub use prove_target::prove_target;
pub use remote_observer::RemoteObserver;
pub use server_counters::ServerCounters;
pub use target::resolve;
pub use target_setup::{TargetSetup, start_server, start_servers};
pub use watch::{Nobody, Progressing, Watch};
pub use watch_server::watch_server;

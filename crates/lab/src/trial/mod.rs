//! Trials: the target, one trial with its agents, and the run that keeps all trials.

mod act;
mod by_hand;
pub mod cold;
mod command_line;
mod conduct;
mod lab;
mod load_once;
mod look;
mod merge;
mod on_hosts;
pub(crate) mod order;
mod parts;
pub(crate) mod preflight;
mod progress;
mod stream;
mod stretches;
pub mod target;
mod target_setup;
mod watch;
mod watch_server;

pub use conduct::Load;
pub use lab::Lab;
pub use load_once::load;
pub use merge::{Point, trial as merged};
pub use on_hosts::OnHosts;
pub use target::resolve;
pub use target_setup::{TargetSetup, start_server, start_servers};
pub use watch::{Nobody, Progressing, Watch};
pub use watch_server::watch_server;

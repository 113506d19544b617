//! Code for load tests (trials): the target of a load test, a single load test with its agents, and the run that stores
//! all load tests.

mod addresses;
mod asker;
pub(crate) mod authorized;
pub(crate) mod backlog;
mod budget_clock;
mod calls;
mod cluster;
pub mod cold;
mod collected_parts;
mod command_line;
mod command_server;
mod conduct;
#[cfg(test)]
mod hours_tests;
mod lab;
mod load_once;
mod manual_rate;
mod merge;
mod observe_only;
mod on_hosts;
pub(crate) mod overrun;
mod own_server;
mod post;
mod progress;
mod put_back;
mod running_trial;
mod snapshots;
mod span_times;
pub mod target;
mod target_setup;
pub(crate) mod turn_order;
mod unasked;
pub(crate) mod unless_stopped;
mod watch;
mod watch_server;

pub use budget_clock::BudgetClock;
pub use calls::call_types;
pub use command_server::{CommandServer, ServerCommand};
pub use conduct::Load;
pub use lab::{Lab, own_program};
pub use load_once::load;
pub use merge::{Point, trial as merged};
pub use on_hosts::HostsSetup;
pub use own_server::{start_server, start_servers};
pub use post::Receiver;
pub(crate) use put_back::put_back;
pub use target::resolve;
pub use target_setup::TargetSetup;
pub use watch::{LiveProgress, Nobody, Watch};
pub use watch_server::watch_server;

//! The conductor: starts agents, leads them through the phases of a load test, searches for the capacity and uses
//! levers. A lever is a temporary change that an experiment makes, such as slowing a CPU. Crate `judge` interprets the
//! results, and crate `report` prints them.

pub mod agents;
pub mod arena;
mod error;
mod hosts;
pub mod levers;
mod observe;
mod owner;
mod preflight;
mod prove;
pub mod search;
mod servers;
mod size;
mod trial;

pub use error::LabError;
pub use hosts::{CpuSplit, Host, Local, NamespaceHost, via};
pub use observe::{Observation, ObservedServer, RemoteObserver, ServerCounters};
pub use prove::prove_target;
pub use search::{DuetMode, GENERATOR_ALONE, InTurns, InTurnsPlan, find, in_turns, user_search};
pub use size::{SizeSetup, measure_sizes, search_s_of_step};
pub use trial::{
    BudgetClock, CommandServer, HostsSetup, Lab, LiveProgress, Load, Nobody, Point, Receiver, ServerCommand,
    TargetSetup, Watch, call_types, cold, load, merged, own_program, resolve, start_server, start_servers, target,
    watch_server,
};

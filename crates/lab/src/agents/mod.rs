//! Agents: the processes that make load, serve or observe, seen from inside ([`inside`]) and from the conductor
//! ([`AgentGroup`]).

mod clock;
mod desk;
pub(crate) mod files;
mod group;
mod heartbeat;
pub mod inside;
mod inside_watch;
mod lines;
mod member;
mod offset;
mod outbox;
mod post;
mod say;
pub(crate) mod split;
mod station;
mod waiting;

pub use group::{AgentGroup, Ready, Said};
pub use member::Agent;
pub(crate) use offset::ASK_EVERY;
pub use waiting::Task;

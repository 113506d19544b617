//! Agents: the processes that make load, serve or observe, seen from inside ([`inside`]) and from the conductor
//! ([`AgentGroup`]).

mod desk;
mod group;
pub mod inside;
mod inside_watch;
mod lines;
mod member;
mod offset;
mod outbox;
mod post;
mod pulse;
mod say;

pub use group::{AgentGroup, Ready, Said};
pub use member::Agent;

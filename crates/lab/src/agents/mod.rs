//! Agents: processes that make load, serve, observe or pull a lever. Module [`inside`] is the process's own side,
//! [`AgentGroup`] is the conductor's.

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

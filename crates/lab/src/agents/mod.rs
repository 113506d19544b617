//! Agents: processes that generate load, serve, observe a host, or make the temporary changes of an experiment
//! (levers). The conductor is the process that starts and controls the agents. Module [`inside`] is the agent's side,
//! and [`AgentGroup`] is the conductor's side.

mod agent_place;
mod clock;
mod ending;
pub(crate) mod files;
mod group;
mod heartbeat;
mod inbox;
pub mod inside;
mod inside_command;
mod inside_watch;
mod left_servers;
mod leftovers;
mod lines;
mod member;
mod offset;
mod outbox;
mod pipe_thread;
mod question;
mod report_line;
pub(crate) mod split;
mod waiting;

use std::time::Duration;

/// Maximum time for an agent to send its result after its work. The time is twice the silence after which an agent
/// counts as lost, so a lost agent is named as such, and an agent with little CPU time still gives its result.
pub(crate) const RESULT_TIMEOUT: Duration = Duration::from_secs(2 * run::SILENCE_TIMEOUT_S as u64);

pub(crate) use clock::{MAX_CLOCK_SKEW_S, is_possible};
#[cfg(test)]
pub(crate) use group::tests::{Shell, hello};
pub use group::{AgentEvent, AgentGroup, Ready};
pub use leftovers::put_back;
pub use member::Agent;
pub(crate) use offset::ASK_EVERY;
pub(crate) use question::{ask, ask_patiently, ask_within};
pub use waiting::Task;

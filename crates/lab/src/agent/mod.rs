//! Agents: the processes that make load or serve, seen from inside ([`inside`]) and from the conductor ([`Crew`]).

mod crew;
pub mod inside;

pub use crew::{Agent, Crew, Said};

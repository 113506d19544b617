//! The capacity search. Pure functions choose the next load from the results so far. A [`Conductor`] conducts the load
//! tests. Tests of the whole search use simulated servers of known capacity (`tests/known_capacity/`).
//! `docs/explanation/find.md` and `capacity.md` describe the search in prose.

mod budget;
mod class_turns;
mod compare;
mod conductor;
mod connections;
mod cost_turns;
mod find;
mod finder;
mod handshake_turns;
mod live_target;
mod rate_search;
mod step;
mod sweep;
mod turns;
pub mod user_search;

pub use budget::{Budget, SEARCH_OVERHEAD_S, SHORTEST_SEARCH_S, StepTimes};
pub use compare::{DuetMode, InTurns, InTurnsPlan, in_turns};
pub use conductor::Conductor;
pub use find::{GENERATOR_ALONE, find, within_budget};
pub use finder::{Finder, capacity};
pub use rate_search::RateSearch;
pub use sweep::Sweep;
pub use turns::{DuetCpus, Placement, TurnsPlan, TurnsTaken, take_turns};

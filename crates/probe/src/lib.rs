//! What the operating system says: reads the counters of `run::COUNTERS` for one side of a trial.
//!
//! A [`Probe`] reads every row of [`SOURCES`] into a recording; a [`Sampler`] does so on a thread of its own, at a fixed
//! interval and at the edges of phases; [`find_server`] finds whose processes a listener's are. Raw readings only:
//! nothing is divided or judged here. What cannot be read is absent with a reason, never 0.

mod book;
mod family;
mod find;
mod host;
mod kept;
mod lineage;
mod probe;
mod roster;
mod sampler;
mod scope;
mod sources;
#[cfg(test)]
mod testing;
mod text;
mod tree;
mod units;

pub use book::{Book, Slots};
pub use find::{FindError, Found, find_server};
pub use host::host_info;
pub use probe::{Observed, Probe};
pub use roster::Roster;
pub use sampler::Sampler;
pub use scope::Scope;
pub use sources::{Round, SOURCES, Source, SourceSpec};
pub use tree::Tree;

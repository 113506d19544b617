//! Verdicts held against experiments: what slots of a load say about each resource, and whether that is what was
//! predicted. Derived in `docs/method.md`, section "Proof".

mod conclude;
mod estimate;
#[cfg(test)]
mod network;
mod request_way;
mod suspects;
mod turns;

pub(crate) use conclude::conclude;
pub use conclude::predicted;
pub use estimate::{Estimates, estimate, fewest_slots};
pub use request_way::{RequestWay, request_way};
pub use suspects::{SUSPECTS, Suspect, suspects_of};
pub use turns::effect;

//! The capacity search. Pure controllers decide what to try next from what was observed; a [`Conductor`] conducts the
//! trials. The whole is tested against servers of known capacity in virtual time (`tests/known_capacity.rs`).
//! `docs/methods/find.md` and `capacity.md` describe it in prose.

mod aim;
mod class_turns;
mod compare;
mod conductor;
mod find;
mod finder;
mod handshake_turns;
mod lengths;
mod live;
pub mod people;
mod step;
mod sweep;
mod turns;

pub use aim::Aim;
pub use compare::{InTurns, in_turns};
pub use conductor::Conductor;
pub use find::find;
pub use finder::{Finder, capacity};
pub use lengths::{Budget, Length};
pub use sweep::Sweep;

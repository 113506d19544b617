//! The search for a capacity. What to try next is decided by pure controllers that are fed what was seen; trying it is left
//! to a [`Conductor`], so that the whole is tested against servers of known capacity in virtual time
//! (`tests/known_capacity.rs`). `docs/method.md` says the same in prose.

mod aim;
mod conductor;
mod finder;
mod lengths;
pub(crate) mod step;
mod sweep;

pub use aim::Aim;
pub use conductor::Conductor;
pub use finder::{Finder, capacity};
pub use lengths::{Budget, Length};
pub use sweep::Sweep;

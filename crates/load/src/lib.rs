//! Load generators: when requests start ([`arrivals`]), how bytes move ([`drivers`]), and what came back.
//!
//! [`run`] carries out a [`run::LoadPlan`] with one shard a thread; shards share nothing while load is on and their parts
//! are merged at the end. Nothing here decides how much load is right or what the outcome means.

pub mod arrivals;
mod begin;
mod ceiling;
mod class_times;
mod classes;
mod cold;
mod core;
mod counts;
pub mod driver;
pub mod drivers;
mod error;
mod held_up;
mod launch;
mod partner;
mod record;
mod shard;
mod share;
mod slot_times;
mod slots;
mod tenths;
mod timers;

pub use ceiling::{Ceiling, ceiling};
pub use cold::hold;
pub use drivers::sim::{Seen, Service, SimServer, TokenBucket, simulate};
pub use error::LoadError;
pub use launch::{FINE_FOR_S, Start, run};

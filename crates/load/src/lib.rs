//! Load generators: the start times of requests ([`arrivals`]), the drivers that send and receive bytes ([`drivers`]),
//! and the results.
//!
//! [`run`] runs a [`run::LoadPlan`], with one shard per generator thread. During a load, shards share hardly any data.
//! At the end, the results of all shards are merged. Other crates decide how much load to generate, and interpret the
//! results.

mod addresses;
mod answers_before_close;
pub mod arrivals;
mod ceiling;
mod class_times;
mod classes;
mod cold;
mod core;
mod counts;
pub mod driver;
pub mod drivers;
mod early_races;
mod error;
mod first_failures;
mod launch;
mod partner;
mod record;
mod server_ends;
mod shard;
mod share;
mod slot_times;
mod slots;
mod start_moment;
mod status_counts;
mod tenths;
mod thread_stalls;
mod timers;
mod traces;

pub use ceiling::{Ceiling, ceiling};
pub use cold::hold;
pub use drivers::sim::{Service, SilentClose, SimObservations, SimServer, TokenBucket, simulate};
pub use error::LoadError;
pub use launch::{FINE_TICKS_S, Start, run};

//! Measurements for the rows of the benchmark table, one file per subject. The tables in `groups` list the rows with
//! their goals.

pub(crate) mod arena;
pub(crate) mod capacity;
pub(crate) mod connects;
pub(crate) mod echo;
pub(crate) mod event;
pub(crate) mod experiments;
mod found_capacity;
pub(crate) mod generator;
pub(crate) mod growth;
pub(crate) mod hosts;
pub(crate) mod hosts_ready;
pub(crate) mod kept_run;
pub(crate) mod latency;
pub(crate) mod lossy_line;
pub(crate) mod million;
pub(crate) mod mix;
pub(crate) mod neighbour;
pub(crate) mod pacing;
pub(crate) mod probe;
pub(crate) mod proxy;
pub(crate) mod release;
pub(crate) mod server;
mod shared;
pub(crate) mod short_find;
pub(crate) mod speed;
pub(crate) mod told_apart;
pub(crate) mod transports;
pub(crate) mod waits;

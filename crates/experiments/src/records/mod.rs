//! Two studies from R. Blake, *Optimizing Windows NT* (1993; sources 0 and 3). Clients read records from a server over
//! a medium (a simulated network). Each host is a network namespace. The server is loadline's record service. Each
//! client is a load generator with one connection, on a host of its own.
//!
//! If there are two or more CPUs, server and clients have separate CPUs, because they had separate machines in the
//! study. An exchange that took milliseconds on the study's machines takes microseconds today, so a single client would
//! fill the wire. The server can sleep for a fixed time per exchange (`exchange_ms`), so that a single client does not
//! fill the wire.

mod checks;
mod clients;
mod clients_words;
mod derive;
mod figures;
mod namespace_hosts;
mod plateau;
mod profile;
mod profile_words;
mod step;
mod test_bed;
mod values;

pub(super) use clients::EXPERIMENT as ADDING_CLIENTS;
pub(super) use derive::wire;
#[cfg(test)]
pub(super) use plateau::shown as plateau_values;
pub(super) use profile::EXPERIMENT as THROUGHPUT_PROFILE;

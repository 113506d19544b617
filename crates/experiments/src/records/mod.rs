//! If there are two or more CPUs, server and clients have separate CPUs, because they had separate machines in the
//! study. An exchange that took milliseconds on those machines takes microseconds today, so a single client would fill
//! the wire. To prevent this, the server can sleep for a fixed time per exchange (`exchange_ms`).
//!
//! If there are two or more CPUs, server and clients have separate CPUs, which take the place of separate hosts. An
//! exchange that took milliseconds on the machines of the study takes microseconds today. A single client would
//! therefore fill the wire. To prevent this, the server can sleep for a fixed time per exchange (`exchange_ms`).

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

//! Two studies of R. Blake, *Optimizing Windows NT* (1993; sources 0 and 3): reading records over a medium (a simulated
//! network). Hosts are namespaces, the server is the record service, and each client is an agent with one connection in
//! its own host.
//!
//! Server and clients have separate CPUs if there are two. Each CPU takes the place of one host. Exchanges that took
//! milliseconds on the machines of the study take microseconds today, so that a single client would fill the wire. The
//! server can therefore sleep for a fixed time per exchange (`exchange_ms`).

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

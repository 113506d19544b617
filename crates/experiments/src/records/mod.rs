//! The two studies of sources 0 and 3: reading records over a medium. Hosts are namespaces, the server is the record
//! service, and each client is an agent with one connection in its own host.
//!
//! Server and clients have separate CPUs if there are two; these CPUs represent their hosts. Exchanges that took the
//! source's machines milliseconds take microseconds today. The server can therefore sleep for a fixed time per exchange
//! (`exchange_ms`); without it, the first client already fills the wire.

mod checks;
mod clients;
mod clients_words;
mod derive;
mod figures;
mod made;
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

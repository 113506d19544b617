//! The two studies of source 0 and 3: records read over a medium. Hosts are namespaces, the server is the record service,
//! each client is an agent with one connection in a host of its own.
//!
//! Server and clients have CPUs of their own where there are two; those stand for their hosts. The source's machines
//! took milliseconds for what takes microseconds today, so an exchange can be given a fixed time (`exchange_ms`), spent
//! asleep in the server: without it the wire is the bottleneck from the first client on.

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

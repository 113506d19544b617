//! Number of requests that a server handles at the same time, and what explains this number: workers, connections,
//! locks, queues and upstreams.

pub(crate) mod chain;
pub(crate) mod delayed;
pub(crate) mod full_cpus;
pub(crate) mod inside;
pub(crate) mod long_polls;
pub(crate) mod places;
pub(crate) mod process_locks;
pub(crate) mod serial;
pub(crate) mod serial_words;
pub(crate) mod server_queue;
pub(crate) mod upstreams;
pub(crate) mod waiting;

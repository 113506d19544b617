//! Names of values in `run.json`, which several experiments set or measure.

use run::ValueName;

/// Number of connections that the trial tries to keep open at the same time.
pub(crate) const CONNECTIONS: ValueName<u32> = ValueName::new("connections");
/// Number of the entry (load) in the published table of I/O models: 1, 2 or 3.
pub(crate) const ENTRY: ValueName<u32> = ValueName::new("entry");
/// Number of processes that share the connections: servers or proxies. In `lab connections`, `processes` is the number
/// of processes on each side (generators or servers).
pub(crate) const PROCESSES: ValueName<u32> = ValueName::new("processes");
/// I/O model of the server with its variant, such as `epoll` or `uring+high-connections`.
pub(crate) const MODEL: ValueName<String> = ValueName::new("model");
/// Rate at which clients receive bytes, per second. Experiments with records do not count the records' headers.
pub(crate) const BYTES_PER_S: ValueName<f64> = ValueName::new("bytes_per_s");
/// Utilisation of the busiest wire, including Ethernet's framing, 0 to 1.
pub(crate) const WIRE_USE: ValueName<f64> = ValueName::new("wire_use");
/// Maximum number of connections that the server had accepted at the same time. In `lab connections`, `held` is the
/// maximum number of connections that the generators had open.
pub(crate) const HELD: ValueName<f64> = ValueName::new("held");
/// Growth of the server's resident memory per held connection, bytes.
pub(crate) const MEMORY_PER_CONNECTION_BYTES: ValueName<f64> = ValueName::new("memory_per_connection_bytes");
/// Growth of kernel memory per connection, for both ends of the connection together, bytes.
pub(crate) const KERNEL_MEMORY_PER_CONNECTION_BYTES: ValueName<f64> =
    ValueName::new("kernel_memory_per_connection_bytes");

//! Names in `run.json` of the values that several experiments set or measure.

use run::ValueName;

/// Number of connections that all blocks together try to hold.
pub(crate) const CONNECTIONS: ValueName<u32> = ValueName::new("connections");
/// Entry of the published table of I/O models: 1, 2 or 3.
pub(crate) const ENTRY: ValueName<u32> = ValueName::new("entry");
/// Server processes that share the connections.
pub(crate) const PROCESSES: ValueName<u32> = ValueName::new("processes");
/// Server variant (`epoll`, `uring+high-connections`).
pub(crate) const MODEL: ValueName<String> = ValueName::new("model");
/// Bytes per second that clients receive. In experiments with records, record headers do not count.
pub(crate) const BYTES_PER_S: ValueName<f64> = ValueName::new("bytes_per_s");
/// Utilization of the busiest wire, with framing, 0 to 1.
pub(crate) const WIRE_USE: ValueName<f64> = ValueName::new("wire_use");
/// Maximum number of connections accepted by the server.
pub(crate) const HELD: ValueName<f64> = ValueName::new("held");
/// Growth in bytes of the server's resident memory per connection.
pub(crate) const MEMORY_PER_CONNECTION_BYTES: ValueName<f64> = ValueName::new("memory_per_connection_bytes");
/// Growth in bytes of kernel memory per connection, for both ends.
pub(crate) const KERNEL_MEMORY_PER_CONNECTION_BYTES: ValueName<f64> =
    ValueName::new("kernel_memory_per_connection_bytes");

//! Values that several experiments set or measure, by their names in `run.json`.

use run::ValueName;

/// Connections that all blocks together try to hold.
pub(crate) const CONNECTIONS: ValueName<u32> = ValueName::new("connections");
/// Entry of the published table of I/O models: 1, 2 or 3.
pub(crate) const ENTRY: ValueName<u32> = ValueName::new("entry");
/// Server processes that share the connections.
pub(crate) const PROCESSES: ValueName<u32> = ValueName::new("processes");
/// How the server is built (`epoll`, `uring+high-connections`).
pub(crate) const MODEL: ValueName<String> = ValueName::new("model");
/// Bytes a second that clients received (records: of records alone).
pub(crate) const BYTES_PER_S: ValueName<f64> = ValueName::new("bytes_per_s");
/// Share of its rate that the fullest wire carried, framing counted, 0 to 1.
pub(crate) const WIRE_USE: ValueName<f64> = ValueName::new("wire_use");
/// Connections that the server had accepted, at most.
pub(crate) const HELD: ValueName<f64> = ValueName::new("held");
/// Growth of the server's resident memory over its connections, bytes.
pub(crate) const MEMORY_PER_CONNECTION_BYTES: ValueName<f64> = ValueName::new("memory_per_connection_bytes");
/// Growth in the kernel over the connections, both ends, bytes.
pub(crate) const KERNEL_MEMORY_PER_CONNECTION_BYTES: ValueName<f64> =
    ValueName::new("kernel_memory_per_connection_bytes");

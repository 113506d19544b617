//! Names in `run.json` of the values that `io-models` sets or measures.

use run::ValueName;

/// Maximum number of server threads.
pub(crate) const THREADS: ValueName<f64> = ValueName::new("threads");
/// Server threads before the load.
pub(crate) const THREADS_AT_REST: ValueName<f64> = ValueName::new("threads_at_rest");
/// Number of additional threads that the model's rule expects while nothing changes.
pub(crate) const THREADS_BY_RULE: ValueName<f64> = ValueName::new("threads_by_rule");
/// Number of server threads in the sample in which nothing changed.
pub(crate) const THREADS_THEN: ValueName<f64> = ValueName::new("threads_then");
/// Number of accepted connections in the sample in which nothing changed.
pub(crate) const HELD_THEN: ValueName<f64> = ValueName::new("held_then");
/// Switches between the server's threads per second.
pub(crate) const SWITCHES_PER_S: ValueName<f64> = ValueName::new("switches_per_s");
/// Growth of socket memory in bytes; absent if within the noise.
pub(crate) const KERNEL_TCP_PAGES_BYTES: ValueName<f64> = ValueName::new("kernel_tcp_pages_bytes");
/// Noise limit of the growth of socket memory in bytes.
pub(crate) const KERNEL_TCP_PAGES_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_tcp_pages_bytes_noise");
/// Growth of the slab, bytes.
pub(crate) const KERNEL_SLAB_BYTES: ValueName<f64> = ValueName::new("kernel_slab_bytes");
/// Noise limit of the growth of the slab in bytes.
pub(crate) const KERNEL_SLAB_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_slab_bytes_noise");
/// Growth of kernel stacks, bytes.
pub(crate) const KERNEL_STACKS_BYTES: ValueName<f64> = ValueName::new("kernel_stacks_bytes");
/// Noise limit of the growth of kernel stacks in bytes.
pub(crate) const KERNEL_STACKS_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_stacks_bytes_noise");
/// Growth of the server's page tables, bytes.
pub(crate) const KERNEL_PAGE_TABLES_BYTES: ValueName<f64> = ValueName::new("kernel_page_tables_bytes");
/// Noise limit of the growth of the server's page tables in bytes.
pub(crate) const KERNEL_PAGE_TABLES_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_page_tables_bytes_noise");
/// Bytes per second received by the server, by its own count.
pub(crate) const SERVER_RECEIVES_BYTES_PER_S: ValueName<f64> = ValueName::new("server_receives_bytes_per_s");
/// Bytes per second sent by the server, by its own count.
pub(crate) const SERVER_SENDS_BYTES_PER_S: ValueName<f64> = ValueName::new("server_sends_bytes_per_s");
/// Median server CPU time per message over alternating trials, in microseconds.
pub(crate) const CPU_US_IN_TURNS: ValueName<f64> = ValueName::new("cpu_us_in_turns");

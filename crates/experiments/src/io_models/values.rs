//! What these experiments set and measure besides what every trial has, by names in `run.json`.

use run::ValueName;

/// Threads of the server, at most.
pub(crate) const THREADS: ValueName<f64> = ValueName::new("threads");
/// Threads of the server before the load.
pub(crate) const THREADS_AT_REST: ValueName<f64> = ValueName::new("threads_at_rest");
/// Threads beyond those at rest that the model's rule asks for in a quiet moment.
pub(crate) const THREADS_BY_RULE: ValueName<f64> = ValueName::new("threads_by_rule");
/// Threads in that moment.
pub(crate) const THREADS_THEN: ValueName<f64> = ValueName::new("threads_then");
/// Connections accepted in that moment.
pub(crate) const HELD_THEN: ValueName<f64> = ValueName::new("held_then");
/// Switches between the server's threads, per second.
pub(crate) const SWITCHES_PER_S: ValueName<f64> = ValueName::new("switches_per_s");
/// Growth of socket memory, bytes; absent where the growth was not above the noise.
pub(crate) const KERNEL_TCP_PAGES_BYTES: ValueName<f64> = ValueName::new("kernel_tcp_pages_bytes");
/// Noise of the looks at socket memory, bytes.
pub(crate) const KERNEL_TCP_PAGES_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_tcp_pages_bytes_noise");
/// Growth of the slab, bytes.
pub(crate) const KERNEL_SLAB_BYTES: ValueName<f64> = ValueName::new("kernel_slab_bytes");
/// Noise of the looks at the slab, bytes.
pub(crate) const KERNEL_SLAB_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_slab_bytes_noise");
/// Growth of kernel stacks, bytes.
pub(crate) const KERNEL_STACKS_BYTES: ValueName<f64> = ValueName::new("kernel_stacks_bytes");
/// Noise of the looks at kernel stacks, bytes.
pub(crate) const KERNEL_STACKS_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_stacks_bytes_noise");
/// Growth of the server's page tables, bytes.
pub(crate) const KERNEL_PAGE_TABLES_BYTES: ValueName<f64> = ValueName::new("kernel_page_tables_bytes");
/// Noise of the looks at the server's page tables, bytes.
pub(crate) const KERNEL_PAGE_TABLES_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_page_tables_bytes_noise");
/// Bytes a second that the server received by its own count.
pub(crate) const SERVER_RECEIVES_BYTES_PER_S: ValueName<f64> = ValueName::new("server_receives_bytes_per_s");
/// Bytes a second that the server sent by its own count.
pub(crate) const SERVER_SENDS_BYTES_PER_S: ValueName<f64> = ValueName::new("server_sends_bytes_per_s");
/// CPU time of the server for a message, microseconds, median over turns with others.
pub(crate) const CPU_US_IN_TURNS: ValueName<f64> = ValueName::new("cpu_us_in_turns");

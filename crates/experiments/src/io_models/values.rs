//! Names of values in `run.json`, which `lab io-models` sets or measures.

use run::ValueName;

/// Maximum number of the server's threads during the trial.
pub(crate) const THREADS: ValueName<f64> = ValueName::new("threads");
/// Number of the server's threads before the load.
pub(crate) const THREADS_AT_REST: ValueName<f64> = ValueName::new("threads_at_rest");
/// Number of threads that the I/O model should add for the held connections, by the model's rule.
pub(crate) const THREADS_BY_RULE: ValueName<f64> = ValueName::new("threads_by_rule");
/// Number of the server's threads at a moment at which the numbers of threads and connections did not change.
pub(crate) const THREADS_THEN: ValueName<f64> = ValueName::new("threads_then");
/// Number of accepted connections at the moment at which `threads_then` was read.
pub(crate) const HELD_THEN: ValueName<f64> = ValueName::new("held_then");
/// Rate of context switches of the server's threads, per second.
pub(crate) const SWITCHES_PER_S: ValueName<f64> = ValueName::new("switches_per_s");
/// Growth of socket memory during the load, bytes; absent if it is within the noise.
pub(crate) const KERNEL_TCP_PAGES_BYTES: ValueName<f64> = ValueName::new("kernel_tcp_pages_bytes");
/// Largest growth of socket memory that may be noise, bytes; present only if the measured growth may be noise.
pub(crate) const KERNEL_TCP_PAGES_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_tcp_pages_bytes_noise");
/// Growth of slab memory during the load, bytes; absent if it is within the noise.
pub(crate) const KERNEL_SLAB_BYTES: ValueName<f64> = ValueName::new("kernel_slab_bytes");
/// Largest growth of slab memory that may be noise, bytes; present only if the measured growth may be noise.
pub(crate) const KERNEL_SLAB_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_slab_bytes_noise");
/// Growth of kernel stacks during the load, bytes; absent if it is within the noise.
pub(crate) const KERNEL_STACKS_BYTES: ValueName<f64> = ValueName::new("kernel_stacks_bytes");
/// Largest growth of kernel stacks that may be noise, bytes; present only if the measured growth may be noise.
pub(crate) const KERNEL_STACKS_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_stacks_bytes_noise");
/// Growth of the server's page tables during the load, bytes; absent if it is within the noise.
pub(crate) const KERNEL_PAGE_TABLES_BYTES: ValueName<f64> = ValueName::new("kernel_page_tables_bytes");
/// Largest growth of the server's page tables that may be noise, bytes; present only if the measured growth may be
/// noise.
pub(crate) const KERNEL_PAGE_TABLES_BYTES_NOISE: ValueName<f64> = ValueName::new("kernel_page_tables_bytes_noise");
/// Bytes per second that the server received, by its own count.
pub(crate) const SERVER_RECEIVES_BYTES_PER_S: ValueName<f64> = ValueName::new("server_receives_bytes_per_s");
/// Bytes per second that the server sent, by its own count.
pub(crate) const SERVER_SENDS_BYTES_PER_S: ValueName<f64> = ValueName::new("server_sends_bytes_per_s");
/// Median of the server's CPU time per message over alternating trials, microseconds.
pub(crate) const CPU_US_IN_TURNS: ValueName<f64> = ValueName::new("cpu_us_in_turns");

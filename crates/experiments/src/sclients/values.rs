//! What these experiments set and measure besides what every trial has, by names in `run.json`.

use run::ValueName;

/// Descriptors of S-Clients, D.
pub(crate) const DESCRIPTORS: ValueName<u32> = ValueName::new("descriptors");
/// Delay of the line each way, milliseconds.
pub(crate) const DELAY_MS: ValueName<f64> = ValueName::new("delay_ms");
/// Share of packets that the line loses, 0 to 1.
pub(crate) const LOSS: ValueName<f64> = ValueName::new("loss");
/// Whether the server's kernel answers with syncookies when a queue is full.
pub(crate) const SYNCOOKIES: ValueName<bool> = ValueName::new("syncookies");
/// Connections a second that are to be offered.
pub(crate) const OFFERED_RATE: ValueName<f64> = ValueName::new("offered_rate");
/// Connections a second that are to be offered over the server's capacity.
pub(crate) const MULTIPLE: ValueName<f64> = ValueName::new("multiple");
/// Mean of an arrival process, per second.
pub(crate) const MEAN_RATE: ValueName<f64> = ValueName::new("mean_rate");
/// Peak of an arrival process over its mean; 0 where it has no highest rate.
pub(crate) const PEAK: ValueName<f64> = ValueName::new("peak");
/// Share of the time that an arrival process is at its peak, 0 to 1.
pub(crate) const SHARE: ValueName<f64> = ValueName::new("share");
/// Connection requests that left the generator.
pub(crate) const SYNS_GENERATOR: ValueName<f64> = ValueName::new("syns_generator");
/// Connection requests that the server's kernel counted.
pub(crate) const SYNS_KERNEL: ValueName<f64> = ValueName::new("syns_kernel");
/// Connection requests that a filter at the server's interface saw.
pub(crate) const SYNS_FILTER: ValueName<f64> = ValueName::new("syns_filter");
/// Connections that the server's kernel opened.
pub(crate) const OPENS_KERNEL: ValueName<f64> = ValueName::new("opens_kernel");
/// Connection requests at the server, per second of the window.
pub(crate) const SYN_RATE: ValueName<f64> = ValueName::new("syn_rate");
/// Overflows of the accept queue, per second.
pub(crate) const OVERFLOWS_PER_S: ValueName<f64> = ValueName::new("overflows_per_s");
/// Syncookies that were sent, per second.
pub(crate) const COOKIES_SENT_PER_S: ValueName<f64> = ValueName::new("cookies_sent_per_s");
/// Connections that the client holds for established and the server does not know.
pub(crate) const PHANTOMS: ValueName<f64> = ValueName::new("phantoms");
/// CPU time of the server for a connection request that it dropped, microseconds.
pub(crate) const US_PER_DROPPED_SYN: ValueName<f64> = ValueName::new("us_per_dropped_syn");
/// Share of the steady load's throughput that was lost at the same mean rate.
pub(crate) const LOST_SHARE: ValueName<f64> = ValueName::new("lost_share");
/// Connections established at the server, mean over the window.
pub(crate) const OPEN_CONNECTIONS: ValueName<f64> = ValueName::new("open_connections");

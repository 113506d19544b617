//! Names in `run.json` of the values that the S-Clients experiments set or measure.

use run::ValueName;

/// Number of S-Client descriptors (D in the paper).
pub(crate) const DESCRIPTORS: ValueName<u32> = ValueName::new("descriptors");
/// Delay of the link in each direction, milliseconds.
pub(crate) const DELAY_MS: ValueName<f64> = ValueName::new("delay_ms");
/// Share of packets lost on the link, 0 to 1.
pub(crate) const LOSS: ValueName<f64> = ValueName::new("loss");
/// True if the server's kernel sends syncookies when a queue is full.
pub(crate) const SYNCOOKIES: ValueName<bool> = ValueName::new("syncookies");
/// Planned connections per second.
pub(crate) const OFFERED_RATE: ValueName<f64> = ValueName::new("offered_rate");
/// Planned connections per second divided by the server's capacity.
pub(crate) const MULTIPLE: ValueName<f64> = ValueName::new("multiple");
/// Mean rate of an arrival process, per second.
pub(crate) const MEAN_RATE: ValueName<f64> = ValueName::new("mean_rate");
/// Peak of an arrival process divided by its mean; 0 if there is no maximum rate.
pub(crate) const PEAK: ValueName<f64> = ValueName::new("peak");
/// Share of time that an arrival process is at its peak, 0 to 1.
pub(crate) const SHARE: ValueName<f64> = ValueName::new("share");
/// Connection requests sent by the generator.
pub(crate) const SYNS_GENERATOR: ValueName<f64> = ValueName::new("syns_generator");
/// Connection requests counted by the server's kernel.
pub(crate) const SYNS_KERNEL: ValueName<f64> = ValueName::new("syns_kernel");
/// Connection requests that a filter at the server's interface counted.
pub(crate) const SYNS_FILTER: ValueName<f64> = ValueName::new("syns_filter");
/// Connections opened by the server's kernel.
pub(crate) const OPENS_KERNEL: ValueName<f64> = ValueName::new("opens_kernel");
/// Connection requests at the server per second of the window.
pub(crate) const SYN_RATE: ValueName<f64> = ValueName::new("syn_rate");
/// Overflows of the accept queue, per second.
pub(crate) const OVERFLOWS_PER_S: ValueName<f64> = ValueName::new("overflows_per_s");
/// Syncookies sent per second.
pub(crate) const COOKIES_SENT_PER_S: ValueName<f64> = ValueName::new("cookies_sent_per_s");
/// Connections that are open for the client but unknown to the server.
pub(crate) const PHANTOMS: ValueName<f64> = ValueName::new("phantoms");
/// Server CPU time per dropped connection request, microseconds.
pub(crate) const US_PER_DROPPED_SYN: ValueName<f64> = ValueName::new("us_per_dropped_syn");
/// Share of throughput lost relative to a steady load of equal mean rate.
pub(crate) const LOST_SHARE: ValueName<f64> = ValueName::new("lost_share");
/// Mean number of established connections at the server in the window.
pub(crate) const OPEN_CONNECTIONS: ValueName<f64> = ValueName::new("open_connections");

//! Names of values in `run.json`, which the S-Clients experiments set or measure.

use run::ValueName;

/// Number of descriptors of the S-Clients (D in source 1).
pub(crate) const DESCRIPTORS: ValueName<u32> = ValueName::new("descriptors");
/// Delay of the line in each direction, milliseconds.
pub(crate) const DELAY_MS: ValueName<f64> = ValueName::new("delay_ms");
/// Share of packets that are lost on the line, 0 to 1.
pub(crate) const LOSS: ValueName<f64> = ValueName::new("loss");
/// True if the server's kernel may send syncookies when its queue is full.
pub(crate) const SYNCOOKIES: ValueName<bool> = ValueName::new("syncookies");
/// Planned rate of new connections, per second.
pub(crate) const OFFERED_RATE: ValueName<f64> = ValueName::new("offered_rate");
/// Planned rate of new connections, as a multiple of the server's capacity.
pub(crate) const MULTIPLE: ValueName<f64> = ValueName::new("multiple");
/// Mean rate of the arrival process, per second.
pub(crate) const MEAN_RATE: ValueName<f64> = ValueName::new("mean_rate");
/// Peak rate of the arrival process, as a multiple of its mean rate; 0 if there is no maximum rate.
pub(crate) const PEAK: ValueName<f64> = ValueName::new("peak");
/// Share of the time in which the arrival process is at its peak rate, 0 to 1.
pub(crate) const SHARE: ValueName<f64> = ValueName::new("share");
/// Number of connection requests (SYNs) that the generator sent.
pub(crate) const SYNS_GENERATOR: ValueName<f64> = ValueName::new("syns_generator");
/// Number of connection requests (SYNs) that the server's kernel counted.
pub(crate) const SYNS_KERNEL: ValueName<f64> = ValueName::new("syns_kernel");
/// Number of connection requests (SYNs) that a packet filter at the server's interface counted.
pub(crate) const SYNS_FILTER: ValueName<f64> = ValueName::new("syns_filter");
/// Number of connections that the server's kernel opened.
pub(crate) const OPENS_KERNEL: ValueName<f64> = ValueName::new("opens_kernel");
/// Rate of connection requests at the server in the measured window, per second.
pub(crate) const SYN_RATE: ValueName<f64> = ValueName::new("syn_rate");
/// Rate of overflows of the accept queue, per second.
pub(crate) const OVERFLOWS_PER_S: ValueName<f64> = ValueName::new("overflows_per_s");
/// Rate of syncookies that the server's kernel sent, per second.
pub(crate) const COOKIES_SENT_PER_S: ValueName<f64> = ValueName::new("cookies_sent_per_s");
/// Number of phantom connections, which are open for the client but unknown to the server.
pub(crate) const PHANTOMS: ValueName<f64> = ValueName::new("phantoms");
/// CPU time that each dropped connection request cost the server, microseconds.
pub(crate) const US_PER_DROPPED_SYN: ValueName<f64> = ValueName::new("us_per_dropped_syn");
/// Share of throughput that is lost, compared with a steady load of the same mean rate, 0 to 1.
pub(crate) const LOST_SHARE: ValueName<f64> = ValueName::new("lost_share");
/// Mean number of established connections at the server in the measured window.
pub(crate) const OPEN_CONNECTIONS: ValueName<f64> = ValueName::new("open_connections");

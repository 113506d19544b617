//! Names in `run.json` of the values that both record-reading experiments set or measure.

use run::ValueName;

/// Bytes per second of records with their headers, in both directions.
pub(crate) const MESSAGE_BYTES_PER_S: ValueName<f64> = ValueName::new("message_bytes_per_s");
/// Bytes sent by a client per read.
pub(crate) const MESSAGE_OUT_BYTES: ValueName<f64> = ValueName::new("message_out_bytes");
/// Bytes received by a client per read.
pub(crate) const MESSAGE_IN_BYTES: ValueName<f64> = ValueName::new("message_in_bytes");
/// Number of clients divided by throughput (N/X) in microseconds.
pub(crate) const RESPONSE_N_OVER_X_US: ValueName<f64> = ValueName::new("response_n_over_x_us");
/// Messages in both directions as a share of the wire's rate, 0 to 1.
pub(crate) const CLIENT_THROUGHPUT_SHARE: ValueName<f64> = ValueName::new("client_throughput_share");
/// Messages in both directions as a share of the wire's rate, by the server's IP counters, 0 to 1.
pub(crate) const SERVER_THROUGHPUT_SHARE: ValueName<f64> = ValueName::new("server_throughput_share");
/// Utilization of the busiest wire without framing, 0 to 1.
pub(crate) const WIRE_USE_WITHOUT_FRAMING: ValueName<f64> = ValueName::new("wire_use_without_framing");
/// Bytes on the wire per read, in both directions, with framing.
pub(crate) const WIRE_BYTES_PER_READ: ValueName<f64> = ValueName::new("wire_bytes_per_read");
/// Frames per read, in both directions.
pub(crate) const FRAMES_PER_READ: ValueName<f64> = ValueName::new("frames_per_read");
/// Mean frame length with framing, bytes.
pub(crate) const BYTES_PER_FRAME: ValueName<f64> = ValueName::new("bytes_per_frame");
/// Time on the wire per read, microseconds.
pub(crate) const WIRE_US_PER_READ: ValueName<f64> = ValueName::new("wire_us_per_read");
/// CPU time of the server's host per read in microseconds, without the idle load.
pub(crate) const SERVER_PROCESSOR_US: ValueName<f64> = ValueName::new("server_processor_us");
/// CPU time of the client's host per read in microseconds, without the idle load.
pub(crate) const CLIENT_PROCESSOR_US: ValueName<f64> = ValueName::new("client_processor_us");
/// Requested fixed time per read, microseconds.
pub(crate) const FIXED_US_PER_READ: ValueName<f64> = ValueName::new("fixed_us_per_read");
/// Sum of server, client, wire and fixed time per read, microseconds.
pub(crate) const MODEL_US_PER_READ: ValueName<f64> = ValueName::new("model_us_per_read");

//! Names of values in `run.json`, which both experiments with records set or measure.

use run::ValueName;

/// Rate of message bytes (records with their headers, and requests) in both directions, per second.
pub(crate) const MESSAGE_BYTES_PER_S: ValueName<f64> = ValueName::new("message_bytes_per_s");
/// Mean number of bytes that a client sends to request one record.
pub(crate) const MESSAGE_OUT_BYTES: ValueName<f64> = ValueName::new("message_out_bytes");
/// Mean number of bytes that a client receives for one record.
pub(crate) const MESSAGE_IN_BYTES: ValueName<f64> = ValueName::new("message_in_bytes");
/// Number of clients divided by throughput (N/X), microseconds. By Little's law, N/X equals the mean response time.
pub(crate) const RESPONSE_N_OVER_X_US: ValueName<f64> = ValueName::new("response_n_over_x_us");
/// Rate of message bytes in both directions, as a share of the wire's rate, 0 to 1.
pub(crate) const CLIENT_THROUGHPUT_SHARE: ValueName<f64> = ValueName::new("client_throughput_share");
/// Rate of bytes in both directions that IP counted on the server's host, as a share of the wire's rate, 0 to 1.
pub(crate) const SERVER_THROUGHPUT_SHARE: ValueName<f64> = ValueName::new("server_throughput_share");
/// Utilisation of the busiest wire without Ethernet's framing, 0 to 1.
pub(crate) const WIRE_USE_WITHOUT_FRAMING: ValueName<f64> = ValueName::new("wire_use_without_framing");
/// Number of bytes on the wire per read, in both directions, including framing.
pub(crate) const WIRE_BYTES_PER_READ: ValueName<f64> = ValueName::new("wire_bytes_per_read");
/// Number of frames per read, in both directions.
pub(crate) const FRAMES_PER_READ: ValueName<f64> = ValueName::new("frames_per_read");
/// Mean length of a frame, including framing, bytes.
pub(crate) const BYTES_PER_FRAME: ValueName<f64> = ValueName::new("bytes_per_frame");
/// Time on the wire per read, microseconds.
pub(crate) const WIRE_US_PER_READ: ValueName<f64> = ValueName::new("wire_us_per_read");
/// CPU time per read on the server's host, microseconds. The time is the larger of two values: the host's CPU time
/// minus the CPU time that the host uses at rest, and the CPU time of the host's processes.
pub(crate) const SERVER_PROCESSOR_US: ValueName<f64> = ValueName::new("server_processor_us");
/// CPU time per read on the client's host, microseconds. The time is the larger of two values: the host's CPU time
/// minus the CPU time that the host uses at rest, and the CPU time of the host's processes.
pub(crate) const CLIENT_PROCESSOR_US: ValueName<f64> = ValueName::new("client_processor_us");
/// Fixed time that the server adds per read, microseconds.
pub(crate) const FIXED_US_PER_READ: ValueName<f64> = ValueName::new("fixed_us_per_read");
/// Sum of the parts of a read: CPU time of server and client, wire time and fixed time, microseconds.
pub(crate) const MODEL_US_PER_READ: ValueName<f64> = ValueName::new("model_us_per_read");

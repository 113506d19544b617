//! What these experiments set and measure besides what every trial has, by names in `run.json`.

use run::ValueName;

/// Records with their heads, both ways, bytes a second.
pub(crate) const MESSAGE_BYTES_PER_S: ValueName<f64> = ValueName::new("message_bytes_per_s");
/// Bytes that a client sent for one read.
pub(crate) const MESSAGE_OUT_BYTES: ValueName<f64> = ValueName::new("message_out_bytes");
/// Bytes that a client received for one read.
pub(crate) const MESSAGE_IN_BYTES: ValueName<f64> = ValueName::new("message_in_bytes");
/// Clients over the completed rate, microseconds.
pub(crate) const RESPONSE_N_OVER_X_US: ValueName<f64> = ValueName::new("response_n_over_x_us");
/// Messages both ways as a share of the wire's rate, 0 to 1.
pub(crate) const CLIENT_THROUGHPUT_SHARE: ValueName<f64> = ValueName::new("client_throughput_share");
/// Messages both ways as a share of the wire's rate by what the server's IP counted, 0 to 1.
pub(crate) const SERVER_THROUGHPUT_SHARE: ValueName<f64> = ValueName::new("server_throughput_share");
/// Share of its rate that the fullest wire carried, framing not counted, 0 to 1.
pub(crate) const WIRE_USE_WITHOUT_FRAMING: ValueName<f64> = ValueName::new("wire_use_without_framing");
/// Bytes on the wire for one read, both ways, framing counted.
pub(crate) const WIRE_BYTES_PER_READ: ValueName<f64> = ValueName::new("wire_bytes_per_read");
/// Frames for one read, both ways.
pub(crate) const FRAMES_PER_READ: ValueName<f64> = ValueName::new("frames_per_read");
/// Mean length of a frame, bytes, framing counted.
pub(crate) const BYTES_PER_FRAME: ValueName<f64> = ValueName::new("bytes_per_frame");
/// Time of the wire for one read, microseconds.
pub(crate) const WIRE_US_PER_READ: ValueName<f64> = ValueName::new("wire_us_per_read");
/// CPU time of the server's host for one read, microseconds, net of rest.
pub(crate) const SERVER_PROCESSOR_US: ValueName<f64> = ValueName::new("server_processor_us");
/// CPU time of the client's host for one read, microseconds, net of rest.
pub(crate) const CLIENT_PROCESSOR_US: ValueName<f64> = ValueName::new("client_processor_us");
/// Fixed time of one read that was asked for, microseconds.
pub(crate) const FIXED_US_PER_READ: ValueName<f64> = ValueName::new("fixed_us_per_read");
/// Sum of server, client, wire and fixed time for one read, microseconds.
pub(crate) const MODEL_US_PER_READ: ValueName<f64> = ValueName::new("model_us_per_read");

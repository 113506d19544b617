//! Receives spans of a server during a run (OTLP over HTTP, as JSON or protobuf). Computes where the server spends its
//! time: the self time of each kind of span. The sender of the spans is untrusted. The crate therefore limits the size
//! of the input, the number of spans, and the number and length of names.

pub mod decode;
mod http;
mod profile;
mod receiver;
mod span;
mod store;

pub use receiver::{Receiver, SpansError};
pub use span::ReceivedSpan;

//! Receives spans of a server during a run (OTLP over HTTP, as JSON and as protobuf) and computes where its time goes:
//! the self time of each kind of span. Everything that arrives is a stranger's input: its size, its number and its
//! names are limited.

pub mod decode;
mod http;
mod profile;
mod receiver;
mod span;
mod store;

pub use receiver::{Receiver, SpansError};
pub use span::ReceivedSpan;

//! HTTP/3 (RFC 9114), client and server, over QUIC.

mod client;
mod error_codes;
mod frame;
mod peer_streams;
mod qpack;
mod server;
mod spec;

pub use client::{ClientPlan, ClientSession};
pub use server::{ServerCounts, ServerPlan, ServerShard, answers, reads_peer_streams};
pub(crate) use spec::{SPEC, client};

#[cfg(test)]
mod tests;

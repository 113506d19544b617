//! HTTP/2 (RFC 9113), the client half: with prior knowledge, or within TLS where ALPN agrees on it.

mod client;
mod flow;
mod frame;
mod hpack;
mod huffman;
mod input;
mod request;
mod says;
mod spec;
mod stream;

pub use client::{ClientPlan, ClientSession};
pub(crate) use spec::{SPEC, client};

#[cfg(test)]
mod tests;

//! HTTP/2 (RFC 9113), both halves: with prior knowledge, or within TLS where ALPN agrees on it.

mod asks;
mod client;
mod ending;
mod filled;
mod flow;
mod frame;
mod gathering;
mod hpack;
mod huffman;
mod input;
mod request;
mod says;
mod served;
mod server;
mod spec;
mod stream;
mod why;

pub use client::{ClientPlan, ClientSession};
pub use server::ServerSession;
pub(crate) use spec::{SPEC, canned_call, client};

#[cfg(test)]
mod sections;
#[cfg(test)]
mod tests;

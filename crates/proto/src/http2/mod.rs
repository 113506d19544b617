//! HTTP/2 (RFC 9113), client and server: with prior knowledge, or over TLS if ALPN selects it.

pub(crate) mod client;
mod conversation;
mod error_codes;
mod flow;
mod frame;
mod header_block;
pub(crate) mod hpack;
pub(crate) mod huffman;
mod input;
pub(crate) mod outcome;
pub(crate) mod request;
pub(crate) mod request_headers;
pub(crate) mod request_template;
pub(crate) mod response_headers;
mod server;
mod server_streams;
mod spec;
mod stream;
mod stream_list;

pub use client::{ClientPlan, ClientSession};
pub use server::ServerSession;
pub(crate) use spec::{SPEC, canned_call, client};

#[cfg(test)]
mod rfc_section_tests;
#[cfg(test)]
mod tests;

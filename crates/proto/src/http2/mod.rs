//! HTTP/2 (RFC 9113), client and server: with prior knowledge, or over TLS if ALPN selects it.

mod client;
mod error_codes;
mod flow;
mod frame;
mod header_block;
mod hpack;
mod huffman;
mod input;
mod outcome;
mod request;
mod request_headers;
mod request_template;
mod response_headers;
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

//! HTTP/1.1 (RFC 9110, RFC 9112), both halves. Parsing of heads is httparse's; framing and state are here.

mod chunked;
mod client;
mod date;
mod head;
mod page;
mod request;
mod server;

pub use client::{ClientPlan, ClientSession};
pub use date::http_date;
pub use page::{Page, content_type};
pub use server::{ServerSession, Site};

/// Longest head, and longest sum of chunk extensions and trailers, that either half accepts.
pub const HEAD_LIMIT: usize = 64 * 1024;

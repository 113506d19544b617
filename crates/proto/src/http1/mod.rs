//! HTTP/1.1 (RFC 9110, RFC 9112), client and server. The crate httparse parses the heads; this module handles framing
//! and state.

mod chunked;
mod client;
mod date;
mod fields;
mod head;
mod head_cache;
mod last_head;
mod page;
mod reply;
mod request;
mod server;
mod site;
mod spec;
mod strict;

pub use chunked::Chunked;
pub use client::{ClientPlan, ClientSession};
pub use date::http_date;
pub use fields::{Hop, Refused};
pub use head::Framing;
pub(crate) use head::{HeadBuffer, MAX_HEADERS};
pub use page::{Page, content_type};
pub(crate) use request::{check_framing, check_request, is_idempotent, is_safe};
pub use server::ServerSession;
pub use site::Site;
pub(crate) use site::decode;
pub(crate) use spec::{SPEC, client};
pub(crate) use spec::{to_http1, to_http2, to_http3};
pub use strict::{Request, Response, empty_lines, request, response};

/// Maximum size of a head, bytes. `HEAD_LIMIT` also limits the total size of the chunk extensions and trailers of a
/// body.
pub const HEAD_LIMIT: usize = 64 * 1024;

//! The client's requests: checked and put together once.

use std::sync::Arc;

use run::{Protocol, RequestSet};

use super::hpack::Blocks;
use crate::mix::needs_http1;
use crate::mix::{self, Item};
use crate::{ProtoError, http1};

/// Headers that belong to a connection of HTTP/1.1 and have no place here (RFC 9113, section 8.2.2).
const OF_CONNECTIONS: &[&str] =
    &["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"];

/// A request as it goes over the wire.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) blocks: Blocks,
    pub(super) body: Arc<[u8]>,
    pub(super) is_head: bool,
    pub(super) expect_status: Option<u16>,
}

impl Prepared {
    /// Puts the requests of a plan together.
    pub(super) fn all(plan: &Protocol, set: Option<&RequestSet>, https: bool) -> Result<Arc<[Self]>, ProtoError> {
        needs_http1(set)?;
        mix::prepare(plan, set, |item| Self::new(item, https)).map(Into::into)
    }

    fn new(item: Item, https: bool) -> Result<Self, ProtoError> {
        let Item { method, path, host, headers, body, expect_status, expect_text, .. } = item;
        if !expect_text.is_empty() {
            let advice = "leave out expect-text with --http2; it is looked for in answers of HTTP/1.1";
            return Err(ProtoError::Invalid { what: "expect-text", value: expect_text, advice });
        }
        http1::check_request(&method, &path, &host, &headers)?;
        let given = |name: &str| headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        let scheme = if https { "https" } else { "http" };
        let authority = given("host").map_or(&host, |(_, value)| value);
        let mut all: Vec<(String, String)> =
            [(":method", method.as_str()), (":scheme", scheme), (":authority", authority), (":path", &path)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        if given("user-agent").is_none() {
            all.push(("user-agent".into(), concat!("loadline/", env!("CARGO_PKG_VERSION")).into()));
        }
        let own = headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone()));
        all.extend(own.filter(|(name, _)| !OF_CONNECTIONS.contains(&name.as_str())));
        if let Some(body) = body.as_ref().filter(|_| given("content-length").is_none()) {
            all.push(("content-length".into(), body.len().to_string()));
        }
        let body = body.unwrap_or_default();
        Ok(Self { blocks: Blocks::new(&all), body, is_head: method == "HEAD", expect_status })
    }
}

//! Content of a server: pages, and the times at which events are sent.

use std::sync::Arc;

use super::page::Page;
use crate::pace::Pace;

/// Content of a server, which all of its connections share.
pub trait Site: Send + Sync {
    /// Returns the current time, seconds since 1970. The time is that of the latest pass of the server's event loop.
    fn now_s(&self) -> u64;

    /// Returns the page for a known method and a decoded path without query. Pages for status 404 and 405 are also
    /// returned by this function.
    fn find(&self, method: &str, path: &str) -> Arc<Page>;

    /// Returns the page for an error status, or for status 100.
    fn plain(&self, status: u16) -> Arc<Page>;

    /// Returns a page if the next request must be refused, whatever its content. The server calls this method once per
    /// request.
    fn refuse(&self) -> Option<Arc<Page>> {
        None
    }

    /// If answers are streams of events, returns the times at which the events of an answer that begins now are sent.
    /// Only the servers of HTTP/2 and HTTP/3 call this method.
    fn pace(&self) -> Option<Pace> {
        None
    }

    /// Returns true if the head and the body of an answer must be sent by two separate writes.
    fn splits_head(&self) -> bool {
        false
    }
}

/// Returns the decoded path of a target, without its query; `None` if the path is not valid text.
pub(crate) fn decode(target: &str) -> Option<String> {
    let path = target.split('?').next().filter(|path| !path.is_empty()).unwrap_or("/");
    if !path.contains('%') {
        return Some(path.into());
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let digit = |b: Option<u8>| b.and_then(|b| (b as char).to_digit(16));
        bytes.push(if byte == b'%' { (digit(rest.next())? * 16 + digit(rest.next())?) as u8 } else { byte });
    }
    String::from_utf8(bytes).ok().filter(|p| !p.contains('\0'))
}

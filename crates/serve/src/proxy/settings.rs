//! Settings of a proxy: parsed from the user's options, checked, and shared by the proxy's threads.

use std::net::{SocketAddr, ToSocketAddrs};

use event::{Backend, Options as QueueOptions};
use run::ServePlan;

use crate::{Options, ServeError, strategies};

/// Default maximum size of a read, bytes. In each direction of a connection, at most about as many bytes as one read
/// can return wait in the proxy.
const READ_BYTES: usize = 64 * 1024;

/// Default minimum length of a pause under load, microseconds. The kernel's timer slack may double the length of a
/// pause.
const GATHER_US: u64 = 50;

pub(super) struct Settings {
    pub(super) upstream: SocketAddr,
    pub(super) events: QueueOptions,
    pub(super) head_bytes: usize,
    pub(super) max_connections: u64,
    pub(super) timeout_ms: u64,
    /// Maximum time for the head of a request, milliseconds; 0 for no limit.
    pub(super) head_ms: u64,
    /// Time between a client's close and the interim response that tests whether the client has left, milliseconds.
    pub(super) probe_ms: u64,
    /// Maximum number of upstream connections that a thread keeps for further requests.
    pub(super) pool: usize,
    pub(super) read_bytes: usize,
    /// Size of the receive buffers of upstream connections, bytes; `None` for the kernel's default.
    pub(super) upstream_buffer: Option<usize>,
    /// True to time and count the calls of the event API.
    pub(super) timed: bool,
    /// Minimum length of a pause under load, microseconds, during which several events can arrive; 0 for no pauses.
    pub(super) gather_us: u64,
    /// Maximum number of events per `get_next_event`.
    pub(super) array: usize,
}

impl Settings {
    pub(super) fn from(plan: &ServePlan) -> Result<Self, ServeError> {
        let options = Options::new(&plan.options)?;
        let text: String = options
            .get("upstream")?
            .ok_or_else(|| ServeError::Combination("a proxy needs an upstream: give --upstream HOST:PORT".into()))?;
        let bad = || ServeError::BadOption { name: "upstream", value: text.clone(), wants: "HOST:PORT of a server" };
        let upstream = text.to_socket_addrs().ok().and_then(|mut list| list.next()).ok_or_else(bad)?;
        let name: String = options.get("events")?.unwrap_or_else(|| "epoll".into());
        let backend = Backend::named(&name).map_err(|e| ServeError::Combination(e.to_string()))?;
        // With io_uring, threads do not pause: each arriving packet would wake the thread early, so a pause would
        // collect no events. Pauses with io_uring would cost a tenth of the CPU time of a request.
        let gather_us = if backend == Backend::Uring { 0 } else { GATHER_US };
        Ok(Self {
            upstream,
            events: QueueOptions::new(backend),
            head_bytes: options.get("head_bytes")?.unwrap_or(64 * 1024).max(64),
            max_connections: options.get("max_connections")?.unwrap_or(u64::MAX),
            timeout_ms: options.get("timeout_ms")?.unwrap_or(60_000).max(1),
            head_ms: strategies::head_ms(&options)?.into(),
            probe_ms: options.get("probe_ms")?.unwrap_or(1000).max(1),
            pool: options.get("pool")?.unwrap_or(1024),
            read_bytes: options.get("read_bytes")?.unwrap_or(READ_BYTES).clamp(64, 1 << 24),
            upstream_buffer: options.get("upstream_buffer")?,
            timed: options.get("timed")?.unwrap_or(false),
            gather_us: options.get("gather_us")?.unwrap_or(gather_us).min(10_000),
            array: options.get("array")?.unwrap_or(256).clamp(1, 65_536),
        })
    }

    /// Returns the response to a request that is refused with `status`.
    pub(super) fn reply(&self, status: u16) -> &'static [u8] {
        REPLIES.iter().find(|(known, _)| *known == status).map_or(REPLIES[0].1, |(_, reply)| reply)
    }
}

macro_rules! reply {
    ($status:literal, $length:literal, $text:literal) => {
        (
            $status,
            concat!(
                "HTTP/1.1 ",
                $status,
                " ",
                $text,
                "\r\nContent-Type: text/plain\r\nContent-Length: ",
                $length,
                "\r\nConnection: close\r\n\r\n",
                $text,
                "\n"
            )
            .as_bytes(),
        )
    };
}

const REPLIES: &[(u16, &[u8])] = &[
    reply!(400, 12, "Bad Request"),
    reply!(405, 19, "Method Not Allowed"),
    reply!(408, 16, "Request Timeout"),
    reply!(431, 32, "Request Header Fields Too Large"),
    reply!(501, 16, "Not Implemented"),
    reply!(502, 12, "Bad Gateway"),
    reply!(503, 20, "Service Unavailable"),
    reply!(504, 16, "Gateway Timeout"),
    reply!(505, 27, "HTTP Version Not Supported"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reply_has_its_stated_length() {
        for (status, reply) in REPLIES {
            let text = std::str::from_utf8(reply).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())), "{status}: {}", body.len());
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")));
        }
    }

    #[test]
    fn a_proxy_without_an_upstream_is_refused() {
        assert!(Settings::from(&ServePlan::default()).is_err());
        let mut plan = ServePlan::default();
        plan.options.insert("upstream".into(), "127.0.0.1:80".into());
        plan.options.insert("events".into(), "kqueue".into());
        assert!(Settings::from(&plan).err().unwrap().to_string().contains("epoll, uring, poll, select"));
    }
}

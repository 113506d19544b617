//! Services of the reference servers. Each service has one file and one entry in [`SERVICES`].

mod discard;
mod echo;
mod files;
mod grpc;
pub(crate) mod http;
mod memcached;
mod record;
mod redis;
mod source;
mod streams;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod tls;
mod ws;

use std::sync::Arc;

use run::ServePlan;

use crate::{Options, ServeError, Server, Service};

/// Entry of [`SERVICES`].
#[derive(Clone, Copy)]
pub struct ServiceSpec {
    /// Name, as in `loadline serve NAME`.
    pub name: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// ALPN names of the service's protocol; empty if it has none.
    pub alpn: &'static [&'static str],
    /// Way in which the service is started.
    pub kind: ServiceKind,
}

/// Function that opens a service with the user's settings and options.
pub type Open = fn(&ServePlan, &Options<'_>) -> Result<Arc<dyn Service>, ServeError>;

/// Way in which a service is started.
#[derive(Clone, Copy)]
pub enum ServiceKind {
    /// The service creates sessions, which the I/O models serve.
    Sessions(Open),
    /// The service is a server of its own, without an I/O model.
    Standalone(fn(&ServePlan) -> Result<Server, ServeError>),
}

/// All services of the reference server.
pub const SERVICES: &[ServiceSpec] = &[
    ServiceSpec {
        name: "http",
        help: "HTTP/1.1: a built-in page or the files under a directory",
        alpn: &["http/1.1"],
        kind: ServiceKind::Sessions(http::open),
    },
    ServiceSpec {
        name: "echo",
        help: "sends back what it receives",
        alpn: &[],
        kind: ServiceKind::Sessions(echo::open),
    },
    ServiceSpec { name: "discard", help: "reads and drops", alpn: &[], kind: ServiceKind::Sessions(discard::open) },
    ServiceSpec {
        name: "record",
        help: "reads and writes records of one file (--root), through the page cache or past it",
        alpn: &[],
        kind: ServiceKind::Sessions(record::open),
    },
    ServiceSpec {
        name: "source",
        help: "sends as fast as it is read",
        alpn: &[],
        kind: ServiceKind::Sessions(source::open),
    },
    ServiceSpec {
        name: "h2",
        help: "HTTP/2, with prior knowledge or over TLS (--tls): the same pages and files as http; with --events, streams like sse",
        alpn: &["h2"],
        kind: ServiceKind::Sessions(http::open_h2),
    },
    ServiceSpec {
        name: "h3",
        help: "HTTP/3 over QUIC, always encrypted: the same pages and files as http; with --events, streams like sse; no I/O model",
        alpn: &["h3"],
        kind: ServiceKind::Standalone(crate::h3::start),
    },
    ServiceSpec {
        name: "grpc",
        help: "gRPC: answers every call with a message of --body-bytes; with --events, with a stream of messages",
        alpn: &["h2"],
        kind: ServiceKind::Sessions(grpc::open),
    },
    ServiceSpec {
        name: "ws",
        help: "WebSocket: sends every message back, frame by frame; with --events, answers it by a stream of messages",
        alpn: &["http/1.1"],
        kind: ServiceKind::Sessions(ws::open),
    },
    ServiceSpec {
        name: "sse",
        help: "streams of events over HTTP/1.1: --first, --gap, --events; models that wait for readiness, such as epoll",
        alpn: &["http/1.1"],
        kind: ServiceKind::Sessions(streams::open),
    },
    ServiceSpec {
        name: "redis",
        help: "Redis: PING, ECHO, GET, SET, INCR, DEL over at most 64 MiB in memory",
        alpn: &[],
        kind: ServiceKind::Sessions(redis::open),
    },
    ServiceSpec {
        name: "memcached",
        help: "memcached: get, set, add, replace, append, prepend, incr, decr, delete, touch over at most 64 MiB in memory",
        alpn: &[],
        kind: ServiceKind::Sessions(memcached::open),
    },
    ServiceSpec {
        name: "proxy",
        help: "event-driven HTTP/1.1 proxy without a cache, on the event API",
        alpn: &[],
        kind: ServiceKind::Standalone(crate::proxy::start),
    },
];

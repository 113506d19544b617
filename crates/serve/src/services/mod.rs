//! What a server says: one file a service, one row in [`SERVICES`].

mod discard;
mod echo;
mod files;
pub(crate) mod http;
mod record;
mod source;

use std::sync::Arc;

use run::ServePlan;

use crate::conn::BoxedSession;
use crate::{Options, ServeError, Server, Stats};

/// Makes the server half of each connection. Shared by all threads.
pub trait Service: Send + Sync {
    /// A session for one connection. Models use it again for another one after [`proto::Session::reset`].
    fn session(&self) -> BoxedSession;

    /// Told by every thread at every wake what time it is, seconds since the epoch.
    fn tick(&self, _now_s: u64) {}

    /// What a peer is told that is refused because the server is busy; empty for nothing.
    fn busy_reply(&self) -> &[u8] {
        b""
    }

    /// Adds what it counts itself to the counts of the server.
    fn add_to(&self, _stats: &mut Stats) {}

    /// Whether small pieces may be held back by Nagle's algorithm (off by default).
    fn nagle(&self) -> bool {
        false
    }
}

/// One row of [`SERVICES`].
#[derive(Clone, Copy)]
pub struct ServiceSpec {
    /// Name, as in `loadline serve NAME`.
    pub name: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// How it is started.
    pub kind: ServiceKind,
}

/// Opens a service from a plan.
pub type Open = fn(&ServePlan, &Options<'_>) -> Result<Arc<dyn Service>, ServeError>;

/// How a service is started.
#[derive(Clone, Copy)]
pub enum ServiceKind {
    /// It is made of sessions, so that every model can serve it.
    Sessions(Open),
    /// It is a server of its own.
    Whole(fn(&ServePlan) -> Result<Server, ServeError>),
}

/// Every service.
pub const SERVICES: &[ServiceSpec] = &[
    ServiceSpec {
        name: "http",
        help: "HTTP/1.1: a built-in page or the files under a directory",
        kind: ServiceKind::Sessions(http::open),
    },
    ServiceSpec { name: "echo", help: "sends back what it receives", kind: ServiceKind::Sessions(echo::open) },
    ServiceSpec { name: "discard", help: "reads and drops", kind: ServiceKind::Sessions(discard::open) },
    ServiceSpec {
        name: "record",
        help: "reads and writes records of one file (--root), through the page cache or past it",
        kind: ServiceKind::Sessions(record::open),
    },
    ServiceSpec { name: "source", help: "sends as fast as it is read", kind: ServiceKind::Sessions(source::open) },
    ServiceSpec {
        name: "proxy",
        help: "event-driven HTTP/1.1 proxy without a cache, on the event API",
        kind: ServiceKind::Whole(crate::proxy::start),
    },
];

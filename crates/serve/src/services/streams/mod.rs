//! Streams of events: each request is answered by events at planned times. The service `sse` sends streams of events
//! over HTTP/1.1. The services `h2`, `grpc` and `ws` send streams of events if the option `events` is set.

mod http1;
mod plan;
mod schedule;
mod websocket;

use std::sync::Arc;

use run::ServePlan;

use self::http1::StreamSession;
pub(super) use self::plan::StreamPlan;
pub(super) use self::websocket::open as open_websocket;
use crate::connection::BoxedSession;
use crate::{Options, ServeError, Service};

struct Streams(Arc<StreamPlan>);

impl Service for Streams {
    fn session(&self) -> BoxedSession {
        Box::new(StreamSession::new(self.0.clone()))
    }

    fn is_timed(&self) -> bool {
        true
    }
}

pub(super) fn open(_plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Streams(StreamPlan::from(options, sys::clock::monotonic_ns)?)))
}

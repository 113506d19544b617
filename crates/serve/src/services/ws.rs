//! WebSocket: sends every message back, or answers it by a stream of messages.

use std::sync::Arc;

use run::ServePlan;

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

struct Ws;

impl Service for Ws {
    fn session(&self) -> BoxedSession {
        Box::new(proto::websocket::ServerSession::default())
    }

    fn busy_reply(&self) -> &[u8] {
        b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
    }
}

pub(super) fn open(_plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(super::streams::open_websocket(options)?.unwrap_or_else(|| Arc::new(Ws)))
}

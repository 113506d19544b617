//! gRPC: answers every unary call on every path with a message of `--body-bytes`, or with the status that an option
//! sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proto::http1::{Page, Site};
use proto::http2::ServerSession;
use run::ServePlan;

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

/// Maximum size in bytes of a message, which is kept in memory.
const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// Status of the response to a request that is not a gRPC call.
const UNIMPLEMENTED: u16 = 12;

struct Grpc {
    site: Arc<Calls>,
    streams: u32,
}

struct Calls {
    now_s: AtomicU64,
    answer: Arc<Page>,
    no_call: Arc<Page>,
}

pub(super) fn open(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    let bytes = plan.body_bytes;
    if bytes > MAX_MESSAGE_BYTES {
        let why = format!("a message of {bytes} bytes is kept in memory and may have at most {MAX_MESSAGE_BYTES}");
        return Err(ServeError::Combination(why));
    }
    let mut message = vec![0];
    message.extend_from_slice(&(bytes as u32).to_be_bytes());
    message.resize(message.len() + bytes as usize, b'g');
    let answer = Page::grpc(options.get("status")?.unwrap_or_default(), message);
    let site = Calls { now_s: AtomicU64::new(0), answer, no_call: Page::grpc(UNIMPLEMENTED, Vec::new()) };
    Ok(Arc::new(Grpc { site: Arc::new(site), streams: options.get("streams")?.unwrap_or_default() }))
}

impl Service for Grpc {
    fn session(&self) -> BoxedSession {
        Box::new(ServerSession::new(self.site.clone(), self.streams))
    }

    fn tick(&self, now_s: u64) {
        if self.site.now_s.load(Ordering::Relaxed) != now_s {
            self.site.now_s.store(now_s, Ordering::Relaxed);
        }
    }
}

impl Site for Calls {
    fn now_s(&self) -> u64 {
        self.now_s.load(Ordering::Relaxed)
    }

    fn find(&self, method: &str, _path: &str) -> Arc<Page> {
        if method == "POST" { self.answer.clone() } else { self.no_call.clone() }
    }

    fn plain(&self, _status: u16) -> Arc<Page> {
        self.no_call.clone()
    }
}

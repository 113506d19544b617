//! gRPC: answers every call on every path with a message of `--body-bytes` bytes, or with a stream of such messages. An
//! option makes the service answer with an error status instead of messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proto::Pace;
use proto::http1::{Page, Site};
use proto::http2::ServerSession;
use run::ServePlan;

use super::streams::StreamPlan;
use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

/// Maximum size of a message, bytes. The service keeps a message of this size in memory.
const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// Status `UNIMPLEMENTED` of gRPC, for requests that are not gRPC calls.
const UNIMPLEMENTED: u16 = 12;

struct Grpc {
    site: Arc<Calls>,
    streams: u32,
}

struct Calls {
    now_s: AtomicU64,
    answer: Arc<Page>,
    no_call: Arc<Page>,
    /// If a stream answers each call, the times of the stream's messages and the length of each message; otherwise
    /// `None`.
    stream: Option<(Arc<StreamPlan>, usize)>,
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
    let stream = StreamPlan::if_asked(options)?.map(|plan| (plan, message.len()));
    if let Some((plan, event_bytes)) = &stream {
        if plan.events().saturating_mul(*event_bytes as u64) > MAX_MESSAGE_BYTES {
            let why = "all messages of a stream are kept in memory: give fewer --events or --body-bytes";
            return Err(ServeError::Combination(why.into()));
        }
        message = message.repeat(plan.events() as usize);
    }
    let answer = Page::grpc(options.get("status")?.unwrap_or_default(), message);
    let site = Calls { now_s: AtomicU64::new(0), answer, no_call: Page::grpc(UNIMPLEMENTED, Vec::new()), stream };
    Ok(Arc::new(Grpc { site: Arc::new(site), streams: options.get("streams")?.unwrap_or_default() }))
}

impl Service for Grpc {
    fn session(&self) -> BoxedSession {
        Box::new(ServerSession::new(self.site.clone(), self.streams))
    }

    fn is_timed(&self) -> bool {
        self.site.stream.is_some()
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

    fn pace(&self) -> Option<Pace> {
        self.stream.as_ref().map(|(plan, event_bytes)| plan.pace(*event_bytes))
    }
}

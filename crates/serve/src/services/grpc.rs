//! gRPC: answers every call on every path with a message of `--body-bytes` bytes, or with a stream of such messages. An
//! option can make the service answer with an error status. By reflection, the server describes one service
//! (`calls.proto`), and all its answers are messages of this service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use descriptors::reflection::Reflection;
use proto::Pace;
use proto::http1::{Page, Site};
use proto::http2::ServerSession;
use run::ServePlan;

use super::streams::StreamPlan;
use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

/// Maximum size of a message, bytes. The service keeps a whole message in memory.
const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// Proto file of the service that reflection describes.
const CALLS: &str = include_str!("calls.proto");

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
    /// Answers to questions of the reflection protocol.
    description: Arc<Page>,
    /// If each call is answered by a stream: the times of the messages, and the length of each message; otherwise
    /// `None`.
    stream: Option<(Arc<StreamPlan>, usize)>,
}

pub(super) fn open(plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    let bytes = plan.body_bytes;
    if bytes > MAX_MESSAGE_BYTES {
        let why = format!("a message of {bytes} bytes is kept in memory and may have at most {MAX_MESSAGE_BYTES}");
        return Err(ServeError::Combination(why));
    }
    let message = proto::grpc::framed(&message(bytes as usize), false);
    let mut message = message.map_err(|error| ServeError::Combination(error.to_string()))?;
    let stream = StreamPlan::if_asked(options)?.map(|plan| (plan, message.len()));
    if let Some((plan, event_bytes)) = &stream {
        if plan.events().saturating_mul(*event_bytes as u64) > MAX_MESSAGE_BYTES {
            let why = "all messages of a stream are kept in memory: give fewer --events or --body-bytes";
            return Err(ServeError::Combination(why.into()));
        }
        message = message.repeat(plan.events() as usize);
    }
    let answer = Page::grpc(options.get("status")?.unwrap_or_default(), message);
    let no_call = Page::grpc(UNIMPLEMENTED, Vec::new());
    let site = Calls { now_s: AtomicU64::new(0), answer, no_call, description: description()?, stream };
    Ok(Arc::new(Grpc { site: Arc::new(site), streams: options.get("streams")?.unwrap_or_default() }))
}

/// Returns the page that answers questions of the reflection protocol.
fn description() -> Result<Arc<Page>, ServeError> {
    let described = Reflection::new("calls.proto", CALLS);
    let described = described.map_err(|error| ServeError::Combination(error.to_string()))?;
    Ok(Page::grpc_by_message(move |question| described.answer(question)))
}

/// Returns an encoded `Answer` (see `calls.proto`) of `bytes` bytes: a field of bytes and, if its length alone does not
/// fit, an empty second field. No encoded message has exactly 1 byte, so for `bytes` = 1 the result is not a valid
/// `Answer`.
fn message(bytes: usize) -> Vec<u8> {
    const FIRST_FIELD: u8 = 0x0a;
    const EMPTY_SECOND_FIELD: [u8; 2] = [0x12, 0];
    let field = |length: usize| {
        let mut field = vec![FIRST_FIELD];
        let mut left = length;
        while left > 0x7f {
            field.push(left as u8 | 0x80);
            left >>= 7;
        }
        field.push(left as u8);
        field.resize(field.len() + length, b'g');
        field
    };
    // The tag and the length before a field's content take 2 to 6 bytes.
    let of_length =
        |bytes: usize| (2..=6).filter_map(|head| bytes.checked_sub(head)).map(field).find(|found| found.len() == bytes);
    let with_second = || Some([of_length(bytes.checked_sub(2)?)?, EMPTY_SECOND_FIELD.to_vec()].concat());
    if bytes == 0 { Vec::new() } else { of_length(bytes).or_else(with_second).unwrap_or_else(|| vec![b'g'; bytes]) }
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

    fn find(&self, method: &str, path: &str) -> Arc<Page> {
        match method {
            "POST" if Reflection::is_asked_by(path) => self.description.clone(),
            "POST" => self.answer.clone(),
            _ => self.no_call.clone(),
        }
    }

    fn plain(&self, _status: u16) -> Arc<Page> {
        self.no_call.clone()
    }

    fn pace(&self) -> Option<Pace> {
        self.stream.as_ref().map(|(plan, event_bytes)| plan.pace(*event_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_asked_length_and_the_described_type() {
        let types = descriptors::compiled_text("calls.proto", CALLS).unwrap();
        let method = types.method("/loadline.Calls/Unary").unwrap();
        for bytes in (0..600).chain([16_382, 16_383, 16_384, 16_385, 16_386, 16_387, 2_097_155, 2_097_156, 2_097_157]) {
            let message = message(bytes);
            assert_eq!(message.len(), bytes);
            assert!(bytes == 1 || method.decode_answer(&message).is_ok(), "{bytes}");
        }
    }
}

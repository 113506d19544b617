//! State for filling values into the requests of a connection.

use std::sync::Arc;

use fastrand::Rng;

use crate::Trace;
use crate::http1::request::{Request, end_head};
use crate::memory::Memory;
use crate::template::Source;

/// State for filling values into the requests of one connection.
pub(super) struct TemplateState {
    source: Arc<Source>,
    rng: Rng,
    /// True if cookies are stored and sent.
    pub(super) cookies: bool,
    /// Bytes of the request that is being sent.
    pub(super) filled: Vec<u8>,
    /// Buffer for building the body of the request.
    body: Vec<u8>,
    /// Buffer for building the cookies that the request itself sets.
    cookie: Vec<u8>,
    pub(super) memory: Memory,
}

impl TemplateState {
    /// Creates the state for building the requests of one connection. If `cookies` is true, the connection stores the
    /// cookies in answers and sends them with later requests.
    pub(super) fn new(source: Arc<Source>, seed: u64, cookies: bool, is_secure: bool) -> Self {
        let (rng, memory) = (Rng::with_seed(seed), Memory::new(&source, cookies, is_secure));
        let [filled, body, cookie] = Default::default();
        Self { source, rng, cookies, filled, body, cookie, memory }
    }

    /// Builds the next request to send.
    pub(super) fn fill(&mut self, request: &Request, trace: Trace) {
        self.filled.clear();
        let Some(parts) = &request.filled else { return self.filled.extend_from_slice(&request.bytes) };
        let Self { source, rng, filled, body, cookie, memory, .. } = self;
        let turn = source.next_index(rng);
        body.clear();
        cookie.clear();
        source.fill(&parts.body, turn, &memory.captured, rng, body);
        source.fill(&parts.head, turn, &memory.captured, rng, filled);
        source.fill(&parts.cookie, turn, &memory.captured, rng, cookie);
        memory.cookies.begin(filled.split(|byte| *byte == b' ').nth(1).unwrap_or_default());
        let (end, name) = (filled.len(), b"Cookie: ");
        filled.extend_from_slice(name);
        if memory.cookies.write(cookie, filled) {
            filled.extend_from_slice(b"\r\n");
        } else {
            filled.truncate(end);
        }
        if trace.is_some() {
            filled.extend_from_slice(&trace.line());
        }
        end_head(filled, parts.says_length.then_some(body.len()));
        filled.extend_from_slice(body);
    }
}

//! Cache of each thread for the request head that this thread parsed last.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use super::head::Framing;

/// Maximum length of a cached head, bytes.
const CACHED_HEAD_BYTES: usize = 1024;

/// Facts from the head of a request; the request's target is not among them.
#[derive(Clone, Copy)]
pub(super) struct HeadFacts {
    pub(super) framing: Framing,
    pub(super) keep_alive: bool,
    pub(super) minor: u8,
    pub(super) expects_continue: bool,
}

/// The last head of a request that this thread parsed, unless the head is too long or the site refused the request. The
/// cache never changes an answer, because equal heads always have the same meaning.
struct LastHead {
    bytes: [u8; CACHED_HEAD_BYTES],
    len: usize,
    facts: HeadFacts,
    /// Number of the head, unique in the process, so that sessions in all threads can refer to the head.
    id: u64,
}

/// Facts that are assumed if no head could be parsed.
pub(super) const NO_FACTS: HeadFacts =
    HeadFacts { framing: Framing::Undeclared, keep_alive: false, minor: 1, expects_continue: false };

thread_local! {
    static LAST_HEAD: RefCell<LastHead> =
        const { RefCell::new(LastHead { bytes: [0; CACHED_HEAD_BYTES], len: 0, facts: NO_FACTS, id: 0 }) };
}

static IDS: AtomicU64 = AtomicU64::new(1);

/// Returns the facts and the length of the cached head `id`, if `input` begins with this head. Returns `None` if the
/// thread has parsed another head since.
#[inline]
pub(super) fn find(id: u64, input: &[u8]) -> Option<(HeadFacts, usize)> {
    LAST_HEAD.with_borrow(|last| {
        let same = last.id == id && input.starts_with(&last.bytes[..last.len]);
        same.then_some((last.facts, last.len))
    })
}

/// Stores a parsed head in the thread's cache, and returns its number. Returns `None` if the head is too long.
#[inline]
pub(super) fn remember(head: &[u8], facts: HeadFacts) -> Option<u64> {
    LAST_HEAD.with_borrow_mut(|last| {
        if head.len() > CACHED_HEAD_BYTES {
            return None;
        }
        if last.bytes[..last.len] != *head {
            last.bytes[..head.len()].copy_from_slice(head);
            (last.len, last.facts) = (head.len(), facts);
            last.id = IDS.fetch_add(1, Ordering::Relaxed);
        }
        Some(last.id)
    })
}

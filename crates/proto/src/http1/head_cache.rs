//! Cache of parsed response heads, which makes the client side fast.
//!
//! If a response's head equals the last head for the same request in this thread, the head is not parsed again. Most
//! servers change their heads only once a second (the Date field), so nearly all heads are found in the cache.

use std::cell::RefCell;

use super::head::{Framing, ResponseHead};

/// Maximum length of a cached head, bytes.
const CACHED_HEAD_BYTES: usize = 2048;

/// Number of cached heads. A mix needs several heads, because its responses have different lengths, and each head
/// contains the length.
const CACHED_HEADS: usize = 32;
/// Number of entries in the table from requests to their last heads. If a mix has more requests than the table has
/// entries, several requests share an entry.
const CACHED_ITEMS: usize = 256;

/// The response heads that this thread parsed last. One stored head may serve several requests. The cache never changes
/// a result, because equal bytes always have the same meaning. Requests with equal response heads share one stored
/// head, so that a mix of requests needs no more CPU cache than one request.
struct HeadCache {
    head_of_item: [u8; CACHED_ITEMS],
    heads: [CachedHead; CACHED_HEADS],
    next: u8,
}

struct CachedHead {
    len: usize,
    facts: ResponseHead,
    bytes: [u8; CACHED_HEAD_BYTES],
}

impl CachedHead {
    const NONE: Self = Self {
        len: 0,
        facts: ResponseHead { status: 0, framing: Framing::Undeclared, keep_alive: false },
        bytes: [0; CACHED_HEAD_BYTES],
    };

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

thread_local! {
    static HEAD_CACHE: RefCell<HeadCache> =
        const { RefCell::new(HeadCache { head_of_item: [0; CACHED_ITEMS], heads: [const { CachedHead::NONE }; CACHED_HEADS], next: 0 }) };
}

/// If `input` begins with the cached head for the request with index `item`, returns the parsed head and its length in
/// bytes.
pub(super) fn recall(item: u16, input: &[u8]) -> Option<(ResponseHead, usize)> {
    HEAD_CACHE.with_borrow(|all| {
        let last = &all.heads[usize::from(all.head_of_item[usize::from(item) % CACHED_ITEMS])];
        (last.len > 0 && input.starts_with(last.bytes())).then_some((last.facts, last.len))
    })
}

/// Stores a parsed head for later responses to the request with index `item`.
pub(super) fn remember(item: u16, head: &[u8], facts: ResponseHead) {
    HEAD_CACHE.with_borrow_mut(|all| {
        let known = all.heads.iter().position(|known| known.bytes() == head);
        let at = known.unwrap_or(usize::from(all.next) % CACHED_HEADS);
        all.head_of_item[usize::from(item) % CACHED_ITEMS] = at as u8;
        if known.is_none() && head.len() <= CACHED_HEAD_BYTES {
            let last = &mut all.heads[at];
            last.bytes[..head.len()].copy_from_slice(head);
            (last.len, last.facts) = (head.len(), facts);
            all.next = all.next.wrapping_add(1);
        }
    });
}

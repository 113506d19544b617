//! An answer of the HTTP/1 server.

use std::sync::Arc;

use super::last_head::HeadFacts;
use super::page::{Ending, Page, Ready};

/// An answer that is being sent.
pub(super) struct Reply {
    pub(super) page: Arc<Page>,
    pub(super) ready: Arc<Ready>,
    pub(super) ending: Ending,
    pub(super) head_only: bool,
}

impl Reply {
    pub(super) fn len(&self) -> u64 {
        let head = self.head_len();
        if self.head_only { head } else { head + self.page.body().len() as u64 }
    }

    pub(super) fn head_len(&self) -> u64 {
        self.ready.form(self.ending).head_len as u64
    }

    /// Returns bytes of the answer from position `at` on, as far as they are contiguous in memory.
    pub(super) fn bytes(&self, at: u64) -> &[u8] {
        let form = self.ready.form(self.ending);
        let end = if self.head_only { form.head_len } else { form.bytes.len() };
        if at < end as u64 { &form.bytes[at as usize..end] } else { &self.page.body()[at as usize - form.head_len..] }
    }

    /// Returns the answer, for later requests with the head `head_id`.
    pub(super) fn cached(&self, head_id: u64) -> CachedAnswer {
        CachedAnswer { head_id, page: self.page.clone(), ready: self.ready.clone(), head_only: self.head_only }
    }
}

/// The last request that was answered on this connection, and its answer.
pub(super) struct CachedAnswer {
    pub(super) head_id: u64,
    pub(super) page: Arc<Page>,
    pub(super) ready: Arc<Ready>,
    pub(super) head_only: bool,
}

/// Chooses the ending of an answer by the facts of the request.
pub(super) const fn ending(facts: &HeadFacts) -> Ending {
    match (facts.keep_alive, facts.minor) {
        (false, _) => Ending::Closes,
        (true, 0) => Ending::StaysOld,
        (true, _) => Ending::Stays,
    }
}

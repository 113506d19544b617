//! How long the head of a request may take at a socket that blocks.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::strategies::Limits;

/// The time that the head of a request takes, kept by timeouts of reads while one is incomplete.
#[derive(Default)]
pub(super) struct HeadTimer {
    since: Option<Instant>,
    /// The socket's timeout is the head's and not the limit's.
    set: bool,
}

impl HeadTimer {
    pub(super) fn runs(&self) -> bool {
        self.set
    }

    pub(super) fn heard(&mut self, completed: u32, awaits_head: bool) {
        match (awaits_head, self.since) {
            (false, _) => self.since = None,
            (true, Some(_)) if completed == 0 => {}
            (true, _) => self.since = Some(Instant::now()),
        }
    }

    /// Lets the next read last as long as it may; false: the time is over.
    pub(super) fn before_read(&mut self, head_ms: u32, limits: Option<Limits>, stream: &TcpStream) -> bool {
        let since = self.since.filter(|_| head_ms > 0);
        let most = Duration::from_millis(u64::from(head_ms));
        let left = since.map(|since| most.saturating_sub(since.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            return false;
        }
        if left.is_some() || self.set {
            let limit = limits.map(|l| Duration::from_millis(u64::from(l.silent_ms.max(1))));
            let _ = stream.set_read_timeout(left.into_iter().chain(limit).min());
            self.set = left.is_some() && limit.is_none_or(|limit| left < Some(limit));
        }
        true
    }
}

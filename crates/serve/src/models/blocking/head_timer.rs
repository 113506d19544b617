//! Limits the time for the head of a request on a blocking socket by means of the socket's read timeout.

use std::net::TcpStream;
use std::time::Duration;

use crate::connection::Activity;
use crate::strategies::Limits;

/// State of the read timeout of a socket. The timeout is the limit for an incomplete head or the limit for a silent
/// peer, whichever is shorter.
#[derive(Default)]
pub(super) struct HeadTimer {
    /// True if the timeout that is set now is the limit for a request head.
    for_head: bool,
}

impl HeadTimer {
    /// Returns true if the timeout of the last read was the limit for a request head.
    pub(super) fn is_for_head(&self) -> bool {
        self.for_head
    }

    /// Sets the timeout of the next read. Returns false if the head has used up its maximum time `head_ms` (0 for no
    /// limit).
    pub(super) fn before_read(
        &mut self,
        activity: &Activity,
        now_ms: u32,
        head_ms: u32,
        limits: Option<Limits>,
        stream: &TcpStream,
    ) -> bool {
        let left_ms = activity.head_left_ms(now_ms, head_ms).filter(|_| head_ms > 0);
        if left_ms == Some(0) {
            return false;
        }
        if left_ms.is_some() || self.for_head {
            let silent_ms = limits.map(|l| l.silent_ms.max(1));
            let shortest_ms = left_ms.into_iter().chain(silent_ms).min();
            let _ = stream.set_read_timeout(shortest_ms.map(|ms| Duration::from_millis(ms.into())));
            self.for_head = left_ms.is_some() && silent_ms.is_none_or(|silent_ms| left_ms < Some(silent_ms));
        }
        true
    }
}

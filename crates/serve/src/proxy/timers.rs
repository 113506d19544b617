//! Deadlines of a thread's pairs (clients with their upstream connections): for silent upstream servers, for slow
//! heads, and for clients that do not close. The code that pauses the accepting of connections is also in this file.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::Duration;

use event::Mask;

use super::end::End;
use super::pair::Phase;
use super::worker::{Deadlines, Worker};

/// Length of the pause in accepting connections after descriptors ran out, milliseconds.
const ACCEPT_PAUSE_MS: u64 = 100;

impl Worker {
    /// Stops accepting connections for a while, because descriptors ran out. Open connections are still served.
    pub(super) fn pause_accepting(&mut self) {
        self.io.cell.accept_paused.add(1);
        self.accept = false;
        self.accept_again_ms = Some(self.io.now_ms + ACCEPT_PAUSE_MS);
        let _ = self.io.queue.declare_fd(self.listener.as_raw_fd(), Mask::NONE);
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        if self.accept || !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        let first = |line: &VecDeque<(u64, u32, u32)>| line.front().map(|entry| entry.0);
        let earliest = |heap: &Deadlines| heap.peek().map(|Reverse(entry)| entry.0);
        let due = [
            self.accept_again_ms,
            earliest(&self.deadlines),
            first(&self.lingering),
            first(&self.suspects),
            earliest(&self.heads),
        ]
        .into_iter()
        .flatten()
        .min()?;
        // One millisecond is added, so that the wait does not end just before the earliest deadline.
        Some(Duration::from_millis(due.saturating_sub(self.io.now_ms) + 1))
    }

    pub(super) fn timers(&mut self) {
        let now = self.io.now_ms;
        if self.accept_again_ms.is_some_and(|due| due <= now) {
            self.accept_again_ms = None;
            self.accept = true;
            let _ = self.io.queue.declare_fd(self.listener.as_raw_fd(), Mask::READ);
        }
        while let Some(&Reverse((due, place, serial))) = self.deadlines.peek()
            && due <= now
        {
            self.deadlines.pop();
            self.deadline(place, serial);
        }
        while let Some(&Reverse((due, place, serial))) = self.heads.peek()
            && due <= now
        {
            self.heads.pop();
            self.head_deadline(place, serial);
        }
        while let Some(&(due, place, serial)) = self.suspects.front()
            && due <= now
        {
            self.suspects.pop_front();
            self.look_again(place, serial);
        }
        while let Some(&(due, place, serial)) = self.lingering.front()
            && due <= now
        {
            self.lingering.pop_front();
            if self.pairs.get(place).is_some_and(|pair| pair.serial == serial) {
                self.close(place);
            }
        }
    }

    /// Refuses a request whose head is late. Does nothing if the head has become complete after the deadline was set.
    /// The head of a later request on the connection has its own deadline.
    fn head_deadline(&mut self, place: u32, serial: u32) {
        let Some(pair) = self.pairs.get(place).filter(|pair| pair.serial == serial) else { return };
        pair.head_watched = false;
        let Some(since) = pair.head_since_ms.filter(|_| pair.phase == Phase::Idle) else { return };
        let due = since + self.io.settings.head_ms;
        if due > self.io.now_ms {
            pair.head_watched = true;
            return self.heads.push(Reverse((due, place, serial)));
        }
        self.io.cell.closed_slow.add(1);
        let next = pair.refuse(&mut self.io, 408);
        self.settle(place, next, None);
    }

    /// Refuses a request whose upstream server was silent for too long. If bytes were forwarded after the deadline was
    /// set, the deadline is postponed.
    fn deadline(&mut self, place: u32, serial: u32) {
        let (now, timeout) = (self.io.now_ms, self.io.settings.timeout_ms);
        let Some(pair) = self.pairs.get(place).filter(|pair| pair.serial == serial) else { return };
        pair.watched = false;
        if pair.phase != Phase::Exchange {
            return;
        }
        if pair.waits_for_client() {
            // If the exchange waits for a slow client, the upstream server gets more time.
            pair.progress_ms = now;
        }
        let due = pair.progress_ms + timeout;
        if due > now {
            pair.watched = true;
            self.deadlines.push(Reverse((due, place, serial)));
            return;
        }
        let before = pair.upstream.as_ref().map(End::fd);
        let next = pair.refuse(&mut self.io, 504);
        self.settle(place, next, before);
    }
}

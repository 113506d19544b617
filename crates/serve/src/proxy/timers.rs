//! The deadlines of a thread's pairs: upstreams that are silent, clients that do not end, accepting that rests.

use std::collections::VecDeque;
use std::os::fd::AsRawFd;
use std::time::Duration;

use event::Mask;

use super::end::End;
use super::pair::Phase;
use super::worker::Worker;

/// How long accepting rests when no descriptor is left.
const REST_MS: u64 = 100;

impl Worker {
    /// No descriptor is left: accepting rests, what is open goes on.
    pub(super) fn rest(&mut self) {
        self.io.cell.accept_paused.add(1);
        self.accept = false;
        self.rest_until_ms = Some(self.io.now_ms + REST_MS);
        let _ = self.io.queue.declare_fd(self.listener.as_raw_fd(), Mask::NONE);
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        if self.accept || !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        let first = |line: &VecDeque<(u64, u32, u32)>| line.front().map(|entry| entry.0);
        let due = [
            self.rest_until_ms,
            first(&self.deadlines),
            first(&self.lingering),
            first(&self.suspects),
            first(&self.heads),
        ]
        .into_iter()
        .flatten()
        .min()?;
        // One more, so that the wait does not end just before the deadline.
        Some(Duration::from_millis(due.saturating_sub(self.io.now_ms) + 1))
    }

    pub(super) fn timers(&mut self) {
        let now = self.io.now_ms;
        if self.rest_until_ms.is_some_and(|due| due <= now) {
            self.rest_until_ms = None;
            self.accept = true;
            let _ = self.io.queue.declare_fd(self.listener.as_raw_fd(), Mask::READ);
        }
        while let Some(&(due, place, serial)) = self.deadlines.front()
            && due <= now
        {
            self.deadlines.pop_front();
            self.deadline(place, serial);
        }
        while let Some(&(due, place, serial)) = self.heads.front()
            && due <= now
        {
            self.heads.pop_front();
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

    /// A head was incomplete a while ago: is it the same one that still is?
    fn head_deadline(&mut self, place: u32, serial: u32) {
        let Some(pair) = self.pairs.get(place).filter(|pair| pair.serial == serial) else { return };
        pair.head_watched = false;
        let Some(since) = pair.head_since_ms.filter(|_| pair.phase == Phase::Idle) else { return };
        let due = since + self.io.settings.head_ms;
        if due > self.io.now_ms {
            pair.head_watched = true;
            return self.heads.push_back((due, place, serial));
        }
        self.io.cell.closed_slow.add(1);
        let next = pair.refuse(&mut self.io, 408);
        self.settle(place, next, None);
    }

    /// A pair's entry has come to the front: is it really late, or has something moved since?
    fn deadline(&mut self, place: u32, serial: u32) {
        let (now, timeout) = (self.io.now_ms, self.io.settings.timeout_ms);
        let Some(pair) = self.pairs.get(place).filter(|pair| pair.serial == serial) else { return };
        pair.watched = false;
        if pair.phase != Phase::Exchange {
            return;
        }
        if pair.waits_for_client() {
            // Slow readers are no fault of the upstream.
            pair.progress_ms = now;
        }
        let due = pair.progress_ms + timeout;
        if due > now {
            pair.watched = true;
            self.deadlines.push_back((due, place, serial));
            return;
        }
        let before = pair.upstream.as_ref().map(End::fd);
        let next = pair.refuse(&mut self.io, 504);
        self.settle(place, next, before);
    }
}

//! Model of a sender with a queue of limited size. The sender sends the queued frames at a fixed rate. The model stores
//! the times and sizes of frames, not their contents.

use std::collections::VecDeque;

use super::usage::{Counts, wire_bytes};

/// The sender of a wire (or of one direction of a line), with its queue.
#[derive(Debug)]
pub(crate) struct Serialiser {
    bits_per_s: u64,
    limit_bytes: u64,
    free_ns: u64,
    /// Frames that are not completely sent, as (time at which their sending ends, size in bytes).
    waiting: VecDeque<(u64, u32)>,
    queued: u64,
    busy_ns: u64,
}

impl Serialiser {
    pub(crate) fn new(bits_per_s: u64, limit_bytes: u64) -> Self {
        Self { bits_per_s, limit_bytes, free_ns: 0, waiting: VecDeque::new(), queued: 0, busy_ns: 0 }
    }

    /// Changes the sending rate for frames that are appended from now on. Frames that are already queued keep the old
    /// rate.
    pub(crate) fn set_rate(&mut self, bits_per_s: u64) {
        self.bits_per_s = bits_per_s;
    }

    /// Returns the time that the sender needs for `bytes` bytes, nanoseconds.
    pub(crate) fn time_ns(&self, bytes: usize) -> u64 {
        (bytes as u64 * 8).saturating_mul(1_000_000_000) / self.bits_per_s
    }

    /// Appends a frame. Returns the time at which the last bit of the frame is sent, nanoseconds. Returns `None` if the
    /// queue is too full for the frame.
    pub(crate) fn push(&mut self, now_ns: u64, frame: usize, counts: &mut Counts) -> Option<u64> {
        self.forget(now_ns);
        let bytes = wire_bytes(frame);
        if self.queued + bytes as u64 > self.limit_bytes {
            counts.drops += 1;
            return None;
        }
        counts.deferrals += u64::from(self.free_ns > now_ns);
        let time = self.time_ns(bytes);
        self.free_ns = self.free_ns.max(now_ns) + time;
        self.busy_ns += time;
        self.waiting.push_back((self.free_ns, bytes as u32));
        self.queued += bytes as u64;
        counts.carry(bytes);
        Some(self.free_ns)
    }

    /// Returns the number of bytes of the frames that are not completely sent at `now_ns`.
    pub(crate) fn queued(&mut self, now_ns: u64) -> u64 {
        self.forget(now_ns);
        self.queued
    }

    /// Returns the total time for which the sender was busy until `now_ns`, nanoseconds. The returned time leaves out
    /// the time that the frames in the queue will still need.
    pub(crate) fn busy_ns(&self, now_ns: u64) -> u64 {
        self.busy_ns - self.free_ns.saturating_sub(now_ns)
    }

    fn forget(&mut self, now_ns: u64) {
        while let Some(&(out_ns, bytes)) = self.waiting.front() {
            if out_ns > now_ns {
                break;
            }
            self.queued -= u64::from(bytes);
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_ten_megabit_a_byte_takes_800_ns_with_framing_and_minimum_size() {
        let (mut s, mut c) = (Serialiser::new(10_000_000, 192_000), Counts::default());
        assert_eq!(s.push(0, 1514, &mut c), Some(1538 * 800));
        assert_eq!(s.push(0, 42, &mut c), Some((1538 + 84) * 800));
        assert_eq!((c.bytes, c.frames, c.deferrals), (1538 + 84, 2, 1));
        assert_eq!(s.queued(0), 1622);
        assert_eq!(s.queued(1538 * 800), 84);
        assert_eq!(s.busy_ns(1000), 1000);
        assert_eq!(s.busy_ns(10_000_000), 1622 * 800);
    }

    #[test]
    fn a_new_rate_applies_to_later_frames() {
        let (mut s, mut c) = (Serialiser::new(10_000_000, 192_000), Counts::default());
        assert_eq!(s.push(0, 1514, &mut c), Some(1538 * 800));
        s.set_rate(5_000_000);
        assert_eq!(s.push(0, 1514, &mut c), Some(1538 * (800 + 1600)));
    }

    #[test]
    fn a_full_queue_drops_and_counts_frames() {
        let (mut s, mut c) = (Serialiser::new(10_000_000, 2000), Counts::default());
        assert!(s.push(0, 1514, &mut c).is_some());
        assert_eq!(s.push(0, 1514, &mut c), None);
        assert_eq!((c.drops, c.frames), (1, 1));
        assert!(s.push(1538 * 800, 1514, &mut c).is_some());
    }
}

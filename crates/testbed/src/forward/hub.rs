//! One shared half-duplex wire: all stations take turns at a single serialiser, first come first served.
//!
//! What it is not: there are no collisions and no back-off, so the wire reaches its full rate under any load.

use super::queue::Serialiser;
use super::{Counts, Relay};

/// The shared wire.
#[derive(Debug)]
pub(crate) struct Hub {
    wire: Serialiser,
    counts: Counts,
}

impl Hub {
    /// A wire of this rate; at most `limit_bytes` wait for it.
    pub(crate) fn new(bits_per_s: u64, limit_bytes: u64) -> Self {
        Self { wire: Serialiser::new(bits_per_s, limit_bytes), counts: Counts::default() }
    }
}

impl Relay for Hub {
    fn offer(&mut self, now_ns: u64, _from: usize, _to: usize, bytes: usize) -> Option<u64> {
        self.wire.push(now_ns, bytes, &mut self.counts)
    }

    fn counts(&mut self, now_ns: u64) -> Counts {
        Counts { busy_ns: Some(self.wire.busy_ns(now_ns)), queue_bytes: self.wire.queued(now_ns), ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_compete_for_one_wire() {
        let mut hub = Hub::new(10_000_000, 192_000);
        let there = hub.offer(0, 0, 1, 1514).unwrap();
        let back = hub.offer(0, 1, 0, 1514).unwrap();
        assert_eq!(back, 2 * there);
        assert_eq!(hub.counts(back).busy_ns, Some(back));
    }
}

//! Model of one half-duplex wire that all stations (hosts) share. The stations take turns, and send one frame per turn.
//!
//! Each station has its own queue, as on an Ethernet. A station with one short frame therefore waits for at most one
//! frame from each other station. The model has no collisions and no back-off, so the wire reaches its full rate under
//! any load.

use std::collections::VecDeque;

use super::usage::wire_bytes;
use super::{Counts, Fate, Relay};

/// Wire that all stations share.
#[derive(Debug)]
pub(crate) struct Hub {
    bits_per_s: u64,
    limit_bytes: u64,
    stations: Vec<Station>,
    /// Index of the station that sent the latest frame.
    turn: usize,
    free_ns: u64,
    busy_ns: u64,
    counts: Counts,
}

/// Frames of one station that wait until the wire is free.
#[derive(Debug, Default)]
struct Station {
    waiting: VecDeque<Waiting>,
    bytes: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: usize,
    since_ns: u64,
    bytes: usize,
}

impl Hub {
    /// Creates a wire with a rate of `bits_per_s` for `stations` stations. `limit_bytes` is the maximum size of each
    /// station's queue.
    pub(crate) fn new(bits_per_s: u64, limit_bytes: u64, stations: usize) -> Self {
        let stations = (0..stations).map(|_| Station::default()).collect();
        Self { bits_per_s, limit_bytes, stations, turn: 0, free_ns: 0, busy_ns: 0, counts: Counts::default() }
    }

    fn heads(&self) -> impl Iterator<Item = u64> + '_ {
        self.stations.iter().filter_map(|s| s.waiting.front().map(|w| w.since_ns))
    }

    /// Returns the station that sends next at time `at_ns`. The search begins after the station that sent last, and
    /// ends at the first station with a waiting frame.
    fn next_station(&self, at_ns: u64) -> Option<usize> {
        let count = self.stations.len();
        let order = (1..=count).map(|step| (self.turn + step) % count);
        order.into_iter().find(|s| self.stations[*s].waiting.front().is_some_and(|w| w.since_ns <= at_ns))
    }
}

impl Relay for Hub {
    fn offer(&mut self, now_ns: u64, from: usize, frame: usize, ticket: usize) -> Fate {
        let busy = self.free_ns > now_ns || self.heads().next().is_some();
        let Some(station) = self.stations.get_mut(from) else { return Fate::Lost };
        let bytes = wire_bytes(frame);
        if station.bytes + bytes as u64 > self.limit_bytes {
            self.counts.drops += 1;
            return Fate::Lost;
        }
        station.bytes += bytes as u64;
        station.waiting.push_back(Waiting { ticket, since_ns: now_ns, bytes });
        self.counts.deferrals += u64::from(busy);
        Fate::Waits
    }

    fn wakes_ns(&self) -> Option<u64> {
        self.heads().min().map(|since| since.max(self.free_ns))
    }

    fn settle(&mut self, now_ns: u64) -> Option<(usize, u64)> {
        let start_ns = self.wakes_ns().filter(|start| *start <= now_ns)?;
        self.turn = self.next_station(start_ns)?;
        let station = &mut self.stations[self.turn];
        let Waiting { ticket, bytes, .. } = station.waiting.pop_front()?;
        station.bytes -= bytes as u64;
        let time_ns = bytes as u64 * 8_000_000_000 / self.bits_per_s;
        self.free_ns = start_ns + time_ns;
        self.busy_ns += time_ns;
        self.counts.carry(bytes);
        Some((ticket, self.free_ns))
    }

    fn set_rate(&mut self, bits_per_s: u64) {
        self.bits_per_s = bits_per_s;
    }

    fn counts(&mut self, now_ns: u64, _wire: usize) -> Counts {
        let busy_ns = self.busy_ns - self.free_ns.saturating_sub(now_ns).min(self.busy_ns);
        let queue_bytes = self.stations.iter().map(|s| s.bytes).sum();
        Counts { busy_ns: Some(busy_ns), queue_bytes, ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(hub: &mut Hub, now_ns: u64, from: usize, frame: usize, ticket: usize) {
        assert_eq!(hub.offer(now_ns, from, frame, ticket), Fate::Waits);
    }

    #[test]
    fn both_directions_share_one_wire_at_800_ns_per_byte() {
        let mut hub = Hub::new(10_000_000, 192_000, 2);
        waits(&mut hub, 0, 0, 1514, 7);
        waits(&mut hub, 0, 1, 42, 8);
        // Station 1 has the first turn, as if station 0 had sent the latest frame.
        assert_eq!(hub.settle(0), Some((8, 84 * 800)));
        assert_eq!(hub.settle(0), None, "the wire is in use");
        assert_eq!(hub.wakes_ns(), Some(84 * 800));
        let end = (84 + 1538) * 800;
        assert_eq!(hub.settle(200_000), Some((7, end)), "a late wake-up costs no time of the wire");
        assert_eq!(hub.counts(end, 0).busy_ns, Some(end));
        assert_eq!((hub.counts.frames, hub.counts.bytes, hub.counts.deferrals), (2, 1622, 1));
    }

    #[test]
    fn a_single_frame_is_sent_before_the_queue_of_another_station() {
        let mut hub = Hub::new(10_000_000, 192_000, 3);
        (0..4).for_each(|ticket| waits(&mut hub, 0, 0, 1514, ticket));
        assert_eq!(hub.settle(0).map(|s| s.0), Some(0));
        waits(&mut hub, 1000, 2, 60, 9);
        let order: Vec<usize> = std::iter::from_fn(|| hub.settle(u64::MAX)).map(|s| s.0).collect();
        assert_eq!(order, [9, 1, 2, 3]);
    }

    #[test]
    fn the_rate_at_its_turn_sets_the_time_of_a_frame() {
        let mut hub = Hub::new(10_000_000, 192_000, 2);
        waits(&mut hub, 0, 0, 1514, 0);
        waits(&mut hub, 0, 0, 1514, 1);
        assert_eq!(hub.settle(0), Some((0, 1538 * 800)));
        hub.set_rate(5_000_000);
        assert_eq!(hub.settle(u64::MAX), Some((1, 1538 * (800 + 1600))));
        assert_eq!(hub.counts(u64::MAX, 0).busy_ns, Some(1538 * (800 + 1600)));
    }

    #[test]
    fn a_full_queue_drops_and_counts_frames() {
        let mut hub = Hub::new(10_000_000, 2000, 2);
        waits(&mut hub, 0, 0, 1514, 0);
        assert_eq!(hub.offer(0, 0, 1514, 1), Fate::Lost);
        waits(&mut hub, 0, 1, 1514, 2);
        assert_eq!(hub.counts(0, 0).drops, 1);
        assert!(hub.settle(0).is_some());
        waits(&mut hub, 0, 1, 60, 3);
    }
}

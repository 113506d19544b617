//! Model of a long line (WAN) between every pair of hosts. Each direction has a rate, a delay, jitter, loss and
//! reordering.
//!
//! The line may lose a frame. A frame that is not lost waits until the line's rate allows it to be sent, and then
//! travels for `delay` ± `jitter` (uniformly distributed). Frames stay in order, except for the share `reorder` of all
//! frames. Reordered frames travel without delay, as in the kernel's network emulator (netem). All random decisions
//! depend only on the seed and on the sequence of frames.

use super::queue::Serialiser;
use super::usage::wire_bytes;
use super::{Counts, Fate, Relay};

/// Parameters of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LinePlan {
    /// One-way delay, nanoseconds.
    pub(crate) delay_ns: u64,
    /// Maximum deviation from the delay, nanoseconds.
    pub(crate) jitter_ns: u64,
    /// Share of the frames that are lost, 0 to 1.
    pub(crate) loss: f64,
    /// Share of the frames that travel without delay, and can therefore overtake other frames, 0 to 1.
    pub(crate) reorder: f64,
    /// Rate of each host's line per direction, bits per second; `None` for no limit.
    pub(crate) bits_per_s: Option<u64>,
    /// Maximum size of the queue of each line and direction, bytes.
    pub(crate) limit_bytes: u64,
    /// Seed of all random decisions.
    pub(crate) seed: u64,
}

/// The lines of all hosts.
#[derive(Debug)]
pub(crate) struct Line {
    plan: LinePlan,
    /// Outgoing direction of each host's line.
    ways: Vec<Way>,
}

#[derive(Debug)]
struct Way {
    rate: Option<Serialiser>,
    random: fastrand::Rng,
    last_ns: u64,
    counts: Counts,
}

impl Line {
    /// Creates the model of a long line between `hosts` hosts.
    pub(crate) fn new(plan: LinePlan, hosts: usize) -> Self {
        let way = |host: usize| Way {
            rate: plan.bits_per_s.map(|rate| Serialiser::new(rate, plan.limit_bytes)),
            random: fastrand::Rng::with_seed(plan.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(host as u64)),
            last_ns: 0,
            counts: Counts::default(),
        };
        Self { plan, ways: (0..hosts).map(way).collect() }
    }
}

impl Line {
    /// Returns the arrival time of a frame, nanoseconds. Returns `None` if the frame is lost, or if the queue is too
    /// full for it.
    fn travel(&mut self, now_ns: u64, from: usize, bytes: usize) -> Option<u64> {
        let (plan, way) = (&self.plan, self.ways.get_mut(from)?);
        let (lost, overtakes, swing) = (way.random.f64(), way.random.f64(), way.random.f64());
        if lost < plan.loss {
            way.counts.lost += 1;
            return None;
        }
        let out_ns = match &mut way.rate {
            Some(rate) => rate.push(now_ns, bytes, &mut way.counts)?,
            None => {
                way.counts.carry(wire_bytes(bytes));
                now_ns
            }
        };
        if overtakes < plan.reorder {
            return Some(out_ns);
        }
        let early = plan.delay_ns.saturating_sub(plan.jitter_ns);
        let spread = plan.delay_ns + plan.jitter_ns - early;
        way.last_ns = way.last_ns.max(out_ns + early + (swing * spread as f64) as u64);
        Some(way.last_ns)
    }
}

impl Relay for Line {
    fn offer(&mut self, now_ns: u64, from: usize, bytes: usize, _ticket: usize) -> Fate {
        self.travel(now_ns, from, bytes).map_or(Fate::Lost, Fate::Arrives)
    }

    fn set_rate(&mut self, bits_per_s: u64) {
        self.ways.iter_mut().filter_map(|way| way.rate.as_mut()).for_each(|rate| rate.set_rate(bits_per_s));
    }

    fn counts(&mut self, now_ns: u64, wire: usize) -> Counts {
        let Some(way) = self.ways.get_mut(wire) else { return Counts::default() };
        let (queue_bytes, busy_ns) = match &mut way.rate {
            Some(rate) => (rate.queued(now_ns), Some(rate.busy_ns(now_ns))),
            None => (0, None),
        };
        Counts { queue_bytes, busy_ns, ..way.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: LinePlan = LinePlan {
        delay_ns: 20_000_000,
        jitter_ns: 0,
        loss: 0.0,
        reorder: 0.0,
        bits_per_s: None,
        limit_bytes: 1_000_000,
        seed: 1,
    };

    #[test]
    fn frames_wait_for_the_rate_and_then_for_the_exact_delay() {
        let mut line = Line::new(LinePlan { bits_per_s: Some(10_000_000), ..PLAN }, 2);
        assert_eq!(line.travel(5, 0, 1514), Some(5 + 1538 * 800 + 20_000_000));
        assert_eq!(line.travel(5, 1, 1514), Some(5 + 1538 * 800 + 20_000_000), "each direction has its own rate");
        assert_eq!(line.travel(5, 0, 1514), Some(5 + 2 * 1538 * 800 + 20_000_000));
    }

    #[test]
    fn each_direction_has_its_own_counts_and_is_never_in_use_for_longer_than_the_time() {
        let mut line = Line::new(LinePlan { bits_per_s: Some(10_000_000), ..PLAN }, 2);
        // Both hosts send at 60 % of their rate for one second.
        for n in 0..487 {
            assert!((0..2).all(|host| line.travel(n * 2_050_667, host, 1514).is_some()));
        }
        for host in 0..2 {
            let counts = line.counts(1_000_000_000, host);
            assert_eq!((counts.frames, counts.bytes), (487, 487 * 1538));
            assert!(counts.busy_ns.is_some_and(|ns| (590_000_000..=610_000_000).contains(&ns)), "{counts:?}");
        }
    }

    #[test]
    fn loss_and_reordering_have_the_requested_shares_and_repeat_with_the_seed() {
        let plan = LinePlan { loss: 0.02, reorder: 0.05, jitter_ns: 4_000_000, ..PLAN };
        let run = || {
            let mut line = Line::new(plan, 2);
            (0..200_000_u64).map(|i| line.travel(i * 1000, 0, 100)).collect::<Vec<_>>()
        };
        let first = run();
        assert_eq!(first, run());
        let lost = first.iter().filter(|at| at.is_none()).count() as f64 / first.len() as f64;
        assert!((lost - 0.02).abs() < 0.02 * 0.06, "{lost}");
        let kept = first.iter().enumerate().filter_map(|(i, at)| at.map(|at| at - i as u64 * 1000));
        let overtook = kept.clone().filter(|travel| *travel == 0).count() as f64 / kept.count() as f64;
        assert!((overtook - 0.05).abs() < 0.05 * 0.05, "{overtook}");
    }

    #[test]
    fn jitter_is_centred_on_the_delay_and_stays_in_its_range() {
        let mut line = Line::new(LinePlan { jitter_ns: 5_000_000, ..PLAN }, 2);
        // The frames are sent so far apart in time that no frame has to wait for an earlier one.
        let travel: Vec<u64> =
            (0..20_000_u64).map(|i| line.travel(i * 1_000_000_000, 0, 100).unwrap() - i * 1_000_000_000).collect();
        assert!(travel.iter().all(|t| (15_000_000..=25_000_000).contains(t)));
        let mean = travel.iter().sum::<u64>() as f64 / travel.len() as f64;
        assert!((mean / 20e6 - 1.0).abs() < 0.01, "{mean}");
    }
}

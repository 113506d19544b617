//! What a shard writes down: counts always, histograms and the in-flight integral only in the measured window.

use run::{Hist, LoadPart, Phase};
use sys::clock;

use crate::counts::Counts;

/// What of a shard counts as offered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Offered {
    /// What the plan wanted, per second.
    Rate(f64),
    /// What an arrival process asked for.
    Due,
    /// Connects that were begun, and at least so many per second: what a generator falls short of is its own.
    Attempts { at_least: f64 },
    /// Requests that were sent.
    Sent,
}

/// The record of one shard.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) counts: Counts,
    pub(crate) measuring: bool,
    /// From the intended start (open loop) or the send to the last byte.
    pub(crate) response: Hist,
    /// From the send to the last byte; kept apart only where it differs from `response`.
    pub(crate) service: Option<Hist>,
    pub(crate) blocked: Hist,
    pub(crate) start_error: Hist,
    pub(crate) connect: Hist,
    origin_ns: u64,
    begin: Edge,
    end: Option<Edge>,
    in_flight_ns: u128,
    seen_ns: u64,
}

/// The state at an edge of the measured window.
#[derive(Clone, Copy, Debug, Default)]
struct Edge {
    at_ns: u64,
    counts: Counts,
    cpu_us: (f64, f64),
}

impl Record {
    /// An empty record of a load that starts at `origin_ns`. `open_loop` keeps service times apart.
    pub(crate) fn new(origin_ns: u64, open_loop: bool) -> Self {
        Self {
            counts: Counts::default(),
            measuring: false,
            response: Hist::new(),
            service: open_loop.then(Hist::new),
            blocked: Hist::new(),
            start_error: Hist::new(),
            connect: Hist::new(),
            origin_ns,
            begin: Edge { at_ns: origin_ns, ..Edge::default() },
            end: None,
            in_flight_ns: 0,
            seen_ns: origin_ns,
        }
    }

    /// Opens or closes the measured window when a phase begins.
    pub(crate) fn enter(&mut self, phase: Phase, now_ns: u64) {
        let edge = Edge { at_ns: now_ns, counts: self.counts, cpu_us: clock::thread_usage_us() };
        match phase {
            Phase::Measure if !self.measuring => {
                self.begin = edge;
                self.end = None;
                self.in_flight_ns = 0;
                [&mut self.response, &mut self.blocked, &mut self.start_error, &mut self.connect]
                    .into_iter()
                    .chain(self.service.as_mut())
                    .for_each(Hist::clear);
                self.measuring = true;
            }
            Phase::Drain | Phase::WarmUp if self.measuring => {
                self.end = Some(edge);
                self.measuring = false;
            }
            _ => {}
        }
    }

    /// Adds the time since the last call at `in_flight` requests.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64, in_flight: u64) {
        if self.measuring {
            let from = self.seen_ns.max(self.begin.at_ns);
            self.in_flight_ns += u128::from(now_ns.saturating_sub(from)) * u128::from(in_flight);
        }
        self.seen_ns = now_ns;
    }

    /// Writes down one completed request.
    #[inline]
    pub(crate) fn completed(&mut self, now_ns: u64, intended_ns: u64, sent_ns: u64) {
        if self.measuring {
            self.response.record_ns(now_ns.saturating_sub(intended_ns));
            if let Some(service) = &mut self.service {
                service.record_ns(now_ns.saturating_sub(sent_ns));
            }
        }
    }

    /// The part of the trial that this shard found.
    pub(crate) fn part(mut self, now_ns: u64, offered: Offered) -> LoadPart {
        let measured_any = self.measuring || self.end.is_some();
        self.enter(Phase::Drain, now_ns);
        let (begin, end) = (self.begin, self.end.unwrap_or(self.begin));
        let measured = if measured_any { end.counts.since(&begin.counts) } else { Counts::default() };
        let measured_s = end.at_ns.saturating_sub(begin.at_ns) as f64 / 1e9;
        let offered = match offered {
            Offered::Rate(per_s) => per_s * measured_s,
            Offered::Due => measured.due as f64,
            Offered::Attempts { at_least } => (measured.attempted as f64).max(at_least * measured_s),
            Offered::Sent => measured.sent as f64,
        };
        let service = self.service.unwrap_or_else(|| self.response.clone());
        let named = [
            ("response", self.response),
            ("service", service),
            ("blocked", self.blocked),
            ("start_error", self.start_error),
            ("connect", self.connect),
        ];
        LoadPart {
            total: self.counts.tally(),
            measured: measured.tally(),
            measured_s,
            measured_at_s: begin.at_ns.saturating_sub(self.origin_ns) as f64 / 1e9,
            offered,
            in_flight_s: self.in_flight_ns as f64 / 1e9,
            cpu_us: (end.cpu_us.0 - begin.cpu_us.0, end.cpu_us.1 - begin.cpu_us.1),
            histograms: named.into_iter().map(|(name, hist)| (name.to_owned(), hist)).collect(),
            notes: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_measured_window_is_kept_apart() {
        let mut r = Record::new(1_000, false);
        r.counts.sent = 5;
        r.completed(2_000, 1_500, 1_500);
        r.enter(Phase::Measure, 1_001_000);
        r.counts.sent = 12;
        r.completed(1_002_000, 1_001_000, 1_001_000);
        r.advance(1_501_000, 4);
        r.enter(Phase::Drain, 2_001_000);
        r.counts.sent = 13;
        r.completed(9_000_000, 1, 1);
        let part = r.part(3_000_000, Offered::Sent);
        assert_eq!((part.total.sent, part.measured.sent), (13, 7));
        assert_eq!((part.measured_s, part.measured_at_s, part.offered), (0.001, 0.001, 7.0));
        assert_eq!(part.histograms["response"].len(), 1);
        assert_eq!(part.histograms["service"].len(), 1);
        assert!((part.in_flight_s - 0.002).abs() < 1e-12);
    }

    #[test]
    fn nothing_measured_is_nothing_and_not_everything() {
        let mut r = Record::new(0, true);
        r.counts.sent = 5;
        let part = r.part(1_000_000_000, Offered::Rate(10.0));
        assert_eq!((part.measured.sent, part.measured_s, part.offered), (0, 0.0, 0.0));
    }
}

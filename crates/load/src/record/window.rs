//! Start and end of the measured window.

use run::{Hist, Phase, UnansweredTimes};
use sys::clock;

use super::{Edge, Record};

impl Record {
    /// Returns the time at which a phase really started. The phase was ordered to start at `at_ns`, and this thread
    /// noticed the order at `now_ns`. The phase started at `at_ns`, or at the time of this thread's last count if this
    /// is later.
    pub(crate) fn edge_ns(&self, at_ns: u64, now_ns: u64) -> u64 {
        at_ns.max(self.seen_ns).min(now_ns)
    }

    /// Begins the measured window when the phase `Measure` starts, and ends it when another phase starts.
    pub(crate) fn enter(&mut self, phase: Phase, at_ns: u64) {
        let edge = Edge { at_ns, counts: self.counts, cpu_us: clock::thread_usage_us() };
        match phase {
            Phase::Measure if !self.measuring => {
                self.begin = edge;
                self.end = None;
                self.in_flight_ns = 0;
                [&mut self.response, &mut self.blocked, &mut self.start_error, &mut self.connect]
                    .into_iter()
                    .chain([&mut self.unanswered, &mut self.refused, &mut self.under_way, &mut self.carried_in])
                    .chain([&mut self.on_time])
                    .chain(self.service.as_mut())
                    .chain(self.handshake.as_mut())
                    .chain(self.handshake_resumed.as_mut())
                    .for_each(Hist::clear);
                self.pieces.clear();
                self.begun = None;
                self.failed_pieces = None;
                self.early_times = None;
                self.classes.open();
                self.streams.iter_mut().for_each(|streams| streams.open());
                self.addresses.open();
                self.slow_traces.clear();
                self.service_unanswered = UnansweredTimes::default();
                self.tenths.clear();
                self.measuring = true;
            }
            Phase::Drain | Phase::WarmUp if self.measuring => {
                self.end = Some(edge);
                self.classes.close();
                self.streams.iter_mut().for_each(|streams| streams.close(at_ns));
                self.addresses.close();
                self.measuring = false;
            }
            _ => {}
        }
    }

    /// Adds the time since the last call to the integral of requests in flight over time. Since the last call,
    /// `in_flight` requests were in flight.
    #[inline]
    pub(crate) fn advance(&mut self, now_ns: u64, in_flight: u64) {
        if self.measuring {
            let from = self.seen_ns.max(self.begin.at_ns);
            self.in_flight_ns += u128::from(now_ns.saturating_sub(from)) * u128::from(in_flight);
        }
        self.seen_ns = now_ns;
    }
}

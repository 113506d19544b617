//! Makes one shard's part of the result of a trial (one load).

use std::collections::BTreeMap;
use std::mem::{replace, take};

use run::{Hist, LoadPart, Phase};

use super::Record;
use crate::addresses::Addresses;
use crate::classes::Classes;
use crate::counts::Counts;

/// Ways to compute the number of offered requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Offered {
    /// The planned rate per second, times the length of the measured window.
    Rate(f64),
    /// The number of requests that were due.
    Due,
    /// The number of started connects, or `at_least` per second if that is more. If fewer connects than `at_least` per
    /// second were started, the generator itself was too slow.
    Attempts { at_least: f64 },
    /// The number of requests that were sent.
    Sent,
}

impl Offered {
    /// Returns the number of requests that were offered in the measured window.
    fn count(self, measured: &Counts, measured_s: f64) -> f64 {
        match self {
            Self::Rate(per_s) => per_s * measured_s,
            Self::Due => measured.due as f64,
            Self::Attempts { at_least } => (measured.attempted as f64).max(at_least * measured_s),
            Self::Sent => measured.sent as f64,
        }
    }
}

impl Record {
    /// Returns the results of this shard (generator thread), as a part of the load's result.
    pub(crate) fn part(mut self, now_ns: u64, offered: Offered) -> LoadPart {
        let measured_any = self.measuring || self.end.is_some();
        self.enter(Phase::Drain, now_ns);
        let (begin, end) = (self.begin, self.end.unwrap_or(self.begin));
        let (is_sure, is_busy_sure) = (self.races_are_sure(), self.busy_races_are_sure());
        let told = |counts: Counts| {
            let counts = if is_sure { counts } else { counts.early_races_are_failures() };
            if is_busy_sure { counts } else { counts.busy_races_are_failures() }
        };
        if let Some(times) = self.early_times.take() {
            let failed = [(&times.idle, is_sure), (&times.busy, is_busy_sure)].into_iter().filter(|(_, sure)| !sure);
            failed.for_each(|(times, _)| self.unanswered.merge(times));
        }
        let measured = if measured_any { end.counts.since(&begin.counts) } else { Counts::default() };
        let measured_s = end.at_ns.saturating_sub(begin.at_ns) as f64 / 1e9;
        let (streams, of_streams) = self.streams.take().map(|streams| streams.into_part()).unzip();
        let part = LoadPart {
            total: told(self.counts).tally(),
            measured: told(measured).tally(),
            measured_s,
            measured_at_s: begin.at_ns.saturating_sub(self.origin_ns) as f64 / 1e9,
            offered: offered.count(&measured, measured_s),
            in_flight_s: self.in_flight_ns as f64 / 1e9,
            cpu_us: (end.cpu_us.0 - begin.cpu_us.0, end.cpu_us.1 - begin.cpu_us.1),
            classes: replace(&mut self.classes, Classes::new(0)).parts(),
            addresses: replace(&mut self.addresses, Addresses::new(0)).parts(),
            slowest_traces: take(&mut self.slow_traces).into_vec(),
            service_unanswered: take(&mut self.service_unanswered),
            streams,
            first_failures: take(&mut self.first_failures).into_vec(),
            stream_limit: self.stream_limit,
            quic: self.quic,
            closes_idle_after_s: self.shortest_idle_ns.map(|ns| ns as f64 / 1e9),
            ended_together: self.server_ends.most(),
            slot_times: self.slot_times.hists(),
            tenths: self.tenths.tenths(&self.tenths.limits_us()),
            held_up: self.held_up.take().map(|held| held.windows(self.origin_ns)).unwrap_or_default(),
            ..LoadPart::default()
        };
        LoadPart { histograms: self.into_histograms(of_streams.into_iter().flatten()), ..part }
    }

    /// Returns the histograms with their names.
    fn into_histograms(mut self, of_streams: impl Iterator<Item = (&'static str, Hist)>) -> BTreeMap<String, Hist> {
        // The ages of requests at the start of the measured window (`carried_in`) are useful only together with the
        // ages at the window's end (`under_way`). If no ages were recorded at the end of the measured window, the
        // result has neither `under_way` nor `carried_in`.
        let has_ages = !self.under_way.is_empty();
        self.take_back_hung();
        let service = self.service.unwrap_or_else(|| self.response.clone());
        let ages = [("under_way", self.under_way), ("carried_in", self.carried_in)].into_iter().filter(|_| has_ages);
        let begun = self.begun.filter(|_| has_ages).map(|begun| *begun).into_iter();
        let begun = begun.flat_map(|ages| [("under_way_begun", ages.under_way), ("carried_in_begun", ages.carried_in)]);
        let of_pieces = self.pieces.into_hists(&self.response, &service);
        let schedule_lag = schedule_lag(self.on_time, &mut self.blocked);
        let always = [
            ("response", self.response),
            ("service", service),
            ("blocked", self.blocked),
            ("start_error", self.start_error),
            ("connect", self.connect),
        ];
        let always =
            always.into_iter().chain(of_pieces).chain(self.handshake.map(|hist| ("handshake", hist))).chain(ages);
        let rare = [("unanswered", self.unanswered), ("refused", self.refused), ("schedule_lag", schedule_lag)];
        let rare = rare.into_iter().chain(begun).chain(of_streams);
        let rare = rare.chain(self.failed_pieces.into_iter().flat_map(|pieces| pieces.into_hists()));
        let rare = rare.chain(self.handshake_resumed.map(|hist| ("handshake_resumed", hist)));
        by_name(always, rare)
    }
}

/// Returns the delays between the due time and the send of all requests. Each request was recorded in one of the two
/// histograms. Also completes `blocked`: a request that found a connection at once waited 0 s for a connection.
fn schedule_lag(mut on_time: Hist, blocked: &mut Hist) -> Hist {
    let requests = on_time.len();
    on_time.merge(blocked);
    if requests > 0 {
        blocked.record_many_ns(0, requests);
    }
    on_time
}

/// Returns the histograms with their names. The result omits the empty histograms in `rare`.
fn by_name(
    always: impl Iterator<Item = (&'static str, Hist)>,
    rare: impl Iterator<Item = (&'static str, Hist)>,
) -> BTreeMap<String, Hist> {
    always.chain(rare.filter(|(_, hist)| !hist.is_empty())).map(|(name, hist)| (name.to_owned(), hist)).collect()
}

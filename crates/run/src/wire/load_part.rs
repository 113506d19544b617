//! Results that a load agent reports at its end.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{
    AddressPart, ClassPart, ConnectionOpening, EndsTogether, FirstFailure, Hist, MAX_ADDRESSES, MAX_CLASSES,
    MAX_FIRST_FAILURES, MAX_TRACES, QuicPaths, SlotHist, StreamCounts, Tally, Tenths, TracedRequest, UnansweredTimes,
    Window, skip_empty,
};

/// Maximum number of histograms per agent. An agent of this version sends fewer histograms.
const MAX_HISTOGRAMS: usize = 24;
/// Maximum number of an experiment's slots for which response times are stored.
const MAX_SLOTS: usize = 1024;
/// Maximum number of classes per agent: the classes of a plan, and the class `other`.
const MAX_CLASS_PARTS: usize = MAX_CLASSES + 1;

/// Results of one load agent. loadline merges the results of all load agents of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadPart {
    /// Counts from the first connect to the end of the drain.
    pub total: Tally,
    /// Counts of the measured window.
    pub measured: Tally,
    /// Length of the measured window, seconds.
    pub measured_s: f64,
    /// Start of the measured window, seconds since the load began.
    pub measured_at_s: f64,
    /// Delay of the window's start, seconds. The delay is positive if the command to start the window came too late.
    #[serde(skip_serializing_if = "skip_empty::is_zero")]
    pub late_s: f64,
    /// Number of requests planned for the measured window: the planned rate times the window's length, possibly with a
    /// fraction.
    pub offered: f64,
    /// Integral of the number of requests in flight over the measured window, request-seconds. The mean concurrency is
    /// `in_flight_s` divided by the length of the window.
    pub in_flight_s: f64,
    /// CPU time of the generator's threads in the measured window, microseconds: first user time, then system time.
    pub cpu_us: (f64, f64),
    /// Completed requests per second in each slot of the plan's `slots`; NaN if the generator did not run during a
    /// slot.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub slot_rates: Vec<f64>,
    /// Response times of the open-loop requests due in each slot of the plan's `slots`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_SLOTS, _, _>")]
    pub slot_times: Vec<SlotHist>,
    /// Information about the opening of the connections; absent unless the load opened them one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<ConnectionOpening>,
    /// Server's limit on concurrent requests per connection, the smallest of all connections (HTTP/2); absent if the
    /// server gave none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
    /// Figures of the paths of QUIC connections; absent for other protocols.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicPaths>,
    /// Shortest idle time after which the server closed a connection, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closes_idle_after_s: Option<f64>,
    /// Connections that the server closed at one moment. At no other moment did the server close more connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_together: Option<EndsTogether>,
    /// Completed, failed and late requests in each tenth of a second of the measured window, if the plan has limits.
    #[serde(skip_serializing_if = "Tenths::is_empty")]
    pub tenths: Tenths,
    /// Pauses of the agent's host, seconds since the load began. A thread that only sleeps measures the pauses of the
    /// host by its late wake-ups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Window>,
    /// Periods in which a generator thread woke up late or stalled during its work, seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<Window>,
    /// Histograms of the measured window: `response`, `first_byte`, `wait`, `transfer`, `service`, `blocked`,
    /// `start_error`, `connect`. If connections have a handshake, there is also `handshake`, and `handshake_resumed`
    /// for resumed sessions. `unanswered` holds the time until the failure of each failed request. `refused` holds the
    /// time until each answer with an unexpected status. `under_way` holds the ages of requests without a response at
    /// the end of the window. `carried_in` holds the ages of requests in flight at the start of the window.
    /// `under_way_begun` and `carried_in_begun` hold the ages of those requests in `under_way` and `carried_in` whose
    /// first byte had arrived. `unanswered_begun` and `refused_begun` hold the times of those requests in `unanswered`
    /// and `refused` whose first byte came earlier, and `first_byte_no_good_answer` their times to the first byte. If
    /// the answers are streams of events, there are also `first_event` and `gap`, and `without_events` holds the times of
    /// requests that ended without any event.
    #[serde(deserialize_with = "crate::bounded::map::<MAX_HISTOGRAMS, _, _>")]
    pub histograms: BTreeMap<String, Hist>,
    /// Service times, counted from the send, of requests without an answer in the measured window. The field is empty
    /// if the generator sends every request when it is due.
    #[serde(skip_serializing_if = "UnansweredTimes::is_empty")]
    pub service_unanswered: UnansweredTimes,
    /// Results of each class in a mix of requests; empty if all requests belong to one class.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_CLASS_PARTS, _, _>")]
    pub classes: Vec<ClassPart>,
    /// Counts of the streams of events in the measured window; absent if the answers are no streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamCounts>,
    /// Slowest requests with a trace context in the measured window, the slowest first.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_TRACES, _, _>")]
    pub slowest_traces: Vec<TracedRequest>,
    /// Results for each address of the server; empty if the server has only one address.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MAX_ADDRESSES, _, _>")]
    pub addresses: Vec<AddressPart>,
    /// First failure of each kind with its reason.
    #[serde(
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::bounded::list::<MAX_FIRST_FAILURES, _, _>"
    )]
    pub first_failures: Vec<FirstFailure>,
    /// Notes about this agent's part of the load, in sentences.
    pub notes: Vec<String>,
}

impl LoadPart {
    /// Adds the results of another agent or thread. Of two values for the measured window, such as its length, keeps
    /// the larger. Counts and histograms are added.
    pub fn merge(&mut self, other: Self) {
        self.total.merge(&other.total);
        self.measured.merge(&other.measured);
        self.measured_s = self.measured_s.max(other.measured_s);
        self.measured_at_s = self.measured_at_s.max(other.measured_at_s);
        self.late_s = self.late_s.max(other.late_s);
        self.offered += other.offered;
        self.in_flight_s += other.in_flight_s;
        self.cpu_us = (self.cpu_us.0 + other.cpu_us.0, self.cpu_us.1 + other.cpu_us.1);
        merge_lists(&mut self.slot_rates, other.slot_rates, |own, rate| *own += rate);
        merge_lists(&mut self.slot_times, other.slot_times, |own, times| own.merge(&times));
        merge_optional(&mut self.opened, other.opened, ConnectionOpening::merge);
        self.stream_limit = self.stream_limit.into_iter().chain(other.stream_limit).min();
        merge_optional(&mut self.quic, other.quic, QuicPaths::merge);
        self.closes_idle_after_s =
            self.closes_idle_after_s.into_iter().chain(other.closes_idle_after_s).reduce(f64::min);
        match (&mut self.ended_together, other.ended_together) {
            (Some(own), Some(other)) => own.merge(other),
            (own, other) => *own = own.or(other),
        }
        self.tenths.merge(&other.tenths);
        self.pauses.extend(other.pauses);
        self.held_up.extend(other.held_up);
        for (name, hist) in other.histograms {
            match self.histograms.entry(name) {
                Entry::Vacant(place) => drop(place.insert(hist)),
                Entry::Occupied(mut place) => place.get_mut().absorb(hist),
            }
        }
        self.service_unanswered.merge(&other.service_unanswered);
        merge_lists(&mut self.classes, other.classes, ClassPart::merge);
        merge_optional(&mut self.streams, other.streams, StreamCounts::merge);
        TracedRequest::merge(&mut self.slowest_traces, other.slowest_traces);
        merge_lists(&mut self.addresses, other.addresses, AddressPart::merge);
        FirstFailure::merge(&mut self.first_failures, other.first_failures);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// Merges the elements with the same index. Moves the other elements where possible, instead of copying them, because
/// their histograms are large.
fn merge_lists<T>(own: &mut Vec<T>, other: Vec<T>, merge: impl Fn(&mut T, T)) {
    let mut other = other.into_iter();
    own.iter_mut().zip(other.by_ref()).for_each(|(a, b)| merge(a, b));
    own.extend(other);
}

fn merge_optional<T: Default>(own: &mut Option<T>, other: Option<T>, merge: impl FnOnce(&mut T, T)) {
    if let Some(other) = other {
        merge(own.get_or_insert_default(), other);
    }
}

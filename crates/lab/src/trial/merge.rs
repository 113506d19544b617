//! Computes the result of a load test from the merged results of the agents: sums, rates of the measurement, and
//! summaries. All functions of this file are pure.

use std::collections::BTreeMap;

use run::{AnswerTime, ErrorKind, Hist, Intensity, Key, LoadPart, Measured, Rates, Summary, Trial, TrialKind, Window};

/// Maximum time from the first to the last byte of an answer that counts as arrived in one piece, microseconds. The
/// value is the shortest time that a histogram stores.
const ONE_PIECE_US: f64 = 0.001;

/// Label, kind and settings of a trial, which are set before the trial is conducted.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Label for readers, such as `32 connections`.
    pub label: String,
    /// Kind of the load test.
    pub kind: TrialKind,
    /// Settings of the trial that are not in the plan. The loads of the test are added to the settings in `key`.
    pub key: Key,
    /// Maximum response time of completed requests that count as goodput, microseconds; `None` for no limit.
    pub within_us: Option<f64>,
}

/// Returns the service times, with a lower bound for each request that was not answered.
fn service(part: &LoadPart) -> Summary {
    let lost = part.histograms.get("unanswered").map_or(0, Hist::len);
    let hist = part.histograms.get("service");
    hist.map_or_else(Summary::default, |hist| run::censored_summary(hist, &part.service_unanswered, lost))
}

/// Returns the waits for the first byte if every good answer came in one piece. The service time of a failed request is
/// a lower bound of its wait only if its first byte never came. `same` is true if service times and response times are
/// the same.
fn waits_of_whole_answers(part: &LoadPart, (first_byte, service): (Summary, Summary), same: bool) -> Summary {
    match part.histograms.contains_key("first_byte_no_good_answer") {
        true if same => first_byte,
        true => part.histograms.get("service").map_or_else(Summary::default, Summary::of),
        false => service,
    }
}

/// Returns the result of a load test with the intensities `loads`, computed from the merged results of all agents.
pub fn trial(point: &Point, loads: &[&Intensity], mut part: LoadPart, window: Window) -> Trial {
    let intensity = Intensity::sum(loads.iter().copied()).unwrap_or_default();
    let (rates, streams) = (rates(point, &intensity, &part), part.streams.unwrap_or_default());
    let times = times(&mut part);
    Trial {
        label: point.label.clone(),
        kind: point.kind,
        key: Key { loads: loads.iter().copied().cloned().collect(), ..point.key.clone() },
        rates,
        rate_ratio: rate_ratio(&intensity, rates),
        intensity,
        events: streams.events,
        streams_open: if part.streams.is_some() { rates.concurrency } else { 0.0 },
        streams_stalled: streams.stalled,
        streams_broken: streams.broken,
        stream_limit: part.stream_limit,
        quic: part.quic,
        closes_idle_after_s: part.closes_idle_after_s,
        ended_together: part.ended_together.filter(run::EndsTogether::is_restart),
        first_failures: part.first_failures,
        classes: part.classes,
        addresses: part.addresses,
        slowest_traces: part.slowest_traces,
        tally: part.total,
        measured: Measured {
            window,
            length_s: part.measured_s,
            tally: part.measured,
            slot_rates: part.slot_rates.into_iter().map(run::six_digits).collect(),
            slot_times: part.slot_times,
            tenths: part.tenths,
            pauses: part.pauses,
            held_up: part.held_up,
            opened: part.opened,
            ..Measured::default()
        },
        histograms: part.histograms,
        notes: part.notes,
        ..times
    }
}

/// Returns a load test that contains only the summaries of its times. Also removes the histograms that are not stored.
fn times(part: &mut LoadPart) -> Trial {
    let [knows_first_byte, knows_wait] = take_repeated(&mut part.histograms);
    // Only the summary of the schedule lag is stored. The histogram is dropped.
    let schedule_lag_us = part.histograms.remove("schedule_lag").as_ref().map_or_else(Summary::default, Summary::of);
    let summary = |name: &str| part.histograms.get(name).map_or_else(Summary::default, Summary::of);
    let latency_us = run::response_summary(&part.histograms, 0);
    let first_byte_us = match knows_first_byte {
        true => run::answer_summary(&part.histograms, AnswerTime::FirstByte, 0),
        false => Summary::default(),
    };
    let same = part.histograms.get("service") == part.histograms.get("response");
    // Without intended start times, a request starts at the moment it is sent, so service times and response times are
    // the same.
    let service_us = if same { latency_us } else { service(part) };
    let failed_connects = part.measured.errors.connects();
    let connect_of = |hist| run::summary_with_unanswered(hist, failed_connects);
    Trial {
        latency_us,
        first_byte_us,
        first_event_us: run::answer_summary(&part.histograms, AnswerTime::FirstEvent, 0),
        gap_us: run::answer_summary(&part.histograms, AnswerTime::Gap, 0),
        wait_us: match knows_wait && !part.histograms.contains_key("wait") {
            true => waits_of_whole_answers(part, (first_byte_us, service_us), same),
            false => summary("wait"),
        },
        transfer_us: without_shortest(summary("transfer")),
        service_us,
        blocked_us: summary("blocked"),
        start_error_us: summary("start_error"),
        schedule_lag_us,
        connect_us: part.histograms.get("connect").map_or_else(Summary::default, connect_of),
        handshake_us: summary("handshake"),
        ..Trial::default()
    }
}

/// Removes a histogram that equals another one, because every answer arrived in one piece. Returns two flags: true if
/// the agents sent times to the first byte, and true if they sent waits.
fn take_repeated(histograms: &mut BTreeMap<String, Hist>) -> [bool; 2] {
    let first_byte = AnswerTime::FirstByte.histogram();
    let known = [first_byte, "wait"].map(|name| histograms.contains_key(name));
    if histograms.get(first_byte) == histograms.get(AnswerTime::LastByte.histogram()) {
        histograms.remove(first_byte);
    }
    if histograms.get("transfer").is_none_or(|transfer| transfer.quantile_us(1.0) <= ONE_PIECE_US) {
        histograms.remove("wait");
        histograms.remove("transfer");
    }
    known
}

/// Returns the summary with 0 in place of the shortest time that a histogram stores. The shortest time stands for
/// answers that arrived in one piece.
fn without_shortest(mut times: Summary) -> Summary {
    let Summary { min, p50, p90, p99, p99_9, max, .. } = &mut times;
    [min, p50, p90, p99, p99_9, max].into_iter().filter(|us| **us <= ONE_PIECE_US).for_each(|us| *us = 0.0);
    times
}

fn rates(point: &Point, intensity: &Intensity, part: &LoadPart) -> Rates {
    let per_s = |n: f64| if part.measured_s > 0.0 { n / part.measured_s } else { 0.0 };
    let measured = &part.measured;
    let s_clients = matches!(intensity, Intensity::SClients { .. });
    // Without a free port or descriptor, a connection attempt was never sent, so it does not count as sent.
    let never_left = [ErrorKind::ClientPorts, ErrorKind::ClientFds].map(|kind| measured.errors.0.get(&kind).copied());
    let left = measured.attempted.saturating_sub(never_left.into_iter().flatten().sum());
    let sent = if s_clients { left } else { measured.sent };
    let good = measured.good() as f64;
    let in_time = match (point.within_us, part.histograms.get("response")) {
        (Some(us), Some(hist)) => hist.share_within_ns((us * 1e3) as u64),
        _ => 1.0,
    };
    Rates {
        offered_rate: per_s(part.offered),
        sent_rate: per_s(sent as f64),
        completed_rate: per_s(measured.completed as f64),
        goodput: per_s(good * in_time),
        concurrency: per_s(part.in_flight_s),
    }
}

/// Returns the share of the offered rate that was sent; `None` for a load without a rate.
fn rate_ratio(intensity: &Intensity, rates: Rates) -> Option<f64> {
    let has_rate = matches!(intensity, Intensity::Open { .. } | Intensity::SClients { pace: Some(_), .. });
    Some(rates.sent_rate / rates.offered_rate).filter(|ratio| has_rate && ratio.is_finite())
}

#[cfg(test)]
mod tests;

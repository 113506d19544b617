//! From the parts of the agents to a trial: sums, rates of the window, summaries. Pure.

use run::{ErrorKind, Hist, Intensity, LoadPart, Measured, Rates, Summary, Trial, TrialKind, Window};

/// What a trial is for, before it is made.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Words for people: `32 connections`.
    pub label: String,
    /// Why it is tried.
    pub kind: TrialKind,
    /// Its place on the axes of an experiment.
    pub axes: std::collections::BTreeMap<String, f64>,
    /// Response time within which a completion counts as goodput, microseconds.
    pub within_us: Option<f64>,
}

/// Puts the merged part of all agents into a trial.
pub(crate) fn trial(point: &Point, intensity: &Intensity, part: LoadPart, window: Window) -> Trial {
    let summary = |name: &str| part.histograms.get(name).map_or_else(Summary::default, Hist::summary);
    Trial {
        label: point.label.clone(),
        kind: point.kind,
        axes: point.axes.clone(),
        intensity: intensity.clone(),
        rates: rates(point, intensity, &part),
        latency_us: summary("response"),
        service_us: summary("service"),
        blocked_us: summary("blocked"),
        start_error_us: summary("start_error"),
        connect_us: summary("connect"),
        tally: part.total,
        measured: Measured { window, length_s: part.measured_s, tally: part.measured, series_completed: Vec::new() },
        histograms: part.histograms,
        notes: part.notes,
        ..Trial::default()
    }
}

/// Length of the window of several agents. Each begins it when it is told, the last a little later, and counts its own; the
/// sum of the counts over the mean length is the sum of the rates, where the longest would make all of them low.
pub(crate) fn mean_s<'a>(parts: impl Iterator<Item = &'a LoadPart>) -> f64 {
    let (sum, n) = parts.fold((0.0, 0.0), |(sum, n), part| (sum + part.measured_s, n + 1.0));
    if n > 0.0 { sum / n } else { 0.0 }
}

fn rates(point: &Point, intensity: &Intensity, part: &LoadPart) -> Rates {
    let per_s = |n: f64| if part.measured_s > 0.0 { n / part.measured_s } else { 0.0 };
    let measured = &part.measured;
    let s_clients = matches!(intensity, Intensity::SClients { .. });
    // A connect that found no port or descriptor never left the machine.
    let never_left = [ErrorKind::ClientPorts, ErrorKind::ClientFds].map(|kind| measured.errors.0.get(&kind).copied());
    let left = measured.attempted.saturating_sub(never_left.into_iter().flatten().sum());
    let sent = if s_clients { left } else { measured.sent };
    let good = measured.completed.saturating_sub(measured.unexpected_status) as f64;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> LoadPart {
        let mut hist = Hist::new();
        (0..90).for_each(|_| hist.record_ns(1_000_000));
        (0..10).for_each(|_| hist.record_ns(9_000_000));
        let mut part = LoadPart { measured_s: 2.0, offered: 120.0, in_flight_s: 3.0, ..LoadPart::default() };
        (part.measured.sent, part.measured.completed, part.measured.unexpected_status) = (110, 100, 20);
        part.measured.attempted = 400;
        part.histograms.insert("response".into(), hist);
        part
    }

    #[test]
    fn rates_are_of_the_window_and_goodput_is_right_and_in_time() {
        let point = Point { within_us: Some(2_000.0), ..Point::default() };
        let trial = trial(&point, &Intensity::default(), part(), Window::default());
        let r = trial.rates;
        assert_eq!((r.offered_rate, r.sent_rate, r.completed_rate, r.concurrency), (60.0, 55.0, 50.0, 1.5));
        assert!((r.goodput - 36.0).abs() < 1e-9, "{}", r.goodput);
        assert_eq!(trial.latency_us.count, 100);
    }

    #[test]
    fn s_clients_send_connection_attempts() {
        let intensity =
            Intensity::SClients { descriptors: 1, connect_timeout_ms: 1.0, think: Default::default(), pace: None };
        assert_eq!(rates(&Point::default(), &intensity, &part()).sent_rate, 200.0);
        let mut short = part();
        short.measured.errors.0.insert(ErrorKind::ClientPorts, 100);
        assert_eq!(rates(&Point::default(), &intensity, &short).sent_rate, 150.0);
    }

    #[test]
    fn the_rates_of_agents_add_up_though_their_windows_differ() {
        let of = |measured_s: f64| LoadPart { measured_s, ..LoadPart::default() };
        assert_eq!(mean_s([of(4.0), of(4.2)].iter()), 4.1);
        assert_eq!(mean_s([].iter()), 0.0);
    }

    #[test]
    fn an_empty_part_has_no_rates_and_no_nan() {
        let trial = trial(&Point::default(), &Intensity::default(), LoadPart::default(), Window::default());
        assert_eq!(trial.rates, Rates::default());
    }
}

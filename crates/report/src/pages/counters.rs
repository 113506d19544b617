//! Charts of counters over time in the trial that the verdict describes. Mean values of a counter over the whole trial
//! would hide changes. A table shows the values of all counters over the measured window of the trial that the verdict
//! describes.

use std::collections::BTreeSet;

use run::{
    Column, CounterId, CounterSpec, Kind, Moment, RateChange, Reading, Run, Side, Stage, SummaryFigure, Trial, Window,
    counter,
};

use super::{by_load, pick};
use crate::plot::{Axis, Hue, Look, Plot, Scale, Series};
use crate::{Block, Cell, Col, Section, Table, Unit, Weight};
use run::number::quantity;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some(trial) = run.picked(|p| p.shown) else { return Vec::new() };
    let mut sections = Vec::new();
    // Both charts are left out in a run with one load, because its main charts already show the completed rate and the
    // response times.
    let main = if by_load::one_load(run).is_some() { [None, None] } else { [completed(run, trial), times(trial)] };
    let chosen = CHOSEN.iter().filter_map(|(id, title, unit)| over_time(trial, id, (title, unit)));
    let small = main.into_iter().flatten().chain(failures(trial)).chain(chosen);
    let small: Vec<Plot> = small.map(|plot| Plot { x: of_window(plot.x, trial), ..plot }).collect();
    if !small.is_empty() {
        let title = format!("Over time, at {}", pick::name(trial));
        sections.push(Section::new("series", &title, Weight::Full, vec![Block::Multiples(small)]));
    }
    let table = table(trial);
    if !table.rows.is_empty() {
        sections.push(Section::new(
            "counters",
            "All counters of this window",
            Weight::Detail,
            vec![Block::Table(table)],
        ));
    }
    sections
}

/// Makes a time axis cover exactly the measured window, so all charts have the same time scale. If the axis does not
/// show time, returns the axis unchanged.
pub(super) fn of_window(axis: Axis, trial: &Trial) -> Axis {
    let end_s = Some(trial.measured.length_s).filter(|s| *s > 0.0);
    if axis.unit == Unit::Seconds { Axis { from: Some(0.0), to: end_s, ..axis } } else { axis }
}

/// Unit in [`CHOSEN`] for counters whose growth is a share of time.
const SHARE_OF_TIME: &str = "share of the time";

/// Counters that have a chart unless the counter is always 0, each with the chart's title and unit. The chart of a
/// cumulative time shows its growth per second, which is a number of CPUs or threads, or a share of time.
const CHOSEN: &[(&str, &str, &str)] = &[
    ("cpu.user", "host CPUs, user", "CPUs"),
    ("cpu.system", "host CPUs, kernel", "CPUs"),
    ("cpu.softirq", "host CPUs, soft interrupts", "CPUs"),
    ("process.cpu", "CPUs of the processes", "CPUs"),
    ("process.run_delay", "waits for a CPU", "threads"),
    ("system.context_switches", "context switches", "per second"),
    ("system.interrupts", "interrupts", "per second"),
    ("softirq.count", "soft interrupts", "per second"),
    ("tcp.in_segs", "TCP segments in", "per second"),
    ("tcp.out_segs", "TCP segments out", "per second"),
    ("tcp.retrans_segs", "TCP segments sent again", "per second"),
    ("tcp.delayed_acks", "delayed ACKs", "per second"),
    ("tcp.listen_overflows", "full accept queue", "times per second"),
    ("listen.queue", "accept queue", "connections"),
    ("process.rss", "memory", "bytes"),
    ("process.fds", "descriptors", "number"),
    ("medium.busy", "wire in use", SHARE_OF_TIME),
    ("medium.queue", "queue of the wire", "bytes"),
    ("disk.busy", "disk in use", SHARE_OF_TIME),
    ("pressure.cpu_some", "some thread waits for a CPU", SHARE_OF_TIME),
];

/// Returns the chart of the completed rate over time, with the offered rate if it changed. Returns `None` if the chart
/// would have fewer than three points.
pub(super) fn completed(run: &Run, trial: &Trial) -> Option<Plot> {
    let (stages, by_hand) = (&run.plan.load.stages, &trial.by_hand);
    let changes = !stages.is_empty() || !by_hand.is_empty();
    let offered = |at_s: f64| {
        let since_s = trial.measured.window.begin_s + at_s;
        (at_s, if by_hand.is_empty() { Stage::rate_at(stages, since_s) } else { RateChange::rate_at(by_hand, since_s) })
    };
    let rates = &trial.measured.series_completed;
    let step_s = trial.measured.step_s();
    let points: Vec<(f64, f64)> = rates.iter().enumerate().map(|(i, r)| ((i as f64 + 0.5) * step_s, *r)).collect();
    (points.len() > 2).then(|| Plot {
        title: "completed requests".into(),
        caption: "per second".into(),
        x: Axis::new("time", Unit::Seconds, Scale::Linear),
        y: Axis::new("completed", Unit::Plain, Scale::Linear),
        series: [
            changes.then(|| {
                Series::new("offered", Look::Line, Hue::Second, points.iter().map(|(at_s, _)| offered(*at_s)).collect())
            }),
            Some(Series::new("completed", Look::Line, Hue::Main, points.clone())),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..Plot::default()
    })
}

/// Returns the chart of percentiles of the response time over the measured window; `None` for fewer than three points.
/// The percentiles of a moment come from a histogram with wide ranges. The longest response time of the trial, which is
/// known exactly, bounds these percentiles.
pub(super) fn times(trial: &Trial) -> Option<Plot> {
    let longest_us = trial.latency_us.figure(SummaryFigure::Max).exact().filter(|us| *us > 0.0);
    let longest_us = longest_us.unwrap_or(f64::INFINITY);
    let line = |name: &str, hue, of: fn(&Moment) -> Option<f64>| {
        let points = over_window(trial, of).map(|(at_s, us)| (at_s, us.min(longest_us) / 1e6));
        Series::new(name, Look::Line, hue, points.collect())
    };
    (trial.moments.len() > 2).then(|| Plot {
        title: "response time".into(),
        caption: "median and 99th percentile, accurate to 12.5 %".into(),
        x: Axis::new("time", Unit::Seconds, Scale::Linear),
        y: Axis::new("response time", Unit::Seconds, Scale::Log),
        series: vec![line("p99", Hue::Second, |m| m.p99_us), line("p50", Hue::Main, |m| m.p50_us)],
        ..Plot::default()
    })
}

/// Returns the chart of the share of failed requests over time; `None` if no request failed, or if there are fewer than
/// three points.
fn failures(trial: &Trial) -> Option<Plot> {
    let points: Vec<(f64, f64)> = over_window(trial, Moment::failed_share).collect();
    let any = points.len() > 2 && points.iter().any(|(_, share)| *share > 0.0);
    any.then(|| Plot {
        title: "failed requests".into(),
        caption: "share of all".into(),
        x: Axis::new("time", Unit::Seconds, Scale::Linear),
        y: Axis::new("failed", Unit::Share, Scale::Linear),
        series: vec![Series::new("failed", Look::Line, Hue::Alarm, points)],
        ..Plot::default()
    })
}

fn over_window<'a>(
    trial: &'a Trial,
    of: impl Fn(&Moment) -> Option<f64> + 'a,
) -> impl Iterator<Item = (f64, f64)> + 'a {
    let begin_s = trial.measured.window.begin_s;
    trial.moments.iter().filter_map(move |m| Some((m.t_s - begin_s, of(m)?)))
}

fn over_time(trial: &Trial, id: &str, (title, unit): (&str, &str)) -> Option<Plot> {
    let spec = counter(id)?;
    let mut series = Vec::new();
    let shared = trial.shares_scope(spec.scope());
    if let Some(server) = &trial.server {
        let name = if shared { "both sides" } else { "server" };
        series.extend(line(name, Hue::Main, server, trial, spec));
    }
    if !shared {
        series.extend(line("client", Hue::Second, &trial.client, trial, spec));
    }
    let highest = series.iter().flat_map(|s| &s.points).map(|p| p.1).fold(0.0, f64::max);
    (highest > 0.0).then(|| Plot {
        title: title.into(),
        caption: format!("{unit} ({id})"),
        x: Axis::new("time", Unit::Seconds, Scale::Linear),
        y: if unit == SHARE_OF_TIME { share_axis(id, highest) } else { value_axis(id, spec) },
        series,
        ..Plot::default()
    })
}

fn value_axis(id: &str, spec: &CounterSpec) -> Axis {
    Axis::new(id, axis_unit(spec.kind, spec.unit), Scale::Linear)
}

/// If no share in a chart is above this value, the axis of the chart may end below 100 %.
const MAX_LOW_SHARE: f64 = 0.5;

/// Returns an axis of shares, which ends at 100 % unless all shares are low. Noise can lift a measured share of time a
/// little above 100 %.
fn share_axis(id: &str, highest: f64) -> Axis {
    let to = (highest > MAX_LOW_SHARE).then_some(1.0);
    Axis { to, ..Axis::new(id, Unit::Share, Scale::Linear) }
}

/// Returns the curve of a side (client or server). The curve shows the growth per second of a cumulative counter, and
/// the value of a gauge. Returns `None` for fewer than three points, which show no trend.
fn line(label: &str, hue: Hue, side: &Side, trial: &Trial, spec: &CounterSpec) -> Option<Series> {
    let window = trial.measured.window;
    let values = if spec.id == "disk.busy" { of_busiest(side, spec.id, window) } else { side.over_time(spec.id) };
    let inside = values.into_iter().filter(|(t_s, _)| window.holds(*t_s));
    let inside: Vec<(f64, f64)> = inside.map(|(t_s, value)| (t_s - window.begin_s, value)).collect();
    let points: Vec<(f64, f64)> = match spec.kind {
        Kind::Gauge => inside,
        Kind::Cumulative => inside.windows(2).filter_map(|pair| growth(pair[0], pair[1])).collect(),
    };
    let scale = if spec.unit == run::Unit::Microseconds { 1e-6 } else { 1.0 };
    let points: Vec<(f64, f64)> = points.into_iter().map(|(t, v)| (t, v * scale)).collect();
    (points.len() > 2).then(|| Series::new(label, Look::Line, hue, points))
}

/// Returns the values of the instance of a cumulative counter that grew the most in a window. The busy times of disks
/// do not add up to a share of time. In old recordings, a volume, such as one of LVM, even repeats the counts of its
/// disks.
fn of_busiest(side: &Side, id: &str, window: Window) -> Vec<(f64, f64)> {
    let recording = &side.recording;
    let grown = |column: &&Column| recording.over(column, window).value().unwrap_or(0.0);
    let busiest = recording.columns_of(id).max_by(|a, b| grown(a).total_cmp(&grown(b)));
    let values = busiest.map_or(&[][..], |column| &column.values);
    recording.t_s.iter().zip(values).filter_map(|(t_s, value)| Some((*t_s, (*value)?))).collect()
}

fn growth((from_s, from): (f64, f64), (to_s, to): (f64, f64)) -> Option<(f64, f64)> {
    let rate = (to - from) / (to_s - from_s);
    (rate.is_finite() && rate >= 0.0).then_some(((from_s + to_s) / 2.0, rate))
}

/// Returns the unit of a counter's axis. A growth in microseconds per second has no unit: it is a number of CPUs or
/// threads, or a share of time.
const fn axis_unit(kind: Kind, unit: run::Unit) -> Unit {
    match (kind, unit) {
        (_, run::Unit::Bytes) => Unit::Bytes,
        (_, run::Unit::BytesPerSecond) => Unit::BytesPerSecond,
        (Kind::Gauge, run::Unit::Microseconds) => Unit::Seconds,
        _ => Unit::Plain,
    }
}

fn table(trial: &Trial) -> Table {
    let empty = std::collections::BTreeMap::new();
    let server = trial.server.as_ref().map_or(&empty, |s| &s.counters);
    let client = &trial.client.counters;
    let ids: BTreeSet<&CounterId> = client.keys().chain(server.keys()).collect();
    let columns = vec![
        Col::words("counter", 0),
        Col::figures("client", 0),
        Col::figures("server", 0),
        Col::words("what it is", 0),
    ];
    let rows = ids.into_iter().map(|id| {
        let spec = counter(id.as_str());
        let cell = |reading: Option<&Reading>| match reading {
            Some(Reading::Value(v)) => Cell::new(value(*v, id.as_str())),
            Some(Reading::Absent { absent }) => Cell::absent(absent.clone()),
            None => Cell::absent("not recorded on this side"),
        };
        vec![
            Cell::new(id.as_str()),
            cell(client.get(id)),
            cell(server.get(id)),
            Cell::new(spec.map_or("", |s| s.help)).toned(crate::Tone::Quiet),
        ]
    });
    let caption =
        format!("Growth of cumulative counters and mean of gauges over the measured window of {}.", pick::name(trial));
    Table { caption, columns, rows: rows.collect(), ..Table::default() }
}

fn value(v: f64, id: &str) -> String {
    quantity(v, counter(id).map_or(Unit::Plain, |s| s.unit.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In a real run, all response times were between 541 and 544 ms. An earlier version of loadline drew a median of
    /// 571 ms and a 99th percentile of 604 ms.
    #[test]
    fn no_percentile_over_time_exceeds_the_longest_response_time() {
        let moment = |t_s| Moment { t_s, p50_us: Some(541e3), p99_us: Some(604e3), ..Moment::default() };
        let mut trial = Trial { moments: [1.0, 2.0, 3.0].map(moment).into(), ..Trial::default() };
        let highest =
            |trial: &Trial| times(trial).unwrap().series.iter().map(|line| line.points[0].1).collect::<Vec<_>>();
        assert_eq!(highest(&trial), [0.604, 0.541], "the longest response time is unknown");
        (trial.latency_us.count, trial.latency_us.max) = (9, 544e3);
        assert_eq!(highest(&trial), [0.544, 0.541]);
    }

    #[test]
    fn a_volume_and_its_disk_are_in_use_at_the_same_time() {
        let column = |instance: &str| Column {
            counter: CounterId::new("disk.busy"),
            instance: instance.into(),
            values: [0.0, 6e5, 12e5, 18e5].map(Some).to_vec(),
        };
        let columns = vec![column("sda"), column("dm-0")];
        let recording = run::Recording { t_s: vec![0.0, 1.0, 2.0, 3.0], columns, ..run::Recording::default() };
        let side = Side { recording, ..Side::default() };
        let mut trial = Trial::default();
        trial.measured.window = Window { begin_s: 0.0, end_s: 3.0 };
        let drawn = line("server", Hue::Main, &side, &trial, counter("disk.busy").unwrap()).unwrap();
        assert!(drawn.points.iter().all(|(_, share)| (share - 0.6).abs() < 1e-9), "{:?}", drawn.points);
    }
}

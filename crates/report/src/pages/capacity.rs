//! Charts of the open-loop search: response time and throughput by offered rate. The charts include rates that meet the
//! objective and rates that do not meet it.

use run::{Capacity, Run, SummaryFigure, Trial, TrialKind};

use super::times::known;
use super::{pick, rate};
use crate::plot::{Axis, Band, Hue, Look, Mark, Plot, Scale, Series, Spot};
use crate::{Block, Section, Unit, Weight};
use run::number::quantity;

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let mut steps = pick::of(run, &[TrialKind::Search, TrialKind::Overload]);
    steps.retain(|t| t.rates.offered_rate.is_finite() && t.rates.offered_rate > 0.0);
    if steps.len() < 2 {
        return Vec::new();
    }
    steps.sort_by(|a, b| a.rates.offered_rate.total_cmp(&b.rates.offered_rate));
    let blocks = vec![Block::Plot(Box::new(latency(run, &steps))), Block::Plot(Box::new(completed(run, &steps)))];
    vec![Section::new("capacity", "Open loop: higher and higher offered rates", Weight::Full, blocks)]
}

fn latency(run: &Run, steps: &[&Trial]) -> Plot {
    let time = |label: &str, hue, get: fn(&Trial) -> f64| {
        let points = steps.iter().filter(|t| t.latency_us.count > 0).map(|t| (t.rates.offered_rate, get(t)));
        Series::new(label, Look::Dots, hue, points.collect())
    };
    let marks = marks(run).into_iter().chain(objectives(run)).collect();
    let title = match &run.findings.capacity {
        Some(c) if in_open_loop(run) => format!("The objective holds up to {}/s", rate::rate(c)),
        Some(_) => no_capacity(run),
        None => "Response time against offered rate".into(),
    };
    Plot {
        title,
        caption: "Response time from the intended start, against the offered rate.".into(),
        x: offered_axis(),
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series: vec![
            time("p99", Hue::Second, |t| known(&t.latency_us, SummaryFigure::P99)),
            time("p50", Hue::Main, |t| known(&t.latency_us, SummaryFigure::P50)),
        ],
        marks,
        bands: failed(run, steps),
        ..Plot::default()
    }
}

fn completed(run: &Run, steps: &[&Trial]) -> Plot {
    let dots = |label: &str, hue, get: fn(&Trial) -> f64| {
        Series::new(label, Look::Dots, hue, steps.iter().map(|t| (t.rates.offered_rate, get(t))).collect())
    };
    let most = steps.iter().map(|t| t.rates.offered_rate).fold(0.0, f64::max);
    let mut series = vec![dots("completed", Hue::Main, |t| t.rates.completed_rate)];
    if steps.iter().any(|t| differs(t.rates.goodput, t.rates.completed_rate)) {
        series.push(dots("goodput", Hue::Third, |t| t.rates.goodput));
    }
    if steps.iter().any(|t| differs(t.rates.sent_rate, t.rates.offered_rate)) {
        series.push(dots("sent", Hue::Fourth, |t| t.rates.sent_rate));
    }
    series.push(Series::new("all offered", Look::Dashed, Hue::Quiet, vec![(0.0, 0.0), (most, most)]));
    Plot {
        title: completed_title(run),
        caption:
            "Completed requests per second against the offered rate. On the dashed line all offered requests complete."
                .into(),
        x: offered_axis(),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series,
        marks: marks(run),
        bands: failed(run, steps),
        ..Plot::default()
    }
}

fn completed_title(run: &Run) -> String {
    match run.picked(|p| p.overload) {
        Some(t) => format!(
            "Of an offered {}, {} complete",
            quantity(t.rates.offered_rate, Unit::PerSecond),
            quantity(t.rates.completed_rate, Unit::PerSecond)
        ),
        None => "Completed against offered".into(),
    }
}

fn differs(a: f64, b: f64) -> bool {
    (a - b).abs() > 0.02 * b.abs()
}

fn offered_axis() -> Axis {
    Axis::new("offered requests per second", Unit::Plain, Scale::Linear)
}

/// Returns marks for the objective's limits on the response time. The limits on p50 and p99 have the colours of these
/// percentiles.
pub(super) fn objectives(run: &Run) -> Vec<Mark> {
    let limits = &run.findings.limits;
    let named = [
        ("p50", limits.p50_us, Hue::Main),
        ("mean", limits.mean_us, Hue::Quiet),
        ("p99", limits.p99_us, Hue::Second),
        ("p99.9", limits.p99_9_us, Hue::Quiet),
    ];
    let mark = |name, us, hue| Mark::new(Spot::Y(us), format!("{name} at most {}", quantity(us, Unit::Micros)), hue);
    named.into_iter().filter_map(|(name, us, hue)| Some(mark(name, us?, hue))).collect()
}

/// Returns true if the capacity was found in an open loop.
pub(super) fn in_open_loop(run: &Run) -> bool {
    run.picked(|p| p.at_capacity).is_some_and(|t| t.kind == TrialKind::Search)
}

fn no_capacity(run: &Run) -> String {
    match run.picked(|p| p.open_held).map(|t| quantity(t.rates.offered_rate, Unit::PerSecond)) {
        Some(held) => format!("The open loop held the objective up to an offered {held}"),
        None => "No step of the open loop held the objective".into(),
    }
}

fn marks(run: &Run) -> Vec<Mark> {
    let found = |c: &Capacity| Mark::new(Spot::X(c.rate), format!("capacity {}/s", rate::rate(c)), Hue::Alarm);
    // The axis shows offered rates, so a chart cannot show a capacity from a closed loop.
    let shown = run.findings.capacity.as_ref().filter(|_| in_open_loop(run));
    shown.map(found).into_iter().collect()
}

fn failed(run: &Run, steps: &[&Trial]) -> Vec<Band> {
    let most = steps.iter().map(|t| t.rates.offered_rate).fold(0.0, f64::max) * 2.0;
    let from = run.findings.capacity.as_ref().and_then(|c| c.failed_at);
    from.map(|from| Band { from, to: most, label: "failed".into(), hue: Hue::Alarm }).into_iter().collect()
}

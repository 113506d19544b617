//! Main chart of a search: response time against load, with the objective and the interval of the capacity.
//!
//! Each trial of the search is a dot in the chart. Each line is the best-fitting curve that never falls, because
//! response times should not become shorter with a higher load. A line that joins the dots would mostly show noise.

use run::{Run, SummaryFigure, Trial, TrialKind};

use super::times::known;
use super::{answered, chart_marks, pick, streams};
use crate::plot::{Axis, Band, Hue, Look, Mark, Plot, Scale, Series, Spot, rising};
use crate::{Block, Section, Unit, Weight};
use run::number::number;

/// Minimum number of trials for a chart.
const MIN_WINDOWS: usize = 2;
/// Free space to the left and to the right of all dots, as a share of the range of the dots' loads.
const MARGIN: f64 = 0.06;

/// Kind of load on the horizontal axis of the main chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadAxis {
    OfferedRate,
    Users,
    InFlight,
}

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let section = |(_, plot)| Section::new("by-load", "", Weight::Full, vec![Block::Plot(Box::new(plot))]);
    main_chart(run).map(section).into_iter().collect()
}

/// Returns the main chart of a search, and the measure of load on the chart's horizontal axis. Returns `None` if the
/// run is no search, and for a search whose trials all have the same load.
pub(super) fn main_chart(run: &Run) -> Option<(LoadAxis, Plot)> {
    if answered::searched(run).is_none() || !answered::is_of_search(run) {
        return None;
    }
    let by_rate = || open_loop(run).map(|plot| (LoadAxis::OfferedRate, plot));
    let by_users = || users(run).map(|plot| (LoadAxis::Users, plot));
    let by_flight = || closed_loop(run).map(|plot| (LoadAxis::InFlight, plot));
    by_rate().or_else(by_users).or_else(by_flight)
}

/// Returns the trial that represents a run with only one load. Such a run has a load that the user chose, or is a
/// search whose trials all have the same load. Returns `None` for a run with several loads.
pub(super) fn one_load(run: &Run) -> Option<&Trial> {
    let is_search = answered::is_of_search(run) && answered::searched(run).is_some();
    let searched = || run.picked(|p| p.shown).filter(|_| is_search && main_chart(run).is_none());
    answered::single(run).map(|(trial, _)| trial).or_else(searched)
}

/// Returns the chart of response time by offered rate. Leaves out trials of deliberate overload, because their high
/// rates would squeeze all other trials into a small part of the chart.
fn open_loop(run: &Run) -> Option<Plot> {
    let windows = pick::of(run, &[TrialKind::Search]);
    let points = Windows::new(&windows, |t| t.rates.offered_rate)?;
    let found = run.findings.capacity.as_ref().filter(|c| c.held && chart_marks::in_open_loop(run));
    let ends = found.and_then(|c| c.low.zip(c.high));
    let band = |(from, to)| Band { from, to, label: "95 % interval".into(), hue: Hue::Main };
    let x = Axis::new("offered requests per second", Unit::Plain, Scale::Linear);
    Some(Plot {
        x: points.around(x, ends),
        bands: ends.map(band).into_iter().collect(),
        marks: found.map(chart_marks::capacity).into_iter().chain(chart_marks::objectives(run)).collect(),
        ..points.plot("Response time against offered load")
    })
}

/// Returns the chart of response time by number of users or open streams. The chart also shows the capacity as a number
/// of users or open streams.
fn users(run: &Run) -> Option<Plot> {
    let found = run.findings.users.as_ref()?.capacity.as_ref();
    let windows = pick::of(run, &[TrialKind::Sweep]);
    let points = Windows::new(&windows, |trial| pick::asked(trial).unwrap_or(f64::NAN))?;
    let band = |c: &run::Estimate| Band { from: c.low, to: c.high, label: "95 % interval".into(), hue: Hue::Main };
    let mark =
        |c: &run::Estimate| Mark::new(Spot::X(c.value), format!("limit about {}", number(c.value.round())), Hue::Alarm);
    Some(Plot {
        x: Axis::new(format!("{}s", streams::user_word(run)), Unit::Plain, Scale::Log2),
        bands: found.map(band).into_iter().collect(),
        marks: found.map(mark).into_iter().chain(chart_marks::objectives(run)).collect(),
        ..points.plot(&format!("Response time against {}s", streams::user_word(run)))
    })
}

/// Returns the chart of response time by number of requests in flight, for a search that used only closed loops.
/// Returns `None` if all trials have the same planned number of requests in flight.
fn closed_loop(run: &Run) -> Option<Plot> {
    let windows = pick::of(run, &[TrialKind::Sweep]);
    let points = Windows::new(&windows, pick::concurrency).filter(|_| pick::have_different_loads(&windows))?;
    let [low, high] = points.range();
    let scale = if high / low >= 12.0 { Scale::Log2 } else { Scale::Linear };
    Some(Plot {
        x: points.around(Axis::new("requests in flight", Unit::Plain, scale), None),
        marks: chart_marks::objectives(run),
        ..points.plot("Response time against requests in flight")
    })
}

/// Response time percentiles of several trials, each with the trial's load. The trials are in ascending order of the
/// load.
struct Windows {
    p50: Vec<(f64, f64)>,
    p99: Vec<(f64, f64)>,
    loads: Vec<f64>,
}

impl Windows {
    /// Collects the trials that have response times. Returns `None` if fewer than [`MIN_WINDOWS`] trials have them, or
    /// if all these trials have the same load.
    fn new(trials: &[&Trial], load: impl Fn(&Trial) -> f64) -> Option<Self> {
        let mut timed: Vec<(f64, &Trial)> = trials.iter().map(|t| (load(t), *t)).collect();
        timed.retain(|(load, t)| load.is_finite() && *load > 0.0 && t.latency_us.count > 0);
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let points = |figure| timed.iter().map(|(load, t)| (*load, known(&t.latency_us, figure))).collect();
        let loads: Vec<f64> = timed.iter().map(|(load, _)| *load).collect();
        let is_varied = loads.first() < loads.last();
        (timed.len() >= MIN_WINDOWS && is_varied).then(|| Self {
            p50: points(SummaryFigure::P50),
            p99: points(SummaryFigure::P99),
            loads,
        })
    }

    fn range(&self) -> [f64; 2] {
        [self.loads.first(), self.loads.last()].map(|end| end.copied().unwrap_or(1.0))
    }

    /// Returns `axis` with a range from the lowest to the highest load. The range also covers the interval `ends`.
    fn around(&self, axis: Axis, ends: Option<(f64, f64)>) -> Axis {
        let [low, high] = self.range();
        let (low, high) = ends.map_or((low, high), |(from, to)| (low.min(from), high.max(to)));
        let (from, to) = if axis.scale == Scale::Linear {
            let free = MARGIN * (high - low).max(0.1 * high);
            ((low - free).max(0.0), high + free)
        } else {
            // The margin is a factor, because equal distances on a logarithmic axis are equal factors.
            let free = (high / low).max(1.1).powf(MARGIN);
            (low / free, high * free)
        };
        Axis { from: Some(from), to: Some(to), ..axis }
    }

    /// Returns a text that lists the loads of the trials whose 99th percentile is only a lower bound. The chart shows
    /// no dot for a lower bound.
    fn bounded(&self) -> String {
        let loads: Vec<String> = self.p99.iter().filter(|(_, us)| us.is_nan()).map(|(load, _)| number(*load)).collect();
        if loads.is_empty() { String::new() } else { format!("; at {}, p99 is only a lower bound", loads.join(", ")) }
    }

    fn plot(&self, title: &str) -> Plot {
        let named = [("p99", Hue::Second, &self.p99), ("p50", Hue::Main, &self.p50)];
        let dots = named.iter().map(|(_, hue, points)| Series::new("", Look::Dots, *hue, points.to_vec()));
        let lines = named.iter().map(|(name, hue, points)| Series::new(*name, Look::Line, *hue, rising(points)));
        Plot {
            title: title.into(),
            caption: format!("Each dot is one window; the lines are the best-fitting rising curves{}.", self.bounded()),
            y: Axis::new("response time", Unit::Micros, Scale::Log),
            series: dots.chain(lines).collect(),
            wide: true,
            ..Plot::default()
        }
    }
}

//! Chart of whole response time distributions by percentile. On the axis, the distance from 90 % to 99 % equals the
//! distance from 99 % to 99.9 %, and so on.

use run::{Hist, LoadState, Run, Summary, SummaryFigure, Trial};

use super::{answered, by_load, counters, pick, times};
use crate::plot::{Axis, Hue, Look, Plot, Scale, Series};
use crate::{Block, Cell, Col, Section, Table, Unit, Weight};
use run::number::{count, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let shown = main_trials(run);
    if shown.is_empty() {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    let plot = curves(&shown);
    if !plot.series.is_empty() && main_curve(run).is_none() {
        blocks.push(Block::Plot(Box::new(plot)));
    }
    blocks.push(Block::Table(figures(&shown)));
    vec![Section::new("latency", "Response time in full", Weight::Full, blocks)]
}

/// Returns the main trials without duplicates: without load, at the capacity, and overloaded. If the run has no trial
/// at the capacity, returns the trial that represents the run in its place.
pub(super) fn main_trials(run: &Run) -> Vec<(&'static str, &Trial)> {
    let state = run.findings.state.map_or("loaded", LoadState::word);
    let is_at_capacity = run.findings.picks.at_capacity.is_some() && !answered::asked(run);
    let word = if is_at_capacity { "at capacity" } else { state };
    let middle = run.picked(|p| p.loaded).map(|t| (word, t));
    let ends = [run.picked(|p| p.unloaded), run.picked(|p| p.overload)];
    let all = [ends[0].map(|t| ("unloaded", t)), middle, ends[1].map(|t| ("overload", t))];
    let mut chosen: Vec<(&'static str, &Trial)> = Vec::new();
    for (name, trial) in all.into_iter().flatten() {
        if trial.latency_us.count > 0 && !chosen.iter().any(|(_, t)| std::ptr::eq(*t, trial)) {
            chosen.push((name, trial));
        }
    }
    chosen
}

/// Returns the distribution of response times as the main chart of a run with one load. Returns `None` for a run with
/// several loads, and for a run without a histogram. Also returns `None` if response times over time are known, because
/// another main chart shows them.
pub(super) fn main_curve(run: &Run) -> Option<Plot> {
    let trial = by_load::one_load(run).filter(|trial| counters::times(trial).is_none())?;
    Some(curves(&[("all requests", trial)])).filter(|plot| !plot.series.is_empty())
}

fn curves(shown: &[(&'static str, &Trial)]) -> Plot {
    let mut series = Vec::new();
    for (i, (name, trial)) in shown.iter().enumerate() {
        let Some(hist) = trial.histograms.get("response").filter(|h| !h.is_empty()) else { continue };
        series.push(Series::new(*name, Look::Line, Hue::nth(i), curve(hist, trial.latency_us.unanswered_share())));
    }
    let names: Vec<String> = shown.iter().map(|(name, t)| format!("{name} = {}", pick::name(t))).collect();
    let names = if names.len() > 1 { format!("; {}", names.join(", ")) } else { String::new() };
    Plot {
        title: "Response time at every percentile".into(),
        caption: format!("Share of requests that took at most this long{names}."),
        x: Axis::new("share of requests", Unit::Share, Scale::Nines),
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series,
        wide: true,
        ..Plot::default()
    }
}

/// Returns the points of the curve, as (share of requests, response time). With n requests, the curve ends at the share
/// 1 - 0.5/n, because the axis has no position for a share of 1. The shares are shares of all requests, including
/// unanswered requests, so each share is multiplied by the share of requests that were answered.
fn curve(hist: &Hist, unanswered: f64) -> Vec<(f64, f64)> {
    let most = 1.0 - 0.5 / hist.len().max(1) as f64;
    hist.curve_us().into_iter().map(|(q, us)| (q.min(most) * (1.0 - unanswered), us)).collect()
}

fn figures(shown: &[(&'static str, &Trial)]) -> Table {
    let heads = ["mean", "min", "p50", "p90", "p99", "p99.9", "max"];
    let mut columns = vec![Col::words("load", 0), Col::words("time", 0), Col::figures("requests", 0)];
    columns.extend(heads.iter().map(|h| Col::figures(h, 0)));
    let rows = shown.iter().flat_map(|(name, t)| {
        let load = format!("{name} ({})", pick::name(t));
        let kinds = [
            ("response", &t.latency_us),
            ("first byte", &t.first_byte_us),
            ("wait", &t.wait_us),
            ("transfer", &t.transfer_us),
            ("first event", &t.first_event_us),
            ("gap", &t.gap_us),
            ("service", &t.service_us),
            ("blocked", &t.blocked_us),
            ("connect", &t.connect_us),
            ("handshake", &t.handshake_us),
        ];
        let kept = kinds
            .into_iter()
            .filter(|(kind, s)| s.count > 0 && (*kind == "response" || *s != &t.latency_us))
            .filter(|(kind, s)| *kind != "wait" || *s != &t.service_us)
            .map(|(kind, s)| row(&load, kind, s));
        kept.collect::<Vec<_>>()
    });
    Table { columns, rows: rows.collect(), ..Table::default() }
}

fn row(load: &str, kind: &str, s: &Summary) -> Vec<Cell> {
    let mut cells = vec![Cell::new(load), Cell::new(kind), Cell::new(count(s.count))];
    use SummaryFigure::{Max, Mean, P50, P90, P99, P999};
    cells.push(times::cell(s, Mean));
    cells.push(Cell::new(quantity(s.min, Unit::Micros)));
    cells.extend([P50, P90, P99, P999, Max].map(|figure| times::cell(s, figure)));
    cells
}

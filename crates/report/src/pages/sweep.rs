//! Charts of the closed-loop sweep (loads with more and more clients): throughput and response time by concurrency. The
//! charts show the bounds of operational analysis (X <= min(N/R1, Xmax), R >= max(R1, N/Xmax)), the knee N*, and the
//! fit of the Universal Scalability Law. N is the number of requests in flight, R1 is the response time with one
//! request in flight, and Xmax is the highest throughput. If the report's main chart already shows the response time by
//! concurrency or number of users, the section has only the chart of the throughput.

use run::{Knee, Run, SummaryFigure, Trial, TrialKind, usl_rate};

use super::by_load::{self, LoadAxis};
use super::times::known;
use super::{pick, streams};
use crate::plot::{Axis, Hue, Look, Mark, Plot, Scale, Series, Spot};
use crate::{Block, Section, Unit, Weight};
use run::number::{number, prose::counted, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    let mut steps = pick::of(run, &[TrialKind::Sweep]);
    if steps.len() < 2 {
        return Vec::new();
    }
    let main = by_load::main_chart(run).map(|(axis, _)| axis);
    if main == Some(LoadAxis::Users) {
        let plot = Plot { wide: true, low: true, ..by_users(run, &steps) };
        return vec![Section::new("sweep", "More and more users", Weight::Full, vec![Block::Plot(Box::new(plot))])];
    }
    if !pick::have_different_loads(&steps) {
        return Vec::new();
    }
    steps.sort_by(|a, b| pick::concurrency(a).total_cmp(&pick::concurrency(b)));
    let knee = run.findings.knee.as_ref();
    let is_shown_above = main == Some(LoadAxis::InFlight);
    let response = (!is_shown_above).then(|| response(&steps, knee));
    let throughput = Plot { wide: is_shown_above, low: is_shown_above, ..throughput(run, &steps, knee) };
    let blocks = [throughput].into_iter().chain(response).map(|plot| Block::Plot(Box::new(plot))).collect();
    vec![Section::new("sweep", "Closed loop: more and more clients", Weight::Full, blocks)]
}

/// Returns the chart of the throughput by number of users or open streams.
fn by_users(run: &Run, steps: &[&Trial]) -> Plot {
    let mut points: Vec<(f64, f64)> =
        steps.iter().filter_map(|t| Some((pick::asked(t)?, t.rates.completed_rate))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let users = format!("{}s", streams::user_word(run));
    Plot {
        title: format!("Throughput against {users}"),
        caption: format!("Completed requests per second against {users}."),
        x: Axis::new(users, Unit::Plain, Scale::Log2),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series: vec![Series::new("completed", pick::look(steps), Hue::Main, points)],
        ..Plot::default()
    }
}

fn throughput(run: &Run, steps: &[&Trial], knee: Option<&Knee>) -> Plot {
    let mut series = vec![measured("completed", Hue::Main, steps, |t| t.rates.completed_rate)];
    let (low, high) = ends(steps);
    let mut marks = Vec::new();
    let mut caption = "Completed requests per second against requests in flight".to_string();
    if let Some(k) = knee {
        series.push(curve("N / R1", low, high, |n| n / k.r1_us * 1e6));
        marks.push(Mark::new(Spot::Y(k.x_max), format!("Xmax {}", quantity(k.x_max, Unit::PerSecond)), Hue::Quiet));
        marks.push(knee_mark(k));
        caption.push_str("; bounds N/R1 and Xmax dashed");
    }
    if let Some((usl, law)) = run.findings.fits.get("usl").and_then(|fit| Some((fit, fit.usl()?))) {
        series.push(Series { hue: Hue::Third, ..curve("USL fit", low, high, |n| usl_rate(law, n)) });
        caption.push_str(&format!("; USL fit R² {}", number(usl.r2)));
    }
    Plot {
        title: throughput_title(steps, knee),
        caption: caption + ".",
        x: concurrency_axis(steps),
        y: Axis::new("requests per second", Unit::Plain, Scale::Linear),
        series,
        marks,
        ..Plot::default()
    }
}

fn throughput_title(steps: &[&Trial], knee: Option<&Knee>) -> String {
    let Some(k) = knee else { return "Throughput against clients".into() };
    match k.reached_at {
        Some(n) => {
            let reach = if number(n) == "1" { "client reaches" } else { "clients reach" };
            format!("{} {reach} 95 % of the highest throughput; more clients only wait", number(n))
        }
        None => format!("Throughput still grows at {}", counted(ends(steps).1.round(), "client")),
    }
}

fn response(steps: &[&Trial], knee: Option<&Knee>) -> Plot {
    let mut series = vec![
        measured("p99", Hue::Second, steps, |t| known(&t.latency_us, SummaryFigure::P99)),
        measured("mean", Hue::Main, steps, |t| known(&t.latency_us, SummaryFigure::Mean)),
    ];
    let (low, high) = ends(steps);
    let mut marks = Vec::new();
    if let Some(k) = knee {
        series.push(curve("bound", low, high, |n| k.r1_us.max(n / k.x_max * 1e6)));
        marks.push(knee_mark(k));
    }
    let (first, last) =
        (steps.first().map_or(0.0, |t| t.latency_us.mean), steps.last().map_or(0.0, |t| t.latency_us.mean));
    let bound = if knee.is_some() { "; dashed: max(R1, N/Xmax)" } else { "" };
    Plot {
        title: format!("Response time goes from {} to {}", quantity(first, Unit::Micros), quantity(last, Unit::Micros)),
        caption: format!("Response time against requests in flight{bound}."),
        x: concurrency_axis(steps),
        y: Axis::new("response time", Unit::Micros, Scale::Log),
        series,
        marks,
        ..Plot::default()
    }
}

fn concurrency_axis(steps: &[&Trial]) -> Axis {
    let (low, high) = ends(steps);
    let scale = if high / low >= 12.0 { Scale::Log2 } else { Scale::Linear };
    Axis::new("requests in flight", Unit::Plain, scale)
}

fn knee_mark(knee: &Knee) -> Mark {
    Mark::new(Spot::X(knee.concurrency), format!("knee N* = {}", number(knee.concurrency)), Hue::Alarm)
}

fn measured(label: &str, hue: Hue, steps: &[&Trial], value: impl Fn(&Trial) -> f64) -> Series {
    let points = steps.iter().filter(|t| t.latency_us.count > 0 || t.rates.completed_rate > 0.0);
    let points = points.map(|t| (pick::concurrency(t), value(t))).collect();
    Series::new(label, pick::look(steps), hue, points)
}

/// Returns the dashed line of a formula, from the lowest to the highest concurrency.
fn curve(label: &str, low: f64, high: f64, formula: impl Fn(f64) -> f64) -> Series {
    const POINTS: i32 = 160;
    let at = |i: i32| low * (high / low).powf(f64::from(i) / f64::from(POINTS));
    let points = (0..=POINTS).map(|i| (at(i), formula(at(i)))).collect();
    Series::new(label, Look::Dashed, Hue::Quiet, points)
}

/// Returns the lowest and the highest concurrency of the trials, without trials whose concurrency is zero or unknown.
fn ends(steps: &[&Trial]) -> (f64, f64) {
    let values = || steps.iter().map(|t| pick::concurrency(t)).filter(|n| n.is_finite() && *n > 0.0);
    (values().reduce(f64::min).unwrap_or(1.0), values().reduce(f64::max).unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caption_explains_a_dashed_line_only_if_there_is_one() {
        let trial = Trial::default();
        let knee = Knee { r1_us: 100.0, x_max: 1e4, concurrency: 1.0, reached_at: None };
        let plot = |knee| response(&[&trial], knee);
        assert!(!plot(None).caption.contains("dashed"));
        let bounded = plot(Some(&knee));
        assert!(bounded.caption.contains("dashed: max(R1, N/Xmax)"));
        assert!(bounded.series.iter().any(|series| series.look == Look::Dashed));
    }
}

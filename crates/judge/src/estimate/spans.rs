//! Spans of the server's traces. Finds the kind of span whose self time grows most with the load. The decisive trial of
//! a run is the load that represents the run.

use run::{Picks, Run, SpanGrowth, SpanProfile, Trial};

use crate::number::{duration, percent, positive, ratio};
use crate::thresholds::FEWEST_REQUESTS;

/// Returns the kind of span (service and name) whose self time per trace grows most from the lightest load to the
/// decisive trial. If the decisive trial (which represents the run) has no spans or is the lightest load, uses the
/// heaviest load.
pub(crate) fn growth(run: &Run, picks: &Picks) -> Option<SpanGrowth> {
    let known = run.trials.iter().enumerate().filter_map(|(at, trial)| Some((at, trial, profile(trial)?)));
    let known: Vec<(usize, &Trial, &SpanProfile)> = known.collect();
    let by_load = |a: &&(usize, &Trial, &SpanProfile), b: &&(usize, &Trial, &SpanProfile)| {
        a.1.rates.concurrency.total_cmp(&b.1.rates.concurrency)
    };
    let &(light, least, few) = known.iter().min_by(by_load)?;
    let decisive = known.iter().find(|(at, ..)| Some(*at) == picks.decisive && *at != light);
    let &(heavy, most, many) = decisive.or_else(|| known.iter().max_by(by_load))?;
    if least.rates.concurrency >= most.rates.concurrency {
        return None;
    }
    let grown = many.spans.iter().filter_map(|sum| {
        let (service, name) = (sum.service.clone(), sum.name.clone());
        let heavy_us = many.self_us_per_trace(&service, &name)?;
        let light_us = few.self_us_per_trace(&service, &name)?;
        (heavy_us > light_us).then_some(SpanGrowth { service, name, light, heavy, light_us, heavy_us, share: 0.0 })
    });
    let grown: Vec<SpanGrowth> = grown.collect();
    let all_us: f64 = grown.iter().map(by_us).sum();
    let most = grown.into_iter().max_by(|a, b| by_us(a).total_cmp(&by_us(b)))?;
    Some(SpanGrowth { share: ratio(by_us(&most), all_us).and_then(positive)?, ..most })
}

fn by_us(growth: &SpanGrowth) -> f64 {
    growth.heavy_us - growth.light_us
}

/// Returns the spans of a trial. Returns `None` if the trial has too few traces.
fn profile(trial: &Trial) -> Option<&SpanProfile> {
    trial.spans.as_deref().filter(|profile| profile.traces >= FEWEST_REQUESTS && !trial.kind.is_auxiliary())
}

/// Returns the finding as a sentence, for the reasons of the verdict.
pub(crate) fn sentence(run: &Run, growth: &SpanGrowth) -> Option<String> {
    let label = |at: usize| run.trials.get(at).map(|trial| trial.label.as_str());
    let of = if growth.service.is_empty() { String::new() } else { format!(" of {}", growth.service) };
    Some(format!(
        "Of the server's own spans, {}{of} grew most: its self time per request rose from {} ({}) to {} ({}), {} of the growth of all spans.",
        growth.name,
        duration(growth.light_us),
        label(growth.light)?,
        duration(growth.heavy_us),
        label(growth.heavy)?,
        percent(growth.share)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Rates, SpanSum};

    fn trial(concurrency: f64, sums: &[(&str, u64, f64)]) -> Trial {
        let sum = |(name, count, self_us): &(&str, u64, f64)| SpanSum {
            service: "shop".into(),
            name: (*name).into(),
            count: *count,
            self_us: *self_us,
            duration_us: *self_us,
        };
        let spans = SpanProfile { traces: 100, kept_share: 1.0, spans: sums.iter().map(sum).collect() };
        Trial {
            label: format!("{concurrency} connections"),
            rates: Rates { concurrency, ..Rates::default() },
            spans: Some(Box::new(spans)),
            ..Trial::default()
        }
    }

    #[test]
    fn the_span_whose_self_time_per_request_grows_most_is_named() {
        let light = trial(1.0, &[("GET /", 100, 900.0), ("SELECT", 300, 100.0), ("render", 100, 50.0)]);
        let heavy = trial(64.0, &[("GET /", 100, 1000.0), ("SELECT", 300, 1100.0), ("render", 100, 40.0)]);
        let mut run = Run { trials: vec![heavy, light], ..Run::default() };
        let found = growth(&run, &Picks { decisive: Some(0), ..Picks::default() }).unwrap();
        assert_eq!((found.name.as_str(), found.light, found.heavy), ("SELECT", 1, 0));
        assert_eq!((found.light_us, found.heavy_us), (300.0, 3300.0));
        assert!((found.share - 3000.0 / 3100.0).abs() < 1e-9, "{}", found.share);
        let text = sentence(&run, &found).unwrap();
        assert!(text.contains("SELECT of shop grew most") && text.contains("64 connections"), "{text}");
        run.trials[1].spans.as_mut().unwrap().traces = 3;
        assert_eq!(growth(&run, &Picks::default()), None, "too few traces show nothing");
        assert_eq!(growth(&Run::default(), &Picks::default()), None);
    }
}

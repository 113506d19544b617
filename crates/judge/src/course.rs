//! Findings about a load whose rate changes: the rates at which the server kept up. The mean over a ramp would say
//! nothing about any of the ramp's rates.

use run::{Breach, BreachKind, CourseFinding, CoursePart, Limits, Moment, Run, Stage, Trial, TrialKind};

use crate::number::{figure, finite, rate};
use crate::objective::{limits, words};
use crate::thresholds::{COURSE_NOISE, HELD_RATE, UNANSWERED_P99};
use stats::average;

/// Maximum number of parts that a ramp is cut into. A tenth of the ramp is exact enough for a reader.
const RAMP_PARTS: f64 = 10.0;
/// Maximum number of stages that are reported one by one. A longer table would be unreadable.
const MAX_STAGES: usize = 20;
/// Shortest part, seconds.
const MIN_PART_S: f64 = 0.5;

/// Returns the parts of the first load with planned stages, and the highest rate at which the server kept up. Returns
/// `None` without planned stages, or if the load was also changed by hand.
pub(crate) fn course(run: &Run) -> Option<CourseFinding> {
    let trial = run.trials.iter().find(|trial| trial.kind == TrialKind::Fixed)?;
    let (stages, limits) = (&run.plan.load.stages, limits(run));
    let points = trial.measured.series_completed.len();
    if stages.is_empty() || !trial.by_hand.is_empty() || points == 0 || trial.measured.length_s <= 0.0 {
        return None;
    }
    let spans = spans(stages, trial);
    let parts: Vec<CoursePart> =
        spans.windows(2).map(|ends| part(trial, stages, [ends[0], ends[1]], &limits)).collect();
    Some(held(parts))
}

/// Describes the offered rate of a trial. For a load whose rate changes, gives the lowest and the highest rate.
pub(crate) fn offered(run: &Run, trial: &Trial) -> String {
    match Stage::range(&run.plan.load.stages).filter(|_| trial.kind == TrialKind::Fixed) {
        Some((least, most)) if least < most => format!("{} to {}", figure(least), rate(most)),
        _ => rate(trial.rates.offered_rate),
    }
}

/// Returns true if the offered rate changed during a trial.
pub(crate) fn changes_rate(run: &Run, trial: &Trial) -> bool {
    let is_ramp = Stage::range(&run.plan.load.stages).is_some_and(|(least, most)| least < most);
    trial.kind == TrialKind::Fixed && is_ramp || !trial.by_hand.is_empty()
}

/// Returns the times at which the parts of a trial's window begin and end, in seconds since the window began. A
/// constant stage is one part, and a ramp is cut into equal parts.
///
/// A load with more than [`MAX_STAGES`] stages is cut into equal parts, whatever its stages are.
fn spans(stages: &[Stage], trial: &Trial) -> Vec<f64> {
    let (begin_s, length_s) = (trial.measured.window.begin_s, trial.measured.length_s);
    let equal = |from_s: f64, to_s: f64| {
        let parts = ((to_s - from_s) / MIN_PART_S).floor().clamp(1.0, RAMP_PARTS);
        (0..parts as u32).map(move |i| from_s + (to_s - from_s) * f64::from(i) / parts).collect::<Vec<f64>>()
    };
    if stages.len() > MAX_STAGES {
        return [equal(0.0, length_s), vec![length_s]].concat();
    }
    let (mut at_s, mut edges) = (-begin_s, Vec::new());
    for stage in stages {
        let (from_s, to_s) = (at_s.max(0.0), (at_s + stage.seconds).min(length_s));
        if to_s - from_s >= MIN_PART_S {
            edges.extend(if stage.from == stage.to { vec![from_s] } else { equal(from_s, to_s) });
        }
        at_s += stage.seconds;
    }
    // If the load goes on after the last stage, the load keeps the final rate of this stage.
    edges.extend((length_s - at_s > MIN_PART_S).then_some(at_s.max(0.0)));
    edges.push(length_s);
    edges
}

fn part(trial: &Trial, stages: &[Stage], [from_s, to_s]: [f64; 2], limits: &Limits) -> CoursePart {
    let (begin_s, series) = (trial.measured.window.begin_s, &trial.measured.series_completed);
    let step_s = trial.measured.length_s / series.len() as f64;
    let at = |i: usize| (i as f64 + 0.5) * step_s;
    let inside = |s: f64| (from_s..to_s).contains(&s);
    let completed: Vec<f64> = (0..series.len()).filter(|i| inside(at(*i))).map(|i| series[i]).collect();
    let moments: Vec<&Moment> = trial.moments.iter().filter(|m| inside(m.t_s - begin_s)).collect();
    let count = |of: fn(&Moment) -> u64| moments.iter().map(|m| of(m) as f64).sum::<f64>();
    let errors = count(|m| m.failed.saturating_sub(m.unexpected));
    // The rates are read slightly inside the part, because the rate at the very end of a stage already belongs to the
    // next stage.
    let rate_at = |s: f64| Stage::rate_at(stages, begin_s + s);
    let hair_s = 1e-6 * (to_s - from_s);
    let part = CoursePart {
        from_s,
        to_s,
        from: rate_at(from_s + hair_s),
        to: rate_at(to_s - hair_s),
        completed: average(&completed),
        p99_us: moments.iter().filter_map(|m| m.p99_us).reduce(f64::max),
        p99_at_least: moments.iter().any(|m| lacks_answers(m, rate_at(m.t_s - begin_s))),
        failed_share: finite(count(|m| m.failed) / (count(|m| m.completed) + errors)),
        breach: None,
    };
    let lost = stats::number::ratio(errors, count(|m| m.completed) + errors).unwrap_or(0.0);
    let offered = average(
        &(0..100).map(|i| rate_at(from_s + (to_s - from_s) * (f64::from(i) + 0.5) / 100.0)).collect::<Vec<_>>(),
    );
    CoursePart { breach: breach(&part, (offered, lost), limits), ..part }
}

/// Returns true if the 99th percentile of a moment (about one second) is unknown because answers are missing. Answers
/// are missing if requests failed, or if no answer came although requests were certainly due. At a low rate, a second
/// may have no request by chance.
fn lacks_answers(moment: &Moment, offered: f64) -> bool {
    let due = offered * moment.seconds;
    moment.p99_us.is_none() && (moment.failed > moment.unexpected || due > COURSE_NOISE.powi(2))
}

/// Returns the limit that a part of the load exceeded. `offered` is the part's offered rate, and `lost` the share of
/// its requests without an answer. The number of random arrivals varies by about its square root. In a short part of
/// the load, the server may therefore complete slightly fewer requests than the average rate offers.
fn breach(part: &CoursePart, (offered, lost): (f64, f64), limits: &Limits) -> Option<Breach> {
    let due = offered * (part.to_s - part.from_s);
    let (kept, least) = (part.completed / offered, HELD_RATE - COURSE_NOISE / due.sqrt());
    let broken =
        |kind, value, limit| Some(Breach { kind, value: finite(value), limit: finite(limit), at_least: false });
    let late = part.p99_us.zip(limits.p99_us).filter(|(p99, limit)| p99 > limit);
    let is_unknown = part.p99_at_least && lost > 0.0;
    match (part.failed_share, late) {
        (Some(failed), _) if failed > limits.errors => broken(BreachKind::Errors, failed, limits.errors),
        _ if kept < least => broken(BreachKind::Behind, kept, HELD_RATE),
        (_, Some((p99, limit))) => {
            broken(BreachKind::P99, p99, limit).map(|breach| Breach { at_least: part.p99_at_least, ..breach })
        }
        // A request without an answer counts as longer than every limit.
        _ if limits.p99_us.is_some() && (lost > UNANSWERED_P99 || is_unknown) => {
            broken(BreachKind::Unanswered, lost, UNANSWERED_P99)
        }
        _ => None,
    }
}

/// Finds the highest rate that met the objective below every rate that failed. If a part with a rising or falling rate
/// failed, it is unknown at which of its rates the failure began. If any part of the load failed, each part that met
/// the objective therefore shows only its lowest rate.
fn held(parts: Vec<CoursePart>) -> CourseFinding {
    let (top, bottom) = (|part: &CoursePart| part.from.max(part.to), |part: &CoursePart| part.from.min(part.to));
    let broken = parts.iter().enumerate().filter(|(_, part)| part.breach.is_some());
    let failed = broken.min_by(|a, b| top(a.1).total_cmp(&top(b.1))).map(|(at, _)| at);
    let below = failed.and_then(|at| parts.get(at)).map_or(f64::INFINITY, top);
    let holding = parts.iter().filter(|part| part.breach.is_none() && top(part) < below);
    let held_rate = holding.map(|part| if failed.is_some() { bottom(part) } else { top(part) });
    let failed_why = failed.and_then(|at| parts.get(at)?.breach.as_ref()).map(words);
    CourseFinding { held_rate: held_rate.reduce(f64::max), failed, failed_why, parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changing_load_is_described_by_its_lowest_and_highest_rate() {
        let mut run =
            load(&[Stage { seconds: 6.0, from: 200.0, to: 3000.0 }], 5000.0, &mut fastrand::Rng::with_seed(1));
        assert_eq!(offered(&run, &run.trials[0]), "200 to 3,000/s");
        run.plan.load.stages.clear();
        run.trials[0].rates.offered_rate = 1600.0;
        assert_eq!(offered(&run, &run.trials[0]), "1,600/s");
    }

    /// Makes a load of 6 s whose server completes at most `most` requests per second, with Poisson noise.
    fn load(stages: &[Stage], most: f64, random: &mut fastrand::Rng) -> Run {
        let mut trial = Trial { kind: TrialKind::Fixed, ..Trial::default() };
        trial.measured.length_s = 6.0;
        trial.measured.window.end_s = 6.0;
        let at = |i: u32| {
            let rate = Stage::rate_at(stages, (f64::from(i) + 0.5) / 10.0);
            (rate + (10.0 * rate).sqrt() * stats::normal(random)).clamp(0.0, most)
        };
        trial.measured.series_completed = (0..60).map(at).collect();
        let mut run = Run { trials: vec![trial], ..Run::default() };
        run.plan.load.stages = stages.to_vec();
        run
    }

    #[test]
    fn a_ramp_is_held_up_to_the_rate_that_the_server_completes() {
        let stages = [Stage { seconds: 6.0, from: 100.0, to: 3000.0 }];
        let mut random = fastrand::Rng::with_seed(1);
        let (mut whole, mut cut) = (0, 0);
        for _ in 0..200 {
            let all = course(&load(&stages, f64::INFINITY, &mut random)).unwrap();
            whole += usize::from(all.failed.is_none() && all.held_rate.is_some_and(|rate| (rate - 3000.0).abs() < 1.0));
            let some = course(&load(&stages, 1500.0, &mut random)).unwrap();
            cut += usize::from(some.held_rate.is_some_and(|rate| (1200.0..=1600.0).contains(&rate)));
            assert!(some.failed.is_some() && some.failed_why.is_some(), "{some:?}");
        }
        println!("ramps: {whole} of 200 held to the end, {cut} of 200 up to the planted rate");
        assert!(whole >= 195 && cut >= 195, "{whole} {cut}");
    }

    /// In one of six seconds, the connections of a twentieth of the requests were reset. In the other five seconds, all
    /// answers came within a millisecond.
    #[test]
    fn a_second_without_a_known_percentile_makes_the_p99_of_its_stage_a_lower_bound() {
        let stages = [Stage { seconds: 6.0, from: 1000.0, to: 1000.0 }];
        let mut run = load(&stages, f64::INFINITY, &mut fastrand::Rng::with_seed(3));
        run.plan.objective.p99_us = Some(20_000.0);
        run.plan.objective.errors = 0.05;
        let second = |i: u32, failed| Moment {
            t_s: f64::from(i) + 0.5,
            seconds: 1.0,
            completed: 1000 - failed,
            failed,
            p99_us: (failed == 0).then_some(1000.0),
            ..Moment::default()
        };
        run.trials[0].moments = (0..6).map(|i| second(i, 0)).collect();
        let part = |run: &Run| course(run).unwrap().parts[0];
        assert!(!part(&run).p99_at_least && part(&run).breach.is_none());
        run.trials[0].moments[3] = second(3, 50);
        let reset = part(&run);
        assert!(reset.p99_at_least && reset.p99_us == Some(1000.0), "{reset:?}");
        assert_eq!(reset.breach.unwrap().kind, BreachKind::Unanswered, "a lower bound does not hold a limit");
        run.trials[0].moments[3] = Moment { completed: 0, p99_us: None, ..second(3, 0) };
        assert!(part(&run).p99_at_least, "no answer came back in a second of a thousand requests");
    }

    #[test]
    fn steps_are_parts_and_a_sine_is_judged_by_its_rates() {
        let step = |rate| Stage { seconds: 2.0, from: rate, to: rate };
        let mut random = fastrand::Rng::with_seed(2);
        let steps = course(&load(&[step(500.0), step(1000.0), step(2000.0)], 1000.0, &mut random)).unwrap();
        assert_eq!(steps.parts.len(), 3, "{steps:?}");
        assert!(steps.held_rate == Some(1000.0) && steps.failed == Some(2), "{steps:?}");
        let down = course(&load(&[step(2000.0), step(1000.0), step(500.0)], 1000.0, &mut random)).unwrap();
        assert!(down.held_rate == Some(1000.0) && down.failed == Some(0), "{down:?}");
        let even = Run { trials: load(&[step(1.0)], 1.0, &mut random).trials, ..Run::default() };
        assert_eq!(course(&even), None);
    }
}

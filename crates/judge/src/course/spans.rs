//! Division of a load whose rate changes into parts.

use run::{Stage, Trial};

/// Maximum number of parts that a ramp is cut into. A tenth of the ramp is exact enough for a reader.
const RAMP_PARTS: usize = 10;
/// Maximum number of stages that are reported one by one. A table with more stages would be unreadable.
const MAX_STAGES: usize = 20;
/// Minimum length of a part of a load with a changing rate, seconds.
const MIN_PART_S: f64 = 0.5;

/// Returns the times at which the parts of a trial's window begin and end, in seconds since the window began. A
/// constant stage is one part, and a ramp is cut into parts.
///
/// A load with more than [`MAX_STAGES`] stages is cut as if it were one ramp.
pub(super) fn spans(stages: &[Stage], trial: &Trial) -> Vec<f64> {
    let (begin_s, length_s) = (trial.measured.window.begin_s, trial.measured.length_s);
    let moments: Vec<f64> = trial.moments.iter().map(|m| m.ends_s()[0] - begin_s).collect();
    if stages.len() > MAX_STAGES {
        return [cut(0.0, length_s, &moments), vec![length_s]].concat();
    }
    let (mut at_s, mut edges) = (-begin_s, Vec::new());
    for stage in stages {
        let (from_s, to_s) = (at_s.max(0.0), (at_s + stage.seconds).min(length_s));
        if to_s - from_s >= MIN_PART_S {
            edges.extend(if stage.from == stage.to { vec![from_s] } else { cut(from_s, to_s, &moments) });
        }
        at_s += stage.seconds;
    }
    // If the load continues after the last stage, it keeps the final rate of this stage.
    edges.extend((length_s - at_s > MIN_PART_S).then_some(at_s.max(0.0)));
    edges.push(length_s);
    edges
}

/// Cuts a ramp into at most [`RAMP_PARTS`] parts, and returns the time at which each part begins. The parts begin where
/// a [`run::Moment`] (interval with percentiles) begins, so each percentile belongs to one part. If the load has no
/// moments, all parts have equal lengths.
fn cut(from_s: f64, to_s: f64, moments: &[f64]) -> Vec<f64> {
    if moments.is_empty() {
        let parts = ((to_s - from_s) / MIN_PART_S).floor().clamp(1.0, RAMP_PARTS as f64);
        return (0..parts as u32).map(|i| from_s + (to_s - from_s) * f64::from(i) / parts).collect();
    }
    let is_inside = |s: &&f64| (from_s + MIN_PART_S..=to_s - MIN_PART_S).contains(*s);
    let inside: Vec<f64> = moments.iter().filter(is_inside).copied().collect();
    let all = inside.len() + 1;
    let parts = all.min(RAMP_PARTS);
    let begins = (1..parts).filter_map(|part| inside.get(part * all / parts - 1));
    std::iter::once(from_s).chain(begins.copied()).collect()
}

//! Drift: what of the server grew all through a long window under one load. A leak looks like this, and so does a cache that
//! is not full yet: which one it is only a longer run shows.
//!
//! Sources: H. Mann, Econometrica 13 (1945), and M. Kendall, *Rank Correlation Methods* (1975), for the test; P. Sen, Journal
//! of the American Statistical Association 63 (1968), for the slope. Both go by ranks, so that neither a spike nor the shape
//! of the noise matters.

use run::{CounterId, Drift, Side, Trial, Window};

use crate::Facts;
use crate::number::figure;
use crate::sides::window_of;

/// Shorter windows show how a server warms up.
const LONG_S: f64 = 30.0;
/// Parts of the window, each with its mean: neighbouring samples hang together, these hardly do.
const PARTS: usize = 20;
/// A trend of this many standard deviations is one by noise alone once in two thousand (one side).
const SURE: f64 = 3.29;
/// The same for the later half alone, where half the parts are left.
const STILL: f64 = 1.96;
/// Of the slope of all of it, what that of the later half must have: what fills up and stops is no drift.
const GOES_ON: f64 = 0.25;
/// Growth in the window, as a share of the median, below which it does not matter.
const MATTERS: f64 = 0.05;

/// A level: its counter, what it is, and its figure in words.
type Level = (&'static str, &'static str, fn(f64) -> String);

/// Levels that a server shall not grow by serving.
const LEVELS: [Level; 2] =
    [("process.rss", "memory", mebibytes), ("process.fds", "number of open descriptors", figure)];

fn mebibytes(bytes: f64) -> String {
    format!("{} MiB", figure(bytes / 1_048_576.0))
}

/// What drifted in the decisive trial, or in the one that was watched. Where the load was to change there is nothing to say.
pub(crate) fn drifts(facts: &Facts<'_>) -> Vec<Drift> {
    let trial = facts.decisive.or_else(|| facts.run.trials.last().filter(|_| facts.run.only_watched()));
    let steady = facts.run.plan.load.stages.is_empty();
    trial.filter(|_| steady).map(of_trial).unwrap_or_default()
}

fn of_trial(trial: &Trial) -> Vec<Drift> {
    let window = window_of(trial);
    let long = window.length_s() >= LONG_S && window.length_s() < f64::MAX;
    let Some(server) = trial.server.as_ref().filter(|_| long) else { return Vec::new() };
    LEVELS.iter().filter_map(|(id, what, words)| drift(server, window, id, what, *words)).collect()
}

fn drift(side: &Side, window: Window, id: &'static str, what: &str, words: fn(f64) -> String) -> Option<Drift> {
    let parts = parts(side, window, id);
    let (z, per_s) = trend(&parts)?;
    let (later_z, later_per_s) = trend(&parts[parts.len() / 2..])?;
    let median = median(parts.iter().map(|(_, v)| *v).collect())?;
    let grown = per_s * window.length_s();
    let drifts = z >= SURE && later_z >= STILL && later_per_s >= GOES_ON * per_s && grown >= MATTERS * median;
    let sentence = format!(
        "the server's {what} grew all through the window, by {} in {} s, which is {} an hour: a leak, or a cache that is not \
         full yet; a longer run tells them apart",
        words(grown),
        figure(window.length_s()),
        words(per_s * 3600.0)
    );
    drifts.then(|| Drift { counter: CounterId::new(id), median, per_s, z, sentence })
}

/// Means of a level, summed over the side's own processes, in equal parts of the window: time and value.
fn parts(side: &Side, window: Window, id: &str) -> Vec<(f64, f64)> {
    let own = side.own();
    let columns: Vec<_> = side.recording.columns_of(id).filter(|c| own.counts(id, &c.instance)).collect();
    let mut sums = vec![(0.0, 0.0, 0_u32); PARTS];
    for (row, t_s) in side.recording.t_s.iter().enumerate().filter(|(_, t)| window.holds(**t)) {
        let level = columns.iter().filter_map(|c| c.values.get(row).copied().flatten()).reduce(|a, b| a + b);
        let Some(level) = level.filter(|v| v.is_finite()) else { continue };
        let place = ((t_s - window.begin_s) / window.length_s() * PARTS as f64).clamp(0.0, PARTS as f64 - 1.0);
        let part = &mut sums[place as usize];
        *part = (part.0 + t_s, part.1 + level, part.2 + 1);
    }
    let known = sums.into_iter().filter(|(_, _, n)| *n > 0);
    known.map(|(t, v, n)| (t / f64::from(n), v / f64::from(n))).collect()
}

/// Standard deviations of the trend (Mann–Kendall, corrected for ties) and its slope per second (Theil–Sen); none for few
/// points, or where all are equal.
fn trend(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len();
    if n < PARTS / 2 {
        return None;
    }
    let pairs = || (0..n).flat_map(|i| (i + 1..n).map(move |j| (points[i], points[j])));
    let sign = |d: f64| if d > 0.0 { 1.0 } else { f64::from(-i8::from(d < 0.0)) };
    let s: f64 = pairs().map(|(a, b)| sign(b.1 - a.1)).sum();
    let of = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut values: Vec<f64> = points.iter().map(|(_, v)| *v).collect();
    values.sort_by(f64::total_cmp);
    let ties: f64 = values.chunk_by(|a, b| a == b).map(|equal| of(equal.len() as f64)).sum();
    let variance = (of(n as f64) - ties) / 18.0;
    let slope = median(pairs().map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).filter(|s| s.is_finite()).collect())?;
    (variance > 0.0).then(|| ((s - sign(s)) / variance.sqrt(), slope))
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, Recording, Run, TrialKind};

    const SECONDS: usize = 600;

    /// A server that was watched for ten minutes, whose memory is what `of` says at each second.
    fn watched(of: impl Fn(f64) -> f64) -> Run {
        let mut random = fastrand::Rng::with_seed(7);
        let t_s: Vec<f64> = (0..=SECONDS).map(|i| i as f64).collect();
        let values = t_s.iter().map(|t| Some(of(*t) + 2e6 * random.f64())).collect();
        let columns = vec![Column { counter: CounterId::new("process.rss"), instance: "app:7".into(), values }];
        let recording = Recording { t_s, columns, absent: Vec::new() };
        let server = Side { processes: vec!["app:7".into()], recording, ..Side::default() };
        let mut trial = Trial { kind: TrialKind::Watched, server: Some(server), ..Trial::default() };
        trial.measured.window = Window { begin_s: 0.0, end_s: SECONDS as f64 };
        let mut run = Run { trials: vec![trial], ..Run::default() };
        crate::judge(&mut run);
        run
    }

    #[test]
    fn a_planted_leak_is_named_with_its_slope() {
        let run = watched(|t| 50e6 + 20_000.0 * t);
        let drift = run.findings.drifts.first().expect("20 kB a second for ten minutes is a leak");
        assert!(drift.counter.as_str() == "process.rss" && drift.z > SURE, "{drift:?}");
        assert!((drift.per_s - 20_000.0).abs() < 1000.0, "{}", drift.per_s);
        assert!(drift.sentence.contains("memory grew") && drift.sentence.contains("an hour"), "{}", drift.sentence);
        assert!(run.findings.trust.warnings.contains(&drift.sentence), "it is shown");
    }

    #[test]
    fn what_is_no_leak_is_not_named() {
        for (what, run) in [
            ("noise alone", watched(|_| 50e6)),
            ("a cache that filled up", watched(|t| 50e6 + 30e6 * (1.0 - (-t / 60.0).exp()))),
            ("one step", watched(|t| if t > 300.0 { 80e6 } else { 50e6 })),
            ("memory that was given back", watched(|t| 80e6 - 20_000.0 * t)),
            ("growth that does not matter", watched(|t| 500e6 + 20_000.0 * t)),
        ] {
            assert_eq!(run.findings.drifts, [], "{what}");
        }
    }
}

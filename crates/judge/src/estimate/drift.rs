//! Drift: steady growth of memory, descriptors, response time or the share of failures, through a long window of one
//! load. Steady growth may come from a leak, or from a cache that is not full yet. Only a longer run shows whether a
//! leak or a cache causes the growth. The decisive trial of a run is the load that represents the run.
//!
//! Throughput that falls or rises through a window is a drift, too, because no single value describes the window.

use run::{CounterId, Drift, DriftMetric, Intensity, Run, Side, Trial, Window};
use stats::trend::{Trend, trend};

use crate::Facts;
use run::number::span;

use crate::context::sides::window_of;
use crate::context::single::{clients, closed};
use crate::number::{counted, duration, figure, median, percent, rate};
use crate::thresholds::{
    FAILURES_MATTER, GOES_ON, HELD_RATE, LEVEL_MATTERS, LONG_S, RATE_MATTERS, TIME_MATTERS, TREND_SURE,
};
use stats::NORMAL_95;

/// Number of parts into which the window is divided to compare their means. Neighbouring samples are correlated, but
/// the means over twentieths of the window are nearly independent.
const PARTS: usize = 20;
/// Minimum trend in the later half of the window, in standard errors, for growth that still continues. A smaller trend
/// shows that the growth has ended.
const STILL: f64 = NORMAL_95;

/// Counter of file descriptors. Open connections have descriptors, too.
const DESCRIPTORS: &str = "process.fds";

/// Quantity that may drift: its counter, its name, and a function that formats its value.
type Level = (&'static str, &'static str, fn(f64) -> String);

/// Quantities that must not grow while requests are served.
const LEVELS: [Level; 2] = [("process.rss", "memory", mebibytes), (DESCRIPTORS, "number of open descriptors", figure)];

fn mebibytes(bytes: f64) -> String {
    format!("{} MiB", figure(bytes / 1_048_576.0))
}

/// Returns the drifts in the decisive trial (which represents the run), or in the last trial of a run that only watched
/// a server. Returns an empty list if the load changed during the trial.
pub(crate) fn drifts(facts: &Facts<'_>) -> Vec<Drift> {
    let trial = facts.decisive.or_else(|| facts.run.trials.last().filter(|_| facts.run.only_watched()));
    let steady = facts.run.plan.load.stages.is_empty();
    let trial = trial.filter(|trial| steady && trial.by_hand.is_empty());
    trial.map(|trial| of_trial(trial, opened(facts.run, trial))).unwrap_or_default()
}

/// Returns the changes of throughput within the windows of constant loads, the largest first.
pub(crate) fn throughputs(facts: &Facts<'_>) -> Vec<Drift> {
    let steady = facts.run.plan.load.stages.is_empty();
    let trials = facts.loaded().filter(|t| steady && t.by_hand.is_empty() && t.broken().is_none());
    let several = facts.sweep.len() + facts.search.len() > 1;
    let mut found: Vec<(Drift, *const Trial)> =
        trials.filter_map(|trial| Some((of_throughput(trial, several)?, std::ptr::from_ref(trial)))).collect();
    // The decisive trial (which represents the run) also belongs to the sweep or the search, so `found` may contain its
    // drift twice. Each drift is therefore kept only once.
    found.sort_by(|a, b| (b.0.z.abs().total_cmp(&a.0.z.abs())).then(a.1.cmp(&b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    found.into_iter().map(|(drift, _)| drift).collect()
}

/// Returns the change of the throughput of one window, from the mean of its first quarter to the mean of its last
/// quarter.
fn of_throughput(trial: &Trial, several: bool) -> Option<Drift> {
    let series = &trial.measured.series_completed;
    let step = series.len() as f64 / PARTS as f64;
    // If a window has fewer points than `PARTS`, each point is one part.
    let cut = |part: usize| &series[(part as f64 * step) as usize..((part + 1) as f64 * step) as usize];
    let rates: Vec<f64> = match step >= 1.0 {
        true => (0..PARTS).map(|part| stats::average(cut(part))).collect(),
        false => series.clone(),
    };
    let points: Vec<(f64, f64)> = rates.iter().enumerate().map(|(at, rate)| (at as f64, *rate)).collect();
    let Trend { z, slope } = enough_parts(&points)?;
    let quarter = rates.len() / 4;
    let (first, last) = (stats::average(&rates[..quarter]), stats::average(&rates[rates.len() - quarter..]));
    let middle = median(rates.clone())?;
    let matters = (closed(trial) || fell_behind(trial, first.min(last)))
        && z.abs() >= TREND_SURE
        && (last - first).abs() >= RATE_MATTERS * first.max(last);
    let load = match closed(trial) {
        true => counted(clients(trial), "client"),
        false => rate(trial.rates.offered_rate),
    };
    let which = if several { format!(" at {load}") } else { String::new() };
    let sentence = format!(
        "throughput {} from {} to {} during the run{which}: the mean describes neither, and the server (or its machine) \
         changed meanwhile",
        if last < first { "fell" } else { "rose" },
        rate(first),
        rate(last)
    );
    let per_s = slope * rates.len() as f64 / trial.measured.length_s;
    let drift = Drift { of: DriftMetric::Throughput, counter: None, median: middle, per_s, z, sentence };
    (matters && (last < first) == (z < 0.0)).then_some(drift)
}

/// Returns true if the server fell behind the offered rate of an open loop. `slowest_rate` is the mean completed rate
/// in the slower one of the window's first and last quarter.
///
/// After a backlog at the beginning, an open loop completes more than the offered rate. A lower rate later therefore
/// does not show that the server fell behind. Random arrivals make the rate vary, too. If the server fell behind, the
/// backlog is still unanswered at the end of the window, or some request waited at least as long as the backlog took to
/// arrive.
fn fell_behind(trial: &Trial, slowest_rate: f64) -> bool {
    let (offered_rate, tally) = (trial.rates.offered_rate, &trial.measured.tally);
    let backlog = (offered_rate - slowest_rate) * trial.measured.length_s / 4.0;
    let unanswered = tally.due.saturating_sub(tally.completed) as f64;
    let has_backlog = unanswered >= backlog || trial.latency_us.max >= 1e6 * backlog / offered_rate;
    slowest_rate < HELD_RATE * offered_rate && has_backlog
}

/// Returns the number of connections that the load opened in the window and kept. Late answers make the connection pool
/// of an open loop grow, so the server's number of descriptors grows, too. More descriptors for more connections are no
/// leak. Returns 0 if each connection carries a single request.
fn opened(run: &Run, trial: &Trial) -> f64 {
    let come_and_go = run.plan.load.new_connections || matches!(trial.intensity, Intensity::SClients { .. });
    if come_and_go { 0.0 } else { trial.measured.tally.connected as f64 }
}

fn of_trial(trial: &Trial, opened: f64) -> Vec<Drift> {
    let window = window_of(trial);
    if window.length_s() < LONG_S || window.length_s() >= f64::MAX {
        return Vec::new();
    }
    let levels = LEVELS.iter().filter_map(|level| of_level(trial.server.as_ref()?, window, *level, opened));
    levels.chain(of_response(trial, window)).chain(of_failures(trial, window)).collect()
}

fn of_level(side: &Side, window: Window, (id, what, words): Level, opened: f64) -> Option<Drift> {
    let found = growth(&parts(window, side.over_time(id).into_iter()), window)?;
    let sentence = format!(
        "the server's {what} grew by {} in {} ({} an hour): a leak, or a cache that still fills; a longer run tells them \
         apart",
        words(found.grown),
        span(window.length_s()),
        words(found.per_s * 3600.0)
    );
    let explained = if id == DESCRIPTORS { opened } else { 0.0 };
    let matters = found.grown - explained >= LEVEL_MATTERS * found.median;
    matters.then(|| found.drift(DriftMetric::Level, Some(CounterId::new(id)), sentence))
}

fn of_response(trial: &Trial, window: Window) -> Option<Drift> {
    let medians = trial.moments.iter().filter_map(|m| Some((m.t_s, m.p50_us?)));
    let found = growth(&parts(window, medians), window)?;
    let sentence = format!(
        "the median response time grew by {} in {} under a constant load, from about {}: a queue, a table or the heap \
         grows, or the machine slows down",
        duration(found.grown),
        span(window.length_s()),
        duration((found.median - found.grown / 2.0).max(0.0))
    );
    (found.grown >= TIME_MATTERS * found.median).then(|| found.drift(DriftMetric::ResponseTime, None, sentence))
}

fn of_failures(trial: &Trial, window: Window) -> Option<Drift> {
    let shares = trial.moments.iter().filter_map(|m| Some((m.t_s, m.failed_share()?)));
    let found = growth(&parts(window, shares), window)?;
    let sentence = format!(
        "the share of failed requests grew by {} of all in {} under a constant load: some resource runs out",
        percent(found.grown),
        span(window.length_s())
    );
    (found.grown >= FAILURES_MATTER).then(|| found.drift(DriftMetric::Failures, None, sentence))
}

/// Growth that exceeds the noise and continues until the end of the window.
struct Growth {
    median: f64,
    per_s: f64,
    z: f64,
    /// Growth of the value over the whole window.
    grown: f64,
}

impl Growth {
    fn drift(&self, of: DriftMetric, counter: Option<CounterId>, sentence: String) -> Drift {
        Drift { of, counter, median: self.median, per_s: self.per_s, z: self.z, sentence }
    }
}

fn growth(parts: &[(f64, f64)], window: Window) -> Option<Growth> {
    let Trend { z, slope: per_s } = enough_parts(parts)?;
    let later = enough_parts(&parts[parts.len() / 2..])?;
    let goes_on = z >= TREND_SURE && later.z >= STILL && later.slope >= GOES_ON * per_s;
    let median = median(parts.iter().map(|(_, v)| *v).collect())?;
    goes_on.then(|| Growth { median, per_s, z, grown: per_s * window.length_s() })
}

/// Splits the window into equal parts. Returns the mean time and the mean value of each part that contains points.
fn parts(window: Window, points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let mut sums = vec![(0.0, 0.0, 0_u32); PARTS];
    for (t_s, value) in points.filter(|(t_s, value)| window.holds(*t_s) && value.is_finite()) {
        let place = ((t_s - window.begin_s) / window.length_s() * PARTS as f64).clamp(0.0, PARTS as f64 - 1.0);
        let part = &mut sums[place as usize];
        *part = (part.0 + t_s, part.1 + value, part.2 + 1);
    }
    let known = sums.into_iter().filter(|(_, _, n)| *n > 0);
    known.map(|(t, v, n)| (t / f64::from(n), v / f64::from(n))).collect()
}

/// Returns the trend over the parts of a window, one point per part. Returns `None` if too few parts of the window have
/// a known value.
fn enough_parts(points: &[(f64, f64)]) -> Option<Trend> {
    trend(points).filter(|_| points.len() >= PARTS / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, Moment, Recording, TrialKind};

    const SECONDS: usize = 600;

    /// Makes the run of a server that was watched for ten minutes. `of` returns the server's memory in bytes at each
    /// second.
    fn watched(of: impl Fn(f64) -> f64) -> Run {
        let mut random = fastrand::Rng::with_seed(7);
        level_of("process.rss", 0, |t| of(t) + 2e6 * random.f64())
    }

    /// Makes a run of a server that was watched while a load opened `connected` connections. `of` returns the level of
    /// the counter `id` at each second.
    fn level_of(id: &'static str, connected: u64, of: impl FnMut(f64) -> f64) -> Run {
        let t_s: Vec<f64> = (0..=SECONDS).map(|i| i as f64).collect();
        let values = t_s.iter().copied().map(of).map(Some).collect();
        let columns = vec![Column { counter: CounterId::new(id), instance: "app:7".into(), values }];
        let recording = Recording { t_s, columns, ..Recording::default() };
        let server = Side { processes: vec!["app:7".into()], recording, ..Side::default() };
        let mut trial = Trial { kind: TrialKind::Watched, server: Some(server), ..Trial::default() };
        trial.measured.window = Window { begin_s: 0.0, end_s: SECONDS as f64 };
        trial.measured.tally.connected = connected;
        let mut run = Run { trials: vec![trial], ..Run::default() };
        crate::judge(&mut run);
        run
    }

    /// The connection pool of an open loop grew from two connections to eight in half a minute. An earlier version of
    /// loadline reported the descriptors of new connections as a leak.
    #[test]
    fn connections_that_the_load_opened_are_no_leak() {
        let found =
            |opened, at_end: f64| level_of(DESCRIPTORS, opened, |t| (6.0 + at_end * t / 600.0).floor()).findings.drifts;
        assert_eq!(found(6, 6.0), []);
        assert_eq!(found(0, 6.0).len(), 1);
        assert_eq!(found(6, 60.0).len(), 1);
    }

    #[test]
    fn a_planted_leak_is_named_with_its_slope() {
        let run = watched(|t| 50e6 + 20_000.0 * t);
        let drift = run.findings.drifts.first().expect("20 kB a second for ten minutes is a leak");
        let memory = drift.counter.as_ref().is_some_and(|c| c.as_str() == "process.rss");
        assert!(memory && drift.of == DriftMetric::Level && drift.z > TREND_SURE, "{drift:?}");
        assert!((drift.per_s - 20_000.0).abs() < 1000.0, "{}", drift.per_s);
        assert!(drift.sentence.contains("memory grew") && drift.sentence.contains("an hour"), "{}", drift.sentence);
        assert!(run.findings.trust.warnings.contains(&drift.sentence), "it is shown");
    }

    #[test]
    fn memory_that_does_not_leak_is_not_named() {
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

    /// Makes a load of ten minutes at one rate. `p50_us` returns the median in microseconds at each second, and
    /// `failed` the share of failures.
    fn loaded(p50_us: impl Fn(f64) -> f64, failed: impl Fn(f64) -> f64) -> Vec<DriftMetric> {
        let mut random = fastrand::Rng::with_seed(11);
        let moment = |i: usize| {
            let t_s = i as f64 + 0.5;
            let noise = 0.9 + 0.2 * random.f64();
            let failed = (1000.0 * failed(t_s) * noise) as u64;
            Moment {
                t_s,
                seconds: 1.0,
                completed: 1000 - failed,
                failed,
                unexpected: 0,
                p50_us: Some(p50_us(t_s) * noise),
                p99_us: None,
            }
        };
        let mut trial = Trial { moments: (0..SECONDS).map(moment).collect(), ..Trial::default() };
        trial.rates.completed_rate = 1000.0;
        trial.measured.window = Window { begin_s: 0.0, end_s: SECONDS as f64 };
        let mut run = Run { trials: vec![trial], ..Run::default() };
        crate::judge(&mut run);
        run.findings.drifts.iter().map(|drift| drift.of).collect()
    }

    #[test]
    fn response_times_and_failures_that_creep_up_are_named() {
        assert_eq!(loaded(|t| 1000.0 + t, |_| 0.0), [DriftMetric::ResponseTime]);
        assert_eq!(loaded(|_| 1000.0, |t| t / 6000.0), [DriftMetric::Failures]);
        assert_eq!(loaded(|t| 500.0 + 2.0 * t, |t| t / 3000.0), [DriftMetric::ResponseTime, DriftMetric::Failures]);
    }

    #[test]
    fn rates_and_failures_that_only_vary_are_no_drift() {
        let none: [DriftMetric; 0] = [];
        assert_eq!(loaded(|_| 1000.0, |_| 0.02), none);
        assert_eq!(loaded(|t| 1000.0 + t / 10.0, |t| t / 100_000.0), none, "too little to matter");
        assert_eq!(loaded(|t| if t > 300.0 { 2000.0 } else { 1000.0 }, |_| 0.0), none, "a step");
        assert_eq!(loaded(|t| 1000.0 + 800.0 * (t / 30.0).sin(), |_| 0.0), none, "up and down");
    }

    /// Makes a load of `tenths` tenths of a second, and returns the drift of its throughput. `of` returns the rate for
    /// each elapsed share of the load, 0 to 1.
    fn course(tenths: usize, of: impl Fn(f64) -> f64, noise: f64, seed: u64) -> Option<Drift> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut trial = Trial::default();
        let mut before = 0.0;
        let mut rate = |i: usize| {
            // Neighbouring tenths of a second are correlated, as in a real load.
            before = 0.5 * before + noise * stats::normal(&mut random);
            of(i as f64 / tenths as f64) * (1.0 + before)
        };
        trial.measured.series_completed = (0..tenths).map(&mut rate).collect();
        trial.measured.length_s = tenths as f64 / 10.0;
        of_throughput(&trial, false)
    }

    #[test]
    fn a_server_that_slows_down_during_the_run_is_named_with_both_rates() {
        for (seed, tenths) in [(1, 20), (2, 31), (3, 100), (4, 600)] {
            let drift = course(tenths, |t| 390.0 / (1.0 + 2.0 * t), 0.08, seed).expect("from 390/s to 130/s");
            assert!(drift.of == DriftMetric::Throughput && drift.per_s < 0.0, "{drift:?}");
            assert!(drift.sentence.starts_with("throughput fell from "), "{}", drift.sentence);
            assert!(course(tenths, |t| 100.0 + 100.0 * t, 0.08, seed).unwrap().sentence.contains("rose"), "{tenths}");
        }
        assert_eq!(course(9, |t| 390.0 / (1.0 + 2.0 * t), 0.0, 1), None, "too few points");
        assert_eq!(course(600, |t| 390.0 - 20.0 * t, 0.02, 1), None, "too little to matter");
    }

    #[test]
    fn a_rate_that_only_varies_is_hardly_ever_a_change() {
        let named = (0..2000).filter(|&seed| course(20 + seed % 200, |_| 300.0, 0.15, seed as u64).is_some()).count();
        println!("{named} of 2000 steady loads with noise of 15 % are said to change");
        assert!(named <= 20, "{named}");
    }

    /// A server that answers at once completes requests at the rate at which they arrive. An earlier version of
    /// loadline saw 23 random arrivals in one second, and took their scatter as a server that slowed down.
    #[test]
    fn random_arrivals_at_a_server_that_keeps_up_are_no_change() {
        let of = |max_us: f64, seed: u64| {
            let mut random = fastrand::Rng::with_seed(seed);
            let intensity =
                Intensity::Open { rate: 20.0, arrival: run::Arrival::Poisson, max_connections: 1, pipeline: 1 };
            let mut trial = Trial { intensity, ..Trial::default() };
            let mut due = |rate: f64| (0..100).filter(|_| random.f64() < rate / 1000.0).count() as f64;
            let counts: Vec<f64> = (0..20).map(|tenth| due(40.0 - 1.9 * f64::from(tenth))).collect();
            let all = counts.iter().sum::<f64>();
            trial.measured.series_completed = counts.iter().map(|n| 10.0 * n).collect();
            (trial.measured.length_s, trial.rates.offered_rate, trial.latency_us.max) = (2.0, all / 2.0, max_us);
            (trial.measured.tally.due, trial.measured.tally.completed) = (all as u64, all as u64);
            of_throughput(&trial, false).is_some()
        };
        let named = |max_us| (0..500).filter(|seed| of(max_us, *seed)).count();
        assert_eq!(named(3e3), 0, "answers within 3 ms leave no backlog");
        assert!(named(1e6) > 50, "answers after a second show one: {}", named(1e6));
    }

    /// Windows of random noise, without a trend, are hardly ever reported as growth.
    #[test]
    fn noise_is_hardly_ever_a_trend() {
        let mut random = fastrand::Rng::with_seed(5);
        let window = Window { begin_s: 0.0, end_s: 40.0 };
        let named = (0..2000).filter(|_| {
            let points: Vec<(f64, f64)> = (0..PARTS).map(|i| (2.0 * i as f64 + 1.0, random.f64())).collect();
            growth(&points, window).is_some()
        });
        assert!(named.count() <= 3);
    }
}

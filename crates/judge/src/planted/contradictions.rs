//! Tests that no two sentences about one run contradict each other. The tests cover all made-up runs, and runs with a
//! measured rate above a figure that should be its upper bound.

use run::{Run, Trial, TrialKind};

use super::{PLANTED, PlantedRun, Point, Who, planted, without};

fn judged(mut run: Run) -> Run {
    crate::judge(&mut run);
    run
}

/// Compares the printed figures of many runs with their trials.
#[test]
fn no_planted_run_prints_two_figures_that_contradict_each_other() {
    let odd = without(planted("server-concurrency").unwrap(), &["process.cpu"]);
    let full = PlantedRun::new(1000.0, 4000.0).per_s(Who::Client, "cpu.idle", "total", |_| 0.0).no_server();
    let lags = PlantedRun::new(1000.0, 4000.0).steps(&[4]).rates(&[]).change(|t, _| {
        t.service_us.mean *= 1.9;
        t.latency_us.p99 = 1.9e6;
    });
    // The report of a real run said "43,100/s at most" above a table row with 56,800/s.
    let beyond = PlantedRun::new(1000.0, 4000.0).change(|t, p| {
        if t.kind == TrialKind::Search && p.offered > 4000.0 {
            t.rates.completed_rate = 5200.0;
        }
    });
    let past = PAST_A_BOUND.iter().map(|(_, planted_run)| planted_run().run());
    let runs = PLANTED.iter().map(|p| p.run()).chain([odd, full.run(), lags.run(), beyond.run()]).chain(past);
    let runs: Vec<Run> = runs.map(judged).collect();
    runs.iter().for_each(contradicts_nothing);
    every_sentence_is_said_by_some(&runs);
}

/// Texts that the checks below search for. Each text that the checks search for must occur in a sentence about at least
/// one made-up run. Without this check, rewording a sentence could make another check useless without notice.
const SENTENCES: &[&str] = &[
    LITTLE,
    NO_STEP,
    "R1 is too high, so no knee is given",
    "did not reach the highest rate",
    "the generator's threads used",
    "still growing",
    "it has stopped growing",
    "at a time",
];
const LITTLE: &str = "Little's law";
const NO_STEP: &str = "no step of the sweep exceeds";

fn every_sentence_is_said_by_some(runs: &[Run]) {
    let said: Vec<&str> = runs.iter().flat_map(|run| said(&run.findings)).collect();
    for words in SENTENCES {
        assert!(said.iter().any(|sentence| sentence.contains(words)), "nobody says {words:?} any more");
    }
    let room = runs.iter().any(|run| run.findings.bottleneck.evidence.iter().any(is_room));
    assert!(room, "no run has the line of evidence that no device was busy");
}

fn said(f: &run::Findings) -> impl Iterator<Item = &str> {
    let lists = [&f.trust.held, &f.trust.warnings, &f.argument];
    lists.into_iter().flatten().map(String::as_str).chain([f.bottleneck.sentence.as_str()])
}

/// Returns true for the line of evidence that says how much CPU time is idle.
fn is_room(e: &run::Evidence) -> bool {
    e.counter == "cpu.idle" && e.value.is_some() && e.limit.is_some()
}

/// Function that makes a made-up run.
type Planted = fn() -> PlantedRun;

/// Runs with a measured rate above a figure that should be its upper bound. Each run comes with words of the expected
/// warning; `None` if no warning is expected, because nothing contradicts the rate.
const PAST_A_BOUND: &[(Option<&str>, Planted)] = &[
    // With one client, every request includes a wake-up of the server, so R1 (the response time with one client) is
    // long. The rate with N clients therefore exceeds N / R1, which should be its upper bound.
    (Some("R1 is too high, so no knee is given"), || {
        PlantedRun::new(1000.0, 4000.0).change(|t, p| {
            if t.kind == TrialKind::Sweep && p.n < 2.0 {
                slow_down(t, 2.0);
            }
        })
    }),
    // One of the steps at the plateau is faster than the other steps, so the decisive step is not the fastest step.
    (None, || {
        PlantedRun::new(1000.0, 4000.0).change(|t, p| {
            if p.n == 32.0 {
                slow_down(t, 0.7)
            }
        })
    }),
    // The open loop reaches a higher rate than the sweep.
    (Some("did not reach the highest rate"), || {
        PlantedRun::new(1000.0, 4000.0).rates(&[0.5, 0.9, 1.3]).change(|t, p| {
            if t.kind == TrialKind::Search && p.offered > 4000.0 {
                slow_down(t, 1.0 / 1.25);
            }
        })
    }),
    // Under load, a request costs less CPU time than with one client. The rate under load therefore exceeds 1 / D,
    // where D is the CPU demand with one client.
    (Some("cost per request changes with the load"), || {
        let cost = |p: &Point| if p.n > 4.0 { 190.0 } else { 700.0 };
        let planted_run = PlantedRun::new(500.0, 20_000.0)
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * cost(p))
            .per_s(Who::Server, "cpu.idle", "total", move |p| 4e6 - p.x * cost(p))
            .per_s(Who::Server, "cpu.user", "total", move |p| p.x * cost(p));
        ["101", "102", "103", "104"].iter().fold(planted_run.steps(&[1, 2, 4, 64, 128]), |run, tid| {
            run.per_s(Who::Server, "thread.cpu", &format!("srv:100/{tid}"), move |p| p.x * cost(p) / 4.0)
        })
    }),
];

/// Slows a trial down: divides its counts and rates by `times`, and multiplies its response times by `times`.
fn slow_down(t: &mut Trial, times: f64) {
    let r = &mut t.rates;
    [&mut r.completed_rate, &mut r.goodput, &mut r.sent_rate].into_iter().for_each(|rate| *rate /= times);
    let less = |n: &mut u64| *n = (*n as f64 / times) as u64;
    [&mut t.measured.tally, &mut t.tally].into_iter().for_each(|tally| {
        [&mut tally.completed, &mut tally.sent].into_iter().for_each(less);
        tally.status.values_mut().for_each(less);
    });
    t.measured.series_completed.iter_mut().for_each(|rate| *rate /= times);
    for summary in [&mut t.latency_us, &mut t.service_us] {
        let figures = [&mut summary.mean, &mut summary.min, &mut summary.p50, &mut summary.p90, &mut summary.p99];
        figures.into_iter().chain([&mut summary.p99_9, &mut summary.max]).for_each(|figure| *figure *= times);
    }
}

#[test]
fn a_warning_names_a_rate_above_its_bound() {
    for (warning, planted_run) in PAST_A_BOUND {
        let f = judged(planted_run().run()).findings;
        let says = |words: &str| f.trust.warnings.iter().any(|w| w.contains(words));
        let most = f.outcomes.iter().filter_map(|o| o.good_rate).fold(0.0, f64::max);
        let passed = f.knee.as_ref().is_none_or(|knee| most > 1.05 * knee.x_max);
        assert!(warning.map_or(!passed, says), "{warning:?}: {:?}, {:#?}", f.knee, f.trust);
    }
}

/// Returns true if a warning says that the knee of the sweep is wrong.
fn retracts_knee(run: &Run) -> bool {
    let words = ["so no knee is given", "the knee is above"];
    run.findings.trust.warnings.iter().any(|warning| words.iter().any(|words| warning.contains(words)))
}

/// An earlier version of loadline printed a knee together with a warning that this knee is wrong.
#[test]
fn a_knee_that_a_warning_retracts_is_not_given() {
    for (warning, planted_run) in PAST_A_BOUND {
        let run = judged(planted_run().run());
        let is_wrong = warning.is_some_and(|words| words.contains("knee") || words.contains("highest rate"));
        assert_eq!((retracts_knee(&run), run.findings.knee.is_none()), (is_wrong, is_wrong), "{warning:?}");
        let says = run.findings.argument.iter().any(|sentence| sentence.contains("(the knee)"));
        assert_eq!(says, !is_wrong, "{:?}", run.findings.argument);
    }
}

fn contradicts_nothing(run: &Run) {
    let f = &run.findings;
    assert!(!(retracts_knee(run) && f.knee.is_some()), "{:?} beside {:?}", f.knee, f.trust.warnings);
    let most = f.outcomes.iter().filter_map(|o| o.good_rate).fold(0.0, f64::max);
    let b = &f.bottleneck;
    if let Some(c) = &f.capacity {
        let of = f.picks.at_capacity.and_then(|at| f.outcomes.get(at));
        assert_eq!(of.is_some_and(|o| o.held), c.held, "{}: {c:?}", b.id);
        assert!(!c.held || c.failed_at.is_none_or(|at| at > 0.9 * c.rate), "{}: {c:?}", b.id);
    }
    if let Some(knee) = f.knee.as_ref().filter(|k| most > 1.05 * k.x_max) {
        let told = f.trust.warnings.iter().any(|w| w.contains("did not reach the highest rate"));
        assert!(told, "{}: Xmax {}, and {most} was seen", b.id, knee.x_max);
    }
    let beyond = f.picks.beyond.and_then(|at| f.outcomes.get(at)?.good_rate);
    assert!(beyond.is_none_or(|rate| rate >= most), "{}: {beyond:?} at most, and {most} was seen", b.id);
    let next = b.next.as_ref().and_then(|n| n.rate);
    assert!(next.is_none_or(|rate| rate >= most), "{}: next at {next:?}, and {most} was seen", b.id);
    if b.id == "not-saturated" {
        let busy = b.evidence.iter().filter(|e| is_room(e)).find(|e| e.value > e.limit);
        assert!(busy.is_none() && b.evidence.iter().any(is_room), "room is said, and {busy:?} was busy");
    }
    let little = run.picked(|p| p.decisive).and_then(crate::context::laws::little);
    if f.trust.held.iter().any(|held| held.starts_with(LITTLE)) {
        assert!(little.is_some_and(|(seen, law)| (law - seen).abs() <= 0.05 * seen), "{}: held, and {little:?}", b.id);
    }
    for held in &f.trust.held {
        let about = held.split([':', '(']).next().unwrap();
        assert!(!f.trust.warnings.iter().any(|w| w.starts_with(about)), "{}: held and warned: {about}", b.id);
    }
    assert!(!b.ruled_out.iter().any(|r| r.id == b.id), "{} binds and is ruled out", b.id);
    bounds_nothing_that_was_passed(run);
    its_own_reasons(run);
}

/// Checks a run in which a step of the sweep, with N clients, completed far more than N / R1. R1 is the response time
/// of one client, so N / R1 is an upper bound if R1 is correct. A warning must say that R1 is too high, and no sentence
/// may claim that all steps are within the bound.
fn bounds_nothing_that_was_passed(run: &Run) {
    let f = &run.findings;
    let closed = run.trials.iter().filter(|t| t.kind == TrialKind::Sweep);
    let steps: Vec<(f64, &Trial)> = closed.map(|t| (crate::context::single::clients(t), t)).collect();
    let Some((n, one)) = steps.first().filter(|_| steps.len() > 1) else { return };
    let Some(r1_s) = Some(n / one.rates.completed_rate).filter(|_| *n == 1.0) else { return };
    let past = steps.iter().find(|(n, t)| t.rates.completed_rate > 1.15 * n / r1_s);
    let Some((n, _)) = past else { return };
    let id = &f.bottleneck.id;
    assert!(!f.trust.held.iter().any(|held| held.contains(NO_STEP)), "{id}: {n} clients did");
    let told = f.trust.warnings.iter().any(|w| w.contains("R1 is too high, so no knee is given"));
    assert!(told, "{id}: {n} clients did more than {n} times the work of one, and that is not said");
    assert!(!f.bottleneck.sentence.contains("at a time"), "{id}: places are counted by an R1 that holds no longer");
}

/// Checks that the argument (the reasons in order) agrees with the verdict.
fn its_own_reasons(run: &Run) {
    let (f, b) = (&run.findings, &run.findings.bottleneck);
    let says = |words: &str| f.argument.iter().any(|sentence| sentence.contains(words));
    assert!(!(says("still growing") && f.knee.is_some()), "{}: a knee, and the rate was still growing", b.id);
    assert!(!(says("it has stopped growing") && b.id == "not-saturated"), "{}: {:#?}", b.id, f.argument);
    assert!(says(&b.sentence), "{}: the argument ends elsewhere: {:#?}", b.id, f.argument);
    let at_most_one = f.trust.held.iter().filter(|held| held.starts_with("the generator's threads used")).count();
    assert!(at_most_one <= 1 && !(at_most_one == 1 && b.id == "client-cpu"), "{}: {:#?}", b.id, f.trust.held);
}

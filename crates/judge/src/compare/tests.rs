use run::{ComparisonOutcome, ComparisonResult, Protocol, Run, Trial, TrialKind};

use fastrand::Rng;

use super::Pairing::{InTurns, Kept};
use super::compare;
use stats::normal;

/// Makes a run with `n` windows of one load. The CPU time per request and the rate vary as little as on a machine
/// without other programs.
pub(super) fn windows(random: &mut Rng, n: usize, cpu_us: f64) -> Run {
    let mut run = crate::planted::PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
    let template = run.trials.pop().unwrap();
    run.trials = (0..n).map(|_| window(random, &template, cpu_us)).collect();
    run
}

fn window(random: &mut Rng, template: &Trial, cpu_us: f64) -> Trial {
    let mut trial = template.clone();
    trial.kind = TrialKind::Fixed;
    let cpu = cpu_us * (1.0 + 0.01 * normal(random));
    trial.rates.completed_rate = 1e6 / cpu * (1.0 + 0.02 * normal(random));
    let p50 = 1e3 * (1.0 + 0.02 * normal(random));
    trial.latency_us.p50 = p50;
    trial.latency_us.p99 = 3.0 * p50 * (1.0 + 0.1 * normal(random));
    trial.latency_us.p99_9 = 9.0 * p50 * (1.0 + 0.3 * normal(random)).max(0.1);
    trial.histograms.clear();
    let server = trial.server.get_or_insert_default();
    let cost = |us: f64| run::Cost { per_request: run::Reading::Value(us), unit: run::FigureUnit::Micros };
    server.costs.insert("process_cpu_us".into(), cost(cpu));
    trial
}

/// Makes a run with few requests per window, and with histograms. The response times are exponential with the mean
/// `mean_us`.
fn kept(random: &mut Rng, n: usize, requests: usize, mean_us: f64) -> Run {
    let mut run = windows(random, n, 400.0);
    for trial in &mut run.trials {
        let mut hist = run::Hist::new();
        (0..requests).for_each(|_| hist.record_ns((-random.f64().max(1e-12).ln() * mean_us * 1e3) as u64));
        trial.latency_us = run::Summary::of(&hist);
        trial.histograms.insert("response".into(), hist);
    }
    run
}

#[test]
fn percentiles_are_those_of_all_windows_together() {
    let p999 = |c: &run::Comparison| c.comparisons.iter().find(|c| c.figure == "p99.9").unwrap().clone();
    let (mut covered, mut told, mut off) = (0, 0, 0.0);
    for seed in 0..20 {
        let mut random = Rng::with_seed(seed);
        let [a, b, c] = [1000.0, 1000.0, 1250.0].map(|mean| kept(&mut random, 40, 100, mean));
        let with =
            |other: &Run| compare(("a", std::slice::from_ref(&a)), ("b", std::slice::from_ref(other)), 0.03, InTurns);
        let with_slower = with(&c).unwrap();
        let (same, slower) = (p999(&with(&b).unwrap()), p999(&with_slower));
        // A window has only a hundred response times, and the longest of them is not the p99.9. The longest of 100 is
        // on average 5.2 times the mean, near the p99 (4.6 times the mean); the p99.9 is 6.9 times the mean.
        off += same.old / (1000.0 * 1000.0f64.ln()) - 1.0;
        covered += usize::from(slower.low.unwrap() <= 1.25 && 1.25 <= slower.high.unwrap());
        told += usize::from(matches!(same.word, ComparisonResult::Faster | ComparisonResult::Slower));
        let curve = with_slower.curves.response_us;
        assert!(curve.len() >= 6 && curve.iter().filter(|p| p.new > p.old).count() >= 5, "{curve:?}");
    }
    println!("p99.9 of merged windows: bias {:.3}, covered {covered} of 20, told apart {told} of 20", off / 20.0);
    assert!((off / 20.0).abs() < 0.06 && covered >= 17 && told <= 1, "{off} {covered} {told}");
}

fn word(old: f64, new: f64, seed: u64) -> run::Comparison {
    let mut random = Rng::with_seed(seed);
    let (a, b) = (windows(&mut random, 20, old), windows(&mut random, 20, new));
    compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap()
}

/// Function that disturbs a window. The last argument is the window's position in the run, 0 to 1.
type Disturbance = fn(&mut Rng, &mut Trial, f64);

/// Makes all figures of a window slower by a factor.
pub(super) fn slow(trial: &mut Trial, factor: f64) {
    let cost = trial.server.as_mut().and_then(|server| server.costs.get_mut("process_cpu_us")).unwrap();
    cost.per_request = run::Reading::Value(cost.per_request.value().unwrap() * factor);
    trial.rates.completed_rate /= factor;
    for us in [&mut trial.latency_us.p50, &mut trial.latency_us.p99, &mut trial.latency_us.p99_9] {
        *us *= factor;
    }
}

/// Two equal servers are compared on four simulated machines. The first machine is quiet, the speed of the second
/// machine drifts, and other programs disturb the last two machines.
#[test]
fn equal_servers_get_a_word_in_at_most_five_of_a_hundred_comparisons() {
    let disturbances: [(&str, Disturbance); 4] = [
        ("quiet", |_, _, _| ()),
        ("drift", |_, trial, at| slow(trial, 1.0 + 0.1 * at)),
        ("disturbed", |random, trial, _| slow(trial, if random.f64() < 0.15 { 1.0 + random.f64() } else { 1.0 })),
        ("wild", |random, trial, _| slow(trial, (0.2 * normal(random) / random.f64().max(0.1)).exp())),
    ];
    for (name, disturb) in disturbances {
        for n in [7, 20] {
            let mut undecided = 0;
            let told = (0..200).filter(|seed| {
                let mut random = Rng::with_seed(5000 + seed);
                let [a, b] = [0, 1].map(|_| {
                    let mut run = windows(&mut random, n, 400.0);
                    let places = run.trials.iter_mut().enumerate();
                    places.for_each(|(at, trial)| disturb(&mut random, trial, at as f64 / n as f64));
                    run
                });
                let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
                undecided += usize::from(c.outcome == ComparisonOutcome::Undecided);
                let deciding = c.comparisons.iter().filter(|c| c.role != run::FigureRole::Listed);
                deciding.into_iter().any(|c| matches!(c.word, ComparisonResult::Faster | ComparisonResult::Slower))
            });
            let told = told.count();
            println!("A/A, {name}, {n} windows: {told} of 200 told apart, {undecided} undecided");
            // The expected number of wrong results is 10 of 200; 16 is two standard deviations more.
            assert!(told <= 16, "{name}: {told}");
            // Twenty windows with a scatter of 2 % suffice to decide that equal servers do not differ, even on a
            // machine whose speed drifts.
            let decides = n == 20 && matches!(name, "quiet" | "drift");
            assert!(!decides || undecided <= 16, "{name}: {undecided} undecided");
        }
    }
}

/// The new server's median is worse by exactly the threshold, and its other figures are equal. The new server passes in
/// at most 5 of 100 comparisons.
#[test]
fn a_server_that_is_worse_by_the_threshold_seldom_passes() {
    for n in [7, 20] {
        let passes = |seed: &u64| {
            let mut random = Rng::with_seed(7000 + seed);
            let [a, mut b] = [0, 1].map(|_| windows(&mut random, n, 400.0));
            b.trials.iter_mut().for_each(|trial| trial.latency_us.p50 *= 1.03);
            let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
            c.outcome == ComparisonOutcome::Passed
        };
        let passed = (0..200).filter(passes).count();
        println!("worse by the threshold, {n} windows: {passed} of 200 pass");
        assert!(passed <= 16, "{passed}");
    }
}

/// Two equal servers are compared. The data is analysed four times while it grows. The four analyses together err as
/// seldom as a single analysis.
#[test]
fn looks_at_growing_data_err_as_seldom_as_one() {
    let told = (0..200).filter(|seed| {
        let mut random = Rng::with_seed(21_000 + seed);
        let [a, b] = [0, 1].map(|_| windows(&mut random, 28, 400.0));
        (1..=4).any(|look| {
            let until = |run: &Run| Run { trials: run.trials[..7 * look].to_vec(), ..run.clone() };
            let looks: Vec<f64> = (1..=look).map(|at| at as f64 / 4.0).collect();
            let c = super::compare_at(("a", &[until(&a)]), ("b", &[until(&b)]), 0.03, (InTurns, &looks)).unwrap();
            let mut deciding = c.comparisons.iter().filter(|c| c.role != run::FigureRole::Listed);
            deciding.any(|c| matches!(c.word, ComparisonResult::Faster | ComparisonResult::Slower))
        })
    });
    let told = told.count();
    println!("A/A, four looks: {told} of 200 told apart");
    assert!(told <= 16, "{told}");
}

/// The smallest change that a comparison states is found in 19 of 20 comparisons of servers that differ by this change.
#[test]
fn the_stated_smallest_change_is_shown_in_nineteen_of_twenty() {
    let stated = |seed: u64| word(400.0, 400.0, seed).smallest_change.unwrap();
    let change = stats::average(&(0..40).map(stated).collect::<Vec<_>>());
    let shown = |seed: &u64| {
        let c = word(400.0, 400.0 * (1.0 + change), 300 + seed);
        c.comparisons.iter().any(|c| c.figure == "server CPU per request" && c.word == ComparisonResult::Slower)
    };
    let shown = (0..200).filter(shown).count();
    println!("smallest change {:.2} %: shown in {shown} of 200", 100.0 * change);
    assert!((180..=199).contains(&shown), "{shown}");
    let c = word(400.0, 400.0, 5);
    assert_eq!(c.smallest_change_of.as_deref(), Some("server CPU per request"));
    let least = c.comparisons.iter().filter_map(|c| c.smallest_change).fold(f64::INFINITY, f64::min);
    assert!(c.smallest_change.is_some_and(|change| (0.005..0.05).contains(&change) && change >= least), "{c:?}");
    // The windows have no length in this run, so the needed time is unknown.
    assert!(c.one_percent_s.is_none() && c.comparisons[0].one_percent.is_some(), "{c:?}");
}

/// The result word of each figure follows from the printed interval alone.
#[test]
fn each_word_follows_from_the_printed_interval() {
    for seed in 0..60 {
        let c = word(400.0, 400.0 + f64::from(seed % 4) * 6.0, 9000 + seed as u64);
        for one in c.comparisons.iter().filter(|one| one.difference.is_none()) {
            let Some((low, high)) = one.low.zip(one.high) else {
                assert_eq!(one.word, ComparisonResult::NotEnough, "{one:?}");
                continue;
            };
            let apart = matches!(one.word, ComparisonResult::Faster | ComparisonResult::Slower);
            assert_eq!(apart, low > 1.0 || high < 1.0, "{one:?}");
            assert!(apart == one.p.is_some_and(|p| p < 0.05), "{one:?}");
            let within = low >= 1.0 / 1.03 && high <= 1.03;
            assert_eq!(one.word == ComparisonResult::Same, within && !apart, "{one:?}");
        }
    }
}

#[test]
fn planted_five_and_two_percent_are_found() {
    let found = |new: f64| {
        let slower = |s: &u64| {
            let c = word(400.0, new, 1000 + s);
            c.comparisons.iter().any(|c| c.figure == "server CPU per request" && c.word == ComparisonResult::Slower)
        };
        (1..=50).filter(slower).count()
    };
    let (five, two) = (found(420.0), found(408.0));
    println!("planted 5 %: {five} of 50; 2 %: {two} of 50");
    assert!(five >= 49 && two >= 40, "{five} {two}");
    let c = word(400.0, 420.0, 7);
    assert!(c.regression && c.decided_by.is_some() && c.verdict == ComparisonResult::Slower, "{c:?}");
    assert!(!word(420.0, 400.0, 7).regression);
}

#[test]
fn runs_that_cannot_be_compared_get_a_sentence() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let none = Run::default();
    let mut other = good.clone();
    other.plan.load.protocol = Protocol::Echo { message_bytes: 1 };
    let say = |a: &Run, b: &Run| {
        compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03, InTurns).unwrap_err()
    };
    assert!(say(&none, &good).contains("has no trial"));
    assert!(say(&good, &other).contains("protocols"));
    let mut silent = good.clone();
    silent.trials.iter_mut().for_each(|t| t.measured.tally.completed = 0);
    assert!(say(&silent, &good).contains("completed no request"));
}

/// A new server that died is a regression, even if no figure shows the death. The death of an old server says nothing
/// about the new server.
#[test]
fn a_new_server_that_died_is_a_regression_whatever_its_figures_are() {
    let mut random = Rng::with_seed(11);
    let (a, b) = (windows(&mut random, 20, 400.0), windows(&mut random, 20, 300.0));
    let died = |run: &Run, kind: run::IncidentKind| {
        let mut run = run.clone();
        let text = "the server ended at 0.9 s".to_owned();
        run.trials[19].incidents.push(run::Incident { kind, begin_s: 0.9, end_s: None, text });
        run
    };
    let both = |a: &Run, b: &Run| {
        compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03, InTurns).unwrap()
    };
    let (ended, unreachable) = (run::IncidentKind::ServerEnded, run::IncidentKind::ServerUnreachable);
    for kind in [ended, unreachable, run::IncidentKind::ServerStopped] {
        let c = both(&a, &died(&b, kind));
        assert!(c.outcome == ComparisonOutcome::Regressed && c.regression && c.deaths.len() == 1, "{c:?}");
        assert!(c.verdict == ComparisonResult::Slower && c.decided_by.is_none(), "{c:?}");
        assert_eq!(c.deaths[0].text, "the server ended at 0.9 s (load 20 of 20)");
    }
    let old = both(&died(&a, ended), &a);
    assert!(old.outcome != ComparisonOutcome::Regressed && !old.deaths[0].new, "{old:?}");
    // If the generator ended but the server did not, the comparison counts no death of the server.
    assert!(both(&a, &died(&b, run::IncidentKind::GeneratorEnded)).deaths.is_empty());
    let mut silent = b.clone();
    silent.trials.iter_mut().for_each(|t| (t.measured.tally.completed, t.tally.sent) = (0, 4));
    let c = both(&a, &silent);
    assert!(c.outcome == ComparisonOutcome::Regressed && c.deaths[0].text.contains("answered nothing"), "{c:?}");
}

/// A required figure may be worse, so the comparison is undecided, although another figure certainly did not change.
#[test]
fn a_figure_that_may_be_worse_leaves_the_comparison_open() {
    let mut random = Rng::with_seed(12);
    let mut side = || {
        let mut run = windows(&mut random, 20, 400.0);
        run.trials.iter_mut().for_each(|t| t.rates.completed_rate *= 1.0 + 0.3 * normal(&mut random));
        run
    };
    let c = compare(("a", &[side()]), ("b", &[side()]), 0.03, InTurns).unwrap();
    assert!(c.outcome == ComparisonOutcome::Undecided && c.verdict == ComparisonResult::NotEnough, "{c:?}");
    assert!(c.open.iter().any(|figure| figure == "completed rate"), "{c:?}");
    let passed = word(400.0, 400.0, 3);
    assert!(passed.outcome == ComparisonOutcome::Passed && passed.verdict == ComparisonResult::Same, "{passed:?}");
}

#[test]
fn a_run_that_was_ended_early_and_another_machine_are_told() {
    let good = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
    let mut cut = good.clone();
    cut.interrupted = true;
    cut.version = "0.0.1".into();
    let c = compare(("a", &[good]), ("b", &[cut]), 0.03, Kept).unwrap();
    assert!(c.differences.iter().any(|d| d.contains("ended early")), "{:?}", c.differences);
    assert!(c.differences.iter().any(|d| d.contains("version")), "{:?}", c.differences);
}

#[test]
fn the_cost_of_tls_is_reported_whichever_side_uses_tls() {
    let mut random = Rng::with_seed(7);
    let (mut plain, tls) = (windows(&mut random, 20, 300.0), windows(&mut random, 20, 400.0));
    let both = |a: &Run, b: &Run| {
        compare(("a", std::slice::from_ref(a)), ("b", std::slice::from_ref(b)), 0.03, InTurns).unwrap()
    };
    assert!(both(&plain, &tls).tls.is_none());
    let tls = Run { plan: run::Plan { load: with_tls(&tls), ..tls.plan.clone() }, ..tls };
    for told in [both(&plain, &tls), both(&tls, &plain)] {
        assert!(told.differences.iter().any(|d| d.starts_with("TLS:")), "{:?}", told.differences);
        let share = told.tls.unwrap();
        let (low, high) = (share.low.unwrap(), share.high.unwrap());
        assert!((share.share - 0.25).abs() < 0.02 && (share.us - 100.0).abs() < 6.0, "{share:?}");
        assert!(low < share.share && share.share < high && share.sentence.contains("TLS takes"));
    }
    plain.plan.load = with_tls(&plain);
    assert!(both(&plain, &tls).tls.is_none());
}

fn with_tls(run: &Run) -> run::LoadPlan {
    run::LoadPlan { tls: Some(run::TlsPlan::default()), ..run.plan.load.clone() }
}

/// The labels of the two sides' windows differ. In spite of the different labels, the windows are compared, because
/// their requested loads are equal.
#[test]
fn windows_are_paired_by_what_was_asked_and_not_by_their_labels() {
    let mut random = Rng::with_seed(3);
    let (a, mut b) = (windows(&mut random, 6, 400.0), windows(&mut random, 9, 400.0));
    b.trials.iter_mut().enumerate().for_each(|(i, t)| t.label = format!("{}, repeat {i}", t.label));
    let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
    assert!(c.comparisons.iter().all(|c| c.windows == (6, 9)), "{:?}", c.comparisons);
}

/// Changes of figures that do not measure speed are listed, but are no regression.
#[test]
fn figures_that_are_not_about_speed_are_listed_and_decide_nothing() {
    let mut random = Rng::with_seed(4);
    let [mut a, mut b] = [400.0, 400.0].map(|us| windows(&mut random, 20, us));
    for (run, more) in [(&mut a, 1.0), (&mut b, 1.2)] {
        for (i, trial) in run.trials.iter_mut().enumerate() {
            let server = trial.server.get_or_insert_default();
            for id in ["voluntary_switches", "page_faults"] {
                let per_request = run::Reading::Value(more * (1.0 + 0.001 * i as f64));
                server.costs.insert(id.into(), run::Cost { per_request, unit: run::FigureUnit::Plain });
            }
        }
    }
    let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
    let of = |name: &str| c.comparisons.iter().find(|c| c.figure == name).unwrap();
    for name in ["voluntary switches", "page_faults"] {
        assert!(of(name).word == ComparisonResult::Slower && (of(name).ratio - 1.2).abs() < 0.01, "{:?}", of(name));
    }
    assert!(of("page_faults").beside && !of("voluntary switches").beside);
    assert!(!c.regression && c.verdict != ComparisonResult::Slower, "{:?} by {:?}", c.verdict, c.decided_by);
}

/// Memory hardly varies within a run, so one run gives no interval, however many windows it has. Three runs per side
/// give an interval.
#[test]
fn memory_of_repeated_runs_has_an_interval() {
    let mut random = Rng::with_seed(5);
    let mut with_memory = |bytes: f64| {
        let mut run = windows(&mut random, 4, 400.0);
        let value = run::Reading::Value(bytes);
        run.trials.iter_mut().for_each(|t| {
            t.server.get_or_insert_default().counters.insert(run::CounterId("process.rss".into()), value.clone());
        });
        run
    };
    let [a, b]: [Vec<Run>; 2] = [1e6, 2e6].map(|b| (0..3).map(|i| with_memory(b + 1e4 * f64::from(i))).collect());
    let memory = |a: &[Run], b: &[Run]| {
        let c = compare(("a", a), ("b", b), 0.03, Kept).unwrap();
        c.comparisons.into_iter().find(|c| c.figure == "memory").unwrap()
    };
    let (many, one) = (memory(&a, &b), memory(&a[..1], &b[..1]));
    assert!(many.low.is_some_and(|low| low > 1.8) && many.windows == (3, 3), "{many:?}");
    assert!(one.low.is_none() && (one.ratio - 2.0).abs() < 0.05, "{one:?}");
}

/// Two runs of one server may differ by 1 %. One run per side, however long, is no proof of a difference of 2 %, but
/// four runs per side are.
#[test]
fn a_single_run_that_was_kept_is_not_believed_beyond_what_runs_differ_by() {
    let mut random = Rng::with_seed(8);
    let mut runs = |us: f64, n: usize| (0..n).map(|_| windows(&mut random, 20, us)).collect::<Vec<Run>>();
    let [a, b] = [400.0, 408.0].map(|us| runs(us, 4));
    let cpu = |n: usize| {
        let c = compare(("a", &a[..n]), ("b", &b[..n]), 0.005, Kept).unwrap();
        c.comparisons.into_iter().find(|c| c.figure == "server CPU per request").unwrap()
    };
    let (one, four) = (cpu(1), cpu(4));
    assert_eq!(one.one_percent_of, Some(run::NeededData::Runs), "{one:?}");
    assert!(one.word == ComparisonResult::NotEnough && one.more.is_some_and(|more| more > 1.0), "{one:?}");
    assert!(four.word == ComparisonResult::Slower && (four.ratio - 1.02).abs() < 0.006, "{four:?}");
}

/// Three repeats of each side must show that the rate halved, although a rank test of three values per side is never
/// significant.
#[test]
fn three_repeats_a_side_show_what_is_plain() {
    let mut random = Rng::with_seed(9);
    let mut repeated = |us: f64| {
        let mut run = windows(&mut random, 24, us);
        run.trials.iter_mut().enumerate().for_each(|(at, trial)| trial.repeat = at as u32 / 8);
        run
    };
    let (a, b) = (repeated(400.0), repeated(800.0));
    let c = compare(("a", std::slice::from_ref(&a)), ("b", &[b]), 0.03, Kept).unwrap();
    assert!(c.regression && c.verdict == ComparisonResult::Slower, "{:?}", c.comparisons);
    let rate = c.comparisons.iter().find(|c| c.figure == "completed rate").unwrap();
    assert!((rate.ratio - rate.new / rate.old).abs() < 1e-12 && (rate.ratio - 0.5).abs() < 0.02, "{rate:?}");
    let same = compare(("a", &[a]), ("b", &[repeated(400.0)]), 0.03, Kept).unwrap();
    assert!(!same.regression, "{:?}", same.comparisons);
}

/// Two windows per side give no interval. The stated factor tells how much more data would give an interval.
#[test]
fn too_few_windows_say_how_many_more() {
    let mut random = Rng::with_seed(6);
    let (a, b) = (windows(&mut random, 2, 400.0), windows(&mut random, 2, 440.0));
    let c = compare(("a", &[a]), ("b", &[b]), 0.03, InTurns).unwrap();
    let cpu = &c.comparisons[0];
    assert!(cpu.word == ComparisonResult::NotEnough && cpu.more == Some(2.0), "{cpu:?}");
    assert_eq!(c.outcome, ComparisonOutcome::Undecided);
}

//! Results of several repeats of one load: the results of each repeat, and the common results of all repeats.
//!
//! The windows of one repeat show only the scatter within the repeat. Memory layout, CPU placement and neighbours of a
//! virtual machine affect all windows of a repeat alike, so only several repeats show their influence. The interval
//! over repeats follows Student's t distribution.

use run::{Bottleneck, Capacity, Certainty, Limits, Repeat, Run, Trial};

use crate::Facts;
use crate::context::single::good;
use crate::estimate::objective::limits;
use crate::estimate::users;
use crate::number::{figure, finite, positive};
use stats::Sample;
use stats::student::t95;

/// Returns the findings of each repeat, judged as a separate run. Returns an empty list if nothing was repeated.
pub(crate) fn repeats(run: &Run) -> Vec<Repeat> {
    if run.repeats().count() < 2 {
        return Vec::new();
    }
    finished(run).map(|trials| alone(run, trials)).collect()
}

/// Returns the trials of each complete repeat. If nothing was repeated, returns all trials as one repeat.
pub(crate) fn finished(run: &Run) -> impl Iterator<Item = &[Trial]> {
    let all = run.repeats().count();
    run.repeats().take(all - usize::from(run.interrupted && all > 1))
}

/// Returns the capacity that some trials of a run show under the objective `limits`. Returns `None` if no trial meets
/// the objective.
pub(crate) fn capacity_under(run: &Run, trials: &[Trial], limits: &Limits) -> Option<Capacity> {
    let part = part(run, trials, limits);
    let facts = Facts::of(&part);
    let chances = crate::capacity::chances(&part.trials, &facts.limits);
    crate::capacity::capacity(&facts, &chances).map(|found| found.capacity).filter(|capacity| capacity.held)
}

/// Makes a run from the trials of one repeat, with the objective `limits`. The recording before any load, the
/// generator's own highest rate and the medium belong to every repeat.
fn part(run: &Run, trials: &[Trial], limits: &Limits) -> Run {
    let mut plan = run.plan.clone();
    plan.objective = limits.objective();
    let mut part = Run { plan, hosts: run.hosts.clone(), trials: trials.to_vec(), ..Run::default() };
    (part.at_rest, part.medium) = (run.at_rest.clone(), run.medium.clone());
    part.findings.trust.generator_ceiling = run.findings.trust.generator_ceiling;
    part
}

/// Trials of a repeat, the trial that shows the repeat's capacity, and the capacity in requests per second. If no trial
/// meets the objective, the second element is another trial that represents the repeat, and the third element is
/// `None`.
pub(crate) type AtCapacity<'a> = (&'a [Trial], &'a Trial, Option<f64>);

/// Returns an entry for each complete repeat: `None` for a repeat in which no request completed.
pub(crate) fn at_capacity(run: &Run) -> Vec<Option<AtCapacity<'_>>> {
    let limits = limits(run);
    let of = |trials: &'_ [Trial]| {
        let part = part(run, trials, &limits);
        let facts = Facts::of(&part);
        let chances = crate::capacity::chances(&part.trials, &facts.limits);
        let found = crate::capacity::capacity(&facts, &chances);
        let held = found.as_ref().filter(|found| found.capacity.held).map(|found| found.capacity.rate);
        let trial = found.map(|found| found.trial).or(facts.decisive)?;
        Some((part.trials.iter().position(|one| std::ptr::eq(one, trial))?, held))
    };
    finished(run).map(|trials| of(trials).and_then(|(at, held)| Some((trials, trials.get(at)?, held)))).collect()
}

fn alone(run: &Run, trials: &[Trial]) -> Repeat {
    let part = part(run, trials, &limits(run));
    let facts = Facts::of(&part);
    let chances = crate::capacity::chances(&part.trials, &facts.limits);
    let mut capacity = crate::capacity::capacity(&facts, &chances).map(|found| found.capacity).filter(|c| c.held);
    capacity.iter_mut().for_each(|capacity| users::mark_lower_bound(&facts, capacity));
    let bottleneck = crate::conclude::verdict::verdict(&facts);
    Repeat {
        trials: trials.len(),
        completed_rate: facts.decisive.map(good).and_then(finite).unwrap_or(0.0),
        p50_us: facts.decisive.map_or(0.0, |t| t.latency_us.p50),
        p99_us: facts.decisive.map_or(0.0, |t| t.latency_us.p99),
        at_least: facts.decisive.map(|t| t.latency_us.at_least).unwrap_or_default(),
        low: capacity.as_ref().and_then(|c| c.low),
        high: capacity.as_ref().and_then(|c| c.high),
        is_lower_bound: capacity.as_ref().is_some_and(|c| c.at_least),
        capacity: capacity.map(|c| c.rate),
        bottleneck: bottleneck.id,
        confidence: bottleneck.confidence,
    }
}

/// Replaces the capacity that was estimated from all windows with the geometric mean over the repeats, and its
/// interval. If some repeat shows only a lower bound, but all windows together show the capacity, the capacity from all
/// windows remains. A mean that includes lower bounds is only a lower bound itself.
pub(crate) fn together(capacity: &mut Capacity, repeats: &[Repeat]) {
    let logs: Vec<f64> = repeats.iter().filter_map(|r| positive(r.capacity?)).map(f64::ln).collect();
    if logs.len() < repeats.len() {
        // If some repeat found no rate that meets the objective, the capacity has no interval.
        (capacity.low, capacity.high) = (None, None);
        capacity.method += &format!("; only {} of {} repeats kept the limits", logs.len(), repeats.len());
        return;
    }
    let bounds = repeats.iter().filter(|r| r.is_lower_bound).count();
    if bounds > 0 && !capacity.at_least {
        capacity.method += &format!("; {bounds} of {} repeats, judged alone, show only a lower bound", repeats.len());
        return;
    }
    let Some(Sample { n, mean, sd }) = Sample::of(&logs) else { return };
    // A few repeats may agree closely by chance. The common interval is therefore at least as wide as the intervals of
    // the single repeats imply.
    let within = repeats.iter().filter_map(|r| Some((r.high? / r.low?).ln() / 2.0));
    let within = (within.map(|half| half * half).sum::<f64>() / n).sqrt();
    let half = (t95(n - 1.0) * sd).max(within) / n.sqrt();
    let (Some(rate), low, high) = (finite(mean.exp()), finite((mean - half).exp()), finite((mean + half).exp())) else {
        return;
    };
    (capacity.rate, capacity.low, capacity.high, capacity.variation) = (rate, low, high, finite(sd));
    capacity.method = format!("geometric mean of {} repeats; {}", logs.len(), capacity.method);
}

/// Lowers the confidence of a verdict if some repeat names another bottleneck.
pub(crate) fn agree(bottleneck: &mut Bottleneck, repeats: &[Repeat]) {
    let names =
        |r: &&Repeat| Certainty::from_confidence(r.confidence) >= Certainty::Possible && r.bottleneck != "unknown";
    let others: Vec<&Repeat> = repeats.iter().filter(names).filter(|r| r.bottleneck != bottleneck.id).collect();
    let Some(first) = others.first() else { return };
    let (some, all) = (figure(others.len() as f64), figure(repeats.len() as f64));
    crate::conclude::confidence::contradict(
        bottleneck,
        &format!(" (but {some} of {all} repeats disagree: {})", first.bottleneck),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::servers::rested;
    use crate::planted::{PlantedRun, Who};
    use crate::thresholds::CONTRADICTED;
    use run::TrialKind;

    /// Makes a run with one repeat per entry of `factors`: the speed of the made-up server in this repeat, relative to
    /// 200/s.
    fn repeated(factors: &[f64]) -> Run {
        let parts =
            factors.iter().map(|factor| PlantedRun::new(20_000.0, 200.0 * factor).rates(&[0.5, 0.93, 1.15]).run());
        let mut whole = Run::default();
        for (repeat, mut part) in (0..).zip(parts) {
            part.trials.iter_mut().for_each(|t| t.repeat = repeat);
            whole = Run { trials: [whole.trials, part.trials].concat(), ..part };
        }
        crate::judge(&mut whole);
        whole
    }

    #[test]
    fn a_single_run_has_no_figures_of_repeats() {
        let run = repeated(&[1.0]);
        assert!(run.findings.repeats.is_empty());
        assert!(run.findings.capacity.is_some_and(|c| c.variation.is_none()));
    }

    #[test]
    fn the_interval_is_that_of_the_repeats() {
        let run = repeated(&[0.95, 1.0, 1.05]);
        let (found, capacity) = (&run.findings.repeats, run.findings.capacity.clone().unwrap());
        assert_eq!(found.len(), 3);
        assert!(found.windows(2).all(|w| w[0].capacity < w[1].capacity), "{found:#?}");
        assert!((capacity.rate / 200.0 - 1.0).abs() < 0.01, "{capacity:?}");
        assert!(capacity.variation.is_some_and(|v| (v - 0.05).abs() < 0.005), "{capacity:?}");
        // The half-width is 4.3 (Student's t for two degrees of freedom), times 5 %, divided by the square root of
        // three.
        let half = (capacity.high.unwrap() / capacity.low.unwrap()).ln() / 2.0;
        assert!((half - 0.124).abs() < 0.01, "{capacity:?}");
    }

    /// One thread of the server is busy even without load, so it is not the bottleneck. An earlier version of loadline
    /// judged each repeat without the recording before the load, and reported that all three repeats disagree.
    #[test]
    fn each_repeat_is_judged_with_the_recording_before_the_load() {
        let polls = PlantedRun::new(20_000.0, 1e9)
            .steps(&[8])
            .rates(&[])
            .per_s(Who::Server, "process.cpu", "srv:100", |p| 1e6 + p.x * 20.0)
            .per_s(Who::Server, "thread.cpu", "poll:100/109", |_| 1e6)
            .change(|t, _| t.kind = TrialKind::Fixed);
        let mut whole = rested(polls.run(), 1.0);
        let one = whole.trials[0].clone();
        whole.trials = (0..3).map(|repeat| Trial { repeat, ..one.clone() }).collect();
        crate::judge(&mut whole);
        let verdict = &whole.findings.bottleneck;
        let repeats: Vec<&str> = whole.findings.repeats.iter().map(|r| r.bottleneck.as_str()).collect();
        assert!(verdict.id != "server-single-thread" && !verdict.sentence.contains("disagree"), "{verdict:#?}");
        assert_eq!(repeats, [verdict.id.as_str(); 3]);
    }

    /// Each repeat had time for two windows, so each repeat alone gives a lower bound: 180/s, by the uncertain count of
    /// a closed loop. An earlier version of loadline reported a capacity of 180/s with an interval of width zero.
    #[test]
    fn lower_bounds_of_repeats_have_no_mean() {
        let parts = (0..3).map(|repeat| {
            let mut part = PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 1.15]).run();
            part.trials.iter_mut().for_each(|t| t.repeat = repeat);
            part
        });
        let mut whole = Run::default();
        parts.for_each(|part| whole = Run { trials: [whole.trials.clone(), part.trials.clone()].concat(), ..part });
        crate::judge(&mut whole);
        let capacity = whole.findings.capacity.unwrap();
        assert!(whole.findings.repeats.iter().all(|r| r.is_lower_bound), "{:#?}", whole.findings.repeats);
        assert!((capacity.rate - 200.0).abs() < 1.0 && capacity.low.is_none_or(|low| low > 195.0), "{capacity:?}");
        assert!(capacity.method.contains("3 of 3 repeats"), "{capacity:?}");
    }

    /// A load that the user chose shows only a lower bound of the capacity, in each repeat and in all repeats together.
    #[test]
    fn lower_bounds_of_chosen_loads_have_a_mean() {
        let fixed = PlantedRun::new(20_000.0, 200.0).steps(&[8]).rates(&[]).change(|t, _| t.kind = TrialKind::Fixed);
        let mut whole = fixed.run();
        let one = whole.trials[0].clone();
        whole.trials = (0..3).map(|repeat| Trial { repeat, ..one.clone() }).collect();
        crate::judge(&mut whole);
        let capacity = whole.findings.capacity.unwrap();
        assert!(capacity.at_least && capacity.variation.is_some(), "{capacity:?}");
    }

    #[test]
    fn a_repeat_that_says_otherwise_makes_the_verdict_less_sure() {
        let says = |id: &str, confidence| Repeat { bottleneck: id.into(), confidence, ..Repeat::default() };
        let verdict = || Bottleneck { id: "server-cpu".into(), confidence: 0.95, ..Bottleneck::default() };
        let mut sure = verdict();
        agree(&mut sure, &[says("server-cpu", 0.9), says("unknown", 0.5), says("client-cpu", 0.2)]);
        assert!(sure.confidence == 0.95, "{sure:?}");
        let mut doubted = verdict();
        agree(&mut doubted, &[says("server-cpu", 0.9), says("client-cpu", 0.9)]);
        assert!(doubted.confidence == CONTRADICTED && doubted.sentence.contains("1 of 2"), "{doubted:?}");
    }

    #[test]
    fn of_an_interrupted_run_the_repeat_that_was_cut_short_does_not_count() {
        let mut run = repeated(&[1.0, 1.0, 1.0]);
        run.interrupted = true;
        crate::judge(&mut run);
        assert_eq!(run.findings.repeats.len(), 2);
    }
}

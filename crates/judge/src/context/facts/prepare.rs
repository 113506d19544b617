//! Preparation of a run for the rules: its trials are sorted into sweep, search and disturbed steps, and the trial that
//! represents the run is chosen.

use run::{Intensity, Limits, OwnLimit, Run, Trial, TrialKind};

use super::{Facts, loaded};
use crate::capacity::neighbours::UsualShare;
use crate::context::lighter::LighterLoads;
use crate::context::rare_slow::RareSlow;
use crate::context::single::{clients, closed, good, good_bytes, keeps_up, several_sizes};
use crate::context::sweep::{Plateau, is_outdone, is_outgrown, lightest, plateau, plateau_of_open_loops, sweep, top};
use crate::context::view::View;
use crate::estimate::objective::{breach, holds, limits};
use crate::failed::failed_stretch::FailedStretch;
use crate::failed::period_limit::PeriodLimit;
use crate::failed::refusals::Refusals;
use crate::in_flight::upstreams::{Course, at_a_time, loads};
use crate::number::positive;
use crate::waits::{FullPipe, PoolNeed, of_run, without_large_pools};

/// Returns the open-loop step with the lowest rate that missed the objective, above all rates that met the objective.
/// If a step missed the objective at a lower rate than a step that met it, the step that missed counts as disturbed. If
/// even the lightest load breaks a limit, breaking this limit says nothing about the server's capacity. A limit that
/// the lightest load breaks is therefore ignored at all loads at which the server keeps up with the offered rate. A
/// limit that only rare slow answers exceed is ignored, too, if slow answers are as frequent under light loads.
fn failing<'a>(
    search: &[&'a Trial],
    (unloaded, rare_slow): (Option<&Trial>, Option<&RareSlow>),
    limits: &Limits,
) -> Option<&'a Trial> {
    let kind = |t: &Trial| breach(t, limits).map(|breach| breach.kind);
    let always = unloaded.and_then(kind);
    let is_of_any_load =
        |t: &Trial| always.is_some() && kind(t) == always || rare_slow.is_some_and(|slow| slow.explains(t, limits));
    let by_load = |t: &&'a Trial| !(keeps_up(t) && is_of_any_load(t));
    let asked = |t: &Trial| match t.intensity {
        Intensity::Open { rate, .. } => rate,
        _ => t.rates.offered_rate,
    };
    let held = search.iter().filter(|t| holds(t, limits)).map(|t| asked(t)).fold(0.0, f64::max);
    search.iter().copied().filter(|t| asked(t) > held).filter(by_load).min_by(|a, b| asked(a).total_cmp(&asked(b)))
}

/// Trials of a run in two groups: those that the rules use, and disturbed ones that the rules do not use.
struct Usable<'a> {
    /// Trials that the rules use.
    used: Vec<&'a Trial>,
    /// Disturbed trials that the rules do not use.
    spoiled: Vec<&'a Trial>,
    /// True if the rules also use disturbed trials, because the others have too few load levels.
    has_spoiled: bool,
}

/// Sorts out the trials that other programs disturbed. The trial in which a server or generator died is used only if
/// there is no other trial. Trials with requests in a failed stretch are also used only if there is no other trial.
fn usable<'a>(completed: &[&'a Trial], usual: &UsualShare, stretch: Option<&FailedStretch<'a>>) -> Usable<'a> {
    let unbroken = completed.iter().copied().filter(|t| t.broken().is_none());
    // The search repeated the steps that other programs spoiled, so these steps are left out.
    let (spoiled, mut sound): (Vec<&Trial>, Vec<&Trial>) = unbroken.partition(|t| usual.spoils(t));
    let is_outside = |t: &&Trial| stretch.is_none_or(|stretch| !stretch.holds(t));
    sound.retain(is_outside);
    if sound.is_empty() {
        return Usable { used: completed.to_vec(), spoiled: Vec::new(), has_spoiled: false };
    }
    // A single load level cannot show a limit. If all undisturbed trials have the same load level, disturbed trials are
    // therefore used, too.
    let all: Vec<&Trial> = completed.iter().copied().filter(|t| t.broken().is_none()).filter(is_outside).collect();
    match levels(&sound) < 2 && levels(&all) >= 2 {
        true => Usable { used: all, spoiled: Vec::new(), has_spoiled: true },
        false => Usable { used: sound, spoiled, has_spoiled: false },
    }
}

/// Returns the number of load levels of a sweep and a search: different numbers of clients and different offered rates.
fn levels(trials: &[&Trial]) -> usize {
    let is_step = |t: &&&Trial| matches!(t.kind, TrialKind::Sweep | TrialKind::Search | TrialKind::Overload);
    let level = |t: &&Trial| if closed(t) { (true, clients(t)) } else { (false, t.rates.offered_rate) };
    let mut all: Vec<(bool, f64)> = trials.iter().filter(is_step).map(level).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    all.dedup();
    all.len()
}

/// Returns the open-loop steps by rising offered rate, and the rates of the steps whose load had too few connections.
fn searched<'a>(run: &'a Run, alive: &[&'a Trial], limits: &Limits) -> (Vec<&'a Trial>, Vec<OwnLimit>) {
    let is_searched = |t: &&Trial| !closed(t) && matches!(t.kind, TrialKind::Search | TrialKind::Overload);
    let (mut search, mut own_pool) = (Vec::new(), Vec::new());
    for trial in alive.iter().copied().filter(is_searched) {
        match crate::own_pool(trial, &run.trials, limits) {
            Some(limit) => own_pool.push(limit),
            None => search.push(trial),
        }
    }
    search.sort_by(|a, b| a.rates.offered_rate.total_cmp(&b.rates.offered_rate));
    (search, own_pool)
}

/// Returns the trial that represents a run without a sweep (see [`Facts::decisive`]).
fn decisive_without_sweep<'a>(run: &Run, alive: &[&'a Trial], limits: &Limits) -> Option<&'a Trial> {
    let trials = || alive.iter().copied();
    match several_sizes(run) {
        true => trials().max_by(|a, b| good_bytes(a).total_cmp(&good_bytes(b))),
        false if trials().all(|t| t.kind == TrialKind::Experiment) => {
            let top = top(alive);
            top.iter().copied().find(|t| holds(t, limits)).or(top.first().copied())
        }
        false => trials().max_by(|a, b| good(a).total_cmp(&good(b))),
    }
}

impl<'a> Facts<'a> {
    /// Prepares a run for the rules. The run's derived figures must already be filled in.
    pub fn of(run: &'a Run) -> Self {
        // Auxiliary trials, such as trials of the experiment that tests the verdict, are left out.
        let of_load = |t: &&Trial| !t.kind.is_auxiliary() && positive(t.rates.completed_rate).is_some();
        let completed: Vec<&Trial> = run.trials.iter().filter(of_load).collect();
        let stretch = FailedStretch::of(run);
        let usual = UsualShare::of(run.trials.iter());
        let Usable { used: alive, spoiled, has_spoiled } = usable(&completed, &usual, stretch.as_ref());
        let limits = limits(run);
        let sweep = sweep(&alive);
        let (search, own_pool) = searched(run, &alive, &limits);
        let rare_slow = RareSlow::of(&[&sweep[..], &search[..]].concat(), &limits);
        let failing = failing(&search, (lightest(&sweep), rare_slow.as_ref()), &limits);
        let (outgrown, sweep) = if is_outgrown(&sweep, &search) { (sweep, Vec::new()) } else { (Vec::new(), sweep) };
        let unloaded = lightest(&sweep);
        let decisive = top(&sweep).first().copied().or_else(|| decisive_without_sweep(run, &alive, &limits));
        let is_overload =
            |t: &&Trial| usual.shows_rate_of_overload(t) && crate::own_pool(t, &run.trials, &limits).is_none();
        let open: Vec<&Trial> = search.iter().chain(spoiled.iter().filter(|t| is_overload(t))).copied().collect();
        let plateau = match outgrown.is_empty() {
            true => plateau(&sweep, &open, decisive),
            false => plateau_of_open_loops(&search),
        };
        let grows = plateau == Plateau::Grows && failing.is_none();
        let lighter = |view: &View<'a>| LighterLoads::of(view, loaded(&sweep, &search, decisive), &run.at_rest, grows);
        let is_flat = matches!(plateau, Plateau::Flat { .. });
        let at_a_time = at_a_time(unloaded, decisive);
        let course = Course { is_flat, is_limited: is_flat || failing.is_some(), at_a_time };
        let (upstreams, full_upstreams) = loads(&sweep, decisive, lighter, course);
        let refusals = Refusals::of(loaded(&sweep, &search, decisive), &completed);
        // An experiment slows the server, so a low rate in an experiment does not show a light load.
        let is_light = |t: &Trial| !t.kind.is_auxiliary() && is_outdone(t, loaded(&sweep, &search, decisive));
        let waits = without_large_pools(of_run(run, is_light), PoolNeed { unloaded, decisive, at_a_time });
        let period_limit = PeriodLimit::of(run, stretch.as_ref());
        // If a limit per period was found, it explains the stretch in which every request failed, so `stretch` is
        // dropped.
        let stretch = stretch.filter(|_| period_limit.is_none());
        Self {
            run,
            limits,
            unloaded,
            sweep,
            outgrown,
            search,
            spoiled,
            has_spoiled,
            own_pool,
            decisive,
            failing,
            plateau,
            upstreams,
            full_upstreams,
            stretch,
            refusals,
            rare_slow,
            period_limit,
            waits,
            full_pipe: FullPipe::of(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use run::Key;

    use super::*;
    use crate::planted::{PlantedRun, Point};
    use crate::thresholds::UNDECIDED;

    /// Other programs disturbed all steps of the sweep except the first one. An earlier version of loadline left the
    /// disturbed steps out, and then said that a single load level cannot show a limit.
    #[test]
    fn disturbed_steps_are_used_if_a_single_level_would_be_left() {
        let judged = |is_disturbed: fn(&Point) -> bool| {
            let others = move |t: &mut Trial, p: &Point| {
                t.measured.others = vec![if is_disturbed(p) { 0.6 } else { 0.02 }; 40];
            };
            let mut run = PlantedRun::new(20_000.0, 200.0).steps(&[2, 4, 8]).rates(&[]).change(others).run();
            crate::judge(&mut run);
            (Facts::of(&run).has_spoiled, run.findings.bottleneck)
        };
        let (has_spoiled, verdict) = judged(|p| p.n > 2.0);
        assert!(has_spoiled && verdict.id == "server-concurrency", "{verdict:#?}");
        assert!(
            verdict.confidence <= UNDECIDED && verdict.sentence.contains("also uses disturbed steps"),
            "{verdict:#?}"
        );
        let (has_spoiled, verdict) = judged(|p| p.n > 4.0);
        assert!(!has_spoiled && !verdict.sentence.contains("disturbed steps"), "{verdict:#?}");
    }

    const DELAY_MS: run::ValueName<f64> = run::ValueName::new("delay_ms");

    const SIZE: fn(&mut Key, f64) = |key, v| key.record_bytes = Some(v as u64);

    const DELAY: fn(&mut Key, f64) = |key, v| key.put(DELAY_MS, v);

    fn experiment_of(set: fn(&mut Key, f64), values: &[f64]) -> Run {
        let mut run = PlantedRun::new(1000.0, 4000.0).rates(&[]).run();
        for (i, t) in run.trials.iter_mut().enumerate() {
            t.kind = TrialKind::Experiment;
            set(&mut t.key, values[i % values.len()]);
        }
        run
    }

    #[test]
    fn trials_of_one_condition_are_a_sweep_and_others_are_not_mixed_in() {
        assert_eq!(Facts::of(&experiment_of(SIZE, &[2048.0])).sweep.len(), 8);
        assert_eq!(Facts::of(&experiment_of(SIZE, &[512.0, 2048.0])).sweep.len(), 4);
        let each = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        assert!(Facts::of(&experiment_of(DELAY, &each)).sweep.is_empty());
    }

    /// In this test, a request of 4096 bytes occupies the link as long as seven requests of 512 bytes. The rate of
    /// requests of several sizes therefore does not show how full the link is.
    #[test]
    fn of_requests_of_several_sizes_the_most_bytes_decide() {
        let mut run = experiment_of(SIZE, &[512.0, 1024.0, 2048.0, 4096.0]);
        run.trials.truncate(4);
        for (trial, rate) in run.trials.iter_mut().zip([270.0, 245.0, 199.0, 149.0]) {
            trial.rates.completed_rate = rate;
            trial.latency_us.p99 = 1e6 / rate * trial.key.record_bytes.unwrap() as f64;
        }
        crate::judge(&mut run);
        assert_eq!(Facts::of(&run).decisive.and_then(|t| t.key.record_bytes), Some(4096));
        let capacity = run.findings.capacity.clone().expect("every trial held the objective");
        assert!(capacity.held && (capacity.rate - 149.0).abs() < 1e-9, "{capacity:?}");
        assert!(capacity.method.contains("4,096 bytes") || capacity.method.contains("4096"), "{capacity:?}");
    }

    /// The trial that lost requests must not become the decisive trial, although all trials complete about the same
    /// rate. In a run over several network paths, losses on one path do not limit the other paths.
    #[test]
    fn of_equal_trials_of_an_experiment_the_first_that_held_decides() {
        let mut run = experiment_of(DELAY, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        run.trials.iter_mut().for_each(|t| t.rates.completed_rate = 90.0);
        run.trials[0].measured.tally.unanswered = 1000;
        run.trials[7].rates.completed_rate = 91.0;
        assert_eq!(Facts::of(&run).decisive.and_then(|t| t.key.get(DELAY_MS)), Some(2.0));
    }
}

//! Decisions about a run as data, for display and exit codes: see [`run::Picks`] and [`run::Outcome`]. The decisive
//! trial of a run is the load that represents the run.

use run::{
    Bottleneck, Breach, Capacity, CourseFinding, Failure, Findings, LoadState, Objective, Outcome, Picks, Run, Trial,
    TrialKind,
};

use stats::NORMAL_95;

use crate::Facts;
use crate::capacity::Found;
use crate::context::single::{failed_share, good};
use crate::estimate::objective::{breach, holds};
use crate::number::finite;
use crate::thresholds::CAPACITY_APART;

/// Returns the trials that the findings describe.
pub(crate) fn picks(facts: &Facts<'_>, found: Option<&Found<'_>>) -> Picks {
    let trials = &facts.run.trials;
    let at = |trial: Option<&Trial>| trials.iter().position(|t| trial.is_some_and(|one| std::ptr::eq(one, t)));
    let decisive = at(facts.decisive);
    let at_capacity = at(found.filter(|f| f.capacity.held).map(|f| f.trial));
    let shown = decisive.or((!trials.is_empty()).then_some(0));
    let loaded = at_capacity.or(shown);
    let several = |at: &usize| trials[*at].host_loads.len() > 1;
    Picks {
        decisive,
        full: at(facts.full()),
        unloaded: at(facts.unloaded),
        failing: at(found.map_or(facts.failing, |f| f.failing)),
        at_capacity,
        overload: trials.iter().position(|t| t.kind == TrialKind::Overload),
        beyond: at(found.and_then(|f| beyond(facts, &f.capacity))),
        shown,
        loaded,
        open_held: at(open_held(facts)),
        several_hosts: loaded.filter(several).or_else(|| (0..trials.len()).rfind(several)),
    }
}

/// Among the search steps that met the objective, returns the step with the highest offered rate.
fn open_held<'a>(facts: &Facts<'a>) -> Option<&'a Trial> {
    let held = facts.search.iter().copied().filter(|t| t.kind == TrialKind::Search && holds(t, &facts.limits));
    held.max_by(|a, b| a.rates.offered_rate.total_cmp(&b.rates.offered_rate))
}

/// Returns how close to saturation the decisive trial (which represents the run) brought the server.
pub(crate) fn state(facts: &Facts<'_>, verdict: &Bottleneck) -> Option<LoadState> {
    let limited = match verdict.id.as_str() {
        "not-saturated" => false,
        "unknown" => facts.limited(),
        _ => true,
    };
    match facts.decisive?.kind {
        TrialKind::Watched => None,
        TrialKind::Fixed => Some(LoadState::Requested),
        _ if limited => Some(LoadState::Saturated),
        _ => Some(LoadState::Highest),
    }
}

/// Returns the trial of the sweep or the search with the highest rate of good answers, if the capacity is much lower
/// than this rate. The report's headline shows both the capacity and the rate of this trial, because either figure
/// alone would mislead.
fn beyond<'a>(facts: &Facts<'a>, capacity: &Capacity) -> Option<&'a Trial> {
    let all = facts.sweep.iter().chain(&facts.search).copied().filter(|t| t.kind != TrialKind::Experiment);
    let most = all.max_by(|a, b| good(a).total_cmp(&good(b)))?;
    // A limit per period lets bursts pass. The rate of a burst does not last.
    let lasts = capacity.held && facts.period_limit.is_none();
    (lasts && capacity.rate < CAPACITY_APART * surely_good(most)).then_some(most)
}

/// Returns a rate of good answers that a trial certainly reached (97.5 % confidence), if its count of answers varies
/// like a Poisson count. A window that is shorter than two responses and has a single answer shows no rate.
fn surely_good(trial: &Trial) -> f64 {
    let completed = trial.measured.tally.completed as f64;
    good(trial) * (1.0 - NORMAL_95 / completed.max(1.0).sqrt()).max(0.0)
}

/// Returns the outcome of each trial. `chances` comes from [`crate::capacity::chances`]. The findings in `course` are
/// about the first load that the user chose.
pub(crate) fn outcomes(facts: &Facts<'_>, chances: &[Option<f64>], course: Option<&CourseFinding>) -> Vec<Outcome> {
    let of_part = missed_by_part(facts.run, course);
    let first = facts.run.trials.iter().find(|trial| trial.kind == TrialKind::Fixed);
    let is_first = |trial: &Trial| first.is_some_and(|first| std::ptr::eq(first, trial));
    let of = |(trial, chance_held): (&Trial, &Option<f64>)| {
        let breach = breach(trial, &facts.limits).or(of_part.filter(|_| is_first(trial)));
        let measured = trial.measured.tally.completed > 0;
        let good_rate = finite(good(trial)).filter(|_| measured);
        Outcome {
            good_rate,
            failed_share: failed_share(trial).filter(|_| facts.run.sent_requests()),
            held: breach.is_none(),
            breach,
            chance_held: *chance_held,
        }
    };
    facts.run.trials.iter().zip(chances).map(of).collect()
}

/// Returns the reason why the run failed. A run without a completed request fails, unless the run only watched a
/// server, or only timed function calls and checked the results.
pub(crate) fn failure(facts: &Facts<'_>, findings: &Findings) -> Option<Failure> {
    let run = facts.run;
    if run.ended_by().is_some() {
        return Some(Failure::Died);
    }
    let only_timed = run.only_watched() || !run.sent_requests() && !findings.checks.is_empty();
    if !only_timed && run.trials.iter().all(|t| t.measured.tally.completed == 0) {
        return Some(Failure::NothingCompleted);
    }
    if facts.stretch.is_some() {
        return Some(Failure::FailedStretch);
    }
    if findings.checks.iter().any(|c| !c.pass) {
        return Some(Failure::Check);
    }
    if findings.expected.iter().any(|e| !e.met) {
        return Some(Failure::Expectation);
    }
    let part_failed = missed_by_part(run, findings.course.as_ref()).is_some();
    (part_failed || findings.capacity.as_ref().is_some_and(|c| !c.held)).then_some(Failure::Objective)
}

/// Returns the limit of the user's objective that one part of a load with a changing rate exceeded. Returns `None` if
/// the user gave no objective. Each part of a load with a changing rate must meet the objective, because a percentile
/// over all rates describes no single rate.
pub(crate) fn missed_by_part(run: &Run, course: Option<&CourseFinding>) -> Option<Breach> {
    let course = course.filter(|_| gives_objective(run))?;
    course.parts.get(course.failed?)?.breach
}

/// Returns true if the user gave an objective.
pub(crate) fn gives_objective(run: &Run) -> bool {
    run.plan.objective != Objective::default()
}

#[cfg(test)]
mod tests {
    use run::{Check, Failure, Incident, IncidentKind, Run, Trial, TrialKind};

    /// Makes a run with `trials` trials of one server at its limit. The server was stopped in the last trial.
    fn died(trials: usize) -> Run {
        let mut run = crate::planted::planted("server-cpu").unwrap();
        let sound = run.trials.last().unwrap().clone();
        run.trials = vec![sound; trials];
        let last = run.trials.last_mut().unwrap();
        last.rates.completed_rate *= 2.0;
        let begin_s = last.measured.window.end_s - 0.1;
        let text = "the server's process nginx:7 was stopped (SIGSTOP) at 3.0 s".to_string();
        last.incidents = vec![Incident { kind: IncidentKind::ServerStopped, begin_s, end_s: None, text }];
        crate::judge(&mut run);
        run
    }

    #[test]
    fn no_rule_uses_what_was_measured_in_a_trial_that_died() {
        let run = died(3);
        assert_eq!(run.findings.failure, Some(Failure::Died));
        assert_ne!(run.findings.picks.decisive, Some(2), "however high its rate");
        let verdict = &run.findings.bottleneck;
        // The headline names the incident that ended the run, so the verdict does not repeat the incident.
        assert!(verdict.confidence <= 0.3 && !verdict.sentence.contains("was stopped"), "{verdict:?}");
        let alone = died(1).findings.bottleneck;
        assert!(alone.id == "unknown" && alone.ruled_out.is_empty(), "{alone:?}");
    }

    #[test]
    fn a_server_that_was_only_watched_failed_nothing_and_what_is_missing_is_said() {
        let mut run = crate::planted::planted("server-cpu").unwrap();
        let server = run.trials.last().unwrap().server.clone();
        run.trials = vec![Trial { kind: TrialKind::Watched, server, ..Trial::default() }];
        crate::judge(&mut run);
        let verdict = &run.findings.bottleneck;
        assert_eq!((run.findings.failure, verdict.id.as_str(), run.findings.picks.decisive), (None, "unknown", None));
        assert!(verdict.sentence.contains("only watched") && verdict.sentence.contains("CPU"), "{verdict:?}");
        assert!(verdict.missing.len() == 2 && verdict.missing[0].contains("response times"), "{verdict:?}");
        assert!(verdict.evidence.iter().any(|e| e.counter.as_str() == "cpu.idle"), "{verdict:?}");
        let of_clients = |cause: &&run::RuledOut| cause.id == "client-connects";
        assert_eq!(verdict.ruled_out.iter().find(of_clients), None, "loadline did not see the clients");
    }

    /// One client got one answer in 1.4 s. An earlier version of loadline called this rate a peak of 0.73/s, although
    /// each answer took 2 s.
    #[test]
    fn a_single_answer_shows_no_peak() {
        let beyond = |completed: u64| {
            let mut trial = Trial { kind: TrialKind::Sweep, ..Trial::default() };
            trial.intensity = run::Intensity::Closed { connections: 1, pipeline: 1, think: run::ThinkTime::default() };
            trial.tally =
                run::Tally { attempted: 1, connected: 1, sent: completed, completed, ..run::Tally::default() };
            trial.measured.tally = trial.tally.clone();
            trial.rates.completed_rate = completed as f64 / 1.37;
            let mut run = Run { trials: vec![trial], ..Run::default() };
            run.plan.command = "find".into();
            crate::judge(&mut run);
            run.findings
        };
        let found = beyond(1);
        assert!(found.capacity.is_some_and(|c| c.held && c.at_least && c.rate <= 0.0));
        assert_eq!(found.picks.beyond, None);
    }

    #[test]
    fn a_silence_in_which_nothing_was_completed_is_in_the_headline() {
        let text = "no answer came from 0.2 s to 1.3 s".to_string();
        let silence = Incident { kind: IncidentKind::Silence, begin_s: 0.2, end_s: Some(1.3), text };
        let mut trial = Trial { incidents: vec![silence], ..Trial::default() };
        trial.tally.attempted = 2;
        let mut run = Run { trials: vec![trial], ..Run::default() };
        crate::judge(&mut run);
        let said = &run.findings.bottleneck.sentence;
        assert!(said.contains("no answer came from 0.2 s"), "{said}");
    }

    #[test]
    fn a_run_of_timed_calls_succeeds_if_its_checks_pass() {
        let failure = |run: &mut Run| {
            crate::judge(run);
            run.findings.failure
        };
        let mut run = Run { trials: vec![Trial::default()], ..Run::default() };
        assert_eq!(failure(&mut run), Some(Failure::NothingCompleted), "nothing completed, nothing checked");
        run.findings.checks.push(Check { pass: true, ..Check::default() });
        assert_eq!(failure(&mut run), None);
        run.trials[0].tally.attempted = 1;
        assert_eq!(failure(&mut run), Some(Failure::NothingCompleted), "a request was sent and none was answered");
        run.trials[0].tally.attempted = 0;
        run.findings.checks[0].pass = false;
        assert_eq!(failure(&mut run), Some(Failure::Check));
    }
}

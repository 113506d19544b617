//! Failures that depend on time, not on load: every request failed during one stretch of a run, and no request failed
//! outside of the stretch. For example, an expired token makes every request fail for some time, and so does a server
//! that still loads its data. A rate limit usually lets some requests pass at any time, so it causes no stretch in
//! which every request fails.

use run::{ErrorKind, IncidentKind, NOTHING_LISTENS, Run, Trial};

use crate::number::{counted, rate, ratio};
use crate::single::{clients, closed, failed_and_all, good};
use crate::thresholds::{FEWEST_REQUESTS, MOST, REFUSED};

/// Number of report intervals around the beginning or end of the stretch whose counts may mix requests from before and
/// after this moment. Several generators report at different times, so two neighbouring intervals may be mixed.
const MIXED_REPORTS: usize = 2;
/// Maximum number of steps, at the beginning or at the end of the stretch, in which some requests failed and others
/// succeeded. A report interval is as long as a step but may begin inside a step. [`MIXED_REPORTS`] intervals in a row
/// may therefore overlap one step more: `MIXED_REPORTS + 1` steps.
const MAX_EDGE_STEPS: usize = MIXED_REPORTS + 1;

/// Counts of the requests that ended in one step (a short part of equal length) of a trial's window, or in the whole
/// window.
#[derive(Clone, Copy, Debug)]
struct Step<'a> {
    trial: &'a Trial,
    /// Start of the step, seconds since the load began.
    from_s: f64,
    /// End of the step, seconds since the load began.
    to_s: f64,
    good: f64,
    failed: f64,
}

impl Step<'_> {
    fn all(&self) -> f64 {
        self.good + self.failed
    }

    fn all_failed(&self) -> bool {
        self.good <= REFUSED * self.all()
    }

    fn none_failed(&self) -> bool {
        self.failed <= REFUSED * self.all()
    }
}

/// A stretch of time in which every request failed.
#[derive(Clone, Debug)]
pub(crate) struct FailedStretch<'a> {
    /// Trials whose requests failed in the stretch.
    pub(crate) trials: Vec<&'a Trial>,
    /// Trial in which the failures began, and seconds from the start of its load to the first failed step. `None` if
    /// requests failed from the start of the run.
    begin: Option<(&'a Trial, f64)>,
    /// Trial in which the failures ended, and seconds from the start of its load to the end of the last failed step.
    /// `None` if the failures lasted to the end of the run.
    end: Option<(&'a Trial, f64)>,
    /// True if most failures in the stretch were refused connects.
    is_refused: bool,
    /// True if most failures in the stretch were answers of a rate limit, such as 429.
    pub(crate) is_limited: bool,
}

impl<'a> FailedStretch<'a> {
    /// Finds the stretch of a run in which every request failed. Returns `None` if the load may explain the failures.
    /// Time, not load, explains the failures if a failed load was no larger than a good load. The failed load and the
    /// good load may be parts of one trial. Time also explains the failures if a single request failed while there was
    /// no load.
    pub(crate) fn of(run: &'a Run) -> Option<Self> {
        if !run.sent_requests() || !run.plan.load.stages.is_empty() {
            return None;
        }
        // If the server stopped answering, the trial's counts are still valid. If the trial broke off for another
        // reason, such as a dead generator, its counts are not used.
        let is_counted = |t: &Trial| t.broken().is_none_or(|i| i.kind == IncidentKind::ServerUnreachable);
        let loads = run.trials.iter().filter(|t| !t.kind.is_auxiliary() && t.by_hand.is_empty() && is_counted(t));
        let steps: Vec<Step<'_>> = loads.flat_map(steps).filter(|step| step.all() > 0.0).collect();
        let first = steps.iter().position(Step::all_failed)?;
        let last = steps.iter().rposition(Step::all_failed)?;
        let (before, inside, after) = (&steps[..first], &steps[first..=last], &steps[last + 1..]);
        let sum = |steps: &[Step<'_>], count: fn(&Step<'_>) -> f64| steps.iter().map(count).sum::<f64>();
        let mixed = |steps: &[Step<'_>]| steps.iter().filter(|step| !step.none_failed()).count();
        let clean = mixed(edge(before, false)) == mixed(before) && mixed(edge(after, true)) == mixed(after);
        let mut trials: Vec<&Trial> = inside.iter().map(|step| step.trial).collect();
        trials.dedup_by(|a, b| std::ptr::eq(*a, *b));
        let refused: f64 = trials.iter().map(|t| refused_connects(t)).sum();
        let is_refused = refused >= MOST * sum(inside, |s| s.failed);
        // A client pauses longer after each failed connect, so a few clients cause few failures. If connects were
        // refused, the larger of two numbers therefore counts: failures, or missing answers.
        let missed = if is_refused { missed(before.iter().chain(after), inside) } else { 0.0 };
        let enough = sum(inside, |s| s.failed).max(missed) >= FEWEST_REQUESTS as f64
            && sum(before, |s| s.good) + sum(after, |s| s.good) >= FEWEST_REQUESTS as f64;
        if !inside.iter().all(Step::all_failed) || !clean || !enough {
            return None;
        }
        let begin = before.last().map(|_| (inside[0].trial, inside[0].from_s));
        let end = after.first().map(|_| (inside[inside.len() - 1].trial, inside[inside.len() - 1].to_s));
        let good: Vec<&Step<'_>> = before.iter().chain(after).filter(|step| step.none_failed()).collect();
        let by_load = |failed: &Step<'_>| !good.iter().any(|good| is_no_larger(failed.trial, good.trial));
        let at_rest = |failed: &Step<'_>| failed.trial.incidents.iter().any(|i| i.kind == IncidentKind::RefusedAtRest);
        let by_time = inside.iter().any(|failed| !by_load(failed) || at_rest(failed));
        let is_limited = limited(&trials) >= MOST * sum(inside, |s| s.failed);
        by_time.then_some(Self { trials, begin, end, is_refused, is_limited })
    }

    /// Returns true if requests of this trial failed in the stretch.
    pub(crate) fn holds(&self, trial: &Trial) -> bool {
        self.trials.iter().any(|one| std::ptr::eq(*one, trial))
    }

    /// Returns a sentence that says when every request failed, and why.
    pub(crate) fn sentence(&self, kinds: &str) -> String {
        let at = |(trial, t_s): (&Trial, f64)| match closed(trial) {
            true => format!("{t_s:.1} s into the load of {}", counted(clients(trial), "client")),
            false => format!("{t_s:.1} s into the load of {}", rate(trial.rates.offered_rate)),
        };
        let when = match (self.begin, self.end) {
            (Some(begin), Some(end)) if std::ptr::eq(begin.0, end.0) => format!("from {:.1} s to {}", begin.1, at(end)),
            (Some(begin), Some(end)) => format!("from {} to {}", at(begin), at(end)),
            (Some(begin), None) => format!("from {} on", at(begin)),
            (None, Some(end)) => format!("until {}", at(end)),
            (None, None) => "at all times".into(),
        };
        let why = match self.is_refused {
            true => NOTHING_LISTENS,
            false if self.is_limited => "the server limits the rate of requests",
            false => "the server changed, not the load",
        };
        format!("every request failed {when}{kinds}, and none at other times: {why}")
    }
}

/// Returns the number of answers whose status shows a rate limit.
fn limited(trials: &[&Trial]) -> f64 {
    let of = |trial: &&Trial| {
        let refusals = trial.measured.tally.refusals();
        refusals.filter(|(status, _)| run::is_rate_limit(status)).map(|(_, n)| n as f64).sum::<f64>()
    };
    trials.iter().map(of).sum()
}

/// Returns the number of a trial's connects that were refused.
fn refused_connects(trial: &Trial) -> f64 {
    trial.measured.tally.errors.count(ErrorKind::ConnectRefused) as f64
}

/// Returns the number of answers that the server would have given during the failed steps at the rate of the good
/// steps. Returns 0 with a single failed step, or if the failed steps belong to several trials.
fn missed<'s, 'a: 's>(good: impl Iterator<Item = &'s Step<'a>>, failed: &[Step<'_>]) -> f64 {
    let (answers, seconds) = good.fold((0.0, 0.0), |sum, step| (sum.0 + step.good, sum.1 + step.to_s - step.from_s));
    let length_s = match failed {
        [first, .., last] if std::ptr::eq(first.trial, last.trial) => last.to_s - first.from_s,
        _ => 0.0,
    };
    ratio(answers, seconds).unwrap_or(0.0) * length_s
}

/// Returns the steps next to the failed stretch: the first steps after the stretch if `is_after` is true, else the last
/// steps before the stretch.
fn edge<'s, 'a>(steps: &'s [Step<'a>], is_after: bool) -> &'s [Step<'a>] {
    let n = steps.len().min(MAX_EDGE_STEPS);
    if is_after { &steps[..n] } else { &steps[steps.len() - n..] }
}

/// Returns the steps of a trial. If failures were not counted per step, returns the whole window as one step.
fn steps(trial: &Trial) -> Vec<Step<'_>> {
    let measured = &trial.measured;
    let (window, step_s) = (measured.window, measured.step_s());
    let at = |series: &[f64], i: usize| step_s * series.get(i).copied().unwrap_or(0.0).max(0.0);
    if measured.series_failed.is_empty() {
        let (failed, all) = failed_and_all(trial);
        let good = (all - failed).max(0.0);
        return vec![Step { trial, from_s: window.begin_s, to_s: window.end_s, good, failed }];
    }
    let step = |i: usize| Step {
        trial,
        from_s: window.begin_s + i as f64 * step_s,
        to_s: window.begin_s + (i + 1) as f64 * step_s,
        good: (at(&measured.series_completed, i) - at(&measured.series_refused, i)).max(0.0),
        failed: at(&measured.series_failed, i),
    };
    (0..measured.series_completed.len()).map(step).collect()
}

/// Returns true if a failed load was no larger than a good load. If the failed load is an open loop, its offered rate
/// is compared with the other load's good answers per second. A failed closed loop is compared by its number of
/// clients, and only with other closed loops. Quick refusals raise a closed loop's rate, so this rate does not tell how
/// large the load was.
fn is_no_larger(failed: &Trial, other: &Trial) -> bool {
    match (closed(failed), closed(other)) {
        (true, true) => clients(failed) <= clients(other),
        (false, _) => failed.rates.offered_rate <= good(other),
        (true, false) => false,
    }
}

#[cfg(test)]
mod tests {
    use run::{Failure, TENTH_S};

    use super::*;
    use crate::planted::{PlantedRun, Point};

    /// Turns the answers of a trial into refusals between the tenths of a second `from` and `to` of its window.
    fn refuse(trial: &mut Trial, from: usize, to: usize) {
        let measured = &mut trial.measured;
        let rates = measured.series_completed.clone();
        let refused: Vec<f64> =
            (0..rates.len()).map(|i| if (from..to).contains(&i) { rates[i] } else { 0.0 }).collect();
        let n = (refused.iter().sum::<f64>() * TENTH_S) as u64;
        for tally in [&mut measured.tally, &mut trial.tally] {
            tally.unexpected_status = n;
            tally.unexpected_statuses = [("401".to_string(), n)].into();
            tally.status = [("2xx".to_string(), tally.completed - n), ("4xx".to_string(), n)].into();
        }
        (measured.series_failed, measured.series_refused) = (refused.clone(), refused);
    }

    fn judged(planted: &PlantedRun, change: impl Fn(&mut Run)) -> Run {
        let mut run = planted.run();
        change(&mut run);
        crate::judge(&mut run);
        run
    }

    /// A token expires in the step with 8 clients, 0.7 s into the window. All requests of the later loads fail, too.
    #[test]
    fn a_token_that_expires_in_a_search_is_no_limit_of_the_load() {
        let run = judged(&PlantedRun::new(1000.0, 4000.0), |run| {
            refuse(&mut run.trials[3], 7, 20);
            run.trials[4..].iter_mut().for_each(|trial| refuse(trial, 0, 20));
        });
        let (found, b) = (&run.findings, &run.findings.bottleneck);
        assert!(b.id == "unknown" && b.sentence.contains("from 0.7 s into the load of 8 clients on"), "{b:#?}");
        assert!(b.sentence.contains("401: ") && b.ruled_out.is_empty(), "{b:#?}");
        assert_eq!(found.failure, Some(Failure::FailedStretch));
        let capacity = found.capacity.as_ref().unwrap();
        assert!(capacity.rate <= 4000.0 * 1.01 && capacity.failed_at.is_none(), "{capacity:?}");
        assert!(found.picks.at_capacity.is_none_or(|at| at < 3), "only what was measured before it: {:?}", found.picks);
        assert!(found.trust.warnings[0].contains("the server changed"), "{:#?}", found.trust);
    }

    /// The run has a single load. The failures begin or end within the load's window, as with a database that still
    /// loads its data.
    #[test]
    fn one_load_tells_a_moment_by_its_tenths() {
        let one = PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]);
        let of = |from, to| {
            let run = judged(&one, |run| {
                run.trials[0].kind = run::TrialKind::Fixed;
                refuse(&mut run.trials[0], from, to);
            });
            run.findings.bottleneck.sentence
        };
        assert!(
            of(10, 20).starts_with("every request failed from 1.0 s into the load of 8 clients on"),
            "{}",
            of(10, 20)
        );
        assert!(of(0, 10).contains("until 1.0 s into the load"), "{}", of(0, 10));
        assert!(of(5, 10).contains("from 0.5 s to 1.0 s into the load of 8 clients"), "{}", of(5, 10));
        assert!(!of(0, 20).contains("every request failed"), "{}", of(0, 20));
    }

    /// From 1 s on, a rate limit refuses every request, as when a quota of requests per minute is used up.
    #[test]
    fn a_stretch_of_429_is_a_rate_limit_and_no_expired_token() {
        let told = |status: &str| {
            let run = judged(&PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]), |run| {
                let trial = &mut run.trials[0];
                trial.kind = run::TrialKind::Fixed;
                refuse(trial, 10, 20);
                trial.measured.tally.unexpected_statuses =
                    [(status.to_string(), trial.measured.tally.unexpected_status)].into();
            });
            let b = &run.findings.bottleneck;
            format!("{} {}", b.sentence, b.advice.join(" "))
        };
        let limited = told("429");
        assert!(limited.contains("limits the rate") && limited.contains("--rate"), "{limited}");
        assert!(!limited.contains("token") && told("401").contains("token"), "{limited} {}", told("401"));
    }

    /// Makes the server end 1 s after the start of a window of 2 s. After the server's end, the clients try to connect
    /// in vain, with pauses that double.
    fn crash(trial: &mut Trial) {
        let clients = trial.intensity.in_flight().unwrap() as u64;
        let measured = &mut trial.measured;
        measured.series_completed[10..].fill(0.0);
        measured.series_failed = vec![0.0; 20];
        for at in [10, 11, 13, 16] {
            measured.series_failed[at] = clients as f64 / TENTH_S;
        }
        for tally in [&mut measured.tally, &mut trial.tally] {
            tally.completed /= 2;
            tally.errors.0.extend([(ErrorKind::ConnectRefused, 3 * clients), (ErrorKind::Reset, clients)]);
        }
    }

    /// The observer sees no process of the server, as on a host whose counters cannot be read.
    #[test]
    fn a_server_that_ends_is_told_with_the_moment_and_the_refused_connects() {
        for (clients, words) in [(1, "1 client on"), (8, "8 clients on")] {
            for gone in [false, true] {
                let run = judged(&PlantedRun::new(1000.0, 8000.0).steps(&[clients]).rates(&[]).no_server(), |run| {
                    let trial = &mut run.trials[0];
                    trial.kind = run::TrialKind::Fixed;
                    crash(trial);
                    let kind = if gone { IncidentKind::ServerUnreachable } else { IncidentKind::Silence };
                    trial.incidents.push(run::Incident { kind, begin_s: 1.0, end_s: None, text: "it ended".into() });
                });
                let told = &run.findings.bottleneck.sentence;
                assert!(told.starts_with("every request failed from 1.0 s into the load of"), "{told}");
                assert!(told.contains(words) && told.contains("had ended or no longer listened"), "{told}");
                assert!(told.contains(&format!("connects refused: {}", 3 * clients)), "{told}");
                let failure = if gone { Failure::Died } else { Failure::FailedStretch };
                assert_eq!(run.findings.failure, Some(failure), "{told}");
            }
        }
    }

    /// The loads grow, and every request fails from 16 clients on, so the load may be the reason.
    #[test]
    fn failures_that_begin_with_a_larger_load_may_depend_on_it() {
        let planted = PlantedRun::new(1000.0, 4000.0).rates(&[]).change(|t: &mut Trial, p: &Point| {
            if p.n >= 16.0 {
                refuse(t, 0, 20);
            }
        });
        assert!(FailedStretch::of(&planted.run()).is_none());
        let mut run = planted.run();
        let text = "a single request after the load failed, too".to_string();
        run.trials[4].incidents.push(run::Incident {
            kind: IncidentKind::RefusedAtRest,
            begin_s: 2.0,
            end_s: None,
            text,
        });
        assert!(FailedStretch::of(&run).is_some(), "a request without load failed, too");
    }

    #[test]
    fn an_edge_of_the_stretch_has_at_most_three_mixed_steps() {
        let is_found = |mixed: usize| {
            let mut run = PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]).run();
            let measured = &mut run.trials[0].measured;
            let share = |i: usize| match i {
                0..8 => 0.0,
                i if i < 8 + mixed => 0.5,
                _ => 1.0,
            };
            measured.series_refused =
                measured.series_completed.iter().enumerate().map(|(i, rate)| share(i) * rate).collect();
            measured.series_failed = measured.series_refused.clone();
            FailedStretch::of(&run).is_some()
        };
        assert_eq!([0, 3, 4].map(is_found), [true, true, false]);
    }

    /// In half of the simulated runs, answers fail at random the whole time. In the other half of the runs, a rate
    /// limiter's token bucket becomes empty, and then lets requests pass at a fixed rate.
    #[test]
    fn failures_beside_good_answers_are_no_stretch() {
        let mut random = fastrand::Rng::with_seed(3);
        let mut found = 0;
        for draw in 0..300 {
            let mut run = PlantedRun::new(1000.0, 4000.0).steps(&[8]).rates(&[]).run();
            let measured = &mut run.trials[0].measured;
            let each = |i: usize, random: &mut fastrand::Rng| match draw % 2 {
                0 => 4000.0 * (0.3 + 0.4 * random.f64()),
                _ if i < 10 => 0.0,
                _ => 3000.0,
            };
            measured.series_refused = (0..20).map(|i| each(i, &mut random)).collect();
            measured.series_failed = measured.series_refused.clone();
            found += usize::from(FailedStretch::of(&run).is_some());
        }
        assert_eq!(found, 0, "of 300");
    }
}

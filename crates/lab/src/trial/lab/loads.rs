//! Conducts load tests, and observes servers without a load of our own.

use std::time::Duration;

use run::{Intensity, Rates, Run, RunDir, TENTH_S, Trial};
use sys::clock::Origin;

use super::Lab;
use crate::agents::AgentGroup;
use crate::observe::Observation;
use crate::trial::conduct::{self, Load, TrialSetup};
use crate::trial::observe_only;
use crate::trial::running_trial::TrialEnd;
use crate::trial::span_times;
use crate::trial::unasked;
use crate::{LabError, Point};

impl Lab<'_> {
    /// Conducts one load test of one or more loads. Returns the result without storing it.
    pub fn conduct(&mut self, observation: &Observation, loads: &[Load<'_>], point: &Point) -> Result<Trial, LabError> {
        self.conduct_beside(observation, loads, point, &mut |_, _| {})
    }

    /// Conducts one load test, and calls `beside` as soon as the generators are ready. The arguments of `beside` are
    /// the generators and the origin of the load test's times.
    pub(crate) fn conduct_beside(
        &mut self,
        observation: &Observation,
        loads: &[Load<'_>],
        point: &Point,
        beside: &mut dyn FnMut(&AgentGroup, Origin),
    ) -> Result<Trial, LabError> {
        let expected = loads.first().map_or(0.0, |l| l.plan.warmup_s + l.plan.duration_s);
        check_one_kind(loads, point)?;
        self.watch.phase(&point.label, expected);
        let watched = self.watch.looks();
        let left_s = self.left_s();
        let setup = TrialSetup { program: &self.program, loads, descriptors: self.descriptors, watched, left_s };
        let interval_s = self.run.plan.observe.interval_s;
        let mut began_unix_s = None;
        let open = |group: &AgentGroup, origin: Origin| {
            began_unix_s = Some(span_times::unix_s() - origin.now_s());
            beside(group, origin);
            observation.open(group, origin, interval_s)
        };
        let (mut trial, ended) = match conduct::conduct(&setup, &mut self.generators, point, open, self.watch) {
            // If the first load of a run with a budget cannot start, a run that gives the cause is more useful than an
            // error.
            Err(LabError::Late { name, why }) if left_s.is_finite() && self.run.trials.is_empty() => {
                let text = format!("the generator {name:?} got too little CPU time: {why}");
                (conduct::never_begun(loads, point, text), TrialEnd::Broken)
            }
            conducted => conducted?,
        };
        trial.measured.load_began_unix_s = began_unix_s;
        if let Some(why) = unasked::refusal(&trial, loads) {
            return Err(LabError::Unasked { target: self.run.plan.target.url.clone(), why });
        }
        self.note_end(&mut trial, &ended, observation.is_blind());
        Ok(trial)
    }

    /// Counts the time of a load test that has ended, and stops the run if no further load test can follow.
    fn note_end(&mut self, trial: &mut Trial, ended: &TrialEnd, is_blind: bool) {
        let around = trial.measured.around.unwrap_or_default();
        self.clock.conducted(around.start_s, around.drain_s);
        // After the end of a server or a generator, further load tests would not measure the planned load.
        let broken = *ended == TrialEnd::Broken || trial.incidents.iter().any(|i| i.kind.invalidates_trial());
        self.stopped |= *ended == TrialEnd::ByUser || broken && !is_blind;
        if *ended == TrialEnd::ByUser {
            trial.notes.push(interrupted_after(trial));
            remove_chance_rates(trial);
        }
    }

    /// Conducts one load test and stores it in the run and its directory.
    pub fn trial(&mut self, observation: &Observation, loads: &[Load<'_>], point: &Point) -> Result<&Trial, LabError> {
        let trial = self.conduct(observation, loads, point)?;
        self.keep(trial)
    }

    /// Observes client and server for `seconds` without load.
    pub fn rest(&mut self, observation: &Observation, seconds: f64) {
        self.watch.phase("at rest", seconds);
        let interval_s = self.run.plan.observe.interval_s;
        self.run.at_rest = observation.at_rest(seconds, interval_s, &|| self.watch.stop());
    }

    /// Observes a server under external load for the plan's duration.
    pub(crate) fn observe_only(&mut self, observation: &Observation, point: &Point) -> Trial {
        let duration_s = self.run.plan.load.duration_s;
        self.watch.phase(&point.label, duration_s);
        let interval_s = self.run.plan.observe.interval_s;
        let Self { run, dir, watch, began, .. } = self;
        // A failed write is reported later, when the whole run cannot be written.
        let mut keep = |trial: Trial| drop(dir.as_ref().map(|dir| save_unfinished(run, dir, trial, began.elapsed())));
        let mut trial = observe_only::observe_only(observation, (interval_s, duration_s), point, *watch, &mut keep);
        let by_user = observe_only::is_cut_short(&trial, duration_s, self.watch.stop());
        if by_user {
            trial.notes.push(interrupted_after(&trial));
        }
        self.stopped |= by_user || trial.incidents.iter().any(|i| trial.kind.ends_with(i.kind));
        trial
    }
}

/// Fails if loads are of different kinds (closed loop, open loop, S-Clients), because a load test has only one
/// intensity.
fn check_one_kind(loads: &[Load<'_>], point: &Point) -> Result<(), LabError> {
    let together = Intensity::sum(loads.iter().map(|load| &load.plan.intensity));
    if loads.is_empty() || together.is_some() {
        return Ok(());
    }
    let what = format!("loading at {:?} by several loads", point.label);
    Err(LabError::SetUp { what, why: "closed loop, open loop and S-Clients cannot be mixed; use one kind".into() })
}

/// Returns the note on a load test that the user ended.
fn interrupted_after(trial: &Trial) -> String {
    format!("interrupted after {} of measuring", run::number::span(trial.measured.length_s))
}

/// Writes the run, including a load test that has not ended. The run is marked as interrupted, so that the mark remains
/// if this process is killed.
fn save_unfinished(run: &mut Run, dir: &RunDir, trial: Trial, elapsed: Duration) -> Result<(), LabError> {
    (run.elapsed_s, run.interrupted) = (elapsed.as_secs_f64(), true);
    run.trials.push(trial);
    judge::judge_so_far(run);
    let saved = dir.save(run);
    run.trials.pop();
    Ok(saved?)
}

/// Removes the rates of a load test that the user ended within the first tenth of a second of its measured window. A
/// few requests more or less would change such rates by a multiple.
fn remove_chance_rates(trial: &mut Trial) {
    if trial.measured.length_s < TENTH_S {
        (trial.rates, trial.rate_ratio) = (Rates::default(), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_some_milliseconds_has_no_rates() {
        let completed_rate = |length_s| {
            let rates = Rates { completed_rate: 522.0, ..Rates::default() };
            let mut trial = Trial { rates, rate_ratio: Some(2.6), ..Trial::default() };
            trial.measured.length_s = length_s;
            remove_chance_rates(&mut trial);
            (trial.rates.completed_rate, trial.rate_ratio)
        };
        assert_eq!(completed_rate(0.0038), (0.0, None));
        assert_eq!(completed_rate(1.0), (522.0, Some(2.6)));
    }
}

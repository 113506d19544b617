//! Chooses the trials with the most informative samples: one trial for waiting threads, and another one for running
//! code.

use crate::{DatabaseProfile, Run, StackProfile, Trial, WaitProfile};

impl Run {
    /// Returns the trial whose samples tell the most about what requests wait for. The chosen trial has many rounds
    /// (samples of all threads at one time) and many requests in flight. The amount of information in a trial's samples
    /// is measured as ln(1 + rounds) × ln(requests in flight). For example, a pool of 5 connections showed only a short
    /// queue in a trial with 121 rounds and 8 requests in flight. In a trial with 30 rounds and 64 requests in flight,
    /// for which the formula gives a larger amount, the pool showed a long queue.
    pub fn sampled_trial(&self) -> Option<usize> {
        self.trials_by_samples().first().copied()
    }

    /// Returns the trials with samples, in the order of [`Run::sampled_trial`]: the most informative trial comes first.
    /// Leaves out trials with fewer rounds of samples than the most informative trial has.
    pub fn trials_by_samples(&self) -> Vec<usize> {
        self.trials_by_samples_among(|_| true)
    }

    /// Returns the trials with samples for which `is_wanted` returns true, as [`Run::trials_by_samples`] does. An
    /// unwanted trial with many rounds does not exclude others.
    pub fn trials_by_samples_among(&self, is_wanted: impl Fn(&Trial) -> bool) -> Vec<usize> {
        let weight = |trial: &Trial| {
            let rounds = rounds(trial).filter(|_| is_wanted(trial))?;
            Some((rounds.ln_1p() * trial.rates.concurrency.max(1.0).ln(), rounds))
        };
        let mut all: Vec<(usize, (f64, f64))> =
            self.trials.iter().enumerate().filter_map(|(at, trial)| Some((at, weight(trial)?))).collect();
        all.sort_by(|(at, a), (other, b)| b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1)).then(other.cmp(at)));
        let least = all.first().map_or(0.0, |(_, (_, rounds))| *rounds);
        all.into_iter().filter(|(_, (_, rounds))| *rounds >= least).map(|(at, _)| at).collect()
    }

    /// Returns the sampled threads of [`Run::sampled_trial`]. If no trial has samples, returns the last profile, which
    /// contains only the reasons for missing samples.
    pub fn sampled_waits(&self) -> Option<&WaitProfile> {
        fn of(trial: &Trial) -> Option<&WaitProfile> {
            trial.server.as_ref()?.waits.as_deref()
        }
        match self.sampled_trial() {
            Some(at) => of(self.trials.get(at)?),
            None => self.trials.iter().rev().find_map(of),
        }
    }

    /// Returns the trial (one load) during which the code that was running on the server's CPUs was sampled most often.
    pub fn cpu_sampled_trial(&self) -> Option<usize> {
        let samples = |trial: &Trial| trial.server.as_ref()?.waits.as_ref()?.stacks.as_ref().map(|s| s.cpu_samples);
        let all = self.trials.iter().enumerate().filter_map(|(at, trial)| Some((at, samples(trial)?)));
        all.max_by_key(|(_, samples)| *samples).map(|(at, _)| at)
    }

    /// Returns the stacks of the trial with the most samples of running code.
    pub fn cpu_stacks(&self) -> Option<&StackProfile> {
        self.trials.get(self.cpu_sampled_trial()?)?.server.as_ref()?.waits.as_ref()?.stacks.as_ref()
    }

    /// Returns one profile with the running stacks of [`Run::cpu_stacks`] and the waiting stacks of
    /// [`Run::sampled_waits`]. The running stacks and the waiting stacks may come from different trials.
    pub fn sampled_stacks(&self) -> Option<StackProfile> {
        let waiting = self.sampled_waits().and_then(|waits| waits.stacks.as_ref());
        let Some(running) = self.cpu_stacks() else { return waiting.cloned() };
        Some(StackProfile {
            cpu_samples: running.cpu_samples,
            cpu: running.cpu.clone(),
            waiting: waiting.map(|stacks| stacks.waiting.clone()).unwrap_or_default(),
        })
    }

    /// Returns the sampled databases of the trial that [`Run::sampled_trial`] returns.
    pub fn sampled_databases(&self) -> &[DatabaseProfile] {
        let trial = self.sampled_trial().and_then(|at| self.trials.get(at));
        trial.map_or(&[], |trial| &trial.databases)
    }
}

/// Returns the number of rounds in which loadline sampled a trial's threads, or its databases if it sampled no threads.
/// Returns `None` if there was no round.
fn rounds(trial: &Trial) -> Option<f64> {
    let of_threads = trial.server.as_ref().and_then(|side| side.waits.as_ref()).map(|waits| waits.rounds);
    let of_databases = trial.databases.iter().map(|database| database.samples).max();
    let rounds = of_threads.filter(|rounds| *rounds > 0).or(of_databases)?;
    (rounds > 0).then_some(rounds as f64)
}

#[cfg(test)]
mod tests {
    use crate::{Run, Side, Trial, WaitProfile};

    #[test]
    fn the_trial_with_most_samples_of_requests_tells_the_causes() {
        let trial = |rounds, concurrency| {
            let waits = Some(Box::new(WaitProfile { rounds, ..WaitProfile::default() }));
            let mut trial = Trial { server: Some(Side { waits, ..Side::default() }), ..Trial::default() };
            trial.rates.concurrency = concurrency;
            trial
        };
        let all = |trials: Vec<Trial>| Run { trials, ..Run::default() }.trials_by_samples();
        let of = |trials: Vec<Trial>| all(trials).first().copied();
        assert_eq!(of(vec![trial(170, 1.0), trial(28, 16.0), trial(40, 4.0), Trial::default()]), Some(1));
        assert_eq!(of(vec![trial(30, 64.0), trial(121, 8.0), trial(5, 64.0)]), Some(0));
        assert_eq!(of(vec![trial(0, 16.0), trial(5, 0.0)]), Some(1));
        assert_eq!(of(vec![Trial::default(), trial(0, 9.0)]), None);
        let fewer = vec![trial(5, 4.0), trial(46, 3.0), trial(6, 20.0), trial(6, 20.0)];
        assert_eq!(all(fewer.clone()), [3, 2, 1], "5 rounds are fewer than 6");
        let run = Run { trials: fewer, ..Run::default() };
        let few = |trial: &Trial| trial.rates.concurrency < 20.0;
        assert_eq!(run.trials_by_samples_among(few), [1], "5 rounds are fewer than 46");
        let least = |trial: &Trial| trial.rates.concurrency == 4.0;
        assert_eq!(run.trials_by_samples_among(least), [0], "unwanted trials do not count");
    }
}

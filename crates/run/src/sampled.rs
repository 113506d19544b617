//! The sampled threads of a run: one trial of it tells most.

use crate::{DatabaseProfile, Run, Trial, WaitProfile};

impl Run {
    /// Returns the trial whose samples tell most: many rounds, and more than one request in flight, so that requests wait
    /// inside. Twice the rounds tell more than twice the requests.
    pub fn sampled_trial(&self) -> Option<usize> {
        let requests = |trial: &Trial| {
            let of_threads = trial.server.as_ref().and_then(|side| side.waits.as_ref()).map(|waits| waits.rounds);
            let of_databases = trial.databases.iter().map(|database| database.samples).max();
            let rounds = of_threads.filter(|rounds| *rounds > 0).or(of_databases)? as f64;
            (rounds > 0.0).then(|| (rounds * trial.rates.concurrency.max(1.0).ln(), rounds))
        };
        let samples = self.trials.iter().enumerate().filter_map(|(at, trial)| Some((at, requests(trial)?)));
        samples.max_by(|(_, a), (_, b)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))).map(|(at, _)| at)
    }

    /// Returns the sampled threads of this trial. If no trial has samples, these are the reasons why.
    pub fn sampled_waits(&self) -> Option<&WaitProfile> {
        fn of(trial: &Trial) -> Option<&WaitProfile> {
            trial.server.as_ref()?.waits.as_deref()
        }
        match self.sampled_trial() {
            Some(at) => of(self.trials.get(at)?),
            None => self.trials.iter().rev().find_map(of),
        }
    }

    /// Returns the sampled databases of this trial.
    pub fn sampled_databases(&self) -> &[DatabaseProfile] {
        let trial = self.sampled_trial().and_then(|at| self.trials.get(at));
        trial.map_or(&[], |trial| &trial.databases)
    }
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
        let of = |trials: Vec<Trial>| Run { trials, ..Run::default() }.sampled_trial();
        assert_eq!(of(vec![trial(170, 1.0), trial(28, 16.0), trial(40, 4.0), Trial::default()]), Some(1));
        assert_eq!(of(vec![trial(0, 16.0), trial(5, 0.0)]), Some(1));
        assert_eq!(of(vec![Trial::default(), trial(0, 9.0)]), None);
    }
}

//! What the server itself counts while an entry runs: asked ten times a second, so that its view of the measured window
//! stands beside the client's.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use run::{Trial, Window};

use lab::agent::AgentGroup;

/// What servers say when they are asked: their counts, and why threads of them ended.
pub(super) type Answer = (BTreeMap<String, u64>, Vec<String>);

/// Between two questions.
const EVERY: Duration = Duration::from_millis(100);
/// From the call of `conduct` to the first connect; only places the servers' answers in the trial's time.
const LEAD: Duration = Duration::from_millis(60);
/// A server that is busy answers late.
const PATIENCE: Duration = Duration::from_secs(2);

/// Asks servers; the sums of what they say.
pub(super) fn ask(crews: &mut [AgentGroup]) -> Answer {
    let (mut counts, mut failures) = (BTreeMap::<String, u64>::new(), Vec::new());
    for group in crews {
        let (one, failed) = group.counts(PATIENCE);
        one.into_iter().for_each(|(name, n)| *counts.entry(name).or_default() += n);
        failures.extend(failed);
    }
    (counts, failures)
}

/// The answers: seconds since the trial's origin, and the sums over all server processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    answers: Vec<(f64, BTreeMap<String, u64>)>,
    /// Why threads ended or could not be made.
    failures: Vec<String>,
}

impl Counts {
    /// Conducts while the servers are asked.
    pub(super) fn during<T>(ask: impl FnMut() -> Answer + Send, conduct: impl FnOnce() -> T) -> (T, Self) {
        let (stop, origin) = (AtomicBool::new(false), Instant::now() + LEAD);
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| Self::watch(ask, origin, &stop));
            let outcome = conduct();
            stop.store(true, Ordering::Relaxed);
            (outcome, asking.join().unwrap_or_default())
        })
    }

    /// Asks until told to stop.
    fn watch(mut ask: impl FnMut() -> Answer, origin: Instant, stop: &AtomicBool) -> Self {
        let mut counted = Self::default();
        while !stop.load(Ordering::Relaxed) {
            counted.keep(ask(), origin);
            std::thread::sleep(EVERY);
        }
        counted
    }

    fn keep(&mut self, (counts, failures): Answer, origin: Instant) {
        // The origin is a little in the future when the first question is asked.
        let t_s = Instant::now().saturating_duration_since(origin).as_secs_f64();
        if !counts.is_empty() {
            self.answers.push((t_s, counts));
        }
        if !failures.is_empty() {
            self.failures = failures;
        }
    }

    /// What was first said of a level, and the most that was.
    pub(super) fn levels(&self, name: &str) -> Option<(f64, f64)> {
        let mut all = self.answers.iter().filter_map(|(_, counts)| Some(*counts.get(name)? as f64));
        let first = all.next()?;
        Some((first, all.fold(first, f64::max)))
    }

    /// The server's view of the measured window, among the results of the trial.
    pub(super) fn put(&self, trial: &mut Trial) {
        let window = trial.measured.window;
        trial.results.server_receives_bytes_per_s = self.per_s("bytes_in", window);
        trial.results.server_sends_bytes_per_s = self.per_s("bytes_out", window);
        if !self.failures.is_empty() {
            trial.notes.push(format!("the server: {}", self.failures.join("; ")));
        }
    }

    /// Growth a second between the first and the last answer inside a window.
    fn per_s(&self, name: &str, window: Window) -> Option<f64> {
        let mut inside = self.answers.iter().filter(|(t, _)| window.holds(*t));
        let first = inside.next()?;
        let last = inside.next_back()?;
        let (a, b) = (first.1.get(name)?, last.1.get(name)?);
        Some(b.saturating_sub(*a) as f64 / (last.0 - first.0).max(1e-9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_of_the_window() {
        let answer = |t: f64, n: u64| (t, BTreeMap::from([("bytes_in".to_string(), n)]));
        let counted = Counts { answers: vec![answer(0.5, 5), answer(1.0, 10), answer(3.0, 50)], failures: Vec::new() };
        let window = Window { begin_s: 0.9, end_s: 3.1 };
        assert_eq!(counted.per_s("bytes_in", window), Some(20.0));
        assert_eq!(counted.per_s("threads", window), None);
    }
}

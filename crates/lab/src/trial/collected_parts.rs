//! Results ("parts") of a load test's agents. The conductor merges the results of each agent as soon as they arrive.
//! The results of one agent have megabytes of histograms, so the results of a thousand agents must never be in memory
//! together.

use std::collections::BTreeMap;

use run::{HostLoad, LoadPart, Window, WindowSkew};

/// State of the results of one agent.
#[derive(Clone, Debug, Default)]
struct PartState {
    came: bool,
    /// Reason why the agent ended without sending its part; `None` if the agent still runs or has sent its part.
    gone: Option<String>,
    /// Share of the whole load that the agent generates, 0 to 1.
    share: f64,
    host: String,
}

/// Merged results of agents, and the agents whose results are missing.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectedParts {
    outcomes: Vec<PartState>,
    whole: LoadPart,
    /// Sum of the lengths of all agents' measurements, seconds.
    lengths_s: f64,
    windows: Vec<Window>,
    hosts: BTreeMap<String, HostLoad>,
}

impl CollectedParts {
    /// Returns an empty collection for the given agents, each with its host and its weight (share of the load).
    pub(crate) fn new<'a>(agents: impl Iterator<Item = (&'a str, f64)>) -> Self {
        let outcome = |(host, share): (&str, f64)| PartState { host: host.into(), share, ..PartState::default() };
        let mut outcomes: Vec<PartState> = agents.map(outcome).collect();
        let all: f64 = outcomes.iter().map(|o| o.share).sum();
        outcomes.iter_mut().for_each(|o| o.share = if all > 0.0 { o.share / all } else { 0.0 });
        Self { outcomes, ..Self::default() }
    }

    /// Merges the results of one agent (a part). `ours` converts times from the agent's clock to ours. Drops a part
    /// whose measurement is longer than the load (`longest_s`), or starts before it, because such a part would make all
    /// rates wrong.
    pub(crate) fn take(&mut self, agent: usize, part: LoadPart, longest_s: f64, ours: impl Fn(f64) -> f64) {
        let times = [part.measured_s, part.measured_at_s, part.late_s];
        if !times.iter().all(|s| (0.0..=longest_s).contains(s)) {
            self.lost(agent, format!("its part lasts {times:?} s in a load of {longest_s:.1} s"));
            return;
        }
        let Some(outcome) = self.outcomes.get_mut(agent).filter(|o| !o.came) else { return };
        outcome.came = true;
        self.lengths_s += part.measured_s;
        let begin_s = part.measured_at_s + part.late_s;
        self.windows.push(Window { begin_s: ours(begin_s), end_s: ours(begin_s + part.measured_s) });
        let host = self.hosts.entry(outcome.host.clone()).or_default();
        host.host.clone_from(&outcome.host);
        host.agents += 1;
        host.completed = host.completed.saturating_add(part.measured.completed);
        host.share += outcome.share;
        self.whole.merge(part);
    }

    /// Records that an agent ended or reported an error. Returns false if the loss was already known, or if the agent's
    /// part has already arrived.
    pub(crate) fn lost(&mut self, agent: usize, how: String) -> bool {
        let Some(outcome) = self.outcomes.get_mut(agent) else { return false };
        let new = !outcome.came && outcome.gone.is_none();
        if new {
            outcome.gone = Some(how);
        }
        new
    }

    /// Returns the number of agents.
    pub(crate) fn agents(&self) -> usize {
        self.outcomes.len()
    }

    /// Returns true if no agent's results arrived.
    pub(crate) fn none_came(&self) -> bool {
        self.outcomes.iter().all(|o| !o.came)
    }

    /// Returns true if the results of every agent arrived.
    pub(crate) fn all_came(&self) -> bool {
        self.outcomes.iter().all(|o| o.came)
    }

    /// Returns true if, for every agent, the part has arrived or the agent is lost.
    pub(crate) fn over(&self) -> bool {
        self.outcomes.iter().all(|o| o.came || o.gone.is_some())
    }

    /// Returns the agents whose results are missing.
    pub(crate) fn missing(&self) -> impl Iterator<Item = usize> {
        self.outcomes.iter().enumerate().filter(|(_, o)| !o.came).map(|(agent, _)| agent)
    }

    /// Returns a sentence for each agent whose part is missing, with the agent's share of the load.
    pub(crate) fn describe_missing(&self, name: impl Fn(usize) -> String) -> Vec<String> {
        let of_several = self.outcomes.len() > 1;
        let told = |agent: usize| {
            let outcome = &self.outcomes[agent];
            let how = outcome.gone.as_deref().unwrap_or("it did not answer in time");
            let share = of_several.then(|| format!(", {:.1} % of the load of its window", 100.0 * outcome.share));
            let share = share.unwrap_or_default();
            format!("the part of {} is missing from this trial{share}: {how}", name(agent))
        };
        self.missing().map(told).collect()
    }

    /// Returns the time differences between the measurements of several parts; `None` for a single part of this
    /// machine. `samples_s` are the differences between the requested and the actual times of the samples at the start
    /// and end of the measurement. `clock_s` is the error of the clock comparisons, and `drift_s` is the drift during
    /// the load.
    pub(crate) fn apart(&self, samples_s: &[f64], (clock_s, drift_s): (f64, Option<f64>)) -> Option<WindowSkew> {
        let some = self.windows.len() > 1 || clock_s > 0.0;
        some.then(|| WindowSkew {
            begin_us: spread_us(self.windows.iter().map(|w| w.begin_s)),
            end_us: spread_us(self.windows.iter().map(|w| w.end_s)),
            sample_us: samples_s.iter().copied().reduce(f64::max).map(|s| s * 1e6),
            clock_us: clock_s * 1e6,
            drift_us: drift_s.map(|s| s * 1e6),
        })
    }

    /// Returns the time from the first start of an agent's measurement to the last end; `None` if no results arrived.
    pub(crate) fn window(&self) -> Option<Window> {
        let both = |a: Window, b: Window| Window { begin_s: a.begin_s.min(b.begin_s), end_s: a.end_s.max(b.end_s) };
        self.windows.iter().copied().reduce(both)
    }

    /// Returns the merged results of all agents, and the load of each host. The length of the merged measurement is the
    /// mean over all agents. Agents begin to measure at slightly different times. The sum of all counts divided by the
    /// mean length is the sum of the agents' rates. If the counts were divided by the longest measurement of any agent,
    /// all rates would be too low.
    pub(crate) fn merged(mut self) -> (LoadPart, Vec<HostLoad>) {
        let came = self.windows.len();
        self.whole.measured_s = if came > 0 { self.lengths_s / came as f64 } else { 0.0 };
        (self.whole, self.hosts.into_values().collect())
    }
}

fn spread_us(times: impl Iterator<Item = f64>) -> f64 {
    let (least, most) = times.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), t| (a.min(t), b.max(t)));
    if most >= least { (most - least) * 1e6 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(measured_at_s: f64, measured_s: f64, completed: u64) -> LoadPart {
        let mut part = LoadPart { measured_at_s, measured_s, ..LoadPart::default() };
        part.measured.completed = completed;
        part
    }

    /// If loadline used a wrong time from one agent, all rates would be wrong.
    #[test]
    fn an_impossible_window_counts_as_lost() {
        for (at_s, length_s) in [(1.0, 1e300), (-1.0, 4.0), (1.0, -4.0), (1e9, 1.0), (f64::NAN, 1.0)] {
            let mut parts = CollectedParts::new([("a", 1.0), ("b", 1.0)].into_iter());
            parts.take(0, of(1.0, 4.0, 100), 9.0, |s| s);
            parts.take(1, of(at_s, length_s, 100), 9.0, |s| s);
            assert!(parts.over() && !parts.all_came(), "{at_s} {length_s}");
            assert!(parts.describe_missing(|_| "b".into())[0].contains("in a load of 9.0 s"));
            let (whole, _) = parts.merged();
            assert!((whole.measured_s - 4.0).abs() < 1e-9, "{whole:?}");
        }
    }

    #[test]
    fn parts_add_up_in_any_order_and_by_host() {
        let mut parts = CollectedParts::new([("a", 1.0), ("b", 2.0), ("b", 1.0)].into_iter());
        parts.take(0, of(1.0, 4.0, 100), 9.0, |s| s);
        parts.take(1, of(1.0005, 4.2, 30), 9.0, |s| s);
        parts.take(1, of(1.0, 4.0, 1_000_000), 9.0, |s| s);
        assert!(!parts.over() && !parts.none_came());
        assert!(parts.lost(2, "the line was cut".into()) && !parts.lost(2, "again".into()) && parts.over());
        let told = parts.describe_missing(|agent| format!("load {agent}"));
        assert_eq!(
            told,
            ["the part of load 2 is missing from this trial, 25.0 % of the load of its window: the line was cut"]
        );
        let apart = parts.apart(&[0.0002, 0.003], (0.00005, Some(0.25))).unwrap();
        assert!((apart.begin_us - 500.0).abs() < 1e-6 && (apart.end_us - 200_500.0).abs() < 1e-3, "{apart:?}");
        assert_eq!((apart.sample_us, apart.clock_us, apart.drift_us), (Some(3000.0), 50.0, Some(250_000.0)));
        let window = parts.window().unwrap();
        assert!(window.begin_s == 1.0 && (window.end_s - 5.2005).abs() < 1e-9, "{window:?}");
        let (whole, hosts) = parts.merged();
        assert!((whole.measured_s - 4.1).abs() < 1e-9 && whole.measured.completed == 130);
        assert_eq!(
            hosts.iter().map(|h| (h.host.as_str(), h.agents, h.completed)).collect::<Vec<_>>(),
            [("a", 1, 100), ("b", 1, 30)]
        );
    }

    /// All measurements ended at the same moment, but the clock of one agent had drifted before.
    #[test]
    fn windows_are_compared_by_one_clock() {
        let mut parts = CollectedParts::new([("a", 1.0), ("b", 1.0)].into_iter());
        parts.take(0, of(1.0, 9_999.0, 1), 1e5, |s| s);
        parts.take(1, of(1.0001, 10_001.0 - 1.0001, 1), 1e5, |s| s / 1.0001);
        let apart = parts.apart(&[], (0.0, Some(1.0))).unwrap();
        assert!(apart.begin_us < 1.0 && apart.end_us < 1.0, "{apart:?}");
    }

    #[test]
    fn one_agent_here_has_no_windows_to_compare() {
        let mut parts = CollectedParts::new([("localhost", 1.0)].into_iter());
        parts.take(0, of(1.0, 4.0, 100), 9.0, |s| s);
        assert_eq!(parts.apart(&[], (0.0, None)), None);
        assert_eq!(CollectedParts::default().merged().0.measured_s, 0.0);
    }
}

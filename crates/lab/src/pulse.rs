//! The ticks of all load agents of a trial, put together: how much was completed at any moment.

use run::{Incident, IncidentKind, Tick};

/// What the agents said so far, by agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulse {
    ticks: Vec<Vec<Tick>>,
}

/// Width of one rate of the series, seconds.
pub(crate) const STEP_S: f64 = 0.1;

/// A shorter silence is no incident: a queue of half a second may come and go.
const SILENT_S: f64 = 0.5;
/// Answers that a silence must have cost, so that quiet stretches of a light load are none.
const MISSED: f64 = 20.0;

impl Pulse {
    pub(crate) fn new(agents: usize) -> Self {
        Self { ticks: vec![Vec::new(); agents] }
    }

    pub(crate) fn push(&mut self, agent: usize, tick: Tick) {
        if let Some(ticks) = self.ticks.get_mut(agent) {
            ticks.push(tick);
        }
    }

    /// The last moment that every agent has reported, seconds since the start.
    pub(crate) fn known_until(&self) -> f64 {
        let last = self.ticks.iter().map(|t| t.last().map_or(0.0, |t| t.t_s));
        last.reduce(f64::min).unwrap_or(0.0)
    }

    /// Sums of the newest ticks.
    pub(crate) fn now(&self) -> Tick {
        self.ticks.iter().filter_map(|t| t.last()).fold(Tick::default(), |sum, t| Tick {
            t_s: sum.t_s.max(t.t_s),
            phase: t.phase,
            sent: sum.sent + t.sent,
            completed: sum.completed + t.completed,
            errors: sum.errors + t.errors,
            open: sum.open + t.open,
            in_flight: sum.in_flight + t.in_flight,
        })
    }

    /// Completed requests per second in each tenth of a second from `begin_s` to `end_s`.
    pub(crate) fn rates(&self, begin_s: f64, end_s: f64) -> Vec<f64> {
        let steps = ((end_s - begin_s) / STEP_S + 1e-9).floor().max(0.0) as usize;
        let at = |i: usize| self.completed_at(begin_s + i as f64 * STEP_S);
        (0..steps).map(|i| (at(i + 1) - at(i)) / STEP_S).collect()
    }

    /// The longest stretch of the window without any answer, if some were due and at least [`MISSED`] would have come at
    /// the rate of the rest.
    pub(crate) fn silence(&self, begin_s: f64, end_s: f64) -> Option<Incident> {
        let rates = self.rates(begin_s, end_s);
        let (at, steps) = longest_zero(&rates);
        let (from, length_s) = (begin_s + at as f64 * STEP_S, steps as f64 * STEP_S);
        let rest = rates.iter().sum::<f64>() / (rates.len() - steps).max(1) as f64;
        let wanted = self.at(from + length_s, errors) > self.at(from, errors) || self.at(from, in_flight) > 0.0;
        if length_s < SILENT_S || rest * length_s < MISSED || !wanted {
            return None;
        }
        let until = from + length_s;
        let text = format!(
            "no answer came from {from:.1} s to {until:.1} s, although some were due: the server, or the way to it, stood \
             still"
        );
        Some(Incident { kind: IncidentKind::Silence, begin_s: from, end_s: Some(until), text })
    }

    /// Requests completed until a moment, over all agents, in between ticks by a straight line.
    fn completed_at(&self, t_s: f64) -> f64 {
        self.at(t_s, |t| t.completed as f64)
    }

    fn at(&self, t_s: f64, of: fn(&Tick) -> f64) -> f64 {
        self.ticks.iter().map(|ticks| interpolate(ticks, t_s, of)).sum()
    }
}

fn errors(t: &Tick) -> f64 {
    t.errors as f64
}

fn in_flight(t: &Tick) -> f64 {
    t.in_flight as f64
}

/// Place and length of the longest run of zeros.
fn longest_zero(rates: &[f64]) -> (usize, usize) {
    let (mut best, mut run) = ((0, 0), 0);
    for (i, rate) in rates.iter().enumerate() {
        run = if *rate == 0.0 { run + 1 } else { 0 };
        if run > best.1 {
            best = (i + 1 - run, run);
        }
    }
    best
}

fn interpolate(ticks: &[Tick], t_s: f64, of: fn(&Tick) -> f64) -> f64 {
    let after = ticks.partition_point(|t| t.t_s < t_s);
    let a = after.checked_sub(1).map_or((0.0, 0.0), |i| (ticks[i].t_s, of(&ticks[i])));
    let Some(b) = ticks.get(after).map(|t| (t.t_s, of(t))) else { return a.1 };
    if b.0 > a.0 { a.1 + (b.1 - a.1) * ((t_s - a.0) / (b.0 - a.0)).clamp(0.0, 1.0) } else { b.1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(t_s: f64, completed: u64) -> Tick {
        Tick { t_s, completed, ..Tick::default() }
    }

    #[test]
    fn a_steady_agent_has_a_steady_rate() {
        let mut pulse = Pulse::new(2);
        for i in 1..=10 {
            pulse.push(0, tick(f64::from(i) * 0.1, i as u64 * 100));
            pulse.push(1, tick(f64::from(i) * 0.1 + 0.03, i as u64 * 50 + 15));
        }
        let rates = pulse.rates(0.2, 1.0);
        assert_eq!(rates.len(), 8);
        assert!(rates.iter().all(|r| (r - 1500.0).abs() < 1.0), "{rates:?}");
        assert_eq!((pulse.now().completed, pulse.known_until()), (1515, 1.0));
    }

    #[test]
    fn nothing_said_is_no_rate() {
        assert!(Pulse::new(1).rates(0.0, 0.05).is_empty());
        assert_eq!(Pulse::new(1).rates(0.0, 0.2), [0.0, 0.0]);
    }

    /// 100 answers a second, none from 2 s to 3 s; `failing` says whether requests failed meanwhile.
    fn with_a_gap(failing: bool) -> Pulse {
        let mut pulse = Pulse::new(1);
        for i in 1..=50_u64 {
            let quiet = i.clamp(20, 30) - 20;
            let errors = if failing { quiet } else { 0 };
            pulse.push(0, Tick { errors, ..tick(i as f64 * 0.1, (i - quiet) * 10) });
        }
        pulse
    }

    #[test]
    fn a_silence_in_which_requests_failed_is_an_incident() {
        let told = with_a_gap(true).silence(0.5, 4.9).unwrap();
        assert!((told.begin_s - 2.0).abs() < 0.11 && told.end_s.is_some_and(|e| (e - 3.0).abs() < 0.11), "{told:?}");
        assert_eq!(with_a_gap(false).silence(0.5, 4.9), None, "nobody asked, so nobody was left without an answer");
        assert_eq!(with_a_gap(true).silence(0.5, 2.0), None);
        assert_eq!(Pulse::new(1).silence(0.0, 5.0), None);
    }
}

//! The ticks of all load agents of a trial, put together: how much was completed at any moment.

use run::Tick;

/// What the agents said so far, by agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulse {
    ticks: Vec<Vec<Tick>>,
}

/// Width of one rate of the series, seconds.
pub(crate) const STEP_S: f64 = 0.1;

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

    /// Requests completed until a moment, over all agents, in between ticks by a straight line.
    fn completed_at(&self, t_s: f64) -> f64 {
        self.ticks.iter().map(|ticks| interpolate(ticks, t_s)).sum()
    }
}

fn interpolate(ticks: &[Tick], t_s: f64) -> f64 {
    let after = ticks.partition_point(|t| t.t_s < t_s);
    let a = after.checked_sub(1).map_or((0.0, 0.0), |i| (ticks[i].t_s, ticks[i].completed as f64));
    let Some(b) = ticks.get(after).map(|t| (t.t_s, t.completed as f64)) else { return a.1 };
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
}

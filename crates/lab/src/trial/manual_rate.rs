//! Rate of an open loop that the user changes during the load. The agents get each new rate, and the load test records
//! the rate that was actually offered.

use run::{AgentCommand, Intensity, LoadPlan, RateChange, Trial, Window};

/// Minimum time between two changes, seconds. A key that is held down would cause dozens of changes per second.
const MIN_INTERVAL_S: f64 = 0.1;

/// Rates so far, each with the time of its change; empty until the user changes the rate.
#[derive(Clone, Debug, Default)]
pub(crate) struct ManualRate {
    rates: Vec<RateChange>,
    factor: Option<f64>,
}

impl ManualRate {
    /// Returns the command for the agents if the user has changed the factor of the planned rate. Returns `None` if the
    /// factor has not changed, and within [`MIN_INTERVAL_S`] of the last change.
    pub(crate) fn command(&mut self, plan: &LoadPlan, factor: f64, now_s: f64) -> Option<AgentCommand> {
        let planned = steady_rate(plan).filter(|_| self.factor.unwrap_or(1.0) != factor)?;
        if self.rates.last().is_some_and(|last| now_s < last.t_s + MIN_INTERVAL_S) {
            return None;
        }
        if self.rates.is_empty() {
            self.rates.push(RateChange { t_s: 0.0, rate: planned });
        }
        self.factor = Some(factor);
        self.rates.push(RateChange { t_s: now_s.max(0.0), rate: planned * factor });
        Some(AgentCommand::Rate { factor })
    }

    /// Replaces the planned rate in the load test by the rate that was offered.
    pub(crate) fn record(&self, trial: &mut Trial) {
        let Some(last) = self.rates.last() else { return };
        // The number of requests that were due in the measurement is not used for the offered rate. After a stall of a
        // generator, the number of due requests includes requests that were due before the measurement.
        if let (Intensity::Open { rate, .. }, Some(mean)) = (&mut trial.intensity, self.mean(trial.measured.window)) {
            (*rate, trial.rates.offered_rate) = (mean, mean);
        }
        trial.label = format!("{}, changed by hand", trial.label);
        trial.notes.push(format!(
            "the rate was changed by hand {}, last to {} at {:.1} s; the figures cover the whole window",
            run::number::prose::counted((self.rates.len() - 1) as f64, "time"),
            run::number::prose::rate(last.rate),
            last.t_s
        ));
        trial.by_hand.clone_from(&self.rates);
    }

    /// Returns the mean rate in the period `window`; `None` if the period has no length.
    fn mean(&self, window: Window) -> Option<f64> {
        let ends = self.rates.iter().skip(1).map(|next| next.t_s).chain([f64::INFINITY]);
        let within = |(given, end_s): (&RateChange, f64)| {
            given.rate * (end_s.min(window.end_s) - given.t_s.max(window.begin_s)).max(0.0)
        };
        let requests: f64 = self.rates.iter().zip(ends).map(within).sum();
        (window.length_s() > 0.0).then(|| requests / window.length_s())
    }
}

/// Returns the rate of an open loop if the plan keeps this rate constant, and `None` otherwise.
fn steady_rate(plan: &LoadPlan) -> Option<f64> {
    let course = !plan.stages.is_empty() || plan.recorded().is_some();
    match plan.intensity {
        Intensity::Open { rate, .. } if !course => Some(rate),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> LoadPlan {
        let intensity =
            Intensity::Open { rate: 100.0, arrival: run::Arrival::Poisson, max_connections: 10, pipeline: 1 };
        LoadPlan { intensity, ..LoadPlan::default() }
    }

    #[test]
    fn a_manual_rate_is_sent_once_and_recorded_in_the_trial() {
        let mut by_hand = ManualRate::default();
        assert_eq!(by_hand.command(&plan(), 1.0, 1.0), None);
        assert_eq!(by_hand.command(&plan(), 1.5, 2.0), Some(AgentCommand::Rate { factor: 1.5 }));
        assert_eq!(by_hand.command(&plan(), 1.5, 3.0), None);
        assert_eq!(by_hand.command(&plan(), 1.6, 2.05), None, "not at each press of a key that is held");
        assert_eq!(by_hand.command(&plan(), 1.0, 4.0), Some(AgentCommand::Rate { factor: 1.0 }));
        let mut trial = Trial { label: "offered 100/s".into(), intensity: plan().intensity, ..Trial::default() };
        trial.rates.offered_rate = 300.0;
        // The rate is 100/s for one second, 150/s for two seconds, and 100/s again for one second.
        trial.measured.window = Window { begin_s: 1.0, end_s: 5.0 };
        by_hand.record(&mut trial);
        let rates: Vec<(f64, f64)> = trial.by_hand.iter().map(|r| (r.t_s, r.rate)).collect();
        assert_eq!(rates, [(0.0, 100.0), (2.0, 150.0), (4.0, 100.0)]);
        assert!(
            matches!(trial.intensity, Intensity::Open { rate, .. } if rate == 125.0)
                && trial.rates.offered_rate == 125.0
        );
        assert!(trial.notes[0].contains("2 times") && trial.label.contains("by hand"), "{:?}", trial.notes);
    }

    #[test]
    fn a_planned_course_and_a_closed_loop_ignore_manual_rates() {
        let stages = vec![run::Stage { seconds: 1.0, from: 1.0, to: 2.0 }];
        for plan in [LoadPlan::default(), LoadPlan { stages, ..plan() }] {
            assert_eq!(ManualRate::default().command(&plan, 2.0, 1.0), None);
        }
        let mut trial = Trial::default();
        ManualRate::default().record(&mut trial);
        assert_eq!(trial, Trial::default());
    }
}

//! Checks the ranges of a plan's values before loadline sends any load.

mod intensity;
mod load;
mod requests;
mod stages;

use crate::plan::error::{out_of_range, range};
use crate::plan::intensity::default_pool;
use crate::{Arrival, Intensity, LoadPlan, Objective, Plan, PlanError, Stage};
use intensity::check_count;

/// Maximum duration of a load, or of the observation of an external load: 366 days.
pub const MAX_DURATION_S: f64 = 366.0 * 24.0 * 3600.0;

impl Plan {
    /// Reads a plan from TOML text. `file` is the file name for error messages.
    pub fn from_toml(file: &str, text: &str) -> Result<Self, PlanError> {
        let mut plan: Self = toml::from_str(text)
            .map_err(|e| PlanError::Toml { file: file.into(), message: crate::suggest::toml_message(text, &e) })?;
        plan.load.derive_from_stages();
        plan.check().map_err(|error| error.in_file(file))?;
        Ok(plan)
    }

    /// Checks the range of every value in the plan.
    pub fn check(&self) -> Result<(), PlanError> {
        self.load.check()?;
        crate::plan::hosts::check(&self.hosts)?;
        self.objective.check()?;
        if self.load.stream.is_none() && self.objective.limits_events() {
            let advice = "give the format of the events, which --first-event and --gap limit";
            return out_of_range("load.stream", "absent".into(), advice);
        }
        self.check_search()?;
        self.check_cold()?;
        let behind = self.observe.behind.len();
        range(behind <= crate::MAX_BEHIND, "observe.behind", behind as f64, "give at most 8 databases")?;
        let interval = self.observe.interval_s;
        range((0.01..=3600.0).contains(&interval), "observe.interval_s", interval, "give 10 ms to 1 hour")
    }

    fn check_search(&self) -> Result<(), PlanError> {
        let (precision, budget_s) = (self.search.precision, self.search.budget_s);
        check_count(
            if self.search.users { "search.users" } else { "search.max_connections" },
            self.search.max_connections,
        )?;
        range((0.001..=1.0).contains(&precision), "search.precision", precision, "give 0.1% to 100%, such as 3%")?;
        range((1.0..=86_400.0).contains(&budget_s), "search.budget_s", budget_s, "give 1 second to 24 hours")?;
        range(self.repeats <= crate::MAX_REPEATS, "repeats", f64::from(self.repeats), "give 1 to 100")
    }

    fn check_cold(&self) -> Result<(), PlanError> {
        let cold = &self.cold;
        let pace = if cold.connections == 0 { 1.0 } else { cold.rate };
        range((0.1..=1e6).contains(&pace), "cold.rate", pace, "give 0.1 to 1,000,000 connects a second")?;
        let silence = "give a time up to one hour, or 0 for silence";
        range((0.0..=3.6e6).contains(&cold.trickle_ms), "cold.trickle_ms", cold.trickle_ms, silence)
    }
}

impl Objective {
    fn check(&self) -> Result<(), PlanError> {
        let share = "give a share from 0 to 1, such as 0.1%";
        range((0.0..=1.0).contains(&self.errors), "objective.errors", self.errors, share)?;
        let limits = [
            ("objective.p50_us", self.p50_us),
            ("objective.p99_us", self.p99_us),
            ("objective.p99_9_us", self.p99_9_us),
            ("objective.mean_us", self.mean_us),
            ("objective.first_byte", self.first_byte.shortest_us()),
            ("objective.first_event", self.first_event.shortest_us()),
            ("objective.gap", self.gap.shortest_us()),
        ];
        limits.into_iter().try_for_each(|(what, limit)| {
            let us = limit.unwrap_or(1.0);
            range(us > 0.0 && us.is_finite(), what, us, "give a time above zero, such as 20ms")
        })
    }
}

impl LoadPlan {
    /// Derives the mean rate of an open loop from the stages. If the duration has its default value, sets it to the
    /// length of all stages. If the duration has its default value, also turns the warm-up off, because loadline
    /// measures the stages from their start.
    fn derive_from_stages(&mut self) {
        let sum = |of: fn(&Stage) -> f64| self.stages.iter().map(of).sum::<f64>();
        let (length_s, requests) = (sum(|stage| stage.seconds), sum(Stage::requests));
        if length_s <= 0.0 {
            return;
        }
        if self.intensity == Intensity::default() {
            self.intensity = Intensity::Open {
                rate: 1.0,
                arrival: Arrival::default(),
                max_connections: default_pool(),
                pipeline: 1,
            };
        }
        if let Intensity::Open { rate, .. } = &mut self.intensity {
            *rate = requests / length_s;
        }
        let default = Self::default();
        if self.duration_s == default.duration_s {
            (self.duration_s, self.warmup_s) = (length_s, 0.0);
        }
    }
}

#[cfg(test)]
mod tests;

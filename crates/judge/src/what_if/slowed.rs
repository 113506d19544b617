//! Open queueing network of a trial. The queueing network predicts the mean response time at the trial's rate if some
//! parts become slower.

use run::Trial;

use super::model::{Model, Part};
use super::solve::most;
use crate::Facts;
use stats::queueing::{Station, open_response_s};

/// Queueing network with random arrivals at the rate of the trial.
pub(crate) struct Slowed {
    model: Model,
}

/// Makes the queueing network of a trial. Returns `None` if the trial has no good answers.
pub(crate) fn slowed(facts: &Facts<'_>, trial: &Trial) -> Option<Slowed> {
    let mut model = Model::of(facts, trial, "")?;
    model.leave_elsewhere();
    Some(Slowed { model })
}

impl Slowed {
    /// Returns the utilization of the busiest part, 0 to 1.
    pub(crate) fn busiest(&self) -> f64 {
        self.model.rate / most(&self.model)
    }

    /// Returns the factor by which the mean response time grows if the parts `ids` become slower by `dose`. `dose` is
    /// the share of its speed that each of the parts loses.
    pub(crate) fn part(&self, ids: &[&str], dose: f64) -> f64 {
        let slower = |part: &Part| {
            let station = part.station();
            if ids.contains(&part.id) { station.faster(1.0 - dose) } else { station }
        };
        self.response_s(slower) / self.response_s(Part::station)
    }

    /// Returns the factor by which the mean response time grows if every part becomes slower by `dose`, as in
    /// [`Slowed::part`].
    pub(crate) fn all(&self, dose: f64) -> f64 {
        self.response_s(|part| part.station().faster(1.0 - dose)) / self.response_s(Part::station)
    }

    fn response_s(&self, station: impl Fn(&Part) -> Station) -> f64 {
        let all: Vec<Station> = self.model.parts().iter().filter(|part| !part.cap).map(station).collect();
        open_response_s(&all, self.model.rate)
    }
}

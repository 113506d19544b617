//! The queueing network of a trial at a fixed rate, with some parts slowed. The network predicts response times for an
//! experiment.

use run::Trial;

use super::model::{Model, Part};
use super::solve::most;
use crate::Facts;
use stats::queueing::{Station, open_response_s};

/// A network with random arrivals at a rate.
pub(crate) struct Slowed {
    model: Model,
}

/// Makes the network of a trial at an offered rate; `None` if the trial completed nothing.
pub(crate) fn slowed(facts: &Facts<'_>, trial: &Trial) -> Option<Slowed> {
    let mut model = Model::of(facts, trial, "")?;
    model.leave_elsewhere();
    Some(Slowed { model })
}

impl Slowed {
    /// Returns the use of the busiest part.
    pub(crate) fn busiest(&self) -> f64 {
        self.model.rate / most(&self.model)
    }

    /// Returns the mean response time with the given parts slowed by a dose, divided by the mean without slowing.
    pub(crate) fn part(&self, ids: &[&str], dose: f64) -> f64 {
        let slower = |part: &Part| {
            let station = part.station();
            if ids.contains(&part.id) { station.faster(1.0 - dose) } else { station }
        };
        self.response_s(slower) / self.response_s(Part::station)
    }

    /// Returns the mean response time with every part slowed by a dose, divided by the mean without slowing.
    pub(crate) fn all(&self, dose: f64) -> f64 {
        self.response_s(|part| part.station().faster(1.0 - dose)) / self.response_s(Part::station)
    }

    fn response_s(&self, station: impl Fn(&Part) -> Station) -> f64 {
        let all: Vec<Station> = self.model.parts().iter().filter(|part| !part.cap).map(station).collect();
        open_response_s(&all, self.model.rate)
    }
}

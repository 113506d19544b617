//! Search on a server that refuses all requests for a time: not because of the load, but because it limits the number
//! of requests per period. Only the record of several periods shows this limit.

use run::{Intensity, Limits, Trial, TrialKind};

use super::{Finder, Phase};
use crate::LabError;
use crate::search::{Conductor, RateSearch, StepTimes};

impl Finder {
    /// Returns the rate to offer again, if the server refuses everything for a time. A lower rate would be refused,
    /// too, until the next period begins, and a rate below the limit would hide the end of a period. Returns `None`
    /// again after a burst that was longer than the ones before it: the server then refuses for another reason.
    pub(super) fn held_rate(&mut self, conductor: &dyn Conductor) -> Option<f64> {
        let run = conductor.run();
        let refused = || run.trials.last().filter(|_| judge::refuses_for_a_time(run)).and_then(open_rate);
        self.held_rate = self.held_rate.filter(|_| judge::may_have_period(run)).or_else(refused);
        self.held_rate
    }

    /// Offers the held rate again. The search ends when the record shows the length of a period, or if no time is left
    /// (`length` is absent).
    pub(super) fn hold(
        &mut self,
        conductor: &mut dyn Conductor,
        (search, limits): (RateSearch, Box<Limits>),
        rate: f64,
        length: Option<StepTimes>,
    ) -> Result<Phase, LabError> {
        let Some(length) = length.filter(|_| !judge::knows_period(conductor.run())) else { return Ok(Phase::Done) };
        self.offer(conductor, rate, &limits, length, TrialKind::Search)?;
        Ok(Phase::Rates(search, limits))
    }
}

/// Returns the offered rate of an open loop, requests per second.
fn open_rate(trial: &Trial) -> Option<f64> {
    match trial.intensity {
        Intensity::Open { rate, .. } => Some(rate),
        _ => None,
    }
}

//! Rate of good answers and share of failed requests, with intervals.

use run::Trial;
use stats::student::t95;
use stats::{NORMAL_95, Sample, average};

use super::figure::Figure;
use super::windows::{STRETCHES, Seen};
use crate::context::single::{failed_and_all, good, refused};

impl Seen<'_> {
    /// Returns the rate of good answers. The interval of the rate comes from the scatter between stretches (equal parts
    /// of the windows).
    pub(super) fn rate(&self) -> Figure {
        let rate = self.mean_rate(good);
        let all = self.mean_rate(|trial| trial.rates.completed_rate);
        let each = STRETCHES.div_ceil(self.0.len());
        let of = |t: &&Trial| {
            let series = good_series(t);
            series.chunks(series.len().div_ceil(each).max(1)).map(average).collect::<Vec<f64>>()
        };
        let parts: Vec<f64> = self.0.iter().flat_map(of).collect();
        let half = Sample::of(&parts).map(|sample| t95(sample.n - 1.0) * sample.error());
        let half = half.filter(|half| parts.len() > 2 && half.is_finite());
        let around = Figure::around(Some(rate), half.map(|half| ((rate - half).max(0.0), rate + half)));
        Figure { refused: (all - rate).max(0.0), ..around }
    }

    /// Returns the mean of a rate over all windows, weighted by their lengths.
    fn mean_rate(&self, rate: impl Fn(&Trial) -> f64) -> f64 {
        let length_s: f64 = self.0.iter().map(|t| t.measured.length_s).sum();
        match length_s > 0.0 {
            true => self.0.iter().map(|t| rate(t) * t.measured.length_s).sum::<f64>() / length_s,
            false => average(&self.0.iter().map(|t| rate(t)).collect::<Vec<_>>()),
        }
    }

    /// Returns the share of failed requests with Wilson's interval (1927). Wilson's interval has a positive width even
    /// if no request failed.
    pub(super) fn failed(&self) -> Figure {
        let counts = self.0.iter().map(|t| failed_and_all(t));
        let (failed, all) = counts.fold((0.0, 0.0), |(failed, all), (more, of)| (failed + more.min(of), all + of));
        if all <= 0.0 {
            return Figure::default();
        }
        let (draws, t) = self.hist(run::AnswerTime::LastByte).map_or((all, NORMAL_95), |hist| self.draws(&hist));
        let n = all.min(draws * all / (all - failed).max(1.0));
        let share = failed / all;
        let interval = stats::shares::wilson(share, n, t);
        Figure::around(Some(share), Some((interval.low, interval.high)))
    }
}

/// Returns the rate of good answers in each time step (report interval) of a trial. If a run did not record the
/// refusals of each step, all steps count as having the same share of refusals.
fn good_series(trial: &Trial) -> Vec<f64> {
    let measured = &trial.measured;
    if measured.series_refused.is_empty() {
        return measured.series_completed.iter().map(|all| all * (1.0 - refused(trial))).collect();
    }
    let refused = measured.series_refused.iter().copied().chain(std::iter::repeat(0.0));
    measured.series_completed.iter().zip(refused).map(|(all, refused)| (all - refused).max(0.0)).collect()
}

//! Response times in windows, with confidence intervals.
//!
//! Response times of one window are not independent, because a long queue stays long for a while. Each window
//! is therefore divided into stretches, which are parts of equal length. The scatter between the stretches shows how
//! many answers count as one independent draw (method of batch means; A. Law, *Simulation Modeling and Analysis*).

use run::{AnswerTime, CensoredTimes, Hist, SummaryFigure, TimeFigure, Trial, share_of_percentile};
use stats::student::t95;
use stats::{NORMAL_95, Sample};

use super::figure::Figure;
use super::windows::Seen;

impl Seen<'_> {
    /// Returns a figure of the response time, or of another time such as the time to the first byte, in microseconds.
    /// If at least one request got no answer, only a lower bound of the mean is known.
    pub(super) fn time(&self, time: AnswerTime, figure: &str) -> Figure {
        let summarized = SummaryFigure::of_label(figure);
        let quantile = summarized.map_or_else(|| share_of_percentile(figure), SummaryFigure::share);
        if self.none_good() {
            return Figure::default();
        }
        let hist = self.hist(time);
        let times = hist.as_ref().map(|_| self.times(time));
        let several = times.as_ref().filter(|_| self.0.len() > 1 || summarized.is_none());
        let found = match (several, quantile, summarized) {
            (Some(times), Some(share), _) => times.percentile(share),
            (Some(times), None, _) => times.mean(),
            (None, _, Some(figure)) => self.0[0].answer_summary(time).figure(figure),
            (None, _, None) => TimeFigure::Unknown,
        };
        let open = !matches!(found, TimeFigure::Exact(_)) && (quantile.is_some() || self.lost(time) > 0.0);
        let lost = Some(self.lost(time)).filter(|_| open && found != TimeFigure::Unknown);
        let lacks_events = time.is_of_events();
        let known = Figure { value: found.lowest(), lost, lacks_events, ..Figure::default() };
        let (Some(hist), Some(times)) = (hist, times.as_ref()) else { return known };
        match quantile {
            _ if known.value.is_none() => known,
            None if lost.is_none() => {
                let hist = self.longer(hist, time, matches!(found, TimeFigure::Exact(_)));
                Figure::around(Some(hist.mean_us()), self.mean(&hist))
            }
            None => known,
            Some(share) => self.percentile(time, share, known, (&hist, times)),
        }
    }

    /// Returns a percentile of the response time. The interval of the percentile comes from order statistics.
    fn percentile(
        &self,
        time: AnswerTime,
        share: f64,
        known: Figure,
        (hist, times): (&Hist, &CensoredTimes),
    ) -> Figure {
        let (draws, t) = self.draws(hist);
        // Gaps between the events of one stream depend on one another, so each stream counts as one independent gap.
        let draws = if time == AnswerTime::Gap { draws.min(self.answers().max(1) as f64) } else { draws };
        let error = (share * (1.0 - share) / draws).sqrt();
        let between = known.value.and_then(|us| self.between_windows(time, us, error));
        let half = between.map_or(t * error, |between| between.max(t * error));
        // With too few requests, order statistics give no upper bound.
        if share + half >= 1.0 {
            return known;
        }
        let low = times.percentile((share - half).max(0.0)).lowest();
        Figure { low, high: times.percentile(share + half).exact(), ..known }
    }

    /// Adds the times of requests without a good answer to a histogram if they make its mean longer, as a summary does.
    /// The requests without a good answer are the refused ones if the mean is exact, otherwise the failed ones.
    fn longer(&self, hist: Hist, time: AnswerTime, exact: bool) -> Hist {
        let mut all = hist.clone();
        let times = |trial: &Trial| if exact { trial.refused_times(time) } else { trial.failed_times(time) };
        self.0.iter().for_each(|trial| all.merge(&times(trial)));
        if all.mean_us() > hist.mean_us() { all } else { hist }
    }

    /// Returns the interval of the mean response time, in microseconds.
    fn mean(&self, hist: &Hist) -> Option<(f64, f64)> {
        let (draws, t) = self.draws(hist);
        let half_us = t * hist.sd_us() / draws.sqrt();
        (hist.len() > 1).then(|| ((hist.mean_us() - half_us).max(0.0), hist.mean_us() + half_us))
    }

    /// Returns the effective number of answers: the number of independent answers that would be as precise as all
    /// answers together, which are correlated. Also returns the half-width of a 95 % interval, in standard errors.
    pub(super) fn draws(&self, hist: &Hist) -> (f64, f64) {
        let answers = hist.len() as f64;
        let stretches = self.stretches();
        let (all, took) = stretches.iter().fold((0.0, 0.0), |(n, us), (more, of)| (n + more, us + of));
        let count = stretches.len() as f64;
        let mean = took / all;
        let square = |(n, us): &(f64, f64)| (us - n * mean).powi(2);
        let error = (stretches.iter().map(square).sum::<f64>() * count / (count - 1.0)).sqrt() / all;
        let alone = hist.sd_us() / answers.sqrt();
        let worth = (error / alone).powi(2);
        // Without counts per tenth of a second, the correlation is unknown, so every answer counts as independent.
        let known = stretches.len() > 1 && worth.is_finite();
        if known { (answers / worth.max(1.0), t95(count - 1.0)) } else { (answers, NORMAL_95) }
    }

    /// Returns the half-width of the interval of the share of answers within `us` microseconds. The interval is
    /// Student's t interval, with windows as observations. Returns `None` unless the standard error between windows
    /// exceeds `error`, the standard error between stretches. If the error between windows is larger, an interval from
    /// stretches would be too narrow, because the stretches of one window resemble each other.
    fn between_windows(&self, time: AnswerTime, us: f64, error: f64) -> Option<f64> {
        let hists = self.0.iter().filter_map(|trial| trial.answer_hist(time));
        let shares: Vec<f64> = hists.map(|hist| hist.share_within_ns((us * 1e3) as u64)).collect();
        let sample = Sample::of(&shares).filter(|sample| sample.error() > error)?;
        Some(t95(sample.n - 1.0) * sample.error()).filter(|half| half.is_finite())
    }
}

//! Response times in a part of a load whose rate changes.

use run::{DETAIL_INTERVAL, Limits, Moment, TICK_INTERVAL, TimeLimits, Trial};

use crate::thresholds::COURSE_NOISE;

/// Maximum time, seconds, by which a moment (interval with percentiles) may begin before the part to which it belongs.
/// A part still counts as covered by moments (intervals with percentiles) if they leave out at most this much of its
/// time. Moments (intervals with percentiles) end where the generator reports details ([`DETAIL_INTERVAL`]). The last
/// report of a stage may therefore come up to [`DETAIL_INTERVAL`] before the end of the stage, and a report may be
/// late.
const MAX_EARLY_S: f64 = DETAIL_INTERVAL.as_secs_f64() + MAX_LATE_S;
/// Maximum time, seconds, by which a moment (interval with percentiles) may end after its part, because a report may be
/// late.
const MAX_LATE_S: f64 = TICK_INTERVAL.as_secs_f64();

/// Response times of a part.
pub(super) struct Times {
    /// Response times of all moments (intervals with percentiles) that overlap the part.
    around: Largest,
    /// True if moments (intervals with percentiles) cover the whole part.
    is_covered: bool,
    /// Response times of the moments (intervals with percentiles) that certainly belong to the part.
    pub(super) inside: Largest,
}

/// Largest value of each percentile of the response time among a group of moments (intervals with percentiles).
pub(super) struct Largest {
    pub(super) p50: Bound,
    pub(super) p99: Bound,
}

/// Bound of a percentile over a group of moments (intervals with percentiles).
pub(super) struct Bound {
    /// Largest percentile of any moment, microseconds.
    pub(super) us: Option<f64>,
    /// True if the percentile of some moment is unknown because answers are missing.
    pub(super) lacks_answers: bool,
}

impl Times {
    /// Returns a bound of the 99th percentile of the response times in one part of the load. If answers are missing,
    /// the result is a lower bound, and otherwise an upper bound. Without measured intervals for the whole part, there
    /// is no upper bound.
    pub(super) fn p99(&self) -> Bound {
        let Bound { us, lacks_answers } = self.around.p99;
        Bound { us: us.filter(|_| self.is_covered || lacks_answers), lacks_answers }
    }

    /// Returns true if the times show that the limits on the response time are met. The moments have a median and a
    /// 99th percentile, so they cannot show that a limit on another figure is met.
    pub(super) fn show_success(&self, limits: &Limits) -> bool {
        let meets = |limit: Option<f64>, bound: &Bound| {
            let is_known = self.is_covered && !bound.lacks_answers;
            limit.is_none_or(|limit| is_known && bound.us.is_none_or(|us| us <= limit))
        };
        let others = [limits.first_byte, limits.first_event, limits.gap];
        let is_other = limits.mean_us.or(limits.p99_9_us).is_some() || !others.iter().all(TimeLimits::is_empty);
        meets(limits.p50_us, &self.around.p50) && meets(limits.p99_us, &self.around.p99) && !is_other
    }
}

/// Returns the response times between two times of the window, in seconds since the window began. `rate_at` gives the
/// offered rate at a time of the window.
pub(super) fn times(trial: &Trial, rate_at: &dyn Fn(f64) -> f64, [from_s, to_s]: [f64; 2]) -> Times {
    let begin_s = trial.measured.window.begin_s;
    let ends = |m: &Moment| m.ends_s().map(|s| s - begin_s);
    let is_inside = |m: &Moment| ends(m)[0] >= from_s - MAX_EARLY_S && ends(m)[1] <= to_s + MAX_LATE_S;
    let overlaps = |m: &&Moment| ends(m)[1] > from_s + MAX_LATE_S && ends(m)[0] < to_s - MAX_EARLY_S;
    let bound = |moments: &[&Moment], figure: fn(&Moment) -> Option<f64>| Bound {
        us: moments.iter().filter_map(|m| figure(m)).reduce(f64::max),
        lacks_answers: moments.iter().any(|m| figure(m).is_none() && lacks_answers(m, rate_at(m.t_s - begin_s))),
    };
    let largest =
        |moments: &[&Moment]| Largest { p50: bound(moments, |m| m.p50_us), p99: bound(moments, |m| m.p99_us) };
    let around: Vec<&Moment> = trial.moments.iter().filter(overlaps).collect();
    let inside: Vec<&Moment> = around.iter().copied().filter(|m| is_inside(m)).collect();
    let covered_s: f64 = around.iter().map(|m| ends(m)[1].min(to_s) - ends(m)[0].max(from_s)).sum();
    let is_covered = !around.is_empty() && covered_s >= to_s - from_s - MAX_EARLY_S;
    Times { around: largest(&around), is_covered, inside: largest(&inside) }
}

/// Returns true if answers are missing in a moment without a percentile. Answers are missing if requests failed, or if
/// no answer came although requests were certainly due. At a low rate, a moment may contain no request by chance.
fn lacks_answers(moment: &Moment, offered: f64) -> bool {
    moment.failed > moment.unexpected || offered * moment.seconds > COURSE_NOISE.powi(2)
}

//! Trials with refused answers. The question is whether good answers per second, or good requests in flight, stay
//! constant at different offered rates.

mod in_flight;
mod level;

use run::Trial;

use self::in_flight::InFlight;
pub(crate) use self::level::Level;
use self::level::highest_over_lowest;
use crate::context::single::{good, refused};
use crate::thresholds::{ABOVE_LIMITER, LONG_WINDOW, ONE_RATE, REFUSED, TREND_SURE, WIDE};
use stats::fit::linear;

/// Quantity that a server keeps constant while it refuses further requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// Rate of good answers, although the number of requests in flight changed.
    Rate,
    /// Number of good requests in flight, although the rate of good answers changed.
    InFlight,
    /// Both the rate of good answers and the number of good requests in flight stayed constant. If both are constant, a
    /// limit on the rate and a limit on requests in flight look the same.
    Either,
}

/// Signs of refused requests in the trials of a run.
#[derive(Clone, Debug)]
pub(crate) struct Refusals<'a> {
    /// Trials that have refusals, and a rate of good answers near the median.
    pub(crate) trials: Vec<&'a Trial>,
    /// All trials that have refusals.
    pub(crate) refusing: Vec<&'a Trial>,
    /// Rates of good answers in the trials with refusals and a long window, 1/s.
    pub(crate) rate: Level,
    /// Good requests in flight in the trials with refusals and a long window.
    pub(crate) in_flight: InFlight,
    /// True if at least half of the refusals have the status 429 or 503 ("too many requests"), or come from a gateway
    /// that refuses more of a heavier load. `None` if statuses were not counted.
    pub(crate) overload: Option<bool>,
    /// True if at least half of the refusals come from a gateway (502 or 504) that refuses a larger share of a heavier
    /// load. A gateway whose upstream is broken refuses the same share of any load.
    pub(crate) by_gateway: bool,
    /// True if the rates of all answers (good ones and refusals) differ widely between `trials`, although their rates
    /// of good answers are nearly equal.
    pub(crate) wide: bool,
    /// True if at least half of the refusals have a status that names a limit on the rate of requests, such as 429.
    pub(crate) is_named: bool,
    /// True if the server refused a larger share of its answers under a heavier load.
    pub(crate) grows: bool,
    /// True if the server refused about as large a share of its answers under a heavy load as under a light load. With
    /// a rate limit, the refused share would grow with the load, because the server refuses all requests beyond the
    /// limit.
    pub(crate) share_is_constant: bool,
    /// True if the rate of good answers stayed constant within a trial's window while the rate of all answers varied.
    pub(crate) steady_within: bool,
    /// True if the rate of good answers rose and fell with the rate of all answers within a trial's window.
    pub(crate) follows_within: bool,
    /// True if a trial with hardly any refusals and a long window had far more good answers per second than the median
    /// of the trials with refusals.
    pub(crate) is_exceeded: bool,
}

/// Returns true if at least half of the refusals have a status for which `is` returns true. Returns `None` if statuses
/// were not counted.
pub(super) fn mostly(trials: &[&Trial], is: impl Fn(&str) -> bool) -> Option<bool> {
    let (mut of_kind, mut other) = (0, 0);
    for (status, n) in trials.iter().flat_map(|t| &t.measured.tally.unexpected_statuses) {
        let sum: &mut u64 = if is(status) { &mut of_kind } else { &mut other };
        *sum = sum.saturating_add(*n);
    }
    (of_kind.max(other) > 0).then_some(of_kind >= other)
}

/// Returns true if some trial refused a significantly larger share of its answers than a trial with fewer answers per
/// second.
fn share_grows(trials: &[&Trial]) -> bool {
    let counts = |t: &Trial| (t.measured.tally.unexpected_status as f64, t.measured.tally.completed as f64);
    let exceeds = |heavy: &Trial, light: &Trial| {
        let ((refused, all), (refused_light, all_light)) = (counts(heavy), counts(light));
        let share = (refused + refused_light) / (all + all_light);
        let chance = TREND_SURE * (share * (1.0 - share) * (1.0 / all + 1.0 / all_light)).sqrt();
        heavy.rates.completed_rate > light.rates.completed_rate && refused / all - refused_light / all_light > chance
    };
    trials.iter().any(|heavy| trials.iter().any(|light| exceeds(heavy, light)))
}

/// Returns true if the refused share of the heaviest load is hardly larger than the refused share of the lightest load.
/// A limit at a constant rate would have refused a far larger share of the heaviest load. "Hardly larger" means less
/// than half of the growth that a limit at a constant rate would cause. Returns false if the rates of the lightest and
/// the heaviest load hardly differ.
fn share_stays(refusing: &[&Trial]) -> bool {
    let rate = |t: &&&Trial| t.rates.completed_rate;
    let lightest = refusing.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
    let heaviest = refusing.iter().max_by(|a, b| rate(a).total_cmp(&rate(b)));
    let (Some(light), Some(heavy)) = (lightest, heaviest) else { return false };
    let times = rate(&heavy) / rate(&light);
    let (share_light, share_heavy) = (refused(light), refused(heavy));
    let predicted = 1.0 - (1.0 - share_light) / times;
    let error = |t: &Trial| refused(t) * (1.0 - refused(t)) / t.measured.tally.completed as f64;
    let chance = TREND_SURE * (error(light) + error(heavy)).sqrt();
    times >= WIDE && f64::midpoint(share_light, predicted) - share_heavy > chance
}

/// Relation between the rate of good answers and the rate of all answers within a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    /// The rate of good answers was constant, whatever the rate of all answers was. A rate limit keeps the rate of good
    /// answers constant.
    Steady,
    /// Good answers rose and fell with all answers. If a server fails a fixed share of all requests, the rate of good
    /// answers follows the rate of all answers.
    Follows,
    /// The window shows neither a constant rate of good answers nor a rate that follows the rate of all answers.
    Open,
}

/// Returns how the good answers of a trial's window follow all answers.
fn within(trial: &Trial) -> Within {
    let measured = &trial.measured;
    let points: Vec<(f64, f64)> = measured
        .series_completed
        .iter()
        .zip(&measured.series_refused)
        .map(|(all, refused)| (*all, all - refused))
        .collect();
    let half = points.len() / 2;
    let mean = |points: &[(f64, f64)]| points.iter().map(|(_, good)| good).sum::<f64>() / points.len() as f64;
    let Some(line) = linear(&points).filter(|_| half > 1) else { return Within::Open };
    let (first, second) = (mean(&points[..half]), mean(&points[half..]));
    let follows = (1.0 - refused(trial)) / 2.0;
    let is_flat = line.slope_interval.high < follows && line.slope_interval.low > -follows;
    match is_flat && (first / second - 1.0).abs() <= ONE_RATE {
        true => Within::Steady,
        false if line.slope_interval.low > follows => Within::Follows,
        false => Within::Open,
    }
}

impl<'a> Refusals<'a> {
    /// Judges the refusals of the undisturbed trials `sound`. `completed` contains all trials, including disturbed
    /// ones, because other programs do not change a refused share that is constant.
    pub(crate) fn of(sound: impl Iterator<Item = &'a Trial>, completed: &[&'a Trial]) -> Self {
        let mut all: Vec<&Trial> = Vec::new();
        for trial in sound.filter(|t| t.measured.tally.completed > 0) {
            // The decisive trial (which represents the run) is usually also a step of the sweep.
            if !all.iter().any(|other| std::ptr::eq(*other, trial)) {
                all.push(trial);
            }
        }
        let refuses = |t: &&Trial| t.measured.tally.completed > 0 && refused(t) >= REFUSED;
        let refusing: Vec<&Trial> = all.iter().copied().filter(refuses).collect();
        let each: Vec<&Trial> = completed.iter().copied().filter(refuses).collect();
        // A server with a limit per second may give all good answers of a second at once. A short window then contains
        // all of these answers or none, so only long windows are compared.
        let longest_s = refusing.iter().map(|t| t.measured.length_s).fold(0.0, f64::max);
        let is_long = |t: &Trial| t.measured.length_s >= LONG_WINDOW * longest_s;
        let long: Vec<&Trial> = refusing.iter().copied().filter(|t| is_long(t)).collect();
        let open: Vec<&Trial> = all.iter().copied().filter(|t| refused(t) < REFUSED && is_long(t)).collect();
        let rate = Level::of(long.iter().map(|t| good(t)).collect());
        let near: Vec<&Trial> = refusing.iter().copied().filter(|t| rate.is_near(good(t))).collect();
        // A constant rate of good answers shows a limit only if the rates of all answers (good ones and refusals)
        // differ widely.
        let answers = near.iter().map(|t| t.rates.completed_rate);
        let spread = highest_over_lowest(answers);
        let is_named = mostly(&refusing, run::is_rate_limit) == Some(true);
        let share_is_constant = share_stays(&each);
        let is_seen = |kind: Within| near.iter().any(|t| within(t) == kind);
        let (grows, steady_within, follows_within) =
            (share_grows(&all), is_seen(Within::Steady), is_seen(Within::Follows));
        let by_gateway = grows && mostly(&refusing, run::is_gateway_failure) == Some(true);
        let overload = mostly(&refusing, |status| run::is_overload(status) || grows && run::is_gateway_failure(status));
        let is_exceeded = open.iter().any(|t| good(t) > ABOVE_LIMITER * rate.middle);
        Self {
            in_flight: InFlight::of(&long, &open),
            rate,
            overload,
            by_gateway,
            wide: spread >= WIDE,
            is_named,
            grows,
            share_is_constant,
            steady_within,
            follows_within,
            is_exceeded,
            trials: near,
            refusing,
        }
    }

    /// Returns the quantity that the server keeps constant; `None` if there is none.
    pub(crate) fn kept(&self) -> Option<Kept> {
        match (self.rate.constant, self.in_flight.may_limit) {
            (true, true) => Some(Kept::Either),
            (true, false) => Some(Kept::Rate),
            (false, _) => self.in_flight.is_kept.then_some(Kept::InFlight),
        }
    }

    /// Returns true if the server keeps only the number of good requests in flight constant.
    pub(crate) fn keeps_in_flight(&self) -> bool {
        self.kept() == Some(Kept::InFlight)
    }

    /// Returns true if the server limits the number of requests that it handles at the same time. Statuses and shares
    /// of refusals are used as in [`Refusals::keep_one_rate`].
    pub(crate) fn keep_one_number_in_flight(&self) -> bool {
        self.keeps_in_flight() && self.overload != Some(false) && !self.share_is_constant
    }

    /// Returns true if the server keeps the rate of good answers constant, however many requests are offered. A
    /// generator at its limit does not keep the rate of good answers constant. Failures with other statuses, such as
    /// 500, do not count as refusals. If another load has more good answers and hardly any refusals, the constant rate
    /// is not a limit, unless a status names a limit. For example, a circuit breaker lets a few requests pass while it
    /// is open.
    pub(crate) fn keep_one_rate(&self) -> bool {
        let is_limit = self.is_named || !self.is_exceeded;
        self.rate.constant && self.wide && self.overload != Some(false) && !self.share_is_constant && is_limit
    }

    /// Returns true if a rate limit refuses the requests, rather than a server that fails a share of them under any
    /// load. Signs of a limit are a status that names a limit, a larger refused share under more load, and good answers
    /// at a constant rate. In a single load, a status that names a limit is no sign if good answers rise and fall with
    /// all answers. Without a status that names a limit, a load with more good answers and hardly any refusals
    /// disproves the limit.
    pub(crate) fn show_a_limit(&self) -> bool {
        let is_named = self.is_named && (self.grows || !self.follows_within);
        !self.share_is_constant && (is_named || !self.is_exceeded && (self.grows || self.steady_within))
    }
}

#[cfg(test)]
mod tests;

//! Result word for each figure, and result of the whole comparison.
//!
//! The significance level of 5 % limits two kinds of errors in a comparison. Equal servers get "slower" or "faster" for
//! some figure of a family in at most 5 of 100 comparisons (Bonferroni). The figures that decide the comparison form
//! one family, which shares one significance level. The listed costs are a second family, with a significance level of
//! its own. The thirty listed costs do not share the level of the seven deciding figures, because the deciding
//! intervals would then be wider.
//!
//! A new server that is worse than the old server by more than the threshold passes in at most 5 of 100 comparisons.
//! All required figures must pass, so each is tested at the full significance level of 5 % (R. Berger, *Technometrics*
//! 24, 1982). If a figure does not certainly differ, each end of its interval is a bound that is right in 95 of 100
//! comparisons. The interval of a figure that does not certainly differ always includes "no change" (J. Hsu and others,
//! *Biometrika* 81, 1994).

use run::{ComparedFigure, Comparison, ComparisonOutcome, ComparisonResult, Estimate, FigureRole, NeededData};

use super::failures;
use super::figures::FAILED;
use super::input::{ErrorTerms, Line, Spread};
use super::levels::Levels;
use super::observations::Uncertainty;
use super::resolution::{self, Widths};
use crate::thresholds::{COMPARE_LEVEL, FEWEST_WINDOWS};
use stats::student::{quantile, two_sided};

/// Minimum factor by which the advice tells the user to increase the data.
const LEAST_MORE: f64 = 1.5;

/// Longest measurement that the advice suggests, seconds.
const MAX_MEASUREMENT_S: u32 = 3600;

/// Tolerances of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Tolerance {
    /// Smallest relative change that counts as a difference.
    pub(super) threshold: f64,
    /// Share of requests that may fail, 0 to 1.
    pub(super) failed: f64,
}

/// Gives each figure its interval and its result word. The windows took `measured_s` seconds in total. `looks` contains
/// the share of the planned data at each interim analysis (look).
pub(super) fn words(all: Vec<Line>, tolerance: Tolerance, measured_s: f64, looks: &[f64]) -> Vec<ComparedFigure> {
    let levels = Levels::new(&all, looks);
    let worded = |mut line: Line| {
        let widths = interval(&mut line, &levels);
        let c = &mut line.compared;
        if let Some(widths) = widths {
            resolution::tell(c, widths, &line.error_terms);
        }
        c.word = line.settled.unwrap_or_else(|| word(c, tolerance));
        if c.word == ComparisonResult::NotEnough && line.settled.is_none() && c.difference.is_none() {
            (c.more, c.more_of) = more(c, widths, tolerance.threshold, &line.error_terms).unzip();
            c.resolution = widths.and_then(|widths| of_an_hour(c, widths, measured_s));
        }
        line.compared
    };
    all.into_iter().map(worded).collect()
}

/// Computes the interval of a figure. Returns the half-widths of the interval if the figure is a ratio with an
/// interval, else `None`.
fn interval(line: &mut Line, levels: &Levels) -> Option<Widths> {
    let (chance, bound) = (levels.of(&line.compared), levels.bound);
    let c = &mut line.compared;
    let together = |p: f64| (p * COMPARE_LEVEL / chance).min(1.0);
    match line.spread {
        Spread::Unknown => None,
        Spread::Ratio(Uncertainty { error, freedom, between, .. }) => {
            let [differs, same] = [chance, bound].map(|chance| quantile(chance, freedom) * error);
            let widths = Widths { differs, same, fixed: between / error };
            let ln = c.ratio.ln();
            let (low, high) = ends(ln, (ln - differs, ln + differs), (ln - same, ln + same));
            if differs.is_finite() {
                (c.low, c.high) = (Some(low.exp()), Some(high.exp()));
            }
            c.p = Some(together(two_sided(ln / error, freedom)));
            Some(widths)
        }
        Spread::Shares(shares) => {
            let [wide, narrow] = [chance, bound].map(|chance| shares.difference(chance));
            let (low, high) = ends(wide.value, (wide.low, wide.high), (narrow.low, narrow.high));
            (c.difference, c.p) = (Some(Estimate { low, high, ..wide }), shares.chance().map(together));
            None
        }
    }
}

/// Returns the interval of a change: the wide interval if the wide interval excludes "no change". If "no change" is
/// inside the wide interval, returns the narrow interval, extended to include "no change".
fn ends(change: f64, wide: (f64, f64), narrow: (f64, f64)) -> (f64, f64) {
    let differs = (wide.0 > 0.0 || wide.1 < 0.0) && change != 0.0;
    if differs { wide } else { (narrow.0.min(0.0), narrow.1.max(0.0)) }
}

/// Returns three distances of a figure from "no change". The first distance belongs to the interval's worse end, and
/// the second distance to its better end. The third distance is the largest distance that counts as "the same". For a
/// ratio, a distance is the logarithm of the ratio. Returns `None` for a figure without an interval.
fn reach(c: &ComparedFigure, tolerance: Tolerance) -> Option<(f64, f64, f64)> {
    let (low, high, same) = match c.difference {
        Some(apart) => (apart.low, apart.high, tolerance.failed.max(failures::SAME)),
        None => (c.low?.ln(), c.high?.ln(), tolerance.threshold.ln_1p()),
    };
    Some(if c.more_is_better { (-low, high, same) } else { (high, -low, same) })
}

/// Returns the result word of a figure, which depends only on its interval.
fn word(c: &ComparedFigure, tolerance: Tolerance) -> ComparisonResult {
    match reach(c, tolerance) {
        Some((_, better, _)) if better < 0.0 => ComparisonResult::Slower,
        Some((worse, _, _)) if worse < 0.0 => ComparisonResult::Faster,
        Some((worse, better, same)) if worse <= same && better <= same => ComparisonResult::Same,
        _ => ComparisonResult::NotEnough,
    }
}

/// Returns true if a figure may be worse by more than the threshold, but did not certainly regress. If no request of
/// the new server failed, its failed share cannot be worse.
fn may_be_worse(c: &ComparedFigure, tolerance: Tolerance) -> bool {
    let fails_nothing = c.figure == FAILED && c.new <= 0.0;
    // A rate may fall to 1 - threshold, as in `regressed`. For a rate, this limit is further away than 1 / (1 +
    // threshold), the limit of "the same".
    let falls = c.more_is_better && c.difference.is_none();
    let most = if falls { -(-tolerance.threshold).max(-1.0).ln_1p() } else { f64::NEG_INFINITY };
    let within = reach(c, tolerance).is_some_and(|(worse, _, same)| worse <= same.max(most));
    !within && !fails_nothing && !regressed(c, tolerance)
}

/// Returns the factor by which the data must grow for a decision, and the kind of data. A decision needs an interval
/// that either does not contain "no change", or lies within the threshold. More windows do not reduce the differences
/// between runs.
fn more(c: &ComparedFigure, widths: Option<Widths>, threshold: f64, terms: &ErrorTerms) -> Option<(f64, NeededData)> {
    // Live servers have only one run, so more runs are impossible.
    if terms.of == NeededData::Runs && terms.runs.is_none() {
        return None;
    }
    let Some(widths) = widths.filter(|_| c.low.is_some()) else {
        // Data that grows by the factor `times` is enough for an interval, but the width of this interval is unknown.
        let fewest = c.windows.0.min(c.windows.1).max(1);
        let times = (FEWEST_WINDOWS as f64 / fewest as f64).ceil();
        return (fewest < FEWEST_WINDOWS).then_some((times, terms.of));
    };
    let apart = c.ratio.ln().abs();
    // Two results decide a comparison: the figure differs, or the figure stayed the same. The entry of each result
    // contains the current half-width of the interval, and the largest half-width that would decide the comparison.
    let ways = [(widths.differs, apart), (widths.same, threshold.ln_1p() - apart)];
    let least = |factor: &dyn Fn(f64, f64) -> f64| {
        ways.map(|(half, enough)| factor(half, enough)).into_iter().fold(f64::INFINITY, f64::min)
    };
    let by_windows = least(&|half, enough| widths.windows(half, enough));
    let by_runs = least(&|half, enough| if enough > 0.0 { (half / enough).powi(2) } else { f64::INFINITY });
    let (times, of) = match terms.of {
        NeededData::Windows if by_windows.is_finite() => (by_windows, NeededData::Windows),
        // More windows per run would not decide the comparison, so more runs are needed. An estimate of the scatter
        // between runs needs at least `FEWEST_WINDOWS` runs.
        NeededData::Windows => {
            let fewest = FEWEST_WINDOWS as f64 / terms.runs?.max(1) as f64;
            (by_runs.max(fewest).ceil(), NeededData::Runs)
        }
        NeededData::Runs => (by_runs, NeededData::Runs),
    };
    Some((times.max(LEAST_MORE), of)).filter(|(times, _)| times.is_finite())
}

/// Returns the smallest change that an hour of measurement would show in 19 of 20 cases. Returns `None` if less than an
/// hour would decide, or if the time measured so far is unknown.
fn of_an_hour(c: &ComparedFigure, widths: Widths, measured_s: f64) -> Option<f64> {
    let times = f64::from(MAX_MEASUREMENT_S) / measured_s;
    let (more, of) = (c.more.unwrap_or(f64::INFINITY), c.more_of.unwrap_or(NeededData::Windows));
    (measured_s > 0.0 && more > times.max(LEAST_MORE))
        .then(|| widths.after(widths.detects(), times.max(1.0), of).exp_m1())
}

/// Returns true if a figure certainly became worse by at least the threshold. For the failed share, the new server's
/// share must also be larger than the objective allows. A capacity that was lost entirely exceeds every threshold.
fn regressed(c: &ComparedFigure, tolerance: Tolerance) -> bool {
    let beyond = match c.difference {
        Some(_) => c.new > tolerance.failed && (c.new / c.old - 1.0).abs() >= tolerance.threshold,
        None => !c.ratio.is_finite() || (c.ratio - 1.0).abs() >= tolerance.threshold,
    };
    c.word == ComparisonResult::Slower && beyond
}

/// Decides the comparison from its figures and deaths. A new server that died is a regression, whatever the figures
/// are. If a required figure may be worse, the comparison is undecided, unless another figure is slower.
pub(super) fn decide(c: &mut Comparison, tolerance: Tolerance) {
    let deciding = || c.comparisons.iter().filter(|c| c.role != FigureRole::Listed);
    let has_required = deciding().any(|c| c.role == FigureRole::Required);
    let required = || deciding().filter(|c| c.role == FigureRole::Required || !has_required);
    let surest = |word: ComparisonResult| {
        let with_word = deciding().filter(|c| c.word == word);
        with_word.min_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0))).map(|c| c.figure.clone())
    };
    // Equal shares of failed requests say nothing about speed, so they do not decide the comparison.
    let same = required().find(|c| c.word == ComparisonResult::Same && c.figure != FAILED).map(|c| c.figure.clone());
    let open: Vec<String> = required().filter(|c| may_be_worse(c, tolerance)).map(|c| c.figure.clone()).collect();
    let died = c.deaths.iter().any(|death| death.new);
    let any_regressed = deciding().any(|c| regressed(c, tolerance));
    let (slower, faster) = (surest(ComparisonResult::Slower), surest(ComparisonResult::Faster));
    let undecided = !open.is_empty() || required().next().is_none();
    (c.verdict, c.decided_by) = match (slower, faster) {
        _ if died => (ComparisonResult::Slower, None),
        (Some(figure), _) => (ComparisonResult::Slower, Some(figure)),
        _ if undecided => (ComparisonResult::NotEnough, None),
        (None, Some(figure)) => (ComparisonResult::Faster, Some(figure)),
        (None, None) if same.is_some() => (ComparisonResult::Same, same),
        (None, None) => (ComparisonResult::NotEnough, None),
    };
    c.outcome = match (died || any_regressed, undecided) {
        (true, _) => ComparisonOutcome::Regressed,
        (false, true) => ComparisonOutcome::Undecided,
        (false, false) => ComparisonOutcome::Passed,
    };
    (c.regression, c.open) = (c.outcome == ComparisonOutcome::Regressed, open);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_fell_by_less_than_the_threshold_is_not_open() {
        let tolerance = Tolerance { threshold: 0.2, failed: 0.0 };
        let rate = |low: f64, high: f64| {
            let c = ComparedFigure {
                figure: "completed rate".into(),
                more_is_better: true,
                role: FigureRole::Required,
                ratio: low.midpoint(high),
                low: Some(low),
                high: Some(high),
                ..ComparedFigure::default()
            };
            let word = word(&c, tolerance);
            let c = ComparedFigure { word, ..c };
            (word, regressed(&c, tolerance), may_be_worse(&c, tolerance))
        };
        assert_eq!(rate(0.8199, 0.8201), (ComparisonResult::Slower, false, false));
        assert_eq!(rate(0.79, 0.83), (ComparisonResult::Slower, false, true));
        assert_eq!(rate(0.78, 0.80), (ComparisonResult::Slower, true, false));
    }

    #[test]
    fn an_hour_that_was_measured_shows_the_smallest_change_of_the_comparison() {
        let widths = Widths { differs: 0.03, same: 0.02, fixed: 0.0 };
        let (more, more_of) = (Some(10.0), Some(NeededData::Windows));
        let mut c = ComparedFigure { more, more_of, ..ComparedFigure::default() };
        resolution::tell(&mut c, widths, &ErrorTerms::default());
        assert_eq!(of_an_hour(&c, widths, 3600.0), c.smallest_change);
    }
}

//! A word for each figure from its interval, and the result of all figures together.
//!
//! One level holds for all intervals of a family: two equal servers get a word for any of its figures in at most 5 of 100 comparisons
//! (Bonferroni). The figures that decide are one family. The listed costs are another one, so that thirty costs do not widen the intervals
//! of seven figures.

use run::{ComparedFigure, Comparison, ComparisonOutcome, ComparisonResult, FigureRole, NeededData};

use super::failures;
use super::figures::FAILED;
use super::input::{ErrorTerms, Line, Spread};
use crate::thresholds::{COMPARE_LEVEL, FEWEST_WINDOWS};
use stats::student::{quantile, two_sided};

/// Minimum factor of additional data that is advised.
const LEAST_MORE: f64 = 1.5;

/// Limits of a comparison.
#[derive(Clone, Copy)]
pub(super) struct Tolerance {
    /// Smallest relative change that counts.
    pub(super) threshold: f64,
    /// Share of requests that may fail.
    pub(super) failed: f64,
}

/// Gives each figure its interval and its word.
pub(super) fn words(all: Vec<Line>, tolerance: Tolerance) -> Vec<ComparedFigure> {
    let listed = |line: &Line| line.compared.role == FigureRole::Listed;
    let of_family = |one: bool| all.iter().filter(|line| listed(line) == one && line.has_interval()).count();
    let [deciding, costs] = [of_family(false), of_family(true)];
    let worded = |mut line: Line| {
        let family = if listed(&line) { costs } else { deciding };
        let z = interval(&mut line, family as f64);
        let c = &mut line.compared;
        c.word = line.settled.unwrap_or_else(|| word(c, tolerance));
        if c.word == ComparisonResult::NotEnough && line.settled.is_none() && c.difference.is_none() {
            (c.more, c.more_of) = more(c, z, tolerance.threshold, &line.error_terms).unzip();
        }
        line.compared
    };
    all.into_iter().map(worded).collect()
}

/// Computes the interval of one of `family` figures. Returns its half-width in standard errors.
fn interval(line: &mut Line, family: f64) -> f64 {
    let (c, chance) = (&mut line.compared, COMPARE_LEVEL / family);
    let together = |p: f64| (p * family).min(1.0);
    match line.spread {
        Spread::Unknown => f64::INFINITY,
        Spread::Ratio(uncertainty) => {
            let z = quantile(chance, uncertainty.freedom);
            let (ln_ratio, half) = (c.ratio.ln(), z * uncertainty.error);
            let end = |ln: f64| half.is_finite().then(|| ln.exp());
            (c.low, c.high) = (end(ln_ratio - half), end(ln_ratio + half));
            c.p = Some(together(two_sided(ln_ratio / uncertainty.error, uncertainty.freedom)));
            z
        }
        Spread::Shares(shares) => {
            (c.difference, c.p) = (Some(shares.difference(chance)), shares.chance().map(together));
            f64::INFINITY
        }
    }
}

/// Returns how far the interval reaches to the worse and to the better side, and how far it may reach on either side for "the same".
/// A ratio is measured by its logarithm; `None` without an interval.
fn reach(c: &ComparedFigure, tolerance: Tolerance) -> Option<(f64, f64, f64)> {
    let (low, high, same) = match c.difference {
        Some(apart) => (apart.low, apart.high, tolerance.failed.max(failures::SAME)),
        None => (c.low?.ln(), c.high?.ln(), tolerance.threshold.ln_1p()),
    };
    Some(if c.more_is_better { (-low, high, same) } else { (high, -low, same) })
}

/// Returns the word that follows from the interval alone.
fn word(c: &ComparedFigure, tolerance: Tolerance) -> ComparisonResult {
    match reach(c, tolerance) {
        Some((_, better, _)) if better < 0.0 => ComparisonResult::Slower,
        Some((worse, _, _)) if worse < 0.0 => ComparisonResult::Faster,
        Some((worse, better, same)) if worse <= same && better <= same => ComparisonResult::Same,
        _ => ComparisonResult::NotEnough,
    }
}

/// Returns true if an undecided figure may be worse by more than is allowed. A new server without failures cannot be
/// worse.
fn may_be_worse(c: &ComparedFigure, tolerance: Tolerance) -> bool {
    let fails_nothing = c.figure == FAILED && c.new <= 0.0;
    let within = reach(c, tolerance).is_some_and(|(worse, _, same)| worse <= same);
    c.word == ComparisonResult::NotEnough && !within && !fails_nothing
}

/// Returns the factor of more data that would decide, and the kind of data. The interval has to become as narrow as the
/// distance from 1, or as the rest of the threshold. More windows do not reduce the differences between runs.
fn more(c: &ComparedFigure, z: f64, threshold: f64, error_terms: &ErrorTerms) -> Option<(f64, NeededData)> {
    let Some((low, high)) = c.low.zip(c.high) else {
        // This factor makes an interval possible; its width is not known yet.
        let fewest = c.windows.0.min(c.windows.1).max(1);
        let times = (FEWEST_WINDOWS as f64 / fewest as f64).ceil();
        return (fewest < FEWEST_WINDOWS).then_some((times, error_terms.of));
    };
    let (apart, half) = (c.ratio.ln().abs(), (high / low).ln() / 2.0);
    let narrow = apart.max(threshold.ln_1p() - apart);
    let by_runs = z * error_terms.between;
    let (times, of) = match error_terms.of {
        NeededData::Runs => ((half / narrow).powi(2), NeededData::Runs),
        // More windows do not suffice. More runs are needed, enough for an interval of their own.
        NeededData::Windows if by_runs >= narrow => {
            let fewest = FEWEST_WINDOWS as f64 / error_terms.runs.max(1) as f64;
            ((half / narrow).powi(2).max(fewest).ceil(), NeededData::Runs)
        }
        NeededData::Windows => {
            ((half.powi(2) - by_runs.powi(2)) / (narrow.powi(2) - by_runs.powi(2)), NeededData::Windows)
        }
    };
    Some((times.max(LEAST_MORE), of)).filter(|(times, _)| times.is_finite())
}

/// Returns true if a deciding figure became worse by more than is allowed: a ratio beyond the threshold, more failures than the objective
/// allows, or a lost capacity.
fn regressed(c: &ComparedFigure, tolerance: Tolerance) -> bool {
    let beyond = match c.difference {
        Some(_) => c.new > tolerance.failed && (c.new / c.old - 1.0).abs() >= tolerance.threshold,
        None => !c.ratio.is_finite() || (c.ratio - 1.0).abs() >= tolerance.threshold,
    };
    c.word == ComparisonResult::Slower && beyond
}

/// Decides the comparison from its figures and deaths. A new server that died has regressed, whatever its figures are. A required figure that
/// may be worse leaves the comparison undecided.
pub(super) fn decide(c: &mut Comparison, tolerance: Tolerance) {
    let deciding = || c.comparisons.iter().filter(|c| c.role != FigureRole::Listed);
    let has_required = deciding().any(|c| c.role == FigureRole::Required);
    let required = || deciding().filter(|c| c.role == FigureRole::Required || !has_required);
    let surest = |word: ComparisonResult| {
        let with_word = deciding().filter(|c| c.word == word);
        with_word.min_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0))).map(|c| c.figure.clone())
    };
    // A lack of failures says nothing of speed.
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

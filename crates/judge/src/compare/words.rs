//! A word for each figure, and one for all figures together.

use run::{ComparedFigure, ComparisonResult, NeededData};

use super::failures;
use super::figures::{FAILED, decides};
use super::input::{ErrorTerms, Line};
use crate::thresholds::{COMPARE_SURE, FEWEST_WINDOWS};
use stats::NORMAL_95;

/// Factor by which an interval must be narrower for a word among several figures than for one alone; about Holm's for seven.
const OF_SEVERAL: f64 = 1.5;
/// Least factor of more data where the interval suffices and the chance does not.
const LEAST_MORE: f64 = 1.5;

/// Returns the sure differences, the surest first, by Holm's method. Figures of speed are a family of their own: thirty costs beside them
/// must not make them harder to be sure of.
fn sure(all: &[Line], deciding: bool) -> Vec<usize> {
    let chance = |i: &usize| all[*i].compared.p.unwrap_or(1.0);
    let family = |i: &usize| all[*i].compared.p.is_some() && decides(&all[*i].compared) == deciding;
    let mut order: Vec<usize> = (0..all.len()).filter(family).collect();
    order.sort_by(|a, b| chance(a).total_cmp(&chance(b)));
    let looked = order.len();
    let sure = order.into_iter().enumerate().take_while(|(at, i)| chance(i) * (looked - at) as f64 <= COMPARE_SURE);
    sure.map(|(_, i)| i).collect()
}

/// Gives each figure its word. `allowed` is the share of requests that may fail.
pub(super) fn words(mut all: Vec<Line>, threshold: f64, allowed: f64) -> Vec<ComparedFigure> {
    let sure = [sure(&all, true), sure(&all, false)].concat();
    for (i, line) in all.iter_mut().enumerate() {
        let sure = sure.contains(&i);
        match (line.settled, line.compared.difference) {
            (Some(word), _) => line.compared.word = word,
            (None, Some(apart)) => line.compared.word = failures::word(&apart, sure, allowed),
            (None, None) => word(line, sure, threshold),
        }
    }
    all.into_iter().map(|line| line.compared).collect()
}

/// Gives a ratio its word by its interval.
fn word(line: &mut Line, sure: bool, threshold: f64) {
    let Line { compared: c, error_terms, .. } = line;
    let Some((low, high)) = c.low.zip(c.high) else {
        let alike = (c.ratio - 1.0).abs() <= threshold && !decides(c);
        c.word = if alike { ComparisonResult::Same } else { ComparisonResult::NotEnough };
        // This factor makes an interval possible; its width is not known yet.
        let fewest = c.windows.0.min(c.windows.1).max(1);
        c.more = (!alike && fewest < FEWEST_WINDOWS).then(|| (FEWEST_WINDOWS as f64 / fewest as f64).ceil());
        c.more_of = c.more.map(|_| error_terms.of);
        return;
    };
    let apart = low > 1.0 || high < 1.0;
    let within = low >= 1.0 / (1.0 + threshold) && high <= 1.0 + threshold;
    c.word = match (apart && sure, within) {
        (true, _) if (c.ratio > 1.0) == c.more_is_better => ComparisonResult::Faster,
        (true, _) => ComparisonResult::Slower,
        (false, true) => ComparisonResult::Same,
        (false, false) => ComparisonResult::NotEnough,
    };
    if c.word == ComparisonResult::NotEnough
        && let Some((more, of)) = more(c.ratio.ln().abs(), (high / low).ln() / 2.0, threshold, error_terms)
    {
        (c.more, c.more_of) = (Some(more), Some(of));
    }
}

/// Returns the factor of more data that would decide, and the kind of data. The interval has to become as narrow as the distance from 1,
/// with a margin for several figures, or as the rest of the threshold. More windows do not narrow what runs differ by.
fn more(apart: f64, half: f64, threshold: f64, error_terms: &ErrorTerms) -> Option<(f64, NeededData)> {
    let narrow = (apart / OF_SEVERAL).max((1.0 + threshold).ln() - apart);
    let by_runs = NORMAL_95 * error_terms.between;
    let (times, of) = match error_terms.of {
        NeededData::Runs => ((half / narrow).powi(2), NeededData::Runs),
        // Windows alone do not suffice: more runs, and enough to have an interval of their own.
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

/// Returns whether a deciding figure became worse by more than is allowed: a ratio beyond the threshold, more failures than the objective
/// allows, or a lost capacity.
pub(super) fn regressed(c: &ComparedFigure, threshold: f64, allowed: f64) -> bool {
    let beyond = match c.difference {
        Some(_) => c.new > allowed && (c.new / c.old - 1.0).abs() >= threshold,
        None => !c.ratio.is_finite() || (c.ratio - 1.0).abs() >= threshold,
    };
    decides(c) && c.word == ComparisonResult::Slower && beyond
}

/// Returns the word of all figures and the figure that decided: worse counts before better, and the surest decides.
pub(super) fn verdict(all: &[ComparedFigure]) -> (ComparisonResult, Option<String>) {
    let surest = |word: ComparisonResult| {
        let of = all.iter().filter(|c| c.word == word && decides(c));
        of.min_by(|a, b| a.p.unwrap_or(1.0).total_cmp(&b.p.unwrap_or(1.0))).map(|c| c.figure.clone())
    };
    for word in [ComparisonResult::Slower, ComparisonResult::Faster] {
        if let Some(figure) = surest(word) {
            return (word, Some(figure));
        }
    }
    // Of equal servers the first, steadiest figures decide. A p99.9 never does, and a lack of failures says nothing of speed.
    let same = all.iter().find(|c| c.word == ComparisonResult::Same && decides(c) && c.figure != FAILED);
    same.map_or((ComparisonResult::NotEnough, None), |c| (ComparisonResult::Same, Some(c.figure.clone())))
}

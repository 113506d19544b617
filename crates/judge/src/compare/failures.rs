//! Comparison of the shares of failed requests. The result is a difference of shares, not a ratio, because a ratio to 0
//! is undefined.
//!
//! The failed share of each side is the mean over all conditions. The difference has Newcombe's interval (1998, method
//! 10, from two Wilson intervals). Newcombe's interval has a positive width even if no request failed.
//!
//! Failures come in bursts, so requests are not independent. Shares of windows (or of runs, with at least three per
//! side) therefore scatter more than shares of independent requests. The measured variance of the shares, divided by
//! the variance for independent requests, is the number of requests that count as one.

use run::{ComparedFigure, FigureRole, FigureUnit, NeededData};

use super::failure_shares::{Count, Shares, Side};
use super::figures::FAILED;
use super::input::{ComparisonInput, ErrorTerms, Line, Spread};
use super::windows::Window;
use crate::context::single::{failed_and_all, still_open};
use crate::thresholds::FEWEST_WINDOWS;

/// Largest difference of two shares, 0 to 1, that counts as no difference. Even if the objective allows a smaller share
/// of failures, a difference up to this value counts as no difference.
pub(crate) const SAME: f64 = 1e-3;

/// Compares the shares of failed requests. Returns `None` if no condition has requests of both sides.
pub(super) fn failed(both: &ComparisonInput<'_>) -> Option<Line> {
    let by_runs = both.pairs.iter().flatten().all(|windows| units(windows) >= FEWEST_WINDOWS);
    let observations = |windows: &[Window<'_>]| counts(windows, by_runs);
    let cells: Vec<[Vec<Count>; 2]> = both.pairs.iter().map(|[a, b]| [observations(a), observations(b)]).collect();
    let cells: Vec<_> =
        cells.into_iter().filter(|cell| cell.iter().all(|observations| !observations.is_empty())).collect();
    let windows = |side: usize| both.pairs.iter().map(|pair| pair[side].len()).sum::<usize>();
    let [old, new] = [0, 1].map(|side| Side(cells.iter().map(|cell| cell[side].clone()).collect()));
    let error_terms =
        ErrorTerms { of: if by_runs { NeededData::Runs } else { NeededData::Windows }, ..ErrorTerms::default() };
    let open = |side: usize| both.pairs.iter().flat_map(|pair| &pair[side]).map(|w| still_open(w.trial)).sum();
    (!cells.is_empty()).then(|| {
        let windows = (windows(0), windows(1));
        let spread = Spread::Shares(Shares::of(&old, &new));
        let compared = ComparedFigure { open: [open(0), open(1)], ..compared(&old, &new, windows) };
        Line { compared, settled: None, spread, error_terms }
    })
}

fn compared(old: &Side, new: &Side, windows: (usize, usize)) -> ComparedFigure {
    let (old, new) = (old.share(), new.share());
    let (figure, role, unit) = (FAILED.into(), FigureRole::Required, FigureUnit::Plain);
    let ratio = if old == new { 1.0 } else { new / old };
    ComparedFigure { figure, role, unit, old, new, ratio, windows, ..ComparedFigure::default() }
}

fn units(windows: &[Window<'_>]) -> usize {
    windows.chunk_by(|a, b| a.unit == b.unit).count()
}

/// Returns the numbers of failed and of all requests of each window, or of each run if `by_runs` is true. Leaves out
/// observations without a request.
fn counts(windows: &[Window<'_>], by_runs: bool) -> Vec<Count> {
    let of = |windows: &[Window<'_>]| {
        let each = windows.iter().map(|window| failed_and_all(window.trial));
        each.fold((0.0, 0.0), |(failed, all), (more, of)| (failed + more.min(of), all + of))
    };
    let observations: Vec<Count> = match by_runs {
        true => windows.chunk_by(|a, b| a.unit == b.unit).map(of).collect(),
        false => windows.chunks(1).map(of).collect(),
    };
    observations.into_iter().filter(|(_, all)| *all > 0.0).collect()
}

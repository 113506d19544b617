//! Smallest change that a comparison would have shown, and the amount of data that would show a change of 1 %.

use run::{ComparedFigure, Comparison, FigureRole, NeededData};

use super::input::ErrorTerms;
use crate::thresholds::FEWEST_WINDOWS;

/// Change, as a share, for which a comparison tells how much data is needed.
const ONE_PERCENT: f64 = 0.01;

/// Half-widths of the intervals of a ratio's logarithm.
#[derive(Clone, Copy)]
pub(super) struct Widths {
    /// Half-width of the interval that decides whether the figure differs.
    pub(super) differs: f64,
    /// Half-width of the interval that decides whether the figure stayed the same.
    pub(super) same: f64,
    /// Share of the half-widths that more windows in the same runs do not reduce, 0 to 1.
    pub(super) fixed: f64,
}

impl Widths {
    /// Returns the smallest change that a comparison seldom fails to find, as a logarithm. The comparison fails to find
    /// such a change only if its estimate is too small by more than `same`.
    pub(super) fn detects(&self) -> f64 {
        self.differs + self.same
    }
}

/// Stores in a compared figure the smallest change that its comparison would have shown. Also stores the factor by
/// which the data must grow to show a change of 1 %.
pub(super) fn tell(c: &mut ComparedFigure, widths: Widths, terms: &ErrorTerms) {
    if !widths.detects().is_finite() {
        return;
    }
    c.smallest_change = Some(widths.detects().exp_m1());
    (c.one_percent, c.one_percent_of) = one_percent(widths, terms).unzip();
}

/// Returns how many times as much data is needed to show a change of 1 %, and the kind of data: windows or runs.
fn one_percent(widths: Widths, terms: &ErrorTerms) -> Option<(f64, NeededData)> {
    let enough = ONE_PERCENT.ln_1p();
    let by_windows = widths.windows(widths.detects(), enough);
    if terms.of == NeededData::Windows && by_windows.is_finite() {
        return Some((by_windows, NeededData::Windows));
    }
    let runs = terms.runs?.max(1) as f64;
    let factor = (widths.detects() / enough).powi(2).max(FEWEST_WINDOWS as f64 / runs);
    Some((factor, NeededData::Runs))
}

/// Fills in the smallest change that the whole comparison would have shown. The result is the smallest change of the
/// figure that decided the comparison. If no figure decided the comparison, the most precise required figure is used.
pub(super) fn of_comparison(comparison: &mut Comparison, runs: usize) {
    let known = || comparison.comparisons.iter().filter(|c| c.smallest_change.is_some());
    let decided = known().find(|c| comparison.decided_by.as_ref() == Some(&c.figure));
    let required = known().filter(|c| c.role == FigureRole::Required);
    let most_precise =
        || required.min_by(|a, b| a.smallest_change.unwrap_or(1.0).total_cmp(&b.smallest_change.unwrap_or(1.0)));
    let Some(best) = decided.or_else(most_precise) else { return };
    let needs = |of: NeededData| best.one_percent.filter(|_| best.one_percent_of == Some(of));
    let measured_s = Some(comparison.measured_s).filter(|s| *s > 0.0);
    let one_percent_s = needs(NeededData::Windows).zip(measured_s).map(|(factor, s)| factor * s);
    let one_percent_runs = needs(NeededData::Runs).map(|factor| (factor * runs as f64).ceil());
    let (smallest_change, figure) = (best.smallest_change, best.figure.clone());
    comparison.smallest_change_of = Some(figure);
    (comparison.smallest_change, comparison.one_percent_s) = (smallest_change, one_percent_s);
    comparison.one_percent_runs = one_percent_runs;
}

impl Widths {
    /// Returns the factor by which the number of windows must grow until the half-width of the confidence interval
    /// shrinks from `half` to `enough`. Returns infinity if no number of windows suffices.
    pub(super) fn windows(&self, half: f64, enough: f64) -> f64 {
        let fixed = (self.fixed * half).powi(2);
        if enough.powi(2) > fixed && enough > 0.0 {
            (half.powi(2) - fixed) / (enough.powi(2) - fixed)
        } else {
            f64::INFINITY
        }
    }

    /// Returns a half-width after the number of windows, or of runs, was multiplied by `times`.
    pub(super) fn after(&self, half: f64, times: f64, of: NeededData) -> f64 {
        let fixed = if of == NeededData::Runs { 0.0 } else { self.fixed };
        half * (fixed.powi(2) + (1.0 - fixed.powi(2)) / times).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_change_is_that_of_the_figure_that_decided() {
        let figure = |name: &str, change| ComparedFigure {
            figure: name.into(),
            role: FigureRole::Required,
            smallest_change: Some(change),
            ..ComparedFigure::default()
        };
        let of = |decided_by: Option<&str>| {
            let comparisons = vec![figure("server CPU per request", 0.05), figure("p50", 0.02)];
            let mut all = Comparison { comparisons, decided_by: decided_by.map(Into::into), ..Comparison::default() };
            of_comparison(&mut all, 1);
            all.smallest_change_of
        };
        assert_eq!(of(Some("server CPU per request")).as_deref(), Some("server CPU per request"));
        assert_eq!(of(None).as_deref(), Some("p50"));
    }
}

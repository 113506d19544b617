//! Comparison of one figure: the ratio of both sides over all conditions, and the data for the ratio's interval.

use run::{ComparedFigure, ComparisonResult, FigureRole, FigureUnit, NeededData, Run, Trial};

use super::contrast::{Contrast, contrast, counts, uncertainty};
use super::disturbance::Disturbance;
use super::failure_shares::Shares;
use super::figures::{FIGURES, FigureSpec};
use super::means::of_means;
use super::observations::{Cell, Observation, Pairing, Uncertainty};
use super::percentiles::Sides;
use super::windows::{Pair, Window};
use crate::context::cost_table::COSTS;
use crate::number::{percent, positive};
use stats::average;

/// Runs and windows of both sides, and the way in which they were measured.
pub(super) struct ComparisonInput<'a> {
    pub(super) runs: [&'a [Run]; 2],
    pub(super) pairs: Vec<Pair<'a>>,
    pub(super) sides: Sides,
    pub(super) pairing: Pairing,
}

/// One line of the table, before its result word ("faster", "slower", …) is known.
pub(super) struct Line {
    pub(super) compared: ComparedFigure,
    /// Result word, if it does not depend on an interval.
    pub(super) settled: Option<ComparisonResult>,
    pub(super) spread: Spread,
    pub(super) error_terms: ErrorTerms,
}

impl Line {
    pub(super) fn has_interval(&self) -> bool {
        !matches!(self.spread, Spread::Unknown)
    }
}

/// Data for the interval of a line. The number of lines determines the confidence level of each interval, so intervals
/// are computed after all lines are known.
#[derive(Clone, Copy)]
pub(super) enum Spread {
    /// The figure has too few observations for an interval.
    Unknown,
    /// Uncertainty of the ratio's logarithm, for a figure that is compared by its ratio.
    Ratio(Uncertainty),
    /// Failed shares of both sides, which are compared by their difference.
    Shares(Shares),
}

impl From<Option<Uncertainty>> for Spread {
    fn from(uncertainty: Option<Uncertainty>) -> Self {
        uncertainty.map_or(Self::Unknown, Self::Ratio)
    }
}

/// Kind of data that would narrow a line's interval, and number of runs.
#[derive(Clone, Copy)]
pub(super) struct ErrorTerms {
    pub(super) of: NeededData,
    /// Number of runs or repeats of the side that has fewer of them. `None` for live servers, whose processes stay the
    /// same.
    pub(super) runs: Option<usize>,
}

impl Default for ErrorTerms {
    fn default() -> Self {
        Self { of: NeededData::Windows, runs: Some(1) }
    }
}

impl ComparisonInput<'_> {
    /// Compares one figure. Returns `None` if there is no condition under which both sides have the figure.
    pub(super) fn figure(&self, figure: &FigureSpec) -> Option<Line> {
        let cells = if figure.level { self.levels(figure.of) } else { self.cells(&figure.of) };
        let apart = figure.quantile.and_then(|quantile| self.percentile(quantile, &cells));
        let apart = apart.or_else(|| self.apart(cells.clone(), figure.zeros))?;
        let error_terms = self.error_terms(Some(&apart), figure.level);
        let compared = ComparedFigure {
            figure: figure.name.into(),
            unit: figure.unit,
            role: figure.role,
            more_is_better: figure.more_is_better,
            ..compared(&apart, counts(&cells))
        };
        Some(Line { compared, settled: None, spread: apart.uncertainty.into(), error_terms })
    }

    /// Compares means of logarithms. If the figure may be 0 (`zeros`) and a value is 0, compares plain means.
    fn apart(&self, cells: Vec<Cell>, zeros: bool) -> Option<Contrast> {
        match zeros && cells.iter().flatten().flatten().any(|observation| observation.ln == f64::NEG_INFINITY) {
            true => {
                let plain = |observations: Vec<Observation>| {
                    observations
                        .into_iter()
                        .map(|observation| Observation { ln: observation.ln.exp(), ..observation })
                        .collect()
                };
                of_means(&cells.into_iter().map(|cell| cell.map(plain)).collect::<Vec<Cell>>(), self.pairing)
            }
            false => contrast(&cells, self.pairing),
        }
    }

    fn error_terms(&self, apart: Option<&Contrast>, level: bool) -> ErrorTerms {
        let runs = self.runs.iter().map(|runs| runs.iter().map(|run| run.repeats().count()).sum()).min();
        let of = apart.and_then(|a| a.uncertainty).map_or(NeededData::Windows, |uncertainty| uncertainty.of);
        let kept = !self.pairing.is_live();
        ErrorTerms { of: if level { NeededData::Runs } else { of }, runs: runs.filter(|_| kept) }
    }

    /// Compares a cost of the server that is not among the table's main figures.
    pub(super) fn cost(&self, name: &str, unit: FigureUnit, of: &dyn Fn(&Trial) -> Option<f64>) -> Option<Line> {
        let mut line = self.line(name, unit, of)?;
        line.compared.beside = true;
        line.compared.title = COSTS.iter().find(|cost| cost.id == name).map_or(String::new(), |cost| cost.help.into());
        Some(line)
    }

    /// Compares a time that an experiment measured.
    pub(super) fn time(&self, name: &str, of: &dyn Fn(&Trial) -> Option<f64>) -> Option<Line> {
        let mut line = self.line(name, FigureUnit::Micros, of)?;
        line.compared.role = FigureRole::Required;
        Some(line)
    }

    fn line(&self, name: &str, unit: FigureUnit, of: &dyn Fn(&Trial) -> Option<f64>) -> Option<Line> {
        let cells = self.cells(of);
        let apart = contrast(&cells, self.pairing)?;
        let error_terms = self.error_terms(Some(&apart), false);
        let compared = ComparedFigure { figure: name.into(), unit, ..compared(&apart, counts(&cells)) };
        Some(Line { compared, settled: None, spread: apart.uncertainty.into(), error_terms })
    }

    /// Returns a sentence about the CPU time that other programs add to each request. Returns `None` unless the CPU
    /// time that other programs add is statistically significant.
    pub(super) fn disturbed(&self) -> Option<String> {
        let first = FIGURES.first()?;
        let slope = Disturbance::of(&self.cells(&first.of), self.pairing)?.slope;
        (slope > 0.0).then(|| {
            format!(
                "each CPU that other programs take makes a request cost {} more CPU time: both servers are compared at \
                 equal disturbance",
                percent(slope.exp_m1())
            )
        })
    }

    /// Returns the logarithms of a figure, for each condition under which both sides have the figure.
    fn cells(&self, of: &dyn Fn(&Trial) -> Option<f64>) -> Vec<Cell> {
        let observation = |window: &Window<'_>| {
            let Window { unit, turn, others, trial } = *window;
            Some(Observation { unit, turn, others, ln: of(trial)?.ln() })
        };
        let both = self
            .pairs
            .iter()
            .map(|pair| [0, 1].map(|side| pair[side].iter().filter_map(observation).collect::<Vec<_>>()));
        both.filter(|cell| cell.iter().all(|observations| !observations.is_empty())).collect()
    }

    /// Returns one observation for each run: the logarithm of the figure's mean over the run's windows. One observation
    /// per run suits a figure that hardly varies within a server process. A side with a single run gives no interval.
    fn levels(&self, of: fn(&Trial) -> Option<f64>) -> Vec<Cell> {
        let mean = |(unit, run): (usize, &Run)| {
            let seen: Vec<f64> = run.trials.iter().filter_map(of).collect();
            Some(Observation { unit, turn: 0, others: None, ln: positive(average(&seen))?.ln() })
        };
        let cell = self.runs.map(|runs| runs.iter().enumerate().filter_map(mean).collect::<Vec<_>>());
        Some(cell).filter(|cell| cell.iter().all(|observations| !observations.is_empty())).into_iter().collect()
    }

    /// Compares a percentile of merged histograms. If the windows are the observations, a bootstrap gives the error.
    fn percentile(&self, quantile: f64, windows: &[Cell]) -> Option<Contrast> {
        let merged = contrast(&self.sides.observations(quantile)?, self.pairing)?;
        let together = super::paired::differences(windows, self.pairing).is_some();
        let again = self.sides.error(quantile, together);
        let uncertainty = merged.uncertainty.or_else(|| uncertainty(windows, self.pairing, Some(again?)));
        let least = self.sides.within_buckets(quantile);
        let uncertainty =
            uncertainty.map(|uncertainty| Uncertainty { error: uncertainty.error.max(least), ..uncertainty });
        Some(Contrast { uncertainty, ..merged })
    }
}

/// Returns a figure's values of both sides, their ratio, and the number of windows of each side. The caller adds the
/// interval after all lines are known.
pub(super) fn compared(apart: &Contrast, windows: (usize, usize)) -> ComparedFigure {
    let [old, new] = apart.sides;
    ComparedFigure { old: old.exp(), new: new.exp(), ratio: (new - old).exp(), windows, ..ComparedFigure::default() }
}

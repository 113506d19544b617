//! Significance levels of a comparison: the chance with which equal servers get "faster" or "slower" for each figure.
//!
//! Figures are grouped into families. The figures of a family share one significance level (weighted Bonferroni
//! correction). The server's CPU time per request scatters least, so it gets half of its family's significance level.
//! All other figures of this family together get the other half of the family's significance level. If the data is
//! analysed several times (looks), each figure's significance level is divided among the looks.

use run::{ComparedFigure, FigureRole};

use super::figures::SERVER_CPU;
use super::input::Line;
use crate::thresholds::COMPARE_LEVEL;
use stats::sequential::look_level;

/// Significance level of each kind of figure at the current interim analysis (look).
pub(super) struct Levels {
    first: f64,
    deciding: f64,
    listed: f64,
    /// Chance that at least one end of a figure's interval is a wrong bound. Each end of the interval alone is wrong
    /// with the probability [`COMPARE_LEVEL`].
    pub(super) bound: f64,
}

impl Levels {
    /// Divides the significance level among the figures that have a confidence interval. `looks` contains the share of
    /// the planned data at each analysis (look) so far.
    pub(super) fn new(lines: &[Line], looks: &[f64]) -> Self {
        let count =
            |family: Family| lines.iter().filter(|line| line.has_interval() && family.has(&line.compared)).count();
        let [first, deciding, listed] = [Family::First, Family::Deciding, Family::Listed].map(count);
        let groups = [first, deciding].into_iter().filter(|figures| *figures > 0).count();
        let level =
            |groups: usize, figures: usize| look_level(COMPARE_LEVEL / (groups.max(1) * figures.max(1)) as f64, looks);
        Self {
            first: level(groups, first),
            deciding: level(groups, deciding),
            listed: level(1, listed),
            // Each end of the interval is a bound that is wrong with the probability `COMPARE_LEVEL`, so the two
            // probabilities are added.
            bound: look_level(COMPARE_LEVEL + COMPARE_LEVEL, looks),
        }
    }

    /// Returns the significance level at which a figure is tested.
    pub(super) fn of(&self, figure: &ComparedFigure) -> f64 {
        match Family::of(figure) {
            Family::First => self.first,
            Family::Deciding => self.deciding,
            Family::Listed => self.listed,
        }
    }
}

/// Groups of figures, each with one significance level.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    First,
    Deciding,
    Listed,
}

impl Family {
    fn of(figure: &ComparedFigure) -> Self {
        match figure.role {
            FigureRole::Listed => Self::Listed,
            _ if figure.figure == SERVER_CPU => Self::First,
            _ => Self::Deciding,
        }
    }

    fn has(self, figure: &ComparedFigure) -> bool {
        Self::of(figure) == self
    }
}

#[cfg(test)]
mod tests {
    use super::super::input::{ErrorTerms, Spread};
    use super::super::observations::Uncertainty;
    use super::*;
    use run::NeededData;

    fn line(figure: &str, role: FigureRole) -> Line {
        let uncertainty = Uncertainty { error: 0.01, freedom: 10.0, between: 0.0, of: NeededData::Windows };
        let compared = ComparedFigure { figure: figure.into(), role, ..ComparedFigure::default() };
        Line { compared, settled: None, spread: Spread::Ratio(uncertainty), error_terms: ErrorTerms::default() }
    }

    #[test]
    fn the_first_figure_gets_half_of_the_level() {
        let (first, rate) = (line(SERVER_CPU, FigureRole::Required), line("completed rate", FigureRole::Required));
        let (p50, cost) = (line("p50", FigureRole::Required), line("page_faults", FigureRole::Listed));
        let each = |lines: &[Line]| -> Vec<f64> {
            let levels = Levels::new(lines, &[1.0]);
            lines.iter().map(|line| levels.of(&line.compared)).collect()
        };
        let near = |found: Vec<f64>, expected: &[f64]| {
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?}");
        };
        near(each(&[first, rate, p50, cost]), &[0.025, 0.0125, 0.0125, 0.05]);
        near(each(&[line(SERVER_CPU, FigureRole::Required)]), &[0.05]);
        near(each(&[line("p50", FigureRole::Required), line("p99", FigureRole::Deciding)]), &[0.025, 0.025]);
    }
}

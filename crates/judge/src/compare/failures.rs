//! Comparison of the share of requests that failed. It is a difference, since there is no ratio to 0.
//!
//! Old and new are means over conditions. The difference has Newcombe's interval (1998, his tenth: of two scores by Wilson), which has a
//! width even where nothing failed. Failures come in bursts, so requests are no independent draws. The scatter of windows (or of runs,
//! from three per side on) over that of draws says how many requests are worth one draw.

use run::{ComparedFigure, Estimate, FigureRole, FigureUnit, NeededData};

use super::figures::FAILED;
use super::input::{ComparisonInput, ErrorTerms, Line, Spread};
use super::windows::Window;
use crate::single::failed_and_all;
use crate::thresholds::FEWEST_WINDOWS;
use stats::average;
use stats::student::{quantile, two_sided};

/// Failures that come together where a single window per side cannot show it.
const BURST: f64 = 10.0;
/// Largest difference of two shares that counts as the same, however strict the objective.
pub(super) const SAME: f64 = 1e-3;

/// Failed requests of an observation, and all of them.
type Count = (f64, f64);

/// Observations of one side, for each condition.
struct Side(Vec<Vec<Count>>);

impl Side {
    fn share(&self) -> f64 {
        average(&self.0.iter().map(|observations| share(observations)).collect::<Vec<_>>())
    }

    /// Returns the number of draws that all requests would be worth if they were independent; conditions count alike.
    fn draws(&self) -> f64 {
        let conditions = self.0.len() as f64;
        conditions * conditions / self.0.iter().map(|observations| 1.0 / all(observations)).sum::<f64>()
    }

    /// Returns Pearson's sum of squares of the observations about the share of their condition, and its degrees of freedom.
    fn scatter(&self) -> (f64, f64) {
        let of = |observations: &Vec<Count>| {
            let p = share(observations);
            let square = |(failed, all): &Count| (failed - all * p).powi(2) / (all * p * (1.0 - p));
            let told = p > 0.0 && p < 1.0;
            (
                if told { observations.iter().map(square).sum() } else { 0.0 },
                if told { observations.len() as f64 - 1.0 } else { 0.0 },
            )
        };
        self.0.iter().map(of).fold((0.0, 0.0), |(a, b), (squares, freedom)| (a + squares, b + freedom))
    }
}

fn all(observations: &[Count]) -> f64 {
    observations.iter().map(|(_, all)| all).sum()
}

fn share(observations: &[Count]) -> f64 {
    observations.iter().map(|(failed, _)| failed).sum::<f64>() / all(observations)
}

/// Compares the failed shares; `None` where some side made no request.
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
    (!cells.is_empty()).then(|| {
        let windows = (windows(0), windows(1));
        let spread = Spread::Shares(Shares::of(&old, &new, windows));
        Line { compared: compared(&old, &new, windows), settled: None, spread, error_terms }
    })
}

fn compared(old: &Side, new: &Side, windows: (usize, usize)) -> ComparedFigure {
    let (old, new) = (old.share(), new.share());
    let (figure, role, unit) = (FAILED.into(), FigureRole::Required, FigureUnit::Plain);
    let ratio = if old == new { 1.0 } else { new / old };
    ComparedFigure { figure, role, unit, old, new, ratio, windows, ..ComparedFigure::default() }
}

/// Two shares, each with the number of independent draws that it is worth.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    old: (f64, f64),
    new: (f64, f64),
    /// Degrees of freedom of the scatter.
    freedom: f64,
}

impl Shares {
    fn of(old: &Side, new: &Side, windows: (usize, usize)) -> Self {
        let (a, b) = (old.share(), new.share());
        let (squares, freedom) =
            [old, new].map(Side::scatter).into_iter().fold((0.0, 0.0), |x, y| (x.0 + y.0, x.1 + y.1));
        let single = windows.0.min(windows.1) < 2;
        let burst = if freedom > 0.0 {
            (squares / freedom).max(1.0)
        } else if single {
            BURST
        } else {
            1.0
        };
        let freedom = if freedom > 0.0 { freedom } else { f64::INFINITY };
        Self { old: (a, old.draws() / burst), new: (b, new.draws() / burst), freedom }
    }

    /// Returns the new share less the old one with its interval; equal sides miss it with this chance.
    pub(super) fn difference(&self, chance: f64) -> Estimate {
        let interval = stats::shares::difference(self.old, self.new, quantile(chance, self.freedom));
        Estimate { value: self.new.0 - self.old.0, low: interval.low, high: interval.high }
    }

    /// Returns the chance that two equal sides differ as much; `None` if no request or every request failed.
    pub(super) fn chance(&self) -> Option<f64> {
        let ((a, n), (b, m)) = (self.old, self.new);
        let both = (a * n + b * m) / (n + m);
        let error = (both * (1.0 - both) * (1.0 / n + 1.0 / m)).sqrt();
        (error > 0.0).then(|| two_sided((b - a) / error, self.freedom))
    }
}

fn units(windows: &[Window<'_>]) -> usize {
    windows.chunk_by(|a, b| a.unit == b.unit).count()
}

/// Counts failed and all requests of each window or run; windows without a request are left out.
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

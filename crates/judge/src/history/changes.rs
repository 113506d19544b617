//! Changes of one figure over the runs of a series.

use run::{FigureUnit, HistoryChange, HistoryValue};

use super::figures::HistorySpec;
use crate::compare::SAME_FAILED_SHARE;
use crate::thresholds::{CHANGE_LEVEL, HISTORY_RESOLUTION};
use stats::change_points::{ChangePoint, Difference, Series};
use stats::student::t95;

/// Criteria by which a change affects the exit status.
#[derive(Clone, Copy)]
pub(super) struct Recent {
    /// Number of runs before the recent runs.
    pub(super) runs: usize,
    /// Smallest relative change that affects the exit status.
    pub(super) threshold: f64,
}

/// Values of one figure over a series of runs, with their changes.
struct Changes {
    /// True for a figure that may be 0, such as a share, and is compared by differences instead of ratios.
    share: bool,
    /// Index of the run for each value.
    runs: Vec<usize>,
    series: Series,
    points: Vec<ChangePoint>,
    /// Changes that are found even if the recent runs are left out. Empty (not computed) if all changes in `points` are
    /// in recent runs.
    earlier: Vec<ChangePoint>,
}

/// Returns the changes of a figure. The earliest change comes first. The caller fills in the names of the runs.
pub(super) fn changes(figure: &HistorySpec, values: &[Option<HistoryValue>], recent: Recent) -> Vec<HistoryChange> {
    let found = Changes::of(figure.unit == FigureUnit::Share, values, recent.runs);
    (0..found.points.len()).map(|index| found.change(index, figure, recent.threshold)).collect()
}

impl Changes {
    fn of(share: bool, values: &[Option<HistoryValue>], old_runs: usize) -> Self {
        let known = values.iter().enumerate().filter_map(|(run, value)| Some((run, value.as_ref()?.value)));
        let (runs, values): (Vec<usize>, Vec<f64>) =
            known.map(|(run, value)| (run, if share { value } else { value.ln() })).unzip();
        let resolution = if share { SAME_FAILED_SHARE } else { HISTORY_RESOLUTION };
        let series = Series::new(&values, resolution);
        let points = series.change_points();
        let old = runs.partition_point(|run| *run < old_runs);
        let only_new = points.iter().all(|point| point.at >= old);
        let earlier = if only_new { Vec::new() } else { Series::new(&values[..old], resolution).change_points() };
        Self { share, runs, series, points, earlier }
    }

    /// Returns the indexes of the values on both sides of a change, as start and exclusive end. The values on both
    /// sides reach from the previous change (or the first value) to the next change (or the last value).
    fn bounds(&self, index: usize) -> (usize, usize) {
        let previous = index.checked_sub(1).and_then(|before| self.points.get(before)).map_or(0, |point| point.at);
        let next = self.points.get(index + 1).map_or(self.runs.len(), |point| point.at);
        (previous, next)
    }

    fn change(&self, index: usize, figure: &HistorySpec, threshold: f64) -> HistoryChange {
        let ChangePoint { at, difference } = self.points[index];
        let Difference { change, error, freedom, p } = difference;
        let half = t95(freedom) * error;
        let [mean, low, high] =
            [change, change - half, change + half].map(|end| if self.share { end } else { end.exp_m1() });
        let (begin, end) = self.bounds(index);
        let level = |part| if self.share { self.series.mean(part) } else { self.series.mean(part).exp() };
        let worse = (change > 0.0) != figure.more_is_better;
        let (new, undone) = (self.is_new(index), self.is_undone(index));
        let least = if self.share { SAME_FAILED_SHARE } else { threshold };
        HistoryChange {
            figure: figure.name.into(),
            unit: figure.unit,
            at: self.runs[at],
            before: level(begin..at),
            after: level(at..end),
            change: mean,
            low,
            high,
            p,
            worse,
            new,
            undone,
            fails: worse && new && !undone && mean.abs() >= least,
            ..HistoryChange::default()
        }
    }

    /// Returns true if the values before the recent runs do not show the change at `index`. An analysis of the earlier
    /// values alone may find the change at a slightly different run. A change point of the earlier values is therefore
    /// the same change if it has the same direction and lies between the neighbouring change points.
    fn is_new(&self, index: usize) -> bool {
        let change = self.points[index].difference.change;
        let (begin, end) = self.bounds(index);
        let known = |point: &ChangePoint| {
            point.at > begin
                && point.at < end
                && point.difference.change.is_sign_positive() == change.is_sign_positive()
        };
        !self.earlier.iter().any(known)
    }

    /// Returns true if the change was undone. A change is undone if the values after the last change do not differ from
    /// the values before this change, or differ in the opposite direction.
    fn is_undone(&self, index: usize) -> bool {
        let ChangePoint { at, difference } = self.points[index];
        let last = self.points.last().map_or(0, |point| point.at);
        let now = self.series.compare(self.bounds(index).0..at, last..self.runs.len());
        now.p >= CHANGE_LEVEL || now.change.is_sign_positive() != difference.change.is_sign_positive()
    }
}

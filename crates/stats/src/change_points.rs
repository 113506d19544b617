//! Changes of the mean of a series: E-divisive (D. Matteson and N. James, *Journal of the American Statistical
//! Association* 109, 2014) with Student's t test. Windows and a merging step are added as in Hunter (M. Fleming and
//! others, *ICPE* 2023) and Apache Otava.
//!
//! Hunter's t test assumes independent, normal values. With two additions to Hunter's method, this implementation is
//! also valid for dependent values with outliers. First, an isolated value that is far from its neighbours is moved
//! towards these neighbours. At least [`MIN_SEGMENT`] values lie between two changes, so an isolated value is not a
//! change. Second, the error of a mean takes the correlation of neighbouring values into account. The correlation is
//! estimated from the differences of neighbours, which changes of the mean hardly affect (S. Chakar and others,
//! *Bernoulli* 23, 2017). A third addition finds steps in short series that drift. Each step is compared with a random
//! walk whose increments are the series' usual differences. A step that is far larger than the random walk makes at one
//! point is significant.

mod neighbours;

use std::ops::Range;

use self::neighbours::{Neighbours, correlation, mean_variance, without_outliers};
use crate::number::median;
use crate::student::two_sided;

/// Minimum number of values between two changes, and before the first or after the last change. A group of fewer values
/// that differ from their neighbours may be outliers.
pub const MIN_SEGMENT: usize = 3;
/// Significance level of the t test for a change. Hunter's significance level of 0.001 finds as many true changes, but
/// three times as many false changes (simulated in `tests/change_points.rs`). The test is made at the split with the
/// largest difference. Even a series without a change often looks changed there, so the level must be strict.
pub const LEVEL: f64 = 0.0001;
/// Significance level that Hunter uses for its t test.
const HUNTER_LEVEL: f64 = 0.001;
/// Significance level at which a split of the series becomes a candidate: ten times Hunter's level, as in Hunter and
/// Otava. The later merging step tests the candidates with [`LEVEL`].
const CANDIDATE_LEVEL: f64 = 10.0 * HUNTER_LEVEL;
/// Number of values in one window. A search for a split looks only at one window, because the time of a search grows
/// with the square of the window's length. Otava uses windows of 50 values, in which a search does not find small
/// changes.
const WINDOW: usize = 200;

/// Difference of the means of two parts of a series, with its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Mean of the later part minus the mean of the earlier part. If the test for a step in a drifting series gives the
    /// smaller p-value, both means are over the [`MIN_SEGMENT`] values next to the change.
    pub change: f64,
    /// Standard error of the change.
    pub error: f64,
    /// Degrees of freedom of the standard error.
    pub freedom: f64,
    /// Two-sided p-value of Student's t test for this difference.
    pub p: f64,
}

impl Difference {
    /// Returns the difference with the smaller p-value. Change, error and p-value then belong to the same test.
    fn or_surer(self, other: Self) -> Self {
        if other.p < self.p { other } else { self }
    }
}

/// A change of the mean of a series: its position and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Index of the first value after the change.
    pub at: usize,
    /// Difference of the means before and after the change. Each mean is over the values up to the neighbouring change,
    /// or up to the end of the series. If the change was found as a step in a drifting series, each mean is over the
    /// [`MIN_SEGMENT`] values next to the change.
    pub difference: Difference,
}

/// A series of values in order of time.
#[derive(Clone, Debug)]
pub struct Series {
    /// Values minus `center`, with outliers moved towards their neighbours.
    values: Vec<f64>,
    /// Median of the series.
    center: f64,
    /// For each index, the sum of all earlier values and the sum of their squares.
    sums: Vec<[f64; 2]>,
    /// Correlation of neighbouring values.
    correlation: f64,
    /// Usual differences of neighbouring values.
    neighbours: Neighbours,
    /// Minimum standard deviation of each value.
    resolution: f64,
}

/// Returns the changes of the mean of `values`. `resolution` is the minimum standard deviation of a value. Returns no
/// changes if a value or its square is not finite.
pub fn change_points(values: &[f64], resolution: f64) -> Vec<ChangePoint> {
    Series::new(values, resolution).change_points()
}

impl Series {
    /// Prepares a series for the search for changes. `resolution` is the minimum standard deviation of a value.
    pub fn new(values: &[f64], resolution: f64) -> Self {
        let center = median(values.to_vec()).unwrap_or(0.0);
        let values: Vec<f64> = values.iter().map(|value| value - center).collect();
        let finite = values.iter().map(|value| value * value).sum::<f64>().is_finite();
        let values = if finite { values } else { Vec::new() };
        let values = without_outliers(&values, resolution);
        let mut sums = vec![[0.0; 2]];
        sums.extend(values.iter().scan([0.0; 2], |[sum, squares], value| {
            (*sum, *squares) = (*sum + value, *squares + value * value);
            Some([*sum, *squares])
        }));
        let neighbours = Neighbours::of(&values);
        Self { correlation: correlation(&values), neighbours, values, center, sums, resolution }
    }

    /// Returns the changes in order of time.
    pub fn change_points(&self) -> Vec<ChangePoint> {
        let mut points = self.candidates();
        points.sort_unstable();
        points.dedup();
        self.merged(&points)
    }

    /// Compares two parts of the series, by the means of the whole parts and by the step between the parts in a series
    /// that drifts. Returns the difference with the smaller p-value. The p-value is 1 if a part is shorter than
    /// [`MIN_SEGMENT`].
    pub fn compare(&self, before: Range<usize>, after: Range<usize>) -> Difference {
        let (end, begin) = (before.end, after.start);
        let found = self.compare_means(before, after);
        if found.p < 1.0 { found.or_surer(self.step(end, begin)) } else { found }
    }

    fn compare_means(&self, before: Range<usize>, after: Range<usize>) -> Difference {
        let [a, b] = [before, after].map(|part| self.part(&part));
        let (n, r2) = (a.n + b.n, self.correlation.powi(2));
        let variance = (a.squares + b.squares) / (a.n * (1.0 - a.factor) + b.n * (1.0 - b.factor));
        let error = ((variance.max(0.0) + self.resolution.powi(2)) * (a.factor + b.factor)).sqrt();
        let freedom = (n * (1.0 - r2) / (1.0 + r2) - 2.0).max(1.0);
        let change = b.mean - a.mean;
        let short = a.n.min(b.n) < MIN_SEGMENT as f64;
        let p = if short { 1.0 } else { two_sided(change / error, freedom) };
        Difference { change, error, freedom, p }
    }

    /// Compares the values on both sides of a split. The p-value is 1 if a split closer than [`MIN_SEGMENT`] values to
    /// an end of the series would explain more of the variance. A split so close to an end would only separate outliers
    /// from the other values.
    fn test(&self, begin: usize, at: usize, end: usize) -> Difference {
        let explained = |at: usize| {
            let [a, b] = [begin..at, at..end].map(|part| self.part(&part));
            a.n * b.n / (a.n + b.n) * (a.mean - b.mean).powi(2)
        };
        let first = (1..MIN_SEGMENT).filter(|_| begin == 0);
        let last = (1..MIN_SEGMENT).filter(|_| end == self.values.len()).map(|short| end.saturating_sub(short));
        let outlier = first.chain(last).any(|short| explained(short) > explained(at));
        let found = self.compare(begin..at, at..end);
        if outlier { Difference { p: 1.0, ..found } } else { found }
    }

    /// Returns the step between the values before `before` and those from `after` on, under the assumption of a random
    /// walk. The function compares the difference of two means of [`MIN_SEGMENT`] values with the differences of
    /// neighbours. Independent or less correlated values differ less, so for them the p-value is too large. The p-value
    /// is multiplied by the number of possible steps (Bonferroni), because the largest step is tested.
    fn step(&self, before: usize, after: usize) -> Difference {
        let (begin, end) = (before.saturating_sub(MIN_SEGMENT), after + MIN_SEGMENT);
        let change = self.part(&(after..end)).mean - self.part(&(begin..before)).mean;
        let usual = self.neighbours.mean_square.sqrt().hypot(self.resolution);
        // Each value between the two places adds the variance of one step of the walk.
        let error = usual * (WALK_VARIANCE + (after - before) as f64).sqrt();
        let freedom = self.neighbours.count;
        let few = end > self.values.len() || before < MIN_SEGMENT || freedom < MIN_SEGMENT as f64;
        let p = if few { 1.0 } else { two_sided(change / error, freedom) * self.values.len() as f64 };
        Difference { change, error, freedom, p: p.min(1.0) }
    }

    /// Returns the mean of a part of the series, with outliers moved towards their neighbours.
    pub fn mean(&self, part: Range<usize>) -> f64 {
        self.center + self.part(&part).mean
    }

    fn part(&self, part: &Range<usize>) -> Part {
        let at = |index: usize| self.sums.get(index).copied().unwrap_or([f64::NAN; 2]);
        let ([sum_0, squares_0], [sum_1, squares_1]) = (at(part.start), at(part.end));
        let n = part.len() as f64;
        let mean = (sum_1 - sum_0) / n;
        let squares = (squares_1 - squares_0 - n * mean * mean).max(0.0);
        Part { n, mean, squares, factor: mean_variance(n, self.correlation) }
    }

    /// Searches overlapping windows of the series for splits. Returns the splits whose two sides differ significantly
    /// at the level [`CANDIDATE_LEVEL`].
    fn candidates(&self) -> Vec<usize> {
        let (mut found, mut begin) = (Vec::new(), 0);
        loop {
            let end = (begin + WINDOW).min(self.values.len());
            let known = found.len();
            self.split(begin..end, &mut found);
            if end == self.values.len() {
                return found;
            }
            let last = found[known..].iter().copied().max().unwrap_or(0);
            begin = last.max(begin + WINDOW / 2);
        }
    }

    fn split(&self, part: Range<usize>, found: &mut Vec<usize>) {
        let Some([at, end]) = best_split(&self.values[part.clone()]).map(|ends| ends.map(|end| part.start + end))
        else {
            return;
        };
        // Another change may follow in the same part of the series. A test of all values up to the end of the part may
        // then miss the first of these changes. The change at `at` therefore also counts if a test of only the values
        // up to `end` shows it.
        let p = [end, part.end].map(|end| self.test(part.start, at, end).p);
        if p.into_iter().any(|p| p < CANDIDATE_LEVEL) {
            found.push(at);
            self.split(part.start..at, found);
            self.split(at..part.end, found);
        }
    }

    /// Removes the weakest candidate, again and again, until all remaining candidates are significant.
    fn merged(&self, candidates: &[usize]) -> Vec<ChangePoint> {
        let mut bounds: Vec<usize> = candidates.to_vec();
        bounds.insert(0, 0);
        bounds.push(self.values.len());
        let point = |bounds: &[usize], index: usize| ChangePoint {
            at: bounds[index],
            difference: self.test(bounds[index - 1], bounds[index], bounds[index + 1]),
        };
        let mut points: Vec<ChangePoint> = (1..bounds.len() - 1).map(|index| point(&bounds, index)).collect();
        loop {
            let weakest = points.iter().enumerate().max_by(|a, b| a.1.difference.p.total_cmp(&b.1.difference.p));
            let Some((weakest, _)) = weakest.filter(|(_, point)| point.difference.p >= LEVEL) else { return points };
            points.remove(weakest);
            bounds.remove(weakest + 1);
            for near in weakest.saturating_sub(1)..points.len().min(weakest + 1) {
                points[near] = point(&bounds, near + 1);
            }
        }
    }
}

/// Variance of the difference between the means of the three values before and after a point of a random walk. The
/// variance is divided by the variance of one step: 1 + 2 ((2/3)^2 + (1/3)^2).
const WALK_VARIANCE: f64 = 19.0 / 9.0;

/// Statistics of a part of a series: number of values, mean and scatter.
struct Part {
    n: f64,
    mean: f64,
    /// Sum of squared deviations from the mean.
    squares: f64,
    /// Variance of the mean divided by the variance of one value.
    factor: f64,
}

/// Returns two indexes, found by the method E-divisive: the index of the best split, and the index at which the part
/// after the split ends. The two indexes maximise the weighted energy distance between two parts. The first part ends
/// at the split, and the second part lasts from the split to the second index. Returns `None` if there are too few
/// values.
fn best_split(values: &[f64]) -> Option<[usize; 2]> {
    let n = values.len();
    // Row j contains, for each index i, the sum of the distances from value j to all values before index i.
    let distances: Vec<f64> = values.iter().flat_map(|value| distance_sums(values, *value)).collect();
    let between =
        |j: usize, part: Range<usize>| distances[j * (n + 1) + part.end] - distances[j * (n + 1) + part.start];
    let (mut best, mut before) = (None, 0.0);
    for at in 1..n {
        before += between(at - 1, 0..at - 1);
        let (left, mut across, mut after) = (at as f64, 0.0, 0.0);
        for last in at..n {
            across += between(last, 0..at);
            after += between(last, at..last);
            let right = (last + 1 - at) as f64;
            if at < MIN_SEGMENT || last + 1 - at < MIN_SEGMENT {
                continue;
            }
            let within = right / (left - 1.0) * before + left / (right - 1.0) * after;
            let energy = 2.0 / (left + right) * (across - within);
            if best.is_none_or(|(_, most)| energy > most) {
                best = Some(([at, last + 1], energy));
            }
        }
    }
    best.map(|(ends, _)| ends)
}

fn distance_sums(values: &[f64], from: f64) -> impl Iterator<Item = f64> {
    let sums = values.iter().scan(0.0, move |sum, value| {
        *sum += (value - from).abs();
        Some(*sum)
    });
    std::iter::once(0.0).chain(sums)
}

#[cfg(test)]
mod tests;

//! Vertical axis of a chart in the live view. The scale of the axis is either linear, beginning at 0, or logarithmic.
//! If the objective limits the shown figure, a line marks the limit.

use report::{Unit, quantity};

use super::spread::{EIGHTHS, scale};

/// The vertical axis of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Axis {
    /// Makes an axis from 0 to a round number. If a few values are far above all others, the axis ends below them.
    pub(super) fn linear(values: &[f64]) -> Self {
        Self { low: 0.0, high: round_up(scale(values)), is_log: false }
    }

    /// Makes a logarithmic axis between two powers of ten. The axis contains `limit` and all values above 0.
    pub(super) fn log(values: &[f64], limit: Option<f64>) -> Self {
        let known = || values.iter().copied().chain(limit).filter(|v| v.is_finite() && *v > 0.0);
        let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
        if high <= 0.0 {
            return Self { low: 1.0, high: 1.0, is_log: true };
        }
        let low = low.log10().floor();
        Self { low: 10_f64.powf(low), high: 10_f64.powf(high.log10().ceil().max(low + 1.0)), is_log: true }
    }

    /// Returns true if no value is known yet. Without values, the lower and the upper end of an axis are equal.
    fn is_empty(self) -> bool {
        self.high <= self.low
    }

    /// Returns the height of a value on the axis, from 0 (bottom) to 1 (top).
    fn height(self, value: f64) -> f64 {
        let share = if self.is_log { (value / self.low).ln() / (self.high / self.low).ln() } else { value / self.high };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Returns the bars of all values as lines of text, from top to bottom. The resolution is an eighth of a line. A
    /// dashed line over the whole width marks `limit`.
    pub(super) fn bars(self, values: &[f64], height: usize, width: usize, limit: Option<f64>) -> Vec<String> {
        let eighths = |v: f64| if v.is_finite() { (self.height(v) * (height * 8) as f64) as usize } else { 0 };
        let limit = limit.filter(|_| !self.is_empty()).map(|limit| self.row(limit, height));
        let line = |row: usize| {
            let below = (height - 1 - row) * 8;
            let empty = if limit == Some(row) { '╌' } else { ' ' };
            let symbol = |v: Option<&f64>| EIGHTHS[v.map_or(0, |v| eighths(*v)).saturating_sub(below).min(8)];
            let cells = (0..width).map(|i| symbol(values.get(i)));
            cells.map(|cell| if cell == ' ' { empty } else { cell }).collect()
        };
        (0..height).map(line).collect()
    }

    /// Returns the row in which the top of a value's bar is, counted from the top.
    fn row(self, value: f64, height: usize) -> usize {
        let from_bottom = (self.height(value) * height as f64).ceil().max(1.0) as usize;
        height.saturating_sub(from_bottom)
    }

    /// Returns the label of each row. If a row has several labels, the label of `limit` is used first, then the ends of
    /// the axis, then powers of ten.
    pub(super) fn labels(self, height: usize, unit: Unit, limit: Option<f64>) -> Vec<String> {
        let mut labels = vec![String::new(); height];
        if self.is_empty() {
            return labels;
        }
        let mut put = |row: usize, value: f64| {
            labels.get_mut(row).filter(|label| label.is_empty()).into_iter().for_each(|label| {
                *label = quantity(value, unit);
            });
        };
        limit.into_iter().for_each(|limit| put(self.row(limit, height), limit));
        put(0, self.high);
        put(height.saturating_sub(1), self.low);
        let mut tick = self.low * 10.0;
        while self.is_log && tick < self.high {
            put(self.row(tick, height), tick);
            tick *= 10.0;
        }
        labels
    }

    /// Returns the value at the top of the axis if the largest value, `most`, does not fit on the axis; otherwise
    /// `None`.
    pub(super) fn cut(self, most: f64) -> Option<f64> {
        Some(self.high).filter(|high| *high < most)
    }
}

/// Rounds up to the next round number, which is at most a half larger than the value.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 0.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0]
        .into_iter()
        .map(|step| step * power)
        .find(|end| *end >= value)
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_proportional_to_its_value() {
        let axis = Axis { low: 0.0, high: 16.0, is_log: false };
        assert_eq!(axis.bars(&[0.0, 1.0, 8.5, 12.0, 16.0, f64::NAN], 2, 6, None), ["   ▄█ ", " ▁███ "]);
        assert_eq!(Axis::linear(&[0.0, f64::NAN]).bars(&[0.0, f64::NAN], 1, 2, None), ["  "]);
        assert_eq!((Axis::linear(&[488.0]).high, Axis::linear(&[1000.0]).high), (500.0, 1000.0));
        assert_eq!(Axis::linear(&[560.0]).high, 600.0, "an earlier axis to 1,000 left half of the chart blank");
    }

    /// On a logarithmic axis, a bar of 2 ms is visible beside a bar of 1.47 s. The limit has a line and a label.
    #[test]
    fn a_log_axis_shows_short_times_and_the_limit() {
        let (values, limit) = ([2_000.0, 1_470_000.0], Some(20_000.0));
        let axis = Axis::log(&values, limit);
        let bars = axis.bars(&values, 4, 4, limit);
        assert!(bars.iter().any(|row| !row.starts_with([' ', '╌'])), "{bars:?}");
        assert_eq!((bars[3].as_str(), bars[2].as_str()), ("▂█  ".replace('▂', &bars[3][..3]).as_str(), "╌█╌╌"));
        assert_eq!(axis.labels(4, Unit::Micros, limit), ["10 s", "1 s", "20 ms", "1 ms"]);
    }

    #[test]
    fn an_axis_without_values_is_blank() {
        let axis = Axis::log(&[f64::NAN], None);
        assert_eq!(axis.bars(&[f64::NAN], 2, 3, None), ["   ", "   "]);
        assert_eq!(axis.labels(2, Unit::Micros, None), ["", ""]);
    }
}

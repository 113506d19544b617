//! Maps values to pixels, and chooses ticks: steps of 1, 2 and 5, powers of ten or of two, or nines (90 %, 99 %, 99.9
//! %).

use super::{Axis, Scale};
use run::number::{Unit, quantity, significant};

/// Range of an axis, and the pixels that it covers.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    scale: Scale,
    /// Lower end of the range, transformed by the scale (for example to a logarithm). The field `high` is the upper end
    /// of the range, also transformed by the scale.
    low: f64,
    high: f64,
    /// Pixel position of the range's lower end. The field `end` is the pixel position of the range's upper end.
    begin: f64,
    end: f64,
}

/// A tick of an axis: its value and its label.
#[derive(Clone, Debug)]
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: String,
}

impl Scale {
    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log | Self::Log2 => value.ln(),
            Self::Nines => -(1.0 - value).log10(),
        }
    }

    fn can_show(self, value: f64) -> bool {
        value.is_finite()
            && match self {
                Self::Linear => value.abs() < 1e200,
                Self::Log | Self::Log2 => value > 0.0,
                Self::Nines => (0.0..1.0).contains(&value),
            }
    }
}

impl View {
    /// Returns the view of an axis whose range covers the values of the data. `round` is the number of ticks for which
    /// the axis has space. If `round` is given, a linear range is extended to the next ticks. If `round` is `None`, a
    /// linear range ends where the data ends.
    pub(super) fn new(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        pixels: (f64, f64),
        round: Option<usize>,
    ) -> Self {
        let scale = axis.scale;
        let mut range = None;
        for v in values.chain(axis.from).chain(axis.to).filter(|v| scale.can_show(*v)) {
            let (low, high) = range.unwrap_or((v, v));
            range = Some((v.min(low), v.max(high)));
        }
        let (low, high) = range.unwrap_or(match scale {
            Scale::Nines => (0.0, 0.99),
            Scale::Linear => (0.0, 1.0),
            Scale::Log | Scale::Log2 => (1.0, 10.0),
        });
        let (low, high) = widen(axis, low, high, round);
        Self { scale, low: scale.forward(low), high: scale.forward(high), begin: pixels.0, end: pixels.1 }
    }

    /// Returns the pixel position of a value; `None` if the scale cannot show the value.
    pub(super) fn at(&self, value: f64) -> Option<f64> {
        if !self.scale.can_show(value) {
            return None;
        }
        let span = self.high - self.low;
        let share = if span > 0.0 { (self.scale.forward(value) - self.low) / span } else { 0.5 };
        let place = self.begin + share * (self.end - self.begin);
        // SVG renderers store coordinates in single precision, so very large positions are limited.
        place.is_finite().then(|| place.clamp(-1e5, 1e5))
    }

    /// Returns the pixel position of a value; `None` if the value is outside the range.
    pub(super) fn inside(&self, value: f64) -> Option<f64> {
        let (from, to) = (self.begin.min(self.end), self.begin.max(self.end));
        self.at(value).filter(|p| (from - 0.5..=to + 0.5).contains(p))
    }

    /// Returns the ticks of the axis. `most` is the approximate maximum number of ticks.
    pub(super) fn ticks(&self, axis: &Axis, most: usize) -> Vec<Tick> {
        let values = match self.scale {
            Scale::Linear => self.linear_values(axis, most),
            Scale::Log => decades(self.low.exp(), self.high.exp(), most),
            Scale::Log2 => powers_of_two(self.low.exp(), self.high.exp(), most),
            Scale::Nines => nines(self.high),
        };
        let label = |v: f64| match self.scale {
            Scale::Nines => format!("{}%", nines_label(v)),
            // A zero has no unit, because a label such as `0 s` beside `10 ms` would only distract.
            _ if v == 0.0 => "0".into(),
            _ => quantity(v, axis.unit),
        };
        let inside = values.into_iter().filter(|v| self.inside(*v).is_some());
        inside.map(|value| Tick { value, label: label(value) }).collect()
    }

    /// Returns the values of the ticks of a linear axis. A single tick would not show the scale, so an axis whose range
    /// ends before the second tick gets ticks at smaller distances.
    fn linear_values(&self, axis: &Axis, most: usize) -> Vec<f64> {
        let most = most.max(1);
        let of = |most: usize| linear(self.low, self.high, step(axis, (self.high - self.low) / most as f64), most);
        [most, 2 * most, 4 * most].into_iter().map(of).find(|values| values.len() > 1).unwrap_or_else(|| of(most))
    }
}

/// Extends the range of an axis. If `round` is given, a linear range is extended to ticks. A logarithmic range gets a
/// margin, so that the outermost points do not lie on the frame.
fn widen(axis: &Axis, low: f64, high: f64, round: Option<usize>) -> (f64, f64) {
    let (low, high) = match axis.scale {
        Scale::Linear if round.is_none() && high > 0.0 => (if axis.from.is_none() { low.min(0.0) } else { low }, high),
        Scale::Linear => {
            let ticks = round.unwrap_or(5);
            let low = if axis.from.is_none() { low.min(0.0) } else { low };
            // Leaves space for a label above the highest point.
            let high = if axis.to.is_none() && high > 0.0 { high * 1.03 } else { high };
            let span = if high > low { high - low } else { high.abs().max(1.0) };
            let step = step(axis, span / ticks.max(1) as f64);
            let up = |v: f64| (v / step - 1e-9).ceil() * step;
            ((low / step + 1e-9).floor() * step, up(low.max(high)).max(low + step))
        }
        Scale::Log | Scale::Log2 if high <= low => (low / 2.0, high * 2.0),
        Scale::Log => (low / 1.15, high * 1.15),
        Scale::Log2 => (low / 1.08, high * 1.08),
        Scale::Nines => (0.0, high.max(0.9)),
    };
    (axis.from.filter(|v| axis.scale.can_show(*v)).unwrap_or(low), axis.to.filter(|v| *v > low).unwrap_or(high))
}

/// Returns the smallest step that is at least `length` and that is 1, 2 or 5 times a power of ten.
fn step_125(length: f64) -> f64 {
    if !(length.is_finite() && length > 0.0) {
        return 1.0;
    }
    let decade = 10f64.powf(length.log10().floor());
    let ratio = length / decade;
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| ratio <= f * 1.000_001).unwrap_or(10.0);
    factor * decade
}

/// Returns the distance between the ticks of a linear axis. The distance between two ticks is at least `length`; for
/// times, it is at least three quarters of `length`. On an axis of sizes, the ticks are a power of two apart. On an
/// axis of long times, the ticks are a number of minutes, hours or days apart. On an axis with any other unit, the
/// ticks are 1, 2 or 5 times a power of ten apart.
fn step(axis: &Axis, length: f64) -> f64 {
    let two = length.max(1.0).log2().ceil().exp2();
    match axis.unit {
        Unit::Size if two.is_finite() => two,
        Unit::Seconds if length > 60.0 && length.is_finite() => time_step(length),
        _ => step_125(length),
    }
}

/// Returns the smallest step of minutes, hours or days that is at least three quarters of `length_s`. The step may be
/// smaller than `length_s`, because labels such as `3 h` need little space.
fn time_step(length_s: f64) -> f64 {
    const MINUTES: [f64; 12] = [1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 180.0, 360.0, 720.0, 1440.0];
    let minutes = MINUTES.into_iter().find(|minutes| length_s * 0.75 <= minutes * 60.0 * 1.000_001);
    minutes.map_or_else(|| 86_400.0 * step_125(length_s / 86_400.0), |minutes| minutes * 60.0)
}

fn linear(low: f64, high: f64, step: f64, most: usize) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    (0..=most + 2).map(|i| (first + i as f64) * step).take_while(|v| *v <= high + step * 1e-6).collect()
}

/// Minimum number of ticks of a logarithmic axis. If an axis spans less than a power of ten and would have fewer ticks,
/// it gets ticks at equal distances instead.
const MIN_LOG_TICKS: usize = 3;

fn decades(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (from, to) = (low.log10().floor().max(-300.0) as i32, high.log10().ceil().min(300.0) as i32);
    let count = (high / low).log10();
    let whole = (from..=to).filter(|e| (low..=high).contains(&10f64.powi(*e))).count();
    // One or two labels would not show that the scale is logarithmic. A logarithmic axis with few labels therefore gets
    // further labels between the powers of ten.
    let is_sparse = whole < 2 || whole < MIN_LOG_TICKS && 3 * whole <= most + 1;
    let factors: &[f64] = if count * 3.0 <= most as f64 || is_sparse { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let skip = ((count / most.max(1) as f64).ceil() as usize).max(1);
    let values: Vec<f64> =
        (from..=to).step_by(skip).flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e))).collect();
    let shown = values.iter().filter(|v| (low..=high).contains(*v)).count();
    let is_short = count < 1.0 && shown < MIN_LOG_TICKS;
    if is_short { linear(low, high, step_125((high - low) / most.max(1) as f64), most) } else { values }
}

fn powers_of_two(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (from, to) = (low.log2().ceil().max(-1000.0) as i32, high.log2().floor().min(1000.0) as i32);
    if to <= from {
        // A short range has fewer than two powers of two, which would not show the scale. Prefers whole numbers.
        let least = if low.ceil() < high.floor() { 1.0 } else { 0.0 };
        return linear(low, high, step_125((high - low) / most.max(1) as f64).max(least), most);
    }
    let skip = ((f64::from(to - from + 1) / most.max(1) as f64).ceil() as usize).max(1);
    (from..=to).step_by(skip).map(|e| 2f64.powi(e)).collect()
}

fn nines(high: f64) -> Vec<f64> {
    let mut values = vec![0.0, 0.5];
    values.extend((1..=high.clamp(1.0, 9.0) as i32).map(|n| 1.0 - 10f64.powi(-n)));
    values
}

fn nines_label(share: f64) -> String {
    let percent = share * 100.0;
    if percent <= 99.5 { significant(percent) } else { format!("{percent:.7}").trim_end_matches('0').into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis, values: &[f64], most: usize) -> Vec<String> {
        let view = View::new(axis, values.iter().copied(), (0.0, 100.0), Some(most));
        view.ticks(axis, most).into_iter().map(|t| t.label).collect()
    }

    #[test]
    fn a_short_logarithmic_axis_has_several_ticks() {
        let axis = Axis::new("response", Unit::Micros, Scale::Log);
        assert_eq!(labels(&axis, &[5_300.0, 11_000.0], 5), ["6 ms", "8 ms", "10 ms", "12 ms"]);
        assert_eq!(labels(&axis, &[900.0, 60_000.0], 5), ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms"]);
    }

    #[test]
    fn linear_axes_start_at_zero_and_step_1_2_5() {
        let axis = Axis::new("rate", Unit::PerSecond, Scale::Linear);
        assert_eq!(
            labels(&axis, &[7.0, 48_300.0], 5),
            ["0", "10,000/s", "20,000/s", "30,000/s", "40,000/s", "50,000/s"]
        );
    }

    #[test]
    fn logarithmic_axes_tick_at_decades_or_1_2_5() {
        let axis = Axis::new("p99", Unit::Micros, Scale::Log);
        assert_eq!(labels(&axis, &[90.0, 950.0], 6), ["100 µs", "200 µs", "500 µs", "1 ms"]);
        assert_eq!(labels(&axis, &[3_000.0, 40_000.0], 2), ["5 ms", "10 ms", "20 ms"]);
        assert_eq!(labels(&axis, &[9.0, 1e6], 6), ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"]);
        let axis = Axis::new("clients", Unit::Plain, Scale::Log2);
        assert_eq!(labels(&axis, &[1.0, 64.0], 8), ["1", "2", "4", "8", "16", "32", "64"]);
    }

    #[test]
    fn a_short_axis_of_powers_of_two_has_ticks() {
        let axis = Axis::new("workers", Unit::Plain, Scale::Log2);
        assert_eq!(labels(&axis, &[5.0, 7.0], 5), ["5", "6", "7"]);
        assert_eq!(labels(&axis, &[2.0, 3.0], 5), ["2", "3"]);
        assert_eq!(labels(&axis, &[10.0, 14.0], 5), ["10", "12", "14"]);
        assert_eq!(labels(&axis, &[8.0, 8.0], 5), ["4", "8", "16"]);
        assert!(labels(&axis, &[0.6, 0.9], 5).len() > 1);
    }

    #[test]
    fn sizes_step_by_powers_of_two() {
        let axis = Axis::new("record", Unit::Size, Scale::Linear);
        assert_eq!(labels(&axis, &[512.0, 65_536.0], 4), ["0", "32 KiB", "64 KiB", "96 KiB"]);
    }

    #[test]
    fn long_times_step_by_minutes_and_hours() {
        let axis = Axis::new("time", Unit::Seconds, Scale::Linear);
        assert_eq!(labels(&axis, &[0.0, 41_000.0], 4), ["0", "3 h", "6 h", "9 h", "12 h"]);
        let view = View::new(&axis, [0.0, 43_190.0].into_iter(), (0.0, 100.0), None);
        assert_eq!(
            view.ticks(&axis, 3).iter().map(|tick| tick.value / 3600.0).collect::<Vec<_>>(),
            [0.0, 3.0, 6.0, 9.0]
        );
        assert_eq!(labels(&axis, &[0.0, 40.0], 4), ["0", "20 s", "40 s", "60 s"]);
        assert_eq!(labels(&axis, &[0.0, 8.0 * 86_400.0], 5), ["0", "48 h", "96 h", "144 h", "192 h", "240 h"]);
        assert_eq!(labels(&axis, &[0.0, 1700.0], 4), ["0", "10 min", "20 min", "30 min"]);
    }

    #[test]
    fn an_axis_never_has_a_single_tick() {
        let axis = Axis::new("time", Unit::Seconds, Scale::Linear);
        let view = View::new(&axis, [0.0, 0.43].into_iter(), (0.0, 100.0), None);
        let labels: Vec<String> = view.ticks(&axis, 2).into_iter().map(|tick| tick.label).collect();
        assert_eq!(labels, ["0", "200 ms", "400 ms"]);
    }

    #[test]
    fn nines_have_equal_distances() {
        let axis = Axis::new("share", Unit::Share, Scale::Nines);
        assert_eq!(labels(&axis, &[0.0, 0.9999], 6), ["0%", "50%", "90%", "99%", "99.9%", "99.99%"]);
    }

    #[test]
    fn values_outside_of_the_scale_and_huge_ones_are_left_out() {
        let axis = Axis::new("x", Unit::Plain, Scale::Log);
        let view = View::new(&axis, [f64::NAN, -1.0, 0.0, f64::INFINITY, 3.0].into_iter(), (0.0, 100.0), Some(5));
        assert!(view.at(0.0).is_none() && view.at(f64::NAN).is_none() && view.at(3.0).is_some());
        for scale in [Scale::Linear, Scale::Log, Scale::Log2, Scale::Nines] {
            let axis = Axis::new("x", Unit::Plain, scale);
            for pair in [[1e-300, 1e300], [f64::MIN, f64::MAX], [0.0, 0.0], [-5.0, -5.0]] {
                assert!(labels(&axis, &pair, 6).len() < 40);
            }
        }
    }
}

//! Maps values to pixels, and labels the ticks of an axis.

use super::ticks::{decades, linear, nines, nines_label, powers_of_two, step};
use super::{Axis, Scale};
use run::number::quantity;

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

#[cfg(test)]
mod tests {
    use run::number::Unit;

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

//! Writes the numbers of `run.json` in short forms: whole numbers without `.0`, and derived figures with six
//! significant digits.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::{Cost, FigureUnit, Reading};

/// A number that is written as an integer if it is a whole number.
pub(crate) struct Short(pub(crate) f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        /// Limit up to which an `f64` holds every whole number exactly.
        const MAX_EXACT: f64 = 9_007_199_254_740_992.0;
        match self.0.fract() == 0.0 && self.0.abs() < MAX_EXACT {
            true => s.serialize_i64(self.0 as i64),
            false => s.serialize_f64(self.0),
        }
    }
}

/// Writes one number.
pub(crate) fn one<S: Serializer>(value: &f64, s: S) -> Result<S::Ok, S::Error> {
    Short(*value).serialize(s)
}

/// Writes a list of numbers.
pub(crate) fn list<S: Serializer>(values: &[f64], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(values.iter().map(|value| Short(*value)))
}

/// Writes a list of numbers; a missing number becomes `null`.
pub(crate) fn optional<S: Serializer>(values: &[Option<f64>], s: S) -> Result<S::Ok, S::Error> {
    s.collect_seq(values.iter().map(|value| value.map(Short)))
}

/// Writes the derived figures that have a value other than 0, by name. Leaves out figures of 0, because half of a
/// trial's counters stay at 0 and would make the file large. Also leaves out missing figures, because the recording
/// contains the reasons.
pub(crate) fn readings<K: Serialize, S: Serializer>(all: &BTreeMap<K, Reading>, s: S) -> Result<S::Ok, S::Error> {
    let other_than_0 = all.iter().filter(|(_, reading)| reading.value() != Some(0.0));
    s.collect_map(other_than_0.filter_map(|(name, reading)| Some((name, derived(reading)?))))
}

/// Writes each cost with its name. Leaves out costs of 0.
pub(crate) fn costs<S: Serializer>(all: &BTreeMap<String, Cost>, s: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Written {
        per_request: Short,
        unit: FigureUnit,
    }
    let written = |cost: &Cost| Some(Written { per_request: derived(&cost.per_request)?, unit: cost.unit });
    let other_than_0 = all.iter().filter(|(_, cost)| cost.per_request.value() != Some(0.0));
    s.collect_map(other_than_0.filter_map(|(name, cost)| Some((name, written(cost)?))))
}

/// Returns a derived figure rounded to six digits. A newer version can compute the exact figure again from the samples.
fn derived(reading: &Reading) -> Option<Short> {
    reading.value().map(|value| Short(six_digits(value)))
}

/// Rounds to six significant digits. Whole numbers keep all digits, because counts are exact. Numbers of a million or
/// more that are not whole are rounded to whole numbers.
pub fn six_digits(value: f64) -> f64 {
    match value.fract() == 0.0 || value.abs() >= 1e6 {
        true => value.round(),
        // The number is formatted and parsed, because dividing by powers of ten adds rounding errors.
        false => format!("{value:.5e}").parse().unwrap_or(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_figures_have_six_digits_and_counts_have_all() {
        let write = |value: f64| serde_json::to_string(&derived(&Reading::Value(value))).unwrap();
        for (value, text) in [
            (12_182.028_000_000_006, "12182"),
            (10.798_359_750_059_465, "10.7984"),
            (0.033_233_421_992_761_17, "0.0332334"),
            (-1.0 / 3.0, "-0.333333"),
            (503_817_130.0, "503817130"),
            (10_399_391_744.666, "10399391745"),
            (0.0, "0"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
        ] {
            assert_eq!(write(value), text);
        }
        assert!(derived(&Reading::absent("no quota is set")).is_none());
    }

    #[test]
    fn figures_of_0_and_figures_without_a_value_are_left_out() {
        let cost = |per_request| Cost { per_request, unit: FigureUnit::Micros };
        let mut side = crate::Side::default();
        for (name, reading) in [
            ("tcp.in_segs", Reading::Value(7.0)),
            ("tcp.retrans_segs", Reading::Value(0.0)),
            ("cgroup.cpu_quota", Reading::absent("no quota is set")),
        ] {
            side.counters.insert(crate::CounterId::new(name), reading.clone());
            side.costs.insert(name.into(), cost(reading));
        }
        let written = serde_json::to_value(&side).unwrap();
        assert_eq!(written["counters"], serde_json::json!({ "tcp.in_segs": 7 }));
        assert_eq!(written["costs"].as_object().unwrap().keys().collect::<Vec<_>>(), ["tcp.in_segs"]);
    }
}

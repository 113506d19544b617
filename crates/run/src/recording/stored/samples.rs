//! Stores the values of one column as differences. The differences are whole thousandths, so reading restores the
//! values without a rounding error.

use serde::{Deserialize, Serialize};

use crate::short;

/// Values of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Samples {
    /// All samples have one common value, which is stored as its difference from the start value.
    Constant(#[serde(serialize_with = "short::one")] f64),
    /// For each sample, the difference from the sample before it; for the first sample, the difference from the start
    /// value.
    Steps(#[serde(serialize_with = "short::list")] Vec<f64>),
    /// The values of the column themselves, because some have more than three decimals or are very large.
    Exact {
        /// One value per sample.
        values: Vec<f64>,
    },
}

impl Samples {
    /// Stores the values of a column as differences between successive values, if these differences are exact. If
    /// differences between the values are not exact, stores the values themselves.
    pub(super) fn store(values: &[f64], start: f64) -> Self {
        let stored = Self::differences(values, start);
        let same = |stored: &Self| stored.values(start, values.len()).is_some_and(|read| read == values);
        stored.filter(same).unwrap_or_else(|| Self::Exact { values: values.to_vec() })
    }

    /// Returns true if all samples have the start value.
    pub(super) fn is_start(&self) -> bool {
        matches!(self, Self::Constant(step) if *step == 0.0)
    }

    fn differences(values: &[f64], start: f64) -> Option<Self> {
        let mut last = thousandths(start)?;
        let mut step = |value: &f64| {
            let next = thousandths(*value)?;
            Some(number(next - std::mem::replace(&mut last, next)))
        };
        let steps: Vec<f64> = values.iter().map(&mut step).collect::<Option<_>>()?;
        match steps.get(1..).is_none_or(|later| later.iter().all(|step| *step == 0.0)) {
            true => Some(Self::Constant(steps.first().copied().unwrap_or(0.0))),
            false => Some(Self::Steps(steps)),
        }
    }

    /// Returns the values of `count` samples; `None` if the number of stored values differs from `count`.
    pub(super) fn values(&self, start: f64, count: usize) -> Option<Vec<f64>> {
        let start = nearest_thousandths(start);
        match self {
            Self::Constant(step) => Some(vec![number(start.saturating_add(nearest_thousandths(*step))); count]),
            Self::Steps(steps) if steps.len() == count => Some(sums(start, steps)),
            Self::Exact { values } if values.len() == count => Some(values.clone()),
            _ => None,
        }
    }
}

fn sums(start: i64, steps: &[f64]) -> Vec<f64> {
    let mut sum = start;
    let mut next = |step: &f64| {
        sum = sum.saturating_add(nearest_thousandths(*step));
        number(sum)
    };
    steps.iter().map(&mut next).collect()
}

/// Returns the start value of a column whose first value is `first`: the first value itself if differences from it are
/// exact, otherwise 0.
pub(super) fn start_value(first: Option<f64>) -> f64 {
    first.filter(|value| thousandths(*value).is_some()).unwrap_or(0.0)
}

/// Returns a value as a number of thousandths; `None` if this number is not whole, or is too large.
fn thousandths(value: f64) -> Option<i64> {
    /// Largest whole number for which any difference in thousandths fits into an `i64`.
    const MAX_WHOLE: f64 = (1_u64 << 51) as f64;
    /// Largest number for which the rounding error of an `f64` is below a thousandth.
    const MAX_DECIMAL: f64 = (1_u64 << 40) as f64;
    let most = if value.fract() == 0.0 { MAX_WHOLE } else { MAX_DECIMAL };
    let count = nearest_thousandths(value);
    (value.abs() <= most && number(count) == value).then_some(count)
}

/// Returns a value as a number of thousandths, rounded to a whole number.
fn nearest_thousandths(value: f64) -> i64 {
    let whole = (value.trunc() as i64).saturating_mul(1000);
    whole.saturating_add((value.fract() * 1000.0).round() as i64)
}

fn number(thousandths: i64) -> f64 {
    match thousandths % 1000 {
        0 => (thousandths / 1000) as f64,
        _ => thousandths as f64 / 1000.0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(values: &[f64], start: f64) -> String {
        serde_json::to_string(&Samples::store(values, start)).unwrap()
    }

    #[test]
    fn differences_are_short() {
        assert_eq!(written(&[45_330_660_000.0; 5], 45_330_660_000.0), "0");
        assert_eq!(written(&[503_830_112.0, 503_830_594.0, 503_830_593.0], 503_830_100.0), "[12,482,-1]");
        assert_eq!(written(&[432.837, 562.119, 1001.06], 0.0), "[432.837,129.282,438.941]");
        assert_eq!(written(&[], 7.0), "0");
    }

    #[test]
    fn values_that_differences_would_change_are_stored_as_they_are() {
        for value in [1.0 / 3.0, 1e300, -9e15, 2e12 + 0.001] {
            assert_eq!(Samples::store(&[value, 0.0], 0.0), Samples::Exact { values: vec![value, 0.0] });
        }
    }

    #[test]
    fn another_number_of_samples_is_refused() {
        assert_eq!(Samples::Steps(vec![1.0]).values(0.0, 2), None);
        assert_eq!(Samples::Exact { values: vec![1.0] }.values(0.0, 2), None);
        let extreme = Samples::Steps(vec![f64::MAX, f64::MAX, f64::MIN]);
        assert!(extreme.values(f64::NAN, 3).is_some_and(|values| values.iter().all(|value| value.is_finite())));
    }

    /// Returns typical values of counters: numbers of thousandths, large whole numbers, and arbitrary numbers.
    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![
            (-1_000_000_000_000_i64..1_000_000_000_000).prop_map(|n| n as f64 / 1000.0),
            (0_u64..1 << 53).prop_map(|n| n as f64),
            prop::num::f64::NORMAL,
        ]
    }

    proptest! {
        #[test]
        fn every_value_is_read_back(values in prop::collection::vec(value(), 0..6), start in value()) {
            let (start, count) = (start_value(Some(start)), values.len());
            let stored = Samples::store(&values, start);
            prop_assert_eq!(stored.values(start, count), Some(values));
            let text = serde_json::to_string(&stored).unwrap();
            let read: Samples = serde_json::from_str(&text).unwrap();
            // A parser may round the last bit of a number with many digits.
            let exact = matches!(stored, Samples::Exact { .. });
            prop_assert!(exact || read.values(start, count) == stored.values(start, count), "{}", text);
        }
    }
}

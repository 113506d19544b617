//! Reads and writes measured figures in JSON. JSON has no "not a number", so loadline writes an undefined figure as
//! `null`. [`Figure`] reads `null` back as not-a-number. loadline can read a run with an undefined figure, and the
//! figure never becomes 0.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serde adapter for measured figures in `run.json`. Every field with a measured figure has the attribute `serde(with =
/// "Figure")`. The adapter also describes the figure's field in the JSON schema. A test fails if a field with a
/// measured figure lacks this attribute.
pub(crate) struct Figure<T = f64>(PhantomData<T>);

/// Containers of figures: one figure, a list of figures, or figures by name.
pub(crate) trait Figures: Serialize {
    /// Type into which serde reads the figures; each `null` becomes `None`.
    type Read: for<'de> Deserialize<'de>;

    /// Converts the figures that serde read; `None` becomes not-a-number.
    fn of(read: Self::Read) -> Self;
}

impl Figures for f64 {
    type Read = Option<f64>;

    fn of(read: Option<f64>) -> Self {
        read.unwrap_or(f64::NAN)
    }
}

impl Figures for Vec<f64> {
    type Read = Vec<Option<f64>>;

    fn of(read: Self::Read) -> Self {
        read.into_iter().map(f64::of).collect()
    }
}

impl Figures for BTreeMap<String, f64> {
    type Read = BTreeMap<String, Option<f64>>;

    fn of(read: Self::Read) -> Self {
        read.into_iter().map(|(name, v)| (name, f64::of(v))).collect()
    }
}

impl<T: Figures> Figure<T> {
    pub(crate) fn serialize<S: Serializer>(figures: &T, s: S) -> Result<S::Ok, S::Error> {
        figures.serialize(s)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<T, D::Error> {
        T::Read::deserialize(d).map(T::of)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::{Check, Fit, Recording, Run, Trial, ValueName};

    const HELD: ValueName<f64> = ValueName::new("held");

    fn undefined() -> Run {
        let mut trial = Trial::default();
        trial.rates.completed_rate = f64::NAN;
        trial.latency_us.p99 = f64::INFINITY;
        trial.results.put(HELD, f64::NAN);
        trial.measured.series_completed = vec![f64::NAN];
        trial.client.recording = Recording { t_s: vec![0.0, f64::NAN], ..Recording::default() };
        let mut run = Run { elapsed_s: f64::NAN, trials: vec![trial], ..Run::default() };
        run.findings.checks.push(Check { value: f64::NAN, limit: 2.0, ..Check::default() });
        run.findings.fits.insert("usl".into(), Fit { coefficients: [("k".into(), f64::NAN)].into(), ..Fit::default() });
        run
    }

    /// Collects the paths of all numbers that, according to a schema, are never `null`.
    fn promised<'a>(spec: &'a Value, at: &str, found: &mut Vec<String>) {
        if spec.get("type") == Some(&"number".into()) {
            found.push(at.into());
        }
        let inner: Vec<(String, &'a Value)> = match spec {
            Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(items) => items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
            _ => Vec::new(),
        };
        inner.iter().for_each(|(name, value)| promised(value, &format!("{at}/{name}"), found));
    }

    /// loadline checks a plan before the run, so no number of a plan is undefined. Unlike a number of a plan, a
    /// measured figure may be undefined.
    #[test]
    fn every_measured_figure_may_be_null() {
        let (mut run, plan) = (crate::schema(), schemars::schema_for!(crate::Plan).to_value());
        for name in plan["$defs"].as_object().unwrap().keys() {
            run["$defs"].as_object_mut().unwrap().remove(name);
        }
        let mut found = Vec::new();
        promised(&run, "", &mut found);
        assert!(found.is_empty(), "these fields lack `serde(with = \"Figure\")`: {found:#?}");
        promised(&plan, "", &mut found);
        assert!(!found.is_empty(), "a plan has numbers, so this search finds nothing");
    }

    #[test]
    fn a_run_with_undefined_figures_fits_the_schema() {
        let schema = jsonschema::validator_for(&crate::schema()).unwrap();
        assert!(schema.is_valid(&serde_json::to_value(undefined()).unwrap()));
        // The schema still forbids `null` in fields that always have a value, such as `format`.
        assert!(!schema.is_valid(&serde_json::json!({ "format": null })));
    }

    #[test]
    fn a_run_with_undefined_figures_loads_and_none_turns_into_zero() {
        let run = undefined();
        let text = serde_json::to_string(&run).unwrap();
        let back: Run = serde_json::from_str(&text).unwrap();
        assert!(back.elapsed_s.is_nan() && back.trials[0].rates.completed_rate.is_nan());
        assert!(back.trials[0].latency_us.p99.is_nan() && back.trials[0].results.get(HELD).is_some_and(f64::is_nan));
        assert!(back.trials[0].client.recording.t_s[1].is_nan());
        assert!(back.findings.checks[0].value.is_nan() && back.findings.fits["usl"].coefficients["k"].is_nan());
        assert_eq!(back.findings.checks[0].limit, 2.0);
    }
}

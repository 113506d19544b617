//! JSON has no word for "not a number": such a figure is written as `null`. These readers take it back as what it was,
//! so that a run with an undefined figure still loads, and the figure never turns into 0.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};

/// A figure; `null` is not a number.
pub(crate) fn number<'de, D: Deserializer<'de>>(d: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(d)?.unwrap_or(f64::NAN))
}

/// Figures in a row.
pub(crate) fn list<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<f64>, D::Error> {
    Ok(Vec::<Option<f64>>::deserialize(d)?.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
}

/// Figures by name.
pub(crate) fn map<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let read = BTreeMap::<String, Option<f64>>::deserialize(d)?;
    Ok(read.into_iter().map(|(name, v)| (name, v.unwrap_or(f64::NAN))).collect())
}

/// What the schema of run.json says of a figure: a number, or `null` where it is none.
pub(crate) struct Number;
/// The same for figures in a row.
pub(crate) struct List;
/// The same for figures by name.
pub(crate) struct Map;

fn figure() -> Schema {
    json_schema!({ "type": ["number", "null"], "format": "double" })
}

macro_rules! schema_of {
    ($name:ident, $schema:expr) => {
        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                concat!("Figure", stringify!($name)).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

schema_of!(Number, figure());
schema_of!(List, json_schema!({ "type": "array", "items": figure() }));
schema_of!(Map, json_schema!({ "type": "object", "additionalProperties": figure() }));

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use crate::{Check, Fit, Recording, Run, Trial};

    fn undefined() -> Run {
        let mut trial = Trial::default();
        trial.rates.completed_rate = f64::NAN;
        trial.latency_us.p99 = f64::INFINITY;
        trial.axes.insert("x".into(), f64::NAN);
        trial.measured.series_completed = vec![f64::NAN];
        trial.client.recording = Recording { t_s: vec![0.0, f64::NAN], ..Recording::default() };
        let mut run = Run { elapsed_s: f64::NAN, trials: vec![trial], ..Run::default() };
        run.findings.checks.push(Check { value: f64::NAN, limit: 2.0, ..Check::default() });
        run.findings.fits.insert("usl".into(), Fit { coefficients: [("k".into(), f64::NAN)].into(), ..Fit::default() });
        run
    }

    /// Every place of a value that the schema allows no `null` at although there is one.
    fn forbidden(value: &Value, spec: &Value, all: &Value, at: &str, found: &mut Vec<String>) {
        let spec = spec.get("$ref").and_then(Value::as_str).and_then(|r| all.pointer(&r[1..])).unwrap_or(spec);
        let variants = ["anyOf", "oneOf"].iter().find_map(|key| spec.get(*key)?.as_array());
        let types = spec.get("type").map(|t| t.as_array().cloned().unwrap_or_else(|| vec![t.clone()]));
        match value {
            Value::Null => {
                let here = types.is_none_or(|t| t.contains(&"null".into()));
                let there = variants.is_some_and(|v| v.iter().any(|one| one["type"] == "null"));
                if !(here && variants.is_none() || there) {
                    found.push(at.into());
                }
            }
            Value::Array(items) => {
                items.iter().for_each(|item| forbidden(item, &spec["items"], all, &format!("{at}[]"), found));
            }
            Value::Object(fields) => {
                for (name, field) in fields {
                    let known = spec.pointer(&format!("/properties/{name}")).or(spec.get("additionalProperties"));
                    forbidden(field, known.unwrap_or(&Value::Null), all, &format!("{at}.{name}"), found);
                }
            }
            _ => {}
        }
    }

    #[test]
    fn the_schema_says_which_figures_may_be_null() {
        let (schema, mut found) = (crate::schema(), Vec::new());
        let value = serde_json::to_value(undefined()).unwrap();
        forbidden(&value, &schema, &schema, "run", &mut found);
        assert!(found.is_empty(), "null, and the schema forbids it: {found:?}");
        // Where null never stands, it stays forbidden.
        forbidden(&serde_json::json!({ "format": null }), &schema, &schema, "run", &mut found);
        assert_eq!(found, ["run.format"]);
    }

    #[test]
    fn a_run_with_undefined_figures_loads_and_none_turns_into_zero() {
        let run = undefined();
        let text = serde_json::to_string(&run).unwrap();
        let back: Run = serde_json::from_str(&text).unwrap();
        assert!(back.elapsed_s.is_nan() && back.trials[0].rates.completed_rate.is_nan());
        assert!(back.trials[0].latency_us.p99.is_nan() && back.trials[0].axes["x"].is_nan());
        assert!(back.trials[0].client.recording.t_s[1].is_nan());
        assert!(back.findings.checks[0].value.is_nan() && back.findings.fits["usl"].coefficients["k"].is_nan());
        assert_eq!(back.findings.checks[0].limit, 2.0);
    }
}

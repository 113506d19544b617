//! Parameters of an experiment, with their default values. loadline refuses a plan with an unknown name or a value of
//! the wrong type.

use std::collections::BTreeMap;

use lab::LabError;
use run::Plan;
use serde_json::Value;

use crate::Experiment;

impl Experiment {
    /// Checks the names, types and ranges of a plan's parameters. If a parameter is a list, a single value is converted
    /// to a list.
    pub fn check(&self, plan: &mut Plan) -> Result<(), LabError> {
        let defaults = self.defaults()?;
        for (name, value) in &mut plan.lab {
            match (name.as_str(), value) {
                ("quick", Value::Object(quick)) => {
                    quick.iter_mut().try_for_each(|(name, value)| self.fit(&defaults, name, value))?;
                }
                (name, value) => self.fit(&defaults, name, value)?,
            }
        }
        Ok(())
    }

    /// Returns all parameters of the experiment, with their default values.
    fn defaults(&self) -> Result<BTreeMap<String, Value>, LabError> {
        let mut all = Plan::from_toml("defaults", &format!("[lab]\n{}", self.unset))?.lab;
        let mut set = self.plan()?.lab;
        if let Some(Value::Object(quick)) = set.remove("quick") {
            all.extend(quick);
        }
        all.extend(set);
        Ok(all)
    }

    fn fit(&self, defaults: &BTreeMap<String, Value>, name: &str, value: &mut Value) -> Result<(), LabError> {
        let refused = |why: String| Err(LabError::set_up(format!("lab {}", self.name), why));
        let names = || defaults.keys().map(String::as_str);
        let Some(default) = defaults.get(name) else {
            let near = run::nearest(name, names()).map_or(String::new(), |near| format!("; did you mean {near:?}?"));
            let all: Vec<&str> = names().collect();
            return refused(format!("no parameter is called {name:?}{near} (parameters: {})", all.join(", ")));
        };
        if default.is_array() && !value.is_array() {
            *value = Value::Array(list(value.take()));
        }
        match fits(default, value) {
            true => Ok(()),
            false => refused(format!("parameter {name} needs {}, such as {default}; {value} is none", kind(default))),
        }
    }
}

/// Returns the entries of a list. Users may also write a list as a single value, or as text with commas between the
/// entries.
fn list(value: Value) -> Vec<Value> {
    let Value::String(text) = value else { return vec![value] };
    let entry = |part: &str| serde_json::from_str(part.trim()).unwrap_or_else(|_| part.trim().into());
    text.split(',').map(entry).collect()
}

/// Returns true if a value has the same type as the parameter's default value. Numbers must be at most 2^32 - 1. A
/// number may be negative only if the default is negative.
fn fits(default: &Value, value: &Value) -> bool {
    match (default, value) {
        (Value::Array(defaults), Value::Array(values)) => {
            !values.is_empty() && defaults.first().is_none_or(|default| values.iter().all(|value| fits(default, value)))
        }
        (Value::Number(default), Value::Number(value)) => {
            let may_be_negative = default.as_f64().is_some_and(|default| default < 0.0);
            value.as_f64().is_some_and(|value| (may_be_negative || value >= 0.0) && value <= f64::from(u32::MAX))
        }
        (Value::String(_), Value::String(_)) | (Value::Bool(_), Value::Bool(_)) => true,
        _ => false,
    }
}

/// Returns words for the type of a parameter, which follows from its default value.
fn kind(default: &Value) -> &'static str {
    match default {
        Value::Array(list) if list.first().is_some_and(Value::is_number) => "a list of numbers",
        Value::Array(_) => "a list",
        Value::Number(n) if n.as_f64().is_some_and(|n| n < 0.0) => "a number",
        Value::Number(_) => "a number of at least 0",
        Value::Bool(_) => "true or false",
        _ => "a text",
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::{EXPERIMENTS, experiment};

    fn checked(name: &str, set: &[(&str, Value)]) -> Result<Plan, String> {
        let experiment = experiment(name).unwrap();
        let mut plan = experiment.plan().unwrap();
        plan.lab.extend(set.iter().map(|(name, value)| ((*name).to_string(), value.clone())));
        experiment.check(&mut plan).map_err(|e| e.to_string()).map(|()| plan)
    }

    #[test]
    fn every_built_in_plan_passes() {
        for row in EXPERIMENTS {
            checked(row.name, &[]).unwrap();
        }
    }

    #[test]
    fn a_wrong_name_is_refused_with_the_valid_ones() {
        let error = checked("adding-clients", &[("nosuch", 1.into())]).unwrap_err();
        assert!(error.starts_with("lab adding-clients: no parameter is called \"nosuch\" (parameters: "), "{error}");
        assert!(error.contains("clients, congestion") && error.contains("seconds"), "{error}");
        let error = checked("adding-clients", &[("recrod_bytes", 1.into())]).unwrap_err();
        assert!(error.contains("did you mean \"record_bytes\"?"), "{error}");
        let quick = serde_json::json!({ "secnods": 1 });
        assert!(checked("adding-clients", &[("quick", quick)]).unwrap_err().contains("\"secnods\""));
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let text = |text: &str| Value::from(text);
        for (name, parameter, value, words) in [
            ("adding-clients", "clients", text("many"), "parameter clients needs a number of at least 0, such as 5"),
            ("adding-clients", "clients", (-1).into(), "-1 is none"),
            ("adding-clients", "clients", 1e12.into(), "is none"),
            ("adding-clients", "clients", true.into(), "a number"),
            ("event-api", "figures", 1.into(), "true or false"),
            ("io-models", "entries", text("1,x"), "a list of numbers"),
            ("io-models", "entries", Value::Array(vec![]), "[] is none"),
            ("io-models", "medium", 3.into(), "a text"),
        ] {
            let error = checked(name, &[(parameter, value)]).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        assert!(checked("adding-clients", &[("exchange_ms", (-1).into())]).is_ok(), "its default is negative");
    }

    #[test]
    fn one_value_and_text_with_commas_are_lists() {
        let of = |name, parameter: &str, value| checked(name, &[(parameter, value)]).unwrap().lab[parameter].clone();
        assert_eq!(of("io-models", "entries", 2.into()), serde_json::json!([2]));
        assert_eq!(of("io-models", "entries", "1, 3".into()), serde_json::json!([1, 3]));
        assert_eq!(of("wan", "models", "epoll,uring".into()), serde_json::json!(["epoll", "uring"]));
    }

    /// Returns the names of the parameters that a source file reads.
    fn read_in(file: &Path) -> Vec<String> {
        let text = std::fs::read_to_string(file).unwrap();
        let calls = ["number", "count", "numbers", "text", "texts", "flag", "with"].map(|call| format!(".{call}(\""));
        let names = calls.iter().flat_map(|call| text.split(call.as_str()).skip(1));
        names.filter_map(|rest| Some(rest.split_once('"')?.0.to_string())).collect()
    }

    #[test]
    fn every_parameter_that_the_code_reads_is_known() {
        let known: Vec<String> = EXPERIMENTS.iter().flat_map(|row| row.defaults().unwrap().into_keys()).collect();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let folders = ["connections", "event", "io_models", "records", "sclients"].map(|name| source.join(name));
        let files =
            folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap()).map(|entry| entry.unwrap().path());
        let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "rs")).collect();
        let read: Vec<(String, &Path)> =
            files.iter().flat_map(|file| read_in(file).into_iter().map(move |name| (name, file.as_path()))).collect();
        assert!(read.len() > 50, "{}", read.len());
        for (name, file) in read {
            assert!(known.contains(&name), "{}: {name}", file.display());
        }
    }
}

//! Parameters of an experiment: the table `[lab]` of its plan. The code that reads a parameter defines its default
//! value.

use std::collections::BTreeMap;

use run::Plan;
use serde_json::Value;

/// Parameters of an experiment, by name.
#[derive(Clone, Debug, Default)]
pub struct Parameters {
    values: BTreeMap<String, Value>,
    /// True if the user gave `--quick`.
    pub quick: bool,
}

impl Parameters {
    /// Takes the parameters out of a plan. With `quick`, the values in `[lab.quick]` take precedence. After the call,
    /// the table `[lab]` of the plan contains the values that the run uses.
    pub fn of(plan: &mut Plan, quick: bool) -> Self {
        let smaller = plan.lab.remove("quick");
        if let (true, Some(Value::Object(smaller))) = (quick, smaller) {
            plan.lab.extend(smaller);
        }
        Self { values: plan.lab.clone(), quick }
    }

    /// Returns a copy of the parameters in which the parameter `name` is `number`.
    pub fn with(&self, name: &str, number: f64) -> Self {
        let mut other = self.clone();
        other.values.insert(name.into(), number.into());
        other
    }

    /// Returns the parameter `name` as a number; `default` if it is missing or not a number.
    pub fn number(&self, name: &str, default: f64) -> f64 {
        self.values.get(name).and_then(Value::as_f64).filter(|v| v.is_finite()).unwrap_or(default)
    }

    /// Returns the parameter `name` as a whole number; `default` if it is missing or not a number from 0 to 2^32 - 1.
    pub fn count(&self, name: &str, default: u32) -> u32 {
        let value = self.number(name, f64::from(default));
        if (0.0..=f64::from(u32::MAX)).contains(&value) { value as u32 } else { default }
    }

    /// Returns the parameter `name` as a list of numbers; `default` if it is missing or has no numbers.
    pub fn numbers(&self, name: &str, default: &[f64]) -> Vec<f64> {
        let list = self.values.get(name).and_then(Value::as_array);
        let list = list.map(|l| l.iter().filter_map(Value::as_f64).collect::<Vec<_>>()).filter(|l| !l.is_empty());
        list.unwrap_or_else(|| default.to_vec())
    }

    /// Returns the parameter `name` as a text; `default` if it is missing or not a text.
    pub fn text(&self, name: &str, default: &str) -> String {
        self.values.get(name).and_then(Value::as_str).unwrap_or(default).to_string()
    }

    /// Returns the parameter `name` as a list of texts; `default` if it is missing or has no texts.
    pub fn texts(&self, name: &str, default: &[&str]) -> Vec<String> {
        let list = self.values.get(name).and_then(Value::as_array);
        let list = list.map(|l| l.iter().filter_map(|v| v.as_str().map(String::from)).collect::<Vec<_>>());
        list.filter(|l| !l.is_empty()).unwrap_or_else(|| default.iter().map(|t| (*t).to_string()).collect())
    }

    /// Returns the parameter `name` as true or false; `default` if it is missing or neither true nor false.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.values.get(name).and_then(Value::as_bool).unwrap_or(default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_values_take_precedence() {
        let text = "[lab]\nsizes = [1, 2]\nrounds = 9\nname = 'x'\n[lab.quick]\nrounds = 2\n";
        let plan = Plan::from_toml("x.toml", text).unwrap();
        let slow = Parameters::of(&mut plan.clone(), false);
        assert_eq!((slow.count("rounds", 1), slow.numbers("sizes", &[]), slow.quick), (9, vec![1.0, 2.0], false));
        let mut kept = plan;
        let quick = Parameters::of(&mut kept, true);
        assert_eq!((quick.count("rounds", 1), quick.text("name", "y"), quick.flag("z", true)), (2, "x".into(), true));
        assert!(kept.lab["rounds"] == 2 && !kept.lab.contains_key("quick"));
    }

    #[test]
    fn values_of_another_type_give_the_default() {
        let plan = &mut Plan::from_toml("x.toml", "[lab]\na = 'text'\nb = -1\n").unwrap();
        let p = Parameters::of(plan, false);
        assert_eq!((p.number("a", 3.0), p.count("b", 4), p.texts("c", &["d"])), (3.0, 4, vec!["d".to_string()]));
    }
}

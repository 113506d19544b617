//! Checks of an experiment.

use serde::{Deserialize, Serialize};

use crate::figure::Figure;

/// One check of an experiment: a claim that compares a value from the run with a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Check {
    /// The checked claim.
    pub name: String,
    /// Value computed from the run.
    #[serde(with = "Figure")]
    pub value: f64,
    /// Limit that the value is compared with: an expected value or a bound.
    #[serde(with = "Figure")]
    pub limit: f64,
    /// True if the check passed.
    pub pass: bool,
    /// Required relation between value and limit.
    pub relation: Relation,
}

impl Check {
    /// Makes a check, and decides whether it passes. A check with a value that is not a number never passes.
    pub fn new(name: impl Into<String>, value: f64, relation: Relation, limit: f64) -> Self {
        let pass = match relation {
            Relation::AtLeast => value >= limit,
            Relation::AtMost => value <= limit,
            Relation::Equals => value == limit,
        };
        Self { name: name.into(), value, limit, pass, relation }
    }
}

/// Relation between a value and a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Relation {
    /// The value must not be below the limit.
    #[serde(rename = "at least")]
    AtLeast,
    /// The value must not be above the limit.
    #[serde(rename = "at most")]
    AtMost,
    /// The value must equal the limit. loadline reads an unknown word in a stored run as `Equals`.
    #[default]
    #[serde(rename = "equals", other)]
    Equals,
}

impl std::fmt::Display for Relation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AtLeast => "at least",
            Self::AtMost => "at most",
            Self::Equals => "equals",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_relation_are_those_of_older_runs() {
        for relation in [Relation::AtLeast, Relation::AtMost, Relation::Equals] {
            assert_eq!(serde_json::to_value(relation).unwrap(), relation.to_string());
            assert_eq!(serde_json::from_value::<Relation>(relation.to_string().into()).unwrap(), relation);
        }
        assert_eq!(serde_json::from_str::<Relation>(r#""within 2 % of""#).unwrap(), Relation::Equals);
    }

    #[test]
    fn nan_passes_no_check() {
        for relation in [Relation::AtLeast, Relation::AtMost, Relation::Equals] {
            assert!(!Check::new("x", f64::NAN, relation, 1.0).pass && Check::new("x", 1.0, relation, 1.0).pass);
        }
        assert!(
            !Check::new("x", 0.9, Relation::AtLeast, 1.0).pass && !Check::new("x", 1.1, Relation::AtMost, 1.0).pass
        );
    }
}

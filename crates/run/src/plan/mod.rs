//! The plan of a run. loadline completes and checks the plan before it sends any load. Command-line flags and TOML
//! files both become a [`Plan`].

pub(crate) mod address;
pub(crate) mod behind;
pub(crate) mod check;
pub(crate) mod cluster;
pub(crate) mod cold;
pub(crate) mod destination;
pub(crate) mod error;
pub(crate) mod expectation;
pub(crate) mod grpc;
pub(crate) mod hosts;
pub(crate) mod intensity;
pub(crate) mod load;
pub(crate) mod protocol;
pub(crate) mod redact;
pub(crate) mod requests;
pub(crate) mod reroute;
pub(crate) mod search;
pub(crate) mod secret_names;
pub(crate) mod secrets;
pub(crate) mod share;
pub(crate) mod stream;
pub(crate) mod target;
pub(crate) mod tls;
pub(crate) mod tokens;
pub(crate) mod url_parts;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{ColdPlan, Expectation, HostPlan, LoadPlan, Objective, ObservePlan, SearchPlan, Target};

/// Complete task of one command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Plan {
    /// Name of the command, such as `find`, `load` or `lab NAME`.
    pub command: String,
    /// Label of the run. The stored plan has no label, because the run stores the label elsewhere.
    #[serde(skip)]
    pub label: Option<String>,
    /// Server that gets the load.
    pub target: Target,
    /// Load to generate.
    pub load: LoadPlan,
    /// Connections that stay idle during the load.
    pub cold: ColdPlan,
    /// Limits on the response time and on the share of failed requests.
    pub objective: Objective,
    /// Expected results; a run that does not meet them fails.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Expectation>,
    /// Settings of the search: its budget, its maximum load and its precision.
    pub search: SearchPlan,
    /// Number of times that loadline makes the whole load; 0 and 1 both mean once.
    #[serde(skip_serializing_if = "is_once")]
    pub repeats: u32,
    /// Settings of the observation during the run.
    pub observe: ObservePlan,
    /// Other hosts that take part; empty if everything runs on this host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostPlan>,
    /// Parameters of an experiment, described on the experiment's page of the documentation.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lab: BTreeMap<String, serde_json::Value>,
}

/// Returns true if the load is made once. A stored plan contains the number of repeats only if the load is repeated.
fn is_once(repeats: &u32) -> bool {
    *repeats <= 1
}

impl Plan {
    /// Returns the number of times that loadline makes the whole load, at least 1.
    pub fn repeat_count(&self) -> u32 {
        self.repeats.max(1)
    }

    /// Returns the key and the value of every field that the stored plan contains. Dots join the parts of a key, as in
    /// TOML. A list in the plan is returned as one value.
    pub fn keys(&self) -> Vec<(String, serde_json::Value)> {
        let mut keys = Vec::new();
        if let Ok(plan) = serde_json::to_value(self) {
            flatten("", plan, &mut keys);
        }
        keys
    }

    /// Returns the name of the experiment, if the command is `loadline lab NAME`.
    pub fn experiment(&self) -> Option<&str> {
        self.command.strip_prefix("lab ").map(str::trim)
    }
}

fn flatten(path: &str, value: serde_json::Value, keys: &mut Vec<(String, serde_json::Value)>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, inner) in fields {
                let path = if path.is_empty() { name } else { format!("{path}.{name}") };
                flatten(&path, inner, keys);
            }
        }
        serde_json::Value::Null => {}
        other => keys.push((path.into(), other)),
    }
}

//! One side of a trial, with the counters of its host and processes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Cost, CounterId, Reading, Recording};

/// Client or server side of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Side {
    /// Name of the host, as in `hosts[]`.
    pub host: String,
    /// Name of the set of CPUs that the `cpu.*` counters describe. Namespaces on one machine have equal names, unless
    /// they are restricted to their own CPUs. The name is empty if the set of CPUs is unknown.
    pub machine: String,
    /// Size of a page of memory on this side's host, bytes; absent in runs of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_bytes: Option<u32>,
    /// Processes of this side, as instances of process counters (`nginx:1234`).
    pub processes: Vec<String>,
    /// Upstream services that the server may wait for. The recording contains the counters of the upstream services,
    /// but `processes` does not contain their processes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<crate::Upstream>,
    /// Sampled threads of the processes and of the upstream services; absent if loadline sampled no threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Box<crate::WaitProfile>>,
    /// True if client and server share the CPUs that `machine` names.
    pub shared: bool,
    /// Samples of the counters. In `run.json`, the field `recordings` of the run contains all samples. Files of older
    /// versions contain the samples of this side in this field.
    #[serde(skip_serializing)]
    pub recording: Recording,
    /// Derived values: each counter over the measured window, combined over this side's instances. For a gauge, the
    /// derived value is the mean. `run.json` does not contain derived values of 0.
    #[serde(serialize_with = "crate::short::readings")]
    pub counters: BTreeMap<CounterId, Reading>,
    /// Derived values: costs per request, by ID of the `COSTS` table. `run.json` leaves out costs of 0.
    #[serde(serialize_with = "crate::short::costs")]
    pub costs: BTreeMap<String, Cost>,
}

impl Side {
    /// Returns true if the `cpu.*` counters of both sides describe the same CPUs. If the machine of a side is unknown,
    /// compares the host names.
    pub fn same_cpus(&self, other: &Self) -> bool {
        let known = !self.machine.is_empty() && !other.machine.is_empty();
        if known { self.machine == other.machine } else { !self.host.is_empty() && self.host == other.host }
    }

    /// Returns true if both sides count interfaces, listeners and TCP in the same network namespace.
    pub fn same_network(&self, other: &Self) -> bool {
        !self.host.is_empty() && self.host == other.host
    }
}

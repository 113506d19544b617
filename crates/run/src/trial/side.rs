//! One side of a trial: what its host and its processes told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Cost, CounterId, Reading, Recording};

/// One perspective: what the counters of the client's or the server's host said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Side {
    /// Name of the host, as in `hosts[]`.
    pub host: String,
    /// The processors that `cpu.*` counts, as one name: hosts that are namespaces of one machine have the same, hosts that
    /// are confined to processors of their own do not. Empty where unknown.
    pub machine: String,
    /// The processes that are this side, as instances of process counters (`nginx:1234`).
    pub processes: Vec<String>,
    /// Whom these processes hold connections to, and who answers there: what a server may wait for. Their counters stand
    /// in the recording; none of them is in `processes`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<crate::Behind>,
    /// Whether client and server share these processors.
    pub shared: bool,
    /// The samples.
    pub recording: Recording,
    /// Derived: each counter over the measured window, summed over this side's instances (gauges: their mean).
    pub counters: BTreeMap<CounterId, Reading>,
    /// Derived: costs per request by id of the `COSTS` table.
    pub costs: BTreeMap<String, Cost>,
}

impl Side {
    /// Whether both sides' `cpu.*` counters are of the same processors. Where no machine is known, the hosts' names tell.
    pub fn same_processors(&self, other: &Self) -> bool {
        let known = !self.machine.is_empty() && !other.machine.is_empty();
        if known { self.machine == other.machine } else { !self.host.is_empty() && self.host == other.host }
    }

    /// Whether both sides' counters of interfaces, listeners and TCP are of the same network namespace.
    pub fn same_network(&self, other: &Self) -> bool {
        !self.host.is_empty() && self.host == other.host
    }
}

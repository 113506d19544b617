//! Definition of a lever, and the parts of both sides that it can act on.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use judge::prove::RequestWay;
use run::{AgentCommand, LeverCheck, LeverPart, LeverPlan, LoadPlan, Prove};

use super::undo::Undo;

/// Check on the host of a lever that changes nothing. The error message says why the lever cannot be used there.
pub type HostCheck = fn(&LeverPlan) -> Result<LeverCheck, String>;

/// Ways to use a lever. The plan holds the conductor's data; the lever's host finds the rest.
#[derive(Clone, Copy)]
pub enum Pull {
    /// On and off in slots of one load.
    Slots {
        /// Returns the task of the lever's agent; the error message says why the lever cannot be used.
        plan: fn(&LeverTargets) -> Result<LeverPlan, String>,
        /// Checks on the lever's host that it has what the lever needs; `None` if every host has it.
        check: Option<HostCheck>,
        /// Uses the lever until the last slot or until it is stopped.
        act: fn(&LeverPlan, Receiver<AgentCommand>) -> Result<LeverPart, String>,
    },
    /// A different rate of an open loop, in slots of the load itself.
    Offered,
    /// A different load, in turns; the error message says why no such load is possible.
    Turns(fn(&LeverTargets, &LoadPlan) -> Result<LoadPair, String>),
    /// The plain load in turns; a setting of the server is changed in half of the turns.
    TurnsWithChange {
        /// Returns the task of the lever's agent; the error message says why the lever cannot be used.
        plan: fn(&LeverTargets) -> Result<LeverPlan, String>,
        /// Check on the lever's host.
        check: HostCheck,
        /// Returns the load that shows the effect, given the findings on the host.
        load: fn(&LeverCheck, &LoadPlan) -> LoadPlan,
        /// Locks the resources that the lever changes, without changing them yet.
        prepare: fn(&LeverPlan) -> Result<Undo, String>,
    },
}

impl Pull {
    /// Returns true if loads without and with the lever take turns.
    pub(crate) const fn in_turns(&self) -> bool {
        matches!(self, Self::Turns(_) | Self::TurnsWithChange { .. })
    }
}

/// Host on which a lever is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeverHost {
    /// No host: the lever is a different load.
    Load,
    /// The hosts of all generators at once.
    Clients,
    /// The server's host.
    Server,
}

/// A load without and with a lever.
#[derive(Clone, Debug)]
pub struct LoadPair {
    /// Load without the lever.
    pub off: LoadPlan,
    /// Load with the lever.
    pub on: LoadPlan,
    /// Share of the resource that is taken away; negative if it is added.
    pub dose: f64,
    /// Change that an agent holds during the load with the lever.
    pub change: Option<LeverPlan>,
}

/// One row of the table.
#[derive(Clone, Copy)]
pub struct Lever {
    /// Name in runs and tables.
    pub id: &'static str,
    /// Effect of the lever, in one line.
    pub help: &'static str,
    /// Bottlenecks that the lever tests, as in `BOTTLENECKS`.
    pub tests: &'static [&'static str],
    /// Smallest permission (`--prove`) that allows the lever.
    pub needs: Prove,
    /// True if every experiment with slots uses the lever, whatever the verdict is. The parts add up to 1 only if all
    /// these levers were used.
    pub always: bool,
    /// Shortest slot in which the lever's effect shows, seconds.
    pub slot_s: f64,
    /// Planned dose, before it is measured.
    pub planned: f64,
    /// Rights that the lever needs.
    pub rights: &'static str,
    /// Disturbance that the lever causes.
    pub intrusion: &'static str,
    /// Way in which the dose is measured.
    pub dose: &'static str,
    /// Way in which the lever is undone.
    pub undo: &'static str,
    /// Host on which the lever is used.
    pub place: LeverHost,
    /// Way in which the lever is used.
    pub pull: Pull,
}

/// Parts of both sides that a lever can act on.
#[derive(Clone, Debug, Default)]
pub struct LeverTargets {
    /// CPUs of the generator. If the generator runs on other hosts, only the number counts: that of the host with the
    /// fewest CPUs.
    pub client_cpus: Vec<u32>,
    /// Processes of the generator.
    pub client_pids: Vec<u32>,
    /// CPUs that the server may use; empty if unknown.
    pub server_cpus: Vec<u32>,
    /// Processes of the server; empty if unknown.
    pub server_pids: Vec<u32>,
    /// CPUs that the server's upstreams may use; empty if unknown.
    pub behind_cpus: Vec<u32>,
    /// Processes of the server's upstreams; empty if unknown here.
    pub behind_pids: Vec<u32>,
    /// Bytes in flight on one of the server's connections; absent if they were not observed.
    pub in_flight: Option<f64>,
    /// Address of the server.
    pub addr: Option<SocketAddr>,
    /// Writable directory on the server's disk, by its name on the server's host.
    pub dir: Option<PathBuf>,
    /// Bytes that an exchange puts on the link in the direction of the requests.
    pub request_way: RequestWay,
    /// Share of a CPU that a CPU thief is to take, 0 to 1; 0 stands for a quarter.
    pub share: f64,
    /// True if the load has an offered rate, so that the server is mostly idle.
    pub at_rate: bool,
    /// Median response time of the load, seconds; 0 if unknown.
    pub response_s: f64,
    /// Descriptors that a generator may have.
    pub descriptors: u64,
    /// Socket of the process that keeps the testbed between generator and server.
    pub keeper: Option<PathBuf>,
}

impl Lever {
    /// Returns true if the lever needs its own trial, because its slots are too long for the other levers' trial.
    pub(crate) fn is_alone(&self) -> bool {
        self.id == run::CPU_COUNT_LEVER
    }
}

impl LeverTargets {
    /// Returns the plan of a lever that acts on the server's processes.
    pub(super) fn on_server(&self, lever: &str) -> Result<LeverPlan, String> {
        if self.server_pids.is_empty() {
            return Err("the server's processes are unknown; name their host with --server-host".into());
        }
        Ok(LeverPlan { lever: lever.into(), pids: self.server_pids.clone(), ..LeverPlan::default() })
    }
}

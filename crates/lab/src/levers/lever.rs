//! Definition of a lever (a change that an experiment makes), and of the parts of client and server that levers can
//! affect.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use judge::prove::RequestWay;
use run::{AgentCommand, LeverCheck, LeverPart, LeverPlan, LoadPlan, Prove};

use super::undo::Undo;

/// Function that checks on a lever's host, without changing anything there, that the lever can be used. The error gives
/// the reason why the lever cannot be used.
pub type HostCheck = fn(&LeverPlan) -> Result<LeverCheck, String>;

/// Ways in which an experiment uses a lever (a change that it makes). The plan of a lever contains the facts that the
/// conductor knows. The agent on the lever's host finds all other facts.
#[derive(Clone, Copy)]
pub enum Pull {
    /// The experiment switches the lever on and off in short time slots during one load.
    Slots {
        /// Returns the task of the lever's agent. The error gives the reason why the lever cannot be used.
        plan: fn(&LeverTargets) -> Result<LeverPlan, String>,
        /// Checks that the lever's host has what the lever needs; `None` if the lever works on every host.
        check: Option<HostCheck>,
        /// Uses the lever until the last time slot ends or the lever is stopped.
        act: fn(&LeverPlan, Receiver<AgentCommand>) -> Result<LeverPart, String>,
    },
    /// The generator's open loop changes its request rate in short time slots of one load.
    Offered,
    /// Measurements of two loads alternate: the plain load, and a load with the lever. The error gives the reason why
    /// no load with the lever is possible.
    Turns(fn(&LeverTargets, &LoadPlan) -> Result<LoadPair, String>),
    /// The plain load is measured several times in a row: in half of the measurements, a setting of the server is
    /// changed.
    TurnsWithChange {
        /// Returns the task of the lever's agent. The error gives the reason why the lever cannot be used.
        plan: fn(&LeverTargets) -> Result<LeverPlan, String>,
        /// Checks on the lever's host that the lever can be used.
        check: HostCheck,
        /// Returns the load under which the lever's effect is visible, given the result of `check`.
        load: fn(&LeverCheck, &LoadPlan) -> LoadPlan,
        /// Locks the resources that the lever changes, without changing them yet.
        prepare: fn(&LeverPlan) -> Result<Undo, String>,
    },
}

impl Pull {
    /// Returns true if the lever compares two loads that take turns.
    pub(crate) const fn in_turns(&self) -> bool {
        matches!(self, Self::Turns(_) | Self::TurnsWithChange { .. })
    }
}

/// Host on which an experiment makes a change (lever).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeverHost {
    /// No host: the lever is a different load of the generator.
    Load,
    /// The hosts of all generators at the same time.
    Clients,
    /// The server's host.
    Server,
}

/// Two loads of an experiment, without and with a change (lever).
#[derive(Clone, Debug)]
pub struct LoadPair {
    /// Load without the lever's change.
    pub off: LoadPlan,
    /// Load with the lever's change.
    pub on: LoadPlan,
    /// Dose: share of the tested resource that the lever takes away; negative if the lever adds to the resource.
    pub dose: f64,
    /// Change that an agent keeps in place during the load with the lever; `None` if the loads alone differ.
    pub change: Option<LeverPlan>,
}

/// A lever: a change that an experiment makes to see how throughput reacts.
#[derive(Clone, Copy)]
pub struct Lever {
    /// Name of the lever in runs and tables.
    pub id: &'static str,
    /// Effect of the lever, in one line.
    pub help: &'static str,
    /// Bottlenecks that the lever tests, as in `BOTTLENECKS`.
    pub tests: &'static [&'static str],
    /// Smallest permission (`--prove`) with which the lever may be used.
    pub needs: Prove,
    /// True if every experiment with time slots uses the lever, whatever the verdict is. The elasticities add up to 1
    /// only if all levers with this flag were used.
    pub always: bool,
    /// Shortest time slot in which the lever's effect is visible, seconds.
    pub slot_s: f64,
    /// Planned dose: share of the tested resource to take away; negative if the lever adds to the resource. The agents
    /// of some levers measure the actual dose.
    pub planned: f64,
    /// Rights that the user needs for the lever.
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

/// Parts of client and server that an experiment can affect.
#[derive(Clone, Debug, Default)]
pub struct LeverTargets {
    /// CPUs of the generator. If the generators run on other hosts, only the number of listed CPUs matters: the
    /// smallest number of CPUs per generator on any host.
    pub client_cpus: Vec<u32>,
    /// Processes of the generator.
    pub client_pids: Vec<u32>,
    /// CPUs that the server may use; empty if unknown.
    pub server_cpus: Vec<u32>,
    /// Processes of the server; empty if unknown.
    pub server_pids: Vec<u32>,
    /// CPUs that the server's upstream services may use; empty if unknown.
    pub behind_cpus: Vec<u32>,
    /// Processes of the server's upstream services; empty if they are not known on this host.
    pub behind_pids: Vec<u32>,
    /// Mean number of bytes in flight per connection of the server; `None` if it was not observed.
    pub in_flight: Option<f64>,
    /// Internet address of the server; `None` for a Unix socket.
    pub addr: Option<SocketAddr>,
    /// Writable directory on the server's disk, as named on the server's host; `None` if the user named none.
    pub dir: Option<PathBuf>,
    /// Name of the full disk of the server's host; `None` if no disk is full, or if `dir` is `None`.
    pub full_disk: Option<String>,
    /// Number of bytes that one exchange (request and answer) sends over the link in the direction of the requests. If
    /// a lever that makes requests longer cannot be used, the value is the reason instead.
    pub request_way: RequestWay,
    /// Share of a CPU's time that a lever on CPUs takes, 0 to 1; 0 means the default, a quarter.
    pub share: f64,
    /// True if the load offers a fixed rate, so the server has idle time.
    pub at_rate: bool,
    /// Median response time of the load, seconds; 0 if unknown.
    pub response_s: f64,
    /// Number of descriptors that a generator may have.
    pub descriptors: u64,
    /// Socket of the testbed's keeper. The keeper is the process that owns the emulated network between generator and
    /// server. `None` if generator and server are not in one testbed.
    pub keeper: Option<PathBuf>,
}

impl Lever {
    /// Returns true if the lever's time slots are too long for the load test of the other levers.
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

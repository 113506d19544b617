//! What a row of the levers says, and what of both sides a lever can get at.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::mpsc::Receiver;

use judge::prove::RequestWay;
use run::{AgentCommand, LeverFound, LeverPart, LeverPlan, LoadPlan, Prove};

use super::undo::Undo;

/// Looks on the host of a lever at what it acts on, and changes nothing; the error says why it cannot be pulled there.
pub type Look = fn(&LeverPlan) -> Result<LeverFound, String>;

/// How a lever is pulled. What a plan says is what the conductor knows; what only its host knows is looked up there.
#[derive(Clone, Copy)]
pub enum Pull {
    /// On and off in slots while one load is on.
    Slots {
        /// What its agent is to do; the error says why it cannot be pulled.
        plan: fn(&Reach) -> Result<LeverPlan, String>,
        /// Asked on its host first; none where there is nothing that could be missing.
        look: Option<Look>,
        /// Does it, until the last slot or until told to stop.
        act: fn(&LeverPlan, Receiver<AgentCommand>) -> Result<LeverPart, String>,
    },
    /// Another rate of an open loop, in slots: the load does it itself.
    Offered,
    /// Another load, in turns; the error says why there is none.
    Turns(fn(&Reach, &LoadPlan) -> Result<Altered, String>),
    /// The same load in turns, with something at the server changed in half of them.
    Held {
        /// What its agent is to change; the error says why it cannot be.
        plan: fn(&Reach) -> Result<LeverPlan, String>,
        /// Asked on its host first.
        look: Look,
        /// The load that shows it, by what was found there.
        load: fn(&LeverFound, &LoadPlan) -> LoadPlan,
        /// Changes it until what comes back is dropped.
        hold: fn(&LeverPlan) -> Result<Undo, String>,
    },
}

impl Pull {
    /// Whether loads without and with it take turns.
    pub(crate) const fn in_turns(&self) -> bool {
        matches!(self, Self::Turns(_) | Self::Held { .. })
    }
}

/// On whose host a lever is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is another load: wherever that is made.
    Load,
    /// The generators' hosts, all at once.
    Clients,
    /// The server's host.
    Server,
}

/// A load without and with a lever.
#[derive(Clone, Debug)]
pub struct Altered {
    /// Without it.
    pub off: LoadPlan,
    /// With it.
    pub on: LoadPlan,
    /// Share of the resource that is taken away; below 0 where it is added.
    pub dose: f64,
    /// What an agent holds changed while the load with it is on.
    pub held: Option<LeverPlan>,
}

/// One row.
#[derive(Clone, Copy)]
pub struct Lever {
    /// Name in runs and tables.
    pub id: &'static str,
    /// What it changes, in one line.
    pub help: &'static str,
    /// The bottlenecks that it tests, as in `BOTTLENECKS`.
    pub tests: &'static [&'static str],
    /// What it must at least be allowed by `--prove`.
    pub needs: Prove,
    /// Whether every experiment in slots pulls it, whatever the verdict: the parts add up to 1 only with these.
    pub always: bool,
    /// Shortest slot in which it shows, seconds.
    pub slot_s: f64,
    /// The dose that is meant, before it is measured.
    pub planned: f64,
    /// What rights it needs.
    pub rights: &'static str,
    /// How far it intrudes.
    pub intrusion: &'static str,
    /// How its dose is measured.
    pub dose: &'static str,
    /// How it is undone.
    pub undo: &'static str,
    /// On whose host.
    pub place: Place,
    /// How it is pulled.
    pub pull: Pull,
}

/// What of both sides a lever can get at.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// CPUs that the generator runs on; on other hosts as many as the one with the fewest has.
    pub client_cpus: Vec<u32>,
    /// The generator's processes.
    pub client_pids: Vec<u32>,
    /// CPUs that the server may use; empty where they are not known.
    pub server_cpus: Vec<u32>,
    /// The server's processes; empty where they are not known.
    pub server_pids: Vec<u32>,
    /// CPUs that what the server waits for may use; empty where that is not known.
    pub behind_cpus: Vec<u32>,
    /// The processes that the server waits for; empty where they are not known here.
    pub behind_pids: Vec<u32>,
    /// Bytes that the server had in flight on a connection; absent where that was not seen.
    pub in_flight: Option<f64>,
    /// Where the server listens.
    pub addr: Option<SocketAddr>,
    /// A directory on the server's disk, by its name on the server's host, in which may be written.
    pub dir: Option<PathBuf>,
    /// What an exchange puts on the link on the way of the requests.
    pub request_way: RequestWay,
    /// Share of a CPU that a thief is to take; 0: a quarter.
    pub share: f64,
    /// Median response time of the load, seconds; 0 where it is not known.
    pub response_s: f64,
    /// Where the keeper of the testbed listens that joins the generator and the server.
    pub keeper: Option<PathBuf>,
}

impl Reach {
    /// The plan of a lever on the server's processes.
    pub(super) fn on_server(&self, lever: &str) -> Result<LeverPlan, String> {
        if self.server_pids.is_empty() {
            return Err("the server's processes are not known; --server-host names the host where they are".into());
        }
        Ok(LeverPlan { lever: lever.into(), pids: self.server_pids.clone(), ..LeverPlan::default() })
    }
}

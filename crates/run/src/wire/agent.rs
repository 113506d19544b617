//! Tasks of agents (processes that loadline starts). `wire/mod.rs` describes the protocol between loadline and its
//! agents. A lever is a temporary change that an experiment makes, such as slowing a CPU.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Address, ColdPlan, LeverPlan, LoadPlan, ServerQuestion, WatchSpec};

/// Task of an agent, which loadline sends as the first line of the agent's input. A load agent may get another task
/// after it has reported its results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "agent", rename_all = "kebab-case")]
pub enum AgentSpec {
    /// Task to generate load.
    Load {
        /// Plan of this agent's share of the load.
        plan: Box<LoadPlan>,
        /// Address of the server.
        addr: Address,
        /// True to start as soon as possible, without waiting for [`crate::AgentCommand::Start`].
        #[serde(default)]
        at_once: bool,
        /// Contents of the files named in the plan, by path, in base64. The task includes the contents of the plan's
        /// files, because the agent may run on another host.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, String>,
        /// True to add [`crate::TickDetail`] to some progress reports, for a live display.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        detailed: bool,
        /// True to send every [`crate::Tick`] (progress report) that the load produces, and not only ten per second.
        /// The conductor sets this flag only for loads with few agents.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fine: bool,
    },
    /// Task to observe the agent's host during trials, one trial after the other.
    Watch(WatchSpec),
    /// Task to run a reference server, one of loadline's own servers.
    Serve {
        /// Settings of the server.
        plan: ServePlan,
        /// True if the conductor (the loadline process that the user started) is on another host. If the conductor is
        /// on another host, the agent also ends if it gets no input for a time, because the connection may be broken.
        /// On the conductor's own host, a server without input keeps running, because the conductor may only be
        /// suspended.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        far: bool,
    },
    /// Task to run a shell command that starts a server. All processes that the command starts end when the agent ends.
    Command {
        /// Shell command that the agent runs.
        shell: String,
        /// True if the parent process is another agent with an equal task. If one of the two agents is killed, the
        /// other agent ends the processes of the server.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        guarded: bool,
        /// CPUs that the processes may use; empty for all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        cpus: Vec<u32>,
    },
    /// Task to answer a question about the server, by one connection or one request.
    Ask {
        /// Question to answer.
        question: ServerQuestion,
        /// Plan of the load whose server the question concerns. If the question needs a request, the agent sends the
        /// plan's first request.
        plan: Box<LoadPlan>,
        /// Address of the server.
        addr: Address,
        /// Contents of the files named in the plan, by path, in base64.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, String>,
    },
    /// Task to look up the addresses of a host name on the agent's host.
    LookUp {
        /// Host name to look up.
        host: String,
        /// Port that the answer combines with each address.
        port: u16,
    },
    /// Task to switch a lever (a change of a resource) on and off during a load.
    Lever(LeverPlan),
    /// Task to check that a lever (a change of a resource) works on the agent's host.
    CheckLever(LeverPlan),
    /// Task to undo the changes that killed lever agents left on the agent's host.
    RestoreLevers,
    /// Task to hold cold (unused) connections until the conductor stops the agent.
    Cold {
        /// Number of connections, and the way in which they are opened.
        plan: ColdPlan,
        /// Address of the server.
        addr: Address,
    },
}

impl AgentSpec {
    /// Returns the task with secret values in place of their placeholders, for the agent's standard input.
    pub fn revealed(&self) -> Self {
        let mut spec = self.clone();
        if let Self::Load { plan, .. } | Self::Ask { plan, .. } = &mut spec {
            **plan = plan.revealed();
        }
        spec
    }
}

/// Settings of a reference server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServePlan {
    /// ID of the service, a row of `SERVICES`: `http`, `echo`, …
    pub service: String,
    /// ID of the I/O model, a row of `MODELS`: `epoll`, `uring`, …; with `auto`, the server selects a model. The server
    /// selects an io_uring model if the kernel and the options allow it.
    pub model: String,
    /// ID of the strategy, a row of `STRATEGIES`; empty for no strategy.
    pub strategy: String,
    /// Address to listen on. If the port is 0, the kernel picks a port, and the agent reports this port.
    pub listen: String,
    /// Number of worker threads.
    pub threads: u32,
    /// Length of the accept queue (listen backlog).
    pub backlog: u32,
    /// Directory of the served files; absent for a built-in page of `body_bytes`.
    pub root: Option<String>,
    /// Length of the built-in page, bytes.
    pub body_bytes: u64,
    /// CPUs that the server may use; empty for all.
    pub cpus: Vec<u32>,
    /// Additional options of service, model and strategy, by name, as text.
    pub options: BTreeMap<String, String>,
}

impl Default for ServePlan {
    fn default() -> Self {
        Self {
            service: "http".into(),
            model: "auto".into(),
            strategy: String::new(),
            listen: "127.0.0.1:0".into(),
            threads: 1,
            backlog: 4096,
            root: None,
            body_bytes: 1294,
            cpus: Vec::new(),
            options: BTreeMap::new(),
        }
    }
}

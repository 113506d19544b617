//! What an agent is to do, and what a generator hands over at its end. How the two talk stands in `wire.rs`.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use crate::figure::Figure;
use crate::{
    Address, ClassPart, CoarseHist, ColdPlan, Errors, Hist, LeverPlan, LoadPlan, MOST_CLASSES, Opened, SlotHist, Tally,
    Tenths, WatchSpec, Window, unsaid,
};

/// A task of an agent: the first line that it reads, and, once one that makes load has handed over its part, maybe another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "agent", rename_all = "kebab-case")]
pub enum AgentSpec {
    /// Generate load.
    Load {
        /// The share of the load that this agent makes.
        plan: Box<LoadPlan>,
        /// The server.
        addr: Address,
        /// Begins as soon as it can instead of waiting for [`crate::AgentCommand::Start`].
        #[serde(default)]
        at_once: bool,
        /// What stands in the files that the plan names, by their paths there, in base64: an agent on another host has
        /// others, or none.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        files: BTreeMap<String, String>,
        /// Its ticks carry [`TickDetail`] now and then: somebody looks.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        detailed: bool,
        /// Its ticks come as often as the load makes them while it settles: there are few agents.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        fine: bool,
    },
    /// Observe the host that the agent runs on, one trial after the other.
    Watch(WatchSpec),
    /// Serve.
    Serve {
        /// How.
        plan: ServePlan,
        /// Its conductor is on another host: it ends when nothing is heard of that, too, since the line may be cut.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        far: bool,
    },
    /// Pull a lever while a load is on.
    Lever(LeverPlan),
    /// Look whether a lever can be pulled on this host.
    Look(LeverPlan),
    /// Put back what levers whose agents were killed left changed on this host.
    PutBack,
    /// Hold cold connections until told to stop.
    Cold {
        /// How many, and how they come about.
        plan: ColdPlan,
        /// The server.
        addr: Address,
    },
}

impl AgentSpec {
    /// The task with secrets in their places: what goes to the agent's standard input.
    pub fn revealed(&self) -> Self {
        let mut spec = self.clone();
        if let Self::Load { plan, .. } = &mut spec {
            **plan = plan.revealed();
        }
        spec
    }
}

/// How a reference server is to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServePlan {
    /// Row of `SERVICES`: `http`, `echo`, …
    pub service: String,
    /// Row of `MODELS`: `epoll`, `uring`, …; `auto` takes the one that needs the least processor where it is allowed.
    pub model: String,
    /// Row of `STRATEGIES`; empty for none.
    pub strategy: String,
    /// Address to listen on; port 0 picks one, which the report names.
    pub listen: String,
    /// Worker threads.
    pub threads: u32,
    /// Listen backlog.
    pub backlog: u32,
    /// Files are served from here; absent serves the built-in page of `body_bytes`.
    pub root: Option<String>,
    /// Length of the built-in page.
    pub body_bytes: u64,
    /// Processors the server may run on; empty for all.
    pub cpus: Vec<u32>,
    /// Further options of service, model and strategy by name, as text.
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

/// Where an agent's load is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Phase {
    /// Load is on, nothing is kept.
    #[default]
    WarmUp = 0,
    /// Load is on, everything is kept.
    Measure = 1,
    /// No new requests, answers are awaited.
    Drain = 2,
}

/// Progress of a load agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tick {
    /// Seconds since the load started.
    pub t_s: f64,
    /// Phase at that moment.
    pub phase: Phase,
    /// Requests sent so far.
    pub sent: u64,
    /// Responses completed so far.
    pub completed: u64,
    /// Failures so far.
    pub errors: u64,
    /// Established connections now.
    pub open: u64,
    /// Requests in flight now.
    pub in_flight: u64,
    /// More of it, where that was asked for; not in every tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<Box<TickDetail>>,
}

/// What a load agent tells of its progress where somebody looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TickDetail {
    /// Failures so far, by kind.
    pub errors: Errors,
    /// Responses of an unexpected status so far.
    #[serde(skip_serializing_if = "unsaid::is_no_count")]
    pub unexpected: u64,
    /// Response times so far, of the warm-up too.
    pub responses: CoarseHist,
}

impl TickDetail {
    /// Adds another agent's.
    pub fn merge(&mut self, other: &Self) {
        for (kind, n) in &other.errors.0 {
            let sum = self.errors.0.entry(*kind).or_default();
            *sum = sum.saturating_add(*n);
        }
        self.unexpected = self.unexpected.saturating_add(other.unexpected);
        self.responses.merge(&other.responses);
    }
}

/// Histograms of a part, at most: twice those that there are.
const MOST_HISTOGRAMS: usize = 16;
/// Slots of an experiment with response times, at most.
const MOST_SLOTS: usize = 1024;
/// Classes of a part, at most: those of a plan, and what is put together as the others.
const MOST_PARTS: usize = MOST_CLASSES + 1;

/// What one load agent found; parts of several agents merge into one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadPart {
    /// Counts from first connect to end of drain.
    pub total: Tally,
    /// Counts of the measured window.
    pub measured: Tally,
    /// Length of the measured window, seconds.
    pub measured_s: f64,
    /// Begin of the measured window, seconds since the load started.
    pub measured_at_s: f64,
    /// So much later than it was told the load started, seconds: the order came when its time was over.
    #[serde(skip_serializing_if = "unsaid::is_zero")]
    pub late_s: f64,
    /// Offered requests in the measured window, as the plan wanted it (fractions: the plan's rate times the time).
    pub offered: f64,
    /// Sum over time of requests in flight during the window, request-seconds: divided by its length, the concurrency.
    pub in_flight_s: f64,
    /// Processor time of the generator's threads in the measured window, microseconds: user, system.
    pub cpu_us: (f64, f64),
    /// Completed per second in each slot of the plan's `slots`; NaN in one that was slept through.
    #[serde(with = "Figure::<Vec<f64>>", skip_serializing_if = "Vec::is_empty")]
    pub slot_rates: Vec<f64>,
    /// Response times of the requests of an open loop that were due in each slot of the plan's `slots`.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MOST_SLOTS, _, _>")]
    pub slot_times: Vec<SlotHist>,
    /// How the connections came up, where they were made one after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened: Option<Opened>,
    /// Most requests that the server takes at once on a connection, the least that any said (HTTP/2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
    /// Counts of each tenth of a second of the measured window, where the plan names limits.
    #[serde(skip_serializing_if = "Tenths::is_empty")]
    pub tenths: Tenths,
    /// When this host stood still, seconds since the load began: a thread that only sleeps woke so late.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<Window>,
    /// When a thread of the generator woke late or stood still within its work, seconds since the load began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub held_up: Vec<Window>,
    /// Histograms of the measured window: `response`, `service`, `blocked`, `start_error`, `connect`,
    /// `handshake` where connections begin with one, and `handshake_resumed` of those that took up an earlier session;
    /// `under_way` holds the ages of requests that had no answer when the window ended.
    #[serde(deserialize_with = "crate::bounded::map::<MOST_HISTOGRAMS, _, _>")]
    pub histograms: BTreeMap<String, Hist>,
    /// What came of each class of a mix of requests; empty where all requests are of one.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::list::<MOST_PARTS, _, _>")]
    pub classes: Vec<ClassPart>,
    /// Notes in sentences.
    pub notes: Vec<String>,
}

impl LoadPart {
    /// Adds another agent's or thread's part. Lengths are kept as the longest; counts, sums and histograms add up.
    pub fn merge(&mut self, other: Self) {
        self.total.merge(&other.total);
        self.measured.merge(&other.measured);
        self.measured_s = self.measured_s.max(other.measured_s);
        self.measured_at_s = self.measured_at_s.max(other.measured_at_s);
        self.late_s = self.late_s.max(other.late_s);
        self.offered += other.offered;
        self.in_flight_s += other.in_flight_s;
        self.cpu_us = (self.cpu_us.0 + other.cpu_us.0, self.cpu_us.1 + other.cpu_us.1);
        let slots = self.slot_rates.len().max(other.slot_rates.len());
        self.slot_rates.resize(slots, 0.0);
        self.slot_rates.iter_mut().zip(&other.slot_rates).for_each(|(a, b)| *a += b);
        let slots = self.slot_times.len().max(other.slot_times.len());
        self.slot_times.resize(slots, SlotHist::default());
        self.slot_times.iter_mut().zip(&other.slot_times).for_each(|(a, b)| a.merge(b));
        if let Some(opened) = other.opened {
            self.opened.get_or_insert_default().merge(opened);
        }
        self.stream_limit = self.stream_limit.into_iter().chain(other.stream_limit).min();
        self.tenths.merge(&other.tenths);
        self.pauses.extend(other.pauses);
        self.held_up.extend(other.held_up);
        for (name, hist) in other.histograms {
            match self.histograms.entry(name) {
                Entry::Vacant(place) => drop(place.insert(hist)),
                Entry::Occupied(mut place) => place.get_mut().absorb(hist),
            }
        }
        // A histogram is large, so none is made only to be merged into.
        let mut classes = other.classes.into_iter();
        self.classes.iter_mut().zip(classes.by_ref()).for_each(|(a, b)| a.merge(b));
        self.classes.extend(classes);
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

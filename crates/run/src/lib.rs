//! The data of loadline and nothing else: what was asked for ([`Plan`]), what happened ([`Trial`], [`Recording`]),
//! what was concluded ([`Findings`]), and the directory that keeps them ([`RunDir`]).
//!
//! Everything after a [`Run`] is a pure function of it, so an old run can be judged and drawn again by newer code.
//! The shape of `run.json` is a contract with other programs: `loadline schema` prints it, [`FORMAT`] names its version.

mod agent;
mod blocks;
mod cold;
mod counters;
mod counters_table;
mod findings;
mod hist;
mod intensity;
mod nan;
mod plan;
mod plan_check;
mod recording;
mod rundir;
mod suggest;
mod trial;

pub use agent::{AgentCommand, AgentReport, AgentSpec, LoadPart, Phase, ServePlan, Tick};
pub use blocks::Blocks;
pub use cold::{ColdPart, ColdPlan};
pub use counters::{CounterId, CounterSpec, Kind, Reading, Unit, counter};
pub use counters_table::{COUNTERS, TOLD};
pub use findings::{
    BOTTLENECKS, Bottleneck, BottleneckSpec, Capacity, Check, Cost, Evidence, Findings, Fit, Interval, Knee,
    NextBottleneck, RuledOut, Trust, bottleneck,
};
pub use hist::{Hist, HistError, Summary};
pub use intensity::{Arrival, Intensity, Pace, ThinkTime};
pub use plan::{Io, LoadPlan, Objective, ObservePlan, Plan, Protocol, SearchPlan, Target};
pub use plan_check::PlanError;
pub use recording::{Absence, Column, Recording};
pub use rundir::{FORMAT, HostInfo, Note, Run, RunDir, RunDirError, load_run, parse_run, schema};
pub use suggest::nearest;
pub use trial::{
    ErrorKind, Errors, Incident, IncidentKind, Measured, Rates, Side, Steady, Tally, Trial, TrialKind, Window,
};

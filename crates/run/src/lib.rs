//! The data types of loadline, without behaviour: the plan ([`Plan`]), the measurements ([`Trial`], [`Recording`]), the
//! conclusions ([`Findings`]), and the directory that stores them ([`RunDir`]).
//!
//! Everything after a [`Run`] is a pure function of it, so newer code can judge and render an old run. Other programs
//! depend on the shape of `run.json`: `loadline schema` prints it, [`FORMAT`] is its version.

mod bounded;
mod by_name;
mod figure;
mod findings;
pub mod number;
mod plan;
mod recording;
mod rundir;
mod schema;
mod suggest;
mod trial;
mod unsaid;
mod visible;
mod wire;

pub use findings::classes::{ClassCosts, ClassFinding, ClassPart, ClassTally};
pub use findings::comparison::{BothAt, Compared, ComparedCurves, ComparedWord, Comparison, MoreOf, TlsShare, Turns};
pub use findings::decisions::{Breach, BreachKind, Failure, Limits, LoadState, Outcome, Picks, Sureness};
pub use findings::device::Device;
pub use findings::drift::{Drift, DriftOf};
pub use findings::experiment_report::{
    Chart, ChartAxis, ChartLevel, ChartSeries, ExperimentReport, ResultColumn, ResultTable,
};
pub use findings::figure_unit::FigureUnit;
pub use findings::handshake_cost::{CpuTold, HandshakeCost};
pub use findings::proof::{
    Effect, Elasticity, Estimate, LeverSlots, Proof, ProofOf, ProofOutcome, ProofTrial, RunnerUp, Steadiness,
    SwitchTrial, Untried,
};
pub use findings::repeat::{MOST_REPEATS, Repeat};
pub use findings::users::UsersFinding;
pub use findings::usl::usl_rate;
pub use findings::what_if::{Change, Needed, Resource, WhatIf, WithUsers};
pub use findings::{
    BOTTLENECKS, Bottleneck, BottleneckSpec, Capacity, Check, Cost, Evidence, Findings, Fit, Interval, Knee, LeftOut,
    NextBottleneck, Relation, RuledOut, Spent, Trust, bottleneck,
};
pub use plan::address::Address;
pub use plan::check::{LONGEST_S, PlanError};
pub use plan::cold::{ColdPart, ColdPlan};
pub use plan::expectation::{EXPECTED, Expectation, Expected, ExpectedUnit};
pub use plan::hosts::HostPlan;
pub use plan::intensity::{Arrival, Intensity, Pace, Stage, ThinkTime};
pub use plan::protocol::{HttpPlan, Protocol};
pub use plan::requests::{
    ArrivalTimes, DataOrder, DataTable, MOST_CLASSES, MOST_REQUESTS, Recorded as RecordedTimes, RequestOrder,
    RequestPlan, RequestSet, from_base64, to_base64,
};
pub use plan::secrets::{SECRET_HEADERS, SECRET_WORDS, Secrets, is_secret_header};
pub use plan::tls::{TlsPlan, TlsVersion};
pub use plan::url_parts::UrlParts;
pub use plan::{Io, LoadPlan, Objective, ObservePlan, Plan, Prove, SearchPlan, Target};
pub use recording::counter_spec::{CounterSpec, Kind, Scope, Together, Unit};
pub use recording::counters::{CounterId, Reading, counter};
pub use recording::counters_table::{COUNTERS, EXPORTED};
pub use recording::cpu_times::CpuTimes;
pub use recording::instance::{Instance, is_loopback, on_host};
pub use recording::instance_filter::Own;
pub use recording::instances::{Instances, Recorded};
pub use recording::{Absence, Column, Recording};
pub use rundir::read::{
    MAX_RUN_BYTES, MAX_RUN_HISTOGRAMS, MAX_RUN_HOSTS, MAX_RUN_OBJECTS, MAX_RUN_VALUES, MAX_TRIALS, load_run, parse_run,
    read_text,
};
pub use rundir::{FORMAT, HostInfo, MediumInfo, Note, Run, RunDir, RunDirError};
pub use schema::{SCHEMA, schema};
pub use suggest::{nearest, said, toml_message};
pub use trial::behind::{Behind, BehindLimit, BehindLoad, WaitsFor};
pub use trial::blocks::Blocks;
pub use trial::coarse::{Buckets, CoarseHist, SlotHist};
pub use trial::hist::{Hist, HistError, Summary};
pub use trial::host_load::{HostFinding, HostLoad, WindowsApart};
pub use trial::incident::{Incident, IncidentKind};
pub use trial::key::Key;
pub use trial::measured::{Around, Measured, Opened};
pub use trial::moments::Moment;
pub use trial::results::{LimitedBy, Results};
pub use trial::side::Side;
pub use trial::status::{GRPC_STATUS, STATUS_CLASSES, is_refusing, status_class};
pub use trial::tally::{ErrorKind, Errors, Tally};
pub use trial::tenths::{Over, TENTH_S, Tenths};
pub use trial::window::Window;
pub use trial::{RateByHand, Rates, Steady, Trial, TrialKind};
pub use visible::{is_invisible, visible};
pub use wire::agent::{AgentSpec, LoadPart, Phase, ServePlan, Tick, TickDetail};
pub use wire::lever::{LeverFound, LeverPart, LeverPlan, SlotPlan};
pub use wire::observer::{Observed, ObserverSpec, Role};
pub use wire::watch::{WatchSpec, WatchedHost};
pub use wire::{AgentCommand, AgentReport, Hello, LINE_BYTES, PART_BYTES, SILENCE_S, WIRE, is_long};

//! The data of loadline and nothing else: what was asked for ([`Plan`]), what happened ([`Trial`], [`Recording`]),
//! what was concluded ([`Findings`]), and the directory that keeps them ([`RunDir`]).
//!
//! Everything after a [`Run`] is a pure function of it, so an old run can be judged and drawn again by newer code.
//! The shape of `run.json` is a contract with other programs: `loadline schema` prints it, [`FORMAT`] names its version.

mod address;
mod agent;
mod axes;
mod behind;
mod blocks;
mod bounded;
mod by_name;
mod classes;
mod coarse;
mod cold;
mod comparison;
mod counter_spec;
mod counters;
mod counters_table;
mod cpu_times;
mod decisions;
mod device;
mod drift;
mod expectation;
mod figure;
mod figure_unit;
mod findings;
mod handshake_cost;
mod hist;
mod host_load;
mod hosts;
mod incident;
mod instance;
mod instances;
mod intensity;
mod key;
mod lever;
mod measured;
mod moments;
pub mod number;
mod observer;
mod own;
mod plan;
mod plan_check;
mod proof;
mod protocol;
mod recording;
mod repeat;
mod requests;
mod results;
mod rundir;
mod rundir_read;
mod schema;
mod seal;
mod secrets;
mod side;
mod status;
mod suggest;
mod tally;
mod tenths;
mod tls;
mod trial;
mod unsaid;
mod url_parts;
mod users;
mod usl;
mod visible;
mod watch;
mod what_if;
mod window;
mod wire;
mod wire_clean;

pub use address::Address;
pub use agent::{AgentSpec, LoadPart, Phase, ServePlan, Tick, TickDetail};
pub use behind::{Behind, BehindLimit, BehindLoad, WaitsFor};
pub use blocks::Blocks;
pub use classes::{ClassCosts, ClassFinding, ClassPart, ClassTally};
pub use coarse::{Buckets, CoarseHist, SlotHist};
pub use cold::{ColdPart, ColdPlan};
pub use comparison::{BothAt, Compared, ComparedCurves, ComparedWord, Comparison, MoreOf, TlsShare, Turns};
pub use counter_spec::{CounterSpec, Kind, Scope, Together, Unit};
pub use counters::{CounterId, Reading, counter};
pub use counters_table::{COUNTERS, EXPORTED};
pub use cpu_times::CpuTimes;
pub use decisions::{Breach, BreachKind, Failure, Limits, LoadState, Outcome, Picks, Sureness};
pub use device::Device;
pub use drift::{Drift, DriftOf};
pub use expectation::{EXPECTED, Expectation, Expected, ExpectedUnit};
pub use figure_unit::FigureUnit;
pub use findings::{
    BOTTLENECKS, Bottleneck, BottleneckSpec, Capacity, Check, Cost, Evidence, Findings, Fit, Interval, Knee, LeftOut,
    NextBottleneck, Relation, RuledOut, Spent, Trust, bottleneck,
};
pub use handshake_cost::{CpuTold, HandshakeCost};
pub use hist::{Hist, HistError, Summary};
pub use host_load::{HostFinding, HostLoad, WindowsApart};
pub use hosts::HostPlan;
pub use incident::{Incident, IncidentKind};
pub use instance::{Instance, is_loopback, on_host};
pub use instances::{Instances, Recorded};
pub use intensity::{Arrival, Intensity, Pace, Stage, ThinkTime};
pub use key::Key;
pub use lever::{LeverFound, LeverPart, LeverPlan, SlotPlan};
pub use measured::{Around, Measured, Opened};
pub use moments::Moment;
pub use observer::{Observed, ObserverSpec, Role};
pub use own::Own;
pub use plan::{Io, LoadPlan, Objective, ObservePlan, Plan, Prove, SearchPlan, Target};
pub use plan_check::{LONGEST_S, PlanError};
pub use proof::{
    Effect, Elasticity, Estimate, LeverSlots, Proof, ProofOf, ProofOutcome, ProofTrial, RunnerUp, Steadiness,
    SwitchTrial, Untried,
};
pub use protocol::{HttpPlan, Protocol};
pub use recording::{Absence, Column, Recording};
pub use repeat::{MOST_REPEATS, Repeat};
pub use requests::{
    ArrivalTimes, DataOrder, DataTable, MOST_CLASSES, MOST_REQUESTS, Recorded as RecordedTimes, RequestOrder,
    RequestPlan, RequestSet, from_base64, to_base64,
};
pub use results::{LimitedBy, Results};
pub use rundir::{FORMAT, HostInfo, MediumInfo, Note, Run, RunDir, RunDirError};
pub use rundir_read::{
    MAX_RUN_BYTES, MAX_RUN_HISTOGRAMS, MAX_RUN_HOSTS, MAX_RUN_OBJECTS, MAX_RUN_VALUES, MAX_TRIALS, load_run, parse_run,
    read_text,
};
pub use schema::{SCHEMA, schema};
pub use secrets::{SECRET_HEADERS, SECRET_WORDS, Secrets, is_secret_header};
pub use side::Side;
pub use status::{GRPC_STATUS, STATUS_CLASSES, is_refusing, status_class};
pub use suggest::{nearest, said, toml_message};
pub use tally::{ErrorKind, Errors, Tally};
pub use tenths::{Over, TENTH_S, Tenths};
pub use tls::{TlsPlan, TlsVersion};
pub use trial::{RateByHand, Rates, Steady, Trial, TrialKind};
pub use url_parts::UrlParts;
pub use users::UsersFinding;
pub use usl::usl_rate;
pub use visible::{is_invisible, visible};
pub use watch::{WatchSpec, WatchedHost};
pub use what_if::{Change, Needed, Resource, WhatIf, WithUsers};
pub use window::Window;
pub use wire::{AgentCommand, AgentReport, Hello, LINE_BYTES, PART_BYTES, SILENCE_S, WIRE, is_long};

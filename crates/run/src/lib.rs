//! The data types of loadline: the plan ([`Plan`]), the measurements ([`Trial`], [`Recording`]), the conclusions
//! ([`Findings`]), and the directory that stores them ([`RunDir`]).
//!
//! Everything that loadline computes from a [`Run`] depends only on this run. Newer versions of loadline can therefore
//! judge an old run again, and make its report again. Other programs read `run.json`: `loadline schema` prints its
//! schema, and [`FORMAT`] is the version of its format.

mod arena;
mod bounded;
mod bounded_read;
mod figure;
mod findings;
pub mod number;
mod own_function;
mod plan;
mod recording;
mod rundir;
mod sampled;
mod schema;
mod short;
mod size;
mod skip_empty;
mod suggest;
mod token;
mod trial;
mod visible;
mod wire;

pub use times::{CensoredTimes, Hist, HistError, TimeFigure};

pub use arena::plan::{
    AnswerCheck, ArenaEntry, ArenaPlan, ArenaProfile, ArenaResources, MAX_ARENA_ENTRIES, MAX_ARENA_PROFILES,
};
pub use arena::refusal::{ArenaRefusal, ArenaRefusalKind};
pub use arena::result::{ArenaCapacity, ArenaCell, ArenaNoise, ArenaProfileResult, ArenaResult};
pub use arena::state::{
    ARENA_FORMAT, ArenaAnswer, ArenaBuild, ArenaPlace, ArenaSearch, ArenaState, ArenaTurn, MAX_ARENA_ROUNDS,
    MAX_ARENA_TURNS,
};
pub use bounded_read::{MAX_REQUEST_FILE_BYTES, read_bounded};
pub use findings::Findings;
pub use findings::bottleneck::{
    BOTTLENECKS, Bottleneck, BottleneckSpec, Caveat, Evidence, Margin, NextBottleneck, RuledOut, bottleneck,
};
pub use findings::capacity::{
    BoundWindows, Capacity, ClosedLoopSource, ExcludedTime, GrowingProcesses, Knee, LongRun, OwnLimit,
};
pub use findings::check::{Check, Relation};
pub use findings::classes::{ClassCosts, ClassFinding, ClassPart, ClassTally};
pub use findings::compared_figure::{ComparedFigure, ComparisonResult, FigureRole, NeededData};
pub use findings::comparison::{
    ComparedCurves, Comparison, ComparisonOutcome, CurvePoint, SideDeath, TlsCost, WindowOrder,
};
pub use findings::counted::{Counted, CountedKind};
pub use findings::course::{CourseFinding, CoursePart};
pub use findings::decisions::{Breach, BreachKind, Certainty, Failure, Limits, LoadState, Outcome, Picks};
pub use findings::device::Device;
pub use findings::drift::{Drift, DriftMetric};
pub use findings::effect::Effect;
pub use findings::elasticity::{Elasticity, ElasticityBasis, Estimate, LOAD_LEVER, SOURCES_LEVER};
pub use findings::experiment_report::{
    Chart, ChartAxis, ChartLevel, ChartSeries, ComparedTime, ExperimentReport, ResultColumn, ResultTable,
};
pub use findings::figure_unit::FigureUnit;
pub use findings::fit::{Cost, Fit, Interval};
pub use findings::handshake_cost::{CpuEstimate, HandshakeCost};
pub use findings::history::{
    History, HistoryChange, HistoryFigure, HistoryRun, HistorySeries, HistoryValue, SkippedRun, SmallSeries,
};
pub use findings::hot::HotFunction;
pub use findings::proof::{Proof, ProofMetric, ProofOutcome, RunnerUp, Steadiness, UnusedLever};
pub use findings::proof_trials::{CPU_COUNT_LEVER, LeverSlots, ProofTrial, SwitchTrial};
pub use findings::repeat::{MAX_REPEATS, Repeat};
pub use findings::span_growth::SpanGrowth;
pub use findings::streams::{StreamFinding, StreamSign};
pub use findings::trust::{TimeSpent, Trust};
pub use findings::users::UsersFinding;
pub use findings::usl::usl_rate;
pub use findings::waits::{WaitCause, WaitFinding, WaitingFunction};
pub use findings::what_if::{Change, LoadPoint, Resource, ResourceNeed, WhatIf};
pub use own_function::{is_library, is_own_function, is_system_call};
pub use plan::Plan;
pub use plan::address::Address;
pub use plan::behind::{Behind, DatabaseKind, MAX_BEHIND, Password};
pub use plan::check::MAX_DURATION_S;
pub use plan::cluster::{CLUSTER_SLOTS, ClusterSlots, MAX_CLUSTER_RANGES};
pub use plan::cold::{ColdPart, ColdPlan};
pub use plan::error::PlanError;
pub use plan::expectation::{EXPECTABLE_FIGURES, Expectation, ExpectationResult, ExpectedUnit};
pub use plan::grpc::GrpcPlan;
pub use plan::hosts::HostPlan;
pub use plan::intensity::{Arrival, Intensity, Pace, Stage, ThinkTime};
pub use plan::load::{Io, LoadPlan};
pub use plan::protocol::{HttpPlan, Protocol};
pub use plan::requests::data::{DataOrder, DataTable};
pub use plan::requests::order::{RequestOrder, round_of};
pub use plan::requests::recorded::{ArrivalTimes, RecordedTimes};
pub use plan::requests::request::{RequestPlan, from_base64, to_base64};
pub use plan::requests::{MAX_CLASSES, MAX_REQUESTS, RequestSet, STATEMENT_METHOD};
pub use plan::reroute::{ConnectTo, FixedAddresses};
pub use plan::search::{Objective, ObservePlan, Prove, SearchPlan, TimeLimits, WINDOW_GROWTH};
pub use plan::secret_names::{SECRET_HEADERS, SECRET_WORDS, is_secret_header};
pub use plan::secrets::{Secrets, unify_placeholders};
pub use plan::share::even_share;
pub use plan::stream::{StreamFormat, StreamPlan};
pub use plan::target::Target;
pub use plan::tls::{TlsPlan, TlsVersion};
pub use plan::tokens::{hide_tokens, hide_tokens_of_command};
pub use plan::url_parts::UrlParts;
pub use recording::counter_spec::{Aggregation, CounterSpec, Kind, Scope, Unit};
pub use recording::counters::{CounterId, Reading, counter};
pub use recording::counters_table::{COUNTERS, EXPORTED};
pub use recording::cpu_times::CpuTimes;
pub use recording::instance::{ENDED_PROCESSES, Instance, is_loopback, on_host};
pub use recording::instance_filter::InstanceFilter;
pub use recording::instances::{Instances, RecordedCounter};
pub use recording::{Absence, Column, Peak, Recording};
pub use rundir::read::{
    MAX_RUN_BYTES, MAX_RUN_HISTOGRAMS, MAX_RUN_HOSTS, MAX_RUN_OBJECTS, MAX_RUN_VALUES, MAX_TRIALS, load_run, parse_run,
    read_bytes, read_text, text_of,
};
pub use rundir::summary::{CostSummary, FindingsSummary, RunSummary, ServerSummary, TrialSummary, load_summary};
pub use rundir::{FORMAT, HostInfo, MediumInfo, Note, Run, RunDir, RunDirError};
pub use schema::{SCHEMA, schema};
pub use short::six_digits;
pub use size::{MAX_SIZE_STEPS, PodAmounts, PodResources, SIZE_FORMAT, SizeGoal, SizeResult, SizeSetting, SizeStep};
pub use suggest::{add_suggestion, nearest, toml_message};
pub use token::{is_token, is_token_byte};
pub use trial::Trial;
pub use trial::addresses::{AddressChoice, AddressPart, MAX_ADDRESSES};
pub use trial::answer_time::AnswerTime;
pub use trial::blocks::Blocks;
pub use trial::coarse::{Buckets, CoarseHist, SlotHist};
pub use trial::databases::{Blocker, CommandSum, DatabaseProfile, SessionGroup, SessionState};
pub use trial::ends_together::EndsTogether;
pub use trial::errors::{ErrorKind, Errors};
pub use trial::first_failure::{FailureKind, FirstFailure, MAX_FIRST_FAILURES};
pub use trial::histograms::{
    answer_summary, censored_summary, response_summary, response_times, summary_with_unanswered,
};
pub use trial::host_load::{HostFinding, HostLoad, WindowSkew};
pub use trial::incident::{Incident, IncidentKind, NOTHING_LISTENS};
pub use trial::key::Key;
pub use trial::kind::TrialKind;
pub use trial::measured::{ConnectionOpening, Measured, TrialOverhead};
pub use trial::moments::Moment;
pub use trial::monitors::{MonitorGroup, MonitorKind};
pub use trial::quic_paths::QuicPaths;
pub use trial::rates::{RateChange, Rates};
pub use trial::results::{LimitedBy, Results};
pub use trial::side::Side;
pub use trial::silent_closes::SilentCloses;
pub use trial::spans::{MAX_SPAN_NAMES, SpanProfile, SpanSum};
pub use trial::sqlstate::sqlstate_status;
pub use trial::stacks::{MAX_STACKS, StackProfile, StackSum};
pub use trial::status::{
    GRPC_STATUS, STATUS_CLASSES, is_gateway_failure, is_overload, is_rate_limit, is_refusing, status_class, status_name,
};
pub use trial::steady::Steady;
pub use trial::stream_counts::StreamCounts;
pub use trial::summary::Summary;
pub use trial::tally::Tally;
pub use trial::tasks::{TaskGroup, TaskRuntime, TaskState};
pub use trial::tenths::{LateCounts, TENTH_S, Tenths};
pub use trial::time_figure::{LowerBounds, SummaryFigure, share_of_percentile};
pub use trial::traced::{MAX_TRACES, TracedRequest};
pub use trial::unanswered_times::UnansweredTimes;
pub use trial::upstream::{Upstream, UpstreamLimit, UpstreamLoad, WaitsFor};
pub use trial::values::{StoredValue, ValueName, Values};
pub use trial::waits::connections::{ClientConnections, PeerConnections};
pub use trial::waits::futexes::{FutexKind, FutexProfile, HolderFunction, HolderState, HolderThread};
pub use trial::waits::limits::{MAX_HOLDER_ROWS, MAX_WAIT_ROWS};
pub use trial::waits::thread_state::ThreadState;
pub use trial::waits::{TitleGroup, WaitGroup, WaitProcess, WaitProfile};
pub use trial::window::Window;
pub use visible::{is_invisible, visible};
pub use wire::agent::{AgentSpec, ServePlan};
pub use wire::lever::{LeverCheck, LeverPart, LeverPlan, SlotPlan};
pub use wire::load_part::LoadPart;
pub use wire::observer::{CpuUse, Observed, ObserverSpec, Role};
pub use wire::progress::{DETAIL_INTERVAL, Phase, TICK_INTERVAL, Tick, TickDetail};
pub use wire::question::{EncodedCall, MAX_MESSAGES, ServerAnswer, ServerQuestion, TestResponse};
pub use wire::watch::{WatchSpec, WatchedHost};
pub use wire::{
    AgentCommand, AgentReport, Hello, MAX_LINE_BYTES, MAX_LONG_LINE_BYTES, SILENCE_TIMEOUT_S, WIRE_VERSION,
    is_long_line,
};

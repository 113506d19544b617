//! The current state of a run, for the view and the metrics. The thread that conducts the run updates the state a few
//! times per second.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use lab::LiveProgress;
use report::AnswerLine;
use run::{Device, ErrorKind, Run, Side, Tick, TickDetail, TimeFigure, Trial};

use super::history::{History, Moment};
use super::sides::{CpuKinds, SideNow};
use super::totals::Totals;

/// Maximum number of entries in each of three lists: lines about steps, notes, and devices.
const MOST_LINES: usize = 50;
/// Minimum time between two states of a run for computing a rate from them, seconds.
const APART_S: f64 = 0.15;

/// State of a run in progress, for the view and the metrics.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// Command and target of the run.
    pub(crate) title: String,
    pub(crate) start: Instant,
    /// Expected length of the whole run in seconds; 0 if unknown.
    pub(crate) budget_s: f64,
    /// True for `watch`, which generates no load and has only counters of the watched server.
    pub(crate) watches: bool,
    /// Planned rate of an open loop, requests per second, if the user may change it during the run.
    pub(crate) rate: Option<f64>,
    /// Name of the current step, its start, and its expected length in seconds.
    pub(crate) step: (String, Instant, f64),
    /// Number of trials that have ended.
    pub(crate) trials: usize,
    pub(crate) history: History,
    /// The newest complete moment (short period with its figures). `None` before the first complete moment of a step.
    pub(crate) moment: Option<Moment>,
    /// Median and 99th percentile of the response time in `moment`, microseconds. If too many requests were not
    /// answered, only lower bounds of the percentiles are known.
    pub(crate) percentiles: [TimeFigure; 2],
    /// Newest state of the current trial.
    pub(crate) now: LiveProgress,
    /// Counts of all steps before the current step.
    past: Totals,
    /// Counts at the beginning of the current moment.
    since: (Tick, TickDetail),
    /// Failed requests in trials that have ended, by kind of failure.
    failed: BTreeMap<ErrorKind, u64>,
    /// Responses with an unexpected status in trials that have ended, by the name of the status.
    unexpected: BTreeMap<String, u64>,
    /// Newest readings (samples) of the counters of clients and server, the clients first.
    pub(crate) sides: Vec<SideNow>,
    /// True if clients and server are on one host.
    pub(crate) one_host: bool,
    /// Name and CPU utilization of each client host. Empty if there is only one client host.
    pub(crate) client_hosts: Vec<(String, f64)>,
    /// Devices sorted by utilization, the busiest first.
    pub(crate) busiest: Vec<Device>,
    /// Heading of the list of steps.
    pub(crate) steps_head: String,
    /// One line for each of the newest [`MOST_LINES`] finished steps.
    pub(crate) steps: VecDeque<String>,
    pub(crate) notes: VecDeque<String>,
    /// The run so far. The view's thread takes the run out of the model to judge it.
    pub(crate) unjudged: Option<Box<Run>>,
    /// True for `find`, which shows the capacity and the suspected bottleneck so far.
    pub(crate) searches: bool,
    /// Limit on the 99th percentile of the response time, microseconds; `None` until it is known.
    pub(crate) limit_us: Option<f64>,
    /// Capacity and bottleneck according to the trials so far. Empty before the first trial.
    pub(crate) so_far: Vec<AnswerLine>,
}

impl Model {
    pub(crate) fn new(title: String, steps_head: String, budget_s: f64) -> Self {
        let start = Instant::now();
        Self {
            title,
            start,
            budget_s,
            watches: false,
            rate: None,
            step: (String::new(), start, 0.0),
            trials: 0,
            history: History::default(),
            moment: None,
            percentiles: [TimeFigure::Unknown; 2],
            now: LiveProgress::default(),
            past: Totals::default(),
            since: Default::default(),
            failed: BTreeMap::new(),
            unexpected: BTreeMap::new(),
            sides: Vec::new(),
            one_host: false,
            client_hosts: Vec::new(),
            busiest: Vec::new(),
            steps_head,
            steps: VecDeque::new(),
            notes: VecDeque::new(),
            unjudged: None,
            searches: false,
            limit_us: None,
            so_far: Vec::new(),
        }
    }

    /// Records that a step of the run begins.
    pub(crate) fn phase(&mut self, name: &str, expected_s: f64) {
        self.past = self.totals();
        self.step = (run::visible(name).into_owned(), Instant::now(), expected_s);
        self.now = LiveProgress::default();
        // Figures of the previous step would look like figures of the new step.
        self.moment = None;
        self.since = Default::default();
    }

    /// Records the progress of the current trial. Ignores the trial that measures the generator without a server,
    /// because the trial's high rate would flatten the charts.
    pub(crate) fn progress(&mut self, now: LiveProgress) {
        if self.step.0 == lab::GENERATOR_ALONE {
            return;
        }
        let seconds = now.tick.t_s - self.since.0.t_s;
        if seconds >= APART_S {
            let grown = now.detail.since(&self.since.1);
            self.percentiles = [0.5, 0.99].map(|q| grown.percentile(q));
            let [p50_us, p99_us] = self.percentiles.map(|figure| figure.exact().unwrap_or(f64::NAN));
            let completed = now.tick.completed.saturating_sub(self.since.0.completed) as f64 / seconds;
            let cpu = self.sides.last().and_then(|side| side.cpu).map_or(f64::NAN, |cpu| cpu.busy());
            let moment = Moment { seconds, completed, p50_us, p99_us, cpu };
            self.history.push(moment);
            self.moment = Some(moment);
            self.since = (now.tick.clone(), now.detail.clone());
        }
        self.see(&now.clients, now.server.as_ref());
        self.now = now;
    }

    /// Returns a line about the server of `loadline watch`; `None` before there are two samples. If the whole line has more
    /// than `room` characters, leaves out the kinds of CPU time, and then the busiest device.
    pub(crate) fn line(&self, room: usize) -> Option<String> {
        let side = self.sides.last()?;
        let cpu = side.cpu?;
        let part = |name, share: f64| (share >= 0.005).then(|| format!("{name} {:.0} %", share * 100.0));
        let kinds = [
            part("user", cpu.user),
            part("system", cpu.system),
            part("interrupts", cpu.interrupts),
            part("stolen", cpu.stolen),
        ];
        let kinds = format!(" ({})", kinds.into_iter().flatten().collect::<Vec<_>>().join(", "));
        let busiest = self.busiest.first();
        let busiest = busiest.map(|d| format!("  busiest {} {:.0} %", run::visible(&d.name()), d.busy * 100.0));
        let busiest = busiest.unwrap_or_default();
        let cpus = side.uses.cpus.map_or("n/a".into(), |cpus| format!("{cpus:.2}"));
        let memory = side.uses.memory.map_or("n/a".into(), |bytes| report::quantity(bytes, report::Unit::Bytes));
        let line = |kinds: &str, busiest: &str| {
            format!("CPU {:.0} %{kinds}  server {cpus} CPUs, {memory}{busiest}", cpu.busy() * 100.0)
        };
        let lines = [line(&kinds, &busiest), line("", &busiest)];
        Some(lines.into_iter().find(|line| line.chars().count() <= room).unwrap_or_else(|| line("", "")))
    }

    /// Records the newest samples of both sides. If no side has a new sample, keeps the previous samples.
    pub(crate) fn see(&mut self, clients: &[Side], server: Option<&Side>) {
        let of_server = server.map(|side| SideNow::of("server", side)).filter(|now| now.cpu.is_some());
        let sides: Vec<SideNow> = SideNow::of_clients(clients).into_iter().chain(of_server).collect();
        if sides.is_empty() {
            return;
        }
        self.sides = sides;
        let busy = |side: &Side| Some((run::visible(&side.host).into_owned(), CpuKinds::of(side)?.busy()));
        let hosts: Vec<(String, f64)> = clients.iter().filter_map(busy).collect();
        self.client_hosts = if hosts.len() > 1 { hosts } else { Vec::new() };
        let client = clients.first();
        self.one_host = client.zip(server).is_some_and(|(client, server)| server.same_cpus(client));
        let nobody = Side::default();
        let all = judge::devices_of_sides(client.unwrap_or(&nobody), server);
        self.busiest = all.into_iter().take(MOST_LINES).collect();
    }

    /// Records an ended trial: adds `line` to the list of steps, and the trial's failures to the counts.
    pub(crate) fn trial(&mut self, trial: &Trial, line: &str) {
        self.trials += 1;
        for (kind, n) in &trial.tally.errors.0 {
            *self.failed.entry(*kind).or_default() += n;
        }
        for (status, n) in &trial.tally.unexpected_statuses {
            *self.unexpected.entry(run::visible(status).into_owned()).or_default() += n;
        }
        self.past = self.totals();
        (self.now.tick.sent, self.now.tick.completed) = (0, 0);
        self.now.detail = TickDetail::default();
        keep(&mut self.steps, line);
    }

    /// Returns the counts of the whole run so far, without the counts of the trial that measures only the generator.
    pub(crate) fn totals(&self) -> Totals {
        let (tick, detail) = (&self.now.tick, self.now.detail.clone());
        let mut sum = self.past.clone();
        sum.add(&Totals { sent: tick.sent, completed: tick.completed, detail });
        sum
    }

    pub(crate) fn note(&mut self, sentence: &str) {
        keep(&mut self.notes, sentence);
    }

    /// Returns the number of responses with each unexpected status in the whole run, the most frequent status first.
    pub(crate) fn unexpected(&self) -> Vec<(String, u64)> {
        let mut all = self.unexpected.clone();
        for (status, n) in &self.now.detail.unexpected_statuses {
            let sum = all.entry(run::status_name(*status).into_owned()).or_default();
            *sum = sum.saturating_add(*n);
        }
        let mut all: Vec<(String, u64)> = all.into_iter().collect();
        all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        all
    }

    /// Returns the number of failures of each kind in the whole run, the most frequent kind first.
    pub(crate) fn errors(&self) -> Vec<(ErrorKind, u64)> {
        let mut all = self.failed.clone();
        for (kind, n) in &self.now.detail.errors.0 {
            let sum = all.entry(*kind).or_default();
            *sum = sum.saturating_add(*n);
        }
        let mut all: Vec<(ErrorKind, u64)> = all.into_iter().filter(|(_, n)| *n > 0).collect();
        all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        all
    }
}

fn keep(lines: &mut VecDeque<String>, line: &str) {
    if lines.len() >= MOST_LINES {
        lines.pop_front();
    }
    lines.push_back(run::visible(line).into_owned());
}

#[cfg(test)]
mod tests;

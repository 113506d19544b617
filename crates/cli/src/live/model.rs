//! What is known of a run while it goes on, as whoever shows it reads it: the view, the metrics. Written by the conductor's
//! thread a few times a second.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use lab::LiveProgress;
use run::{Device, ErrorKind, Side, Tick, TickDetail, Trial};

use super::history::{History, Moment};
use super::sides::{CpuKinds, SideNow};

/// Steps and notes that are kept.
const MOST_LINES: usize = 50;
/// Two states that are nearer say nothing of a rate, seconds.
const APART_S: f64 = 0.15;

/// See the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    /// What is done to whom.
    pub(crate) title: String,
    pub(crate) start: Instant,
    /// The whole run is expected to take so many seconds; 0 is unknown.
    pub(crate) budget_s: f64,
    /// Somebody else makes the load: there are counters and nothing else.
    pub(crate) watches: bool,
    /// The planned rate of an open loop that may be changed by hand, per second.
    pub(crate) rate: Option<f64>,
    /// The step that is on, since when, and for how many seconds it is meant.
    pub(crate) step: (String, Instant, f64),
    /// Trials that ended.
    pub(crate) trials: usize,
    pub(crate) history: History,
    /// The newest moment.
    pub(crate) moment: Option<Moment>,
    /// The newest state of the trial that is on.
    pub(crate) now: LiveProgress,
    /// Where the moment that is on began.
    since: (Tick, TickDetail),
    /// Failures of the trials that ended.
    failed: BTreeMap<ErrorKind, u64>,
    /// Both sides, client first, as they were when last seen; whether they are on one host.
    pub(crate) sides: Vec<SideNow>,
    pub(crate) one_host: bool,
    /// Hosts of clients where they are several, and how busy each is.
    pub(crate) client_hosts: Vec<(String, f64)>,
    /// Devices by share of their time or limit, busiest first.
    pub(crate) busiest: Vec<Device>,
    /// The steps so far, a line each, and the head of these lines.
    pub(crate) steps_head: String,
    pub(crate) steps: VecDeque<String>,
    pub(crate) notes: VecDeque<String>,
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
            now: LiveProgress::default(),
            since: Default::default(),
            failed: BTreeMap::new(),
            sides: Vec::new(),
            one_host: false,
            client_hosts: Vec::new(),
            busiest: Vec::new(),
            steps_head,
            steps: VecDeque::new(),
            notes: VecDeque::new(),
        }
    }

    /// A phase begins.
    pub(crate) fn phase(&mut self, name: &str, expected_s: f64) {
        self.step = (run::visible(name).into_owned(), Instant::now(), expected_s);
        self.now = LiveProgress::default();
        self.since = Default::default();
    }

    /// More is known of the trial that is on.
    pub(crate) fn progress(&mut self, now: LiveProgress) {
        let seconds = now.tick.t_s - self.since.0.t_s;
        if seconds >= APART_S {
            let responses = now.detail.responses.since(&self.since.1.responses);
            let quantile = |q: f64| responses.quantile_us(q).unwrap_or(f64::NAN);
            let completed = now.tick.completed.saturating_sub(self.since.0.completed) as f64 / seconds;
            let cpu = self.sides.last().and_then(|side| side.cpu).map_or(f64::NAN, |cpu| cpu.busy());
            let moment = Moment { seconds, completed, p50_us: quantile(0.5), p99_us: quantile(0.99), cpu };
            self.history.push(moment);
            self.moment = Some(moment);
            self.since = (now.tick.clone(), now.detail.clone());
        }
        self.see(&now.clients, now.server.as_ref());
        self.now = now;
    }

    /// What is known of a server that is only watched, in a line; none before there are two samples.
    pub(crate) fn line(&self) -> Option<String> {
        let side = self.sides.last()?;
        let cpu = side.cpu?;
        let part = |name, share: f64| (share >= 0.005).then(|| format!("{name} {:.0} %", share * 100.0));
        let kinds = [
            part("user", cpu.user),
            part("system", cpu.system),
            part("interrupts", cpu.interrupts),
            part("stolen", cpu.stolen),
        ];
        let kinds: Vec<String> = kinds.into_iter().flatten().collect();
        let busiest = self.busiest.first();
        let busiest = busiest.map(|d| format!("  busiest {} {:.0} %", run::visible(&d.name()), d.busy * 100.0));
        let cpus = side.uses.cpus.map_or("n/a".into(), |cpus| format!("{cpus:.2}"));
        let memory = side.uses.memory.map_or("n/a".into(), |bytes| report::quantity(bytes, report::Unit::Bytes));
        Some(format!(
            "CPU {:.0} % ({})  server {cpus} CPUs, {memory}{}",
            cpu.busy() * 100.0,
            kinds.join(", "),
            busiest.unwrap_or_default()
        ))
    }

    /// Both sides' newest samples. What is not told stays as it was seen last.
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

    /// A trial ended: its line, and its failures.
    pub(crate) fn trial(&mut self, trial: &Trial, line: &str) {
        self.trials += 1;
        for (kind, n) in &trial.tally.errors.0 {
            *self.failed.entry(*kind).or_default() += n;
        }
        self.now.detail = TickDetail::default();
        keep(&mut self.steps, line);
    }

    pub(crate) fn note(&mut self, sentence: &str) {
        keep(&mut self.notes, sentence);
    }

    /// Failures of the whole run by kind, the most first.
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
mod tests {
    use super::*;
    use run::{CoarseHist, Errors};

    fn state(t_s: f64, completed: u64, resets: u64) -> LiveProgress {
        let mut counts = vec![0; CoarseHist::BUCKETS];
        counts[CoarseHist::bucket(1_000_000)] = completed;
        let errors = Errors([(ErrorKind::Reset, resets)].into());
        let detail = TickDetail { errors, responses: CoarseHist::of(counts), ..TickDetail::default() };
        LiveProgress { tick: Tick { t_s, completed, ..Tick::default() }, detail, ..LiveProgress::default() }
    }

    #[test]
    fn a_moment_is_what_happened_since_the_last_and_each_step_begins_anew() {
        let mut model = Model::new("find".into(), String::new(), 30.0);
        model.phase("1 connection", 1.0);
        model.progress(state(0.2, 20, 0));
        model.progress(state(0.4, 60, 3));
        let moment = model.moment.unwrap();
        assert!((moment.completed - 200.0).abs() < 1e-6 && (moment.p50_us - 1000.0).abs() < 90.0, "{moment:?}");
        assert_eq!(model.errors(), [(ErrorKind::Reset, 3)]);
        let mut trial = Trial::default();
        trial.tally.errors = Errors([(ErrorKind::Reset, 3)].into());
        model.trial(&trial, "1 connection\u{1b}[2J");
        assert_eq!((model.errors(), model.steps[0].contains('\u{1b}')), (vec![(ErrorKind::Reset, 3)], false));
        model.phase("2 connections", 1.0);
        model.progress(state(0.2, 40, 1));
        assert!((model.moment.unwrap().completed - 200.0).abs() < 1e-6);
        assert_eq!(model.errors(), [(ErrorKind::Reset, 4)]);
    }
}

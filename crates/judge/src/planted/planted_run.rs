//! Builder of made-up runs: invented runs whose bottleneck is known. A run has a given response time with one client
//! (R1) and a given highest rate (Xmax), a sweep, and an open-loop search. The run's two hosts have four CPUs each.
//! Every counter has a harmless value unless a case changes it.

use std::collections::BTreeMap;

use run::{
    Arrival, Column, CounterId, HostInfo, Intensity, Kind, Measured, Rates, Recording, Run, Side, Steady, Summary,
    Tally, ThinkTime, Trial, TrialKind, Window, counter,
};

/// Length of the measured window of a made-up trial, seconds.
const WINDOW_S: f64 = 2.0;

/// Operating point of a made-up run: one load with its results.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Number of clients in a closed loop, or mean number of requests in flight in an open loop.
    pub n: f64,
    /// Completed requests per second.
    pub x: f64,
    /// Offered requests per second.
    pub offered: f64,
    /// Mean response time, microseconds.
    pub r_us: f64,
    /// Highest rate of the run, requests per second.
    pub capacity: f64,
}

/// Side (client or server) on which a counter is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The generator's side.
    Client,
    /// The server's side.
    Server,
}

pub(super) type Value = Box<dyn Fn(&Point) -> f64>;
type Change = Box<dyn Fn(&mut Trial, &Point)>;

/// Counter of one side, with a function that returns its value at each operating point.
pub(super) struct Row {
    pub(super) who: Who,
    pub(super) id: &'static str,
    pub(super) instance: String,
    pub(super) value: Value,
    /// True if a case set the counter; false for the harmless counters that every run has.
    pub(super) planted: bool,
}

/// Builder of a made-up run.
pub struct PlantedRun {
    pub(super) r1_us: f64,
    pub(super) x_max: f64,
    steps: Vec<u32>,
    rates: Vec<f64>,
    pub(super) rows: Vec<Row>,
    pub(super) changes: Vec<Change>,
    plan: fn(&mut run::Plan),
    pub(super) shared: bool,
    pub(super) server: bool,
    url: String,
}

impl PlantedRun {
    /// Makes a server without any planted cause. `r1_us` is its response time with one client, and `x_max` its highest
    /// rate.
    pub fn new(r1_us: f64, x_max: f64) -> Self {
        let planted_run = Self {
            r1_us,
            x_max,
            steps: vec![1, 2, 4, 8, 16, 32, 64, 128],
            rates: vec![0.5, 0.9, 1.15],
            rows: Vec::new(),
            changes: Vec::new(),
            plan: |_| {},
            shared: false,
            server: true,
            url: "http://10.0.0.2:8080/".into(),
        };
        let mut harmless = planted_run.harmless();
        harmless.rows.iter_mut().for_each(|row| row.planted = false);
        harmless
    }

    fn harmless(self) -> Self {
        let both = [Who::Client, Who::Server];
        let mut planted_run = self;
        for who in both {
            let own = if who == Who::Client { 4.0 } else { 8.0 };
            planted_run = planted_run
                .level(who, "cpu.online", "", 4.0)
                .per_s(who, "cpu.idle", "total", move |p| 4e6 - p.x * (own + 3.0))
                .per_s(who, "cpu.user", "total", move |p| p.x * own * 0.375)
                .per_s(who, "cpu.system", "total", move |p| p.x * own * 0.625)
                .per_s(who, "cpu.softirq", "total", |p| p.x * 3.0)
                .per_s(who, "cpu.irq", "total", |_| 0.0)
                .per_s(who, "cpu.iowait", "total", |_| 0.0)
                .per_s(who, "tcp.out_segs", "", |p| p.x * 2.0)
                .per_s(who, "tcp.in_segs", "", |p| p.x * 2.0)
                .per_s(who, "tcp.retrans_segs", "", |_| 0.0)
                .per_s(who, "tcp.syn_retrans", "", |_| 0.0)
                .per_s(who, "tcp.delayed_acks", "", |_| 0.5)
                .per_s(who, "system.context_switches", "", |p| 100.0 + p.x)
                .per_s(who, "system.interrupts", "", |p| 250.0 + p.x)
                .per_s(who, "softirq.count", "NET_RX", |p| p.x)
                .level(who, "interface.speed", "eth0", 1.25e9)
                .per_s(who, "interface.tx_bytes", "eth0", |p| p.x * 700.0)
                .per_s(who, "interface.rx_bytes", "eth0", |p| p.x * 700.0)
                .per_s(who, "interface.tx_packets", "eth0", |p| p.x * 2.0)
                .per_s(who, "interface.rx_packets", "eth0", |p| p.x * 2.0)
                .level(who, "connection.rtt", "", 150.0)
                .level(who, "connection.min_rtt", "", 120.0)
                .level(who, "connection.peer_window", "", 65_536.0)
                .level(who, "connection.receive_queue", "", 0.0)
                .level(who, "connection.delivery_rate", "", 5e6)
                .per_s(who, "connection.sampled", "", |p| p.n.min(64.0))
                .level(who, "connection.waiting", "", 0.0)
                .level(who, "connection.write_full", "", 0.0)
                .level(who, "connection.rwnd_limited", "", 0.0)
                .level(who, "connection.sndbuf_limited", "", 0.0);
        }
        planted_run.processes().limits()
    }

    fn processes(self) -> Self {
        self.per_s(Who::Client, "process.cpu", "loadline:50", |p| p.x * 4.0)
            .per_s(Who::Client, "thread.cpu", "shard0:50/51", |p| p.x * 4.0)
            .per_s(Who::Client, "thread.run_delay", "shard0:50/51", |p| p.x * 0.1)
            .level(Who::Client, "process.cpus_allowed", "loadline:50", 4.0)
            .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 8.0)
            .per_s(Who::Server, "process.user", "srv:100", |p| p.x * 3.0)
            .per_s(Who::Server, "process.system", "srv:100", |p| p.x * 5.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.x * 2.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/102", |p| p.x * 2.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/103", |p| p.x * 2.0)
            .per_s(Who::Server, "thread.cpu", "srv:100/104", |p| p.x * 2.0)
            .level(Who::Server, "process.cpus_allowed", "srv:100", 4.0)
            .level(Who::Server, "process.threads", "srv:100", 5.0)
    }

    fn limits(self) -> Self {
        self.level(Who::Server, "process.fds", "srv:100", 200.0)
            .level(Who::Server, "process.fd_limit", "srv:100", 20_000.0)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", 0.0)
            .level(Who::Server, "listen.limit", "0.0.0.0:8080", 4096.0)
            .per_s(Who::Server, "tcp.listen_overflows", "", |_| 0.0)
            .per_s(Who::Server, "tcp.listen_drops", "", |_| 0.0)
            .per_s(Who::Server, "tcp.passive_opens", "", |_| 0.0)
            .per_s(Who::Server, "disk.busy", "vda", |_| 1000.0)
            .per_s(Who::Server, "process.read_bytes", "srv:100", |_| 0.0)
            .per_s(Who::Server, "process.write_bytes", "srv:100", |_| 0.0)
            .per_s(Who::Server, "pressure.io_some", "", |_| 0.0)
            .per_s(Who::Server, "pressure.memory_some", "", |_| 0.0)
            .per_s(Who::Server, "memory.swap_out", "", |_| 0.0)
            .per_s(Who::Server, "tcp.memory_pressures", "", |_| 0.0)
            .per_s(Who::Server, "process.major_faults", "srv:100", |_| 0.0)
            .per_s(Who::Server, "cgroup.cpu_periods", "/srv", |_| 0.0)
            .per_s(Who::Server, "cgroup.cpu_throttled_periods", "/srv", |_| 0.0)
    }

    /// Sets the numbers of clients in the sweep.
    pub fn steps(mut self, steps: &[u32]) -> Self {
        self.steps = steps.to_vec();
        self
    }

    /// Sets the offered rates of the open-loop search, as shares of the highest rate of the sweep.
    pub fn rates(mut self, shares: &[f64]) -> Self {
        self.rates = shares.to_vec();
        self
    }

    /// Puts client and server on one host, with a loopback address.
    pub fn shared(mut self) -> Self {
        self.shared = true;
        self.url = "http://127.0.0.1:8080/".into();
        self
    }

    /// Sets the URL of the target.
    pub fn url(mut self, url: &str) -> Self {
        self.url = url.into();
        self
    }

    /// Removes the server's side from the run, as if no counter of the server could be read.
    pub fn no_server(mut self) -> Self {
        self.server = false;
        self
    }

    /// Sets a cumulative counter by its growth per second.
    pub fn per_s(
        mut self,
        who: Who,
        id: &'static str,
        instance: &str,
        value: impl Fn(&Point) -> f64 + 'static,
    ) -> Self {
        self.rows.retain(|row| !(row.who == who && row.id == id && row.instance == instance));
        self.rows.push(Row { who, id, instance: instance.into(), value: Box::new(value), planted: true });
        self
    }

    /// Sets a gauge to a level that is equal at all operating points.
    pub fn level(self, who: Who, id: &'static str, instance: &str, value: f64) -> Self {
        self.per_s(who, id, instance, move |_| value)
    }

    /// Makes Nagle's algorithm hold back `bytes` of each answer for nearly all of a request's time.
    pub fn nagle(self, bytes: f64) -> Self {
        self.level(Who::Server, "connection.send_queue", "", bytes)
            .per_s(Who::Server, "connection.waiting", "", |p| 0.95 * p.n.min(64.0))
    }

    /// Removes all instances of a counter from one side.
    pub fn none(mut self, who: Who, id: &'static str) -> Self {
        self.rows.retain(|row| !(row.who == who && row.id == id));
        self
    }

    /// Adds a change that is applied to every trial after all counters are set.
    pub fn change(mut self, change: impl Fn(&mut Trial, &Point) + 'static) -> Self {
        self.changes.push(Box::new(change));
        self
    }

    /// Sets a function that changes the plan of the finished run.
    pub fn plan(mut self, change: fn(&mut run::Plan)) -> Self {
        self.plan = change;
        self
    }

    /// Returns the verdict on the made-up run.
    pub fn verdict(&self) -> run::Bottleneck {
        let mut run = self.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    /// Returns the made-up run.
    pub fn run(&self) -> Run {
        let closed = self.steps.iter().map(|n| self.closed(*n));
        let open = self.rates.iter().map(|share| self.open(*share));
        let mut run = Run {
            format: run::FORMAT.into(),
            command: "find (planted)".into(),
            started: "2026-01-01T00:00:00Z".into(),
            trials: closed.chain(open).collect(),
            hosts: vec![host("alpha", "client"), host(self.server_host(), "server")],
            ..Run::default()
        };
        run.plan.target.url = self.url.clone();
        run.plan.command = "find".into();
        (self.plan)(&mut run.plan);
        run
    }

    fn server_host(&self) -> &'static str {
        if self.shared { "alpha" } else { "beta" }
    }

    fn closed(&self, n: u32) -> Trial {
        let clients = f64::from(n);
        let x = (clients * 1e6 / self.r1_us).min(self.x_max);
        let point = Point { n: clients, x, offered: x, r_us: clients * 1e6 / x, capacity: self.x_max };
        let intensity = Intensity::Closed { connections: n, pipeline: 1, think: ThinkTime::default() };
        let label = if n == 1 { "1 connection".to_string() } else { format!("{n} connections") };
        self.trial(label, TrialKind::Sweep, intensity, point)
    }

    fn open(&self, share: f64) -> Trial {
        let offered = self.x_max * share;
        let x = offered.min(self.x_max);
        let r_us = if share < 1.0 { self.r1_us * (1.0 + 0.5 * share / (1.0 - share)) } else { self.r1_us * 400.0 };
        let point = Point { n: (x * r_us / 1e6).max(0.01), x, offered, r_us, capacity: self.x_max };
        let intensity =
            Intensity::Open { rate: offered, arrival: Arrival::Poisson, max_connections: 10_000, pipeline: 1 };
        let mut trial = self.trial(format!("{offered:.0}/s"), TrialKind::Search, intensity, point);
        // The first requests of an overload find an empty queue.
        [&mut trial.latency_us, &mut trial.service_us].into_iter().for_each(|us| us.min = us.min.min(self.r1_us));
        trial
    }

    fn trial(&self, label: String, kind: TrialKind, intensity: Intensity, point: Point) -> Trial {
        let completed = (point.x * WINDOW_S) as u64;
        let tally = Tally {
            attempted: point.n as u64,
            connected: point.n as u64,
            sent: completed,
            due: (point.offered * WINDOW_S) as u64,
            completed,
            status: BTreeMap::from([("2xx".to_string(), completed)]),
            ..Tally::default()
        };
        let latency = summary(point.r_us, completed);
        let mut trial = Trial {
            label,
            kind,
            intensity,
            tally: tally.clone(),
            rates: Rates {
                offered_rate: point.offered,
                sent_rate: point.x,
                completed_rate: point.x,
                goodput: point.x,
                concurrency: point.n,
            },
            measured: Measured {
                window: Window { begin_s: 0.0, end_s: WINDOW_S },
                length_s: WINDOW_S,
                tally: Tally { attempted: 0, connected: 0, ..tally },
                series_completed: vec![point.x; 20],
                slot_rates: Vec::new(),
                slot_times: Vec::new(),
                ..Measured::default()
            },
            latency_us: latency,
            service_us: latency,
            connect_us: summary(100.0, point.n as u64),
            steady: Steady {
                steady: true,
                warmup_s: 0.6,
                reason: "the rate drifted by 0.500 % (within the noise)".into(),
                too_short: false,
            },
            client: self.side(Who::Client, &point),
            server: self.server.then(|| self.side(Who::Server, &point)),
            ..Trial::default()
        };
        self.changes.iter().for_each(|change| change(&mut trial, &point));
        trial
    }

    fn side(&self, who: Who, point: &Point) -> Side {
        let t_s: Vec<f64> = (0..=4).map(|i| f64::from(i) * WINDOW_S / 4.0).collect();
        let column = |id: &'static str, instance: &str, value: f64| {
            let gauge = counter(id).is_none_or(|spec| spec.kind == Kind::Gauge);
            let at = |t: &f64| Some(if gauge { value } else { 5000.0 + value * t });
            Column { counter: CounterId::new(id), instance: instance.into(), values: t_s.iter().map(at).collect() }
        };
        let rows = self.rows.iter().filter(|row| row.who == who);
        let columns = rows.map(|row| column(row.id, &row.instance, (row.value)(point))).collect();
        let (host, process) = match who {
            Who::Client => ("alpha", "loadline:50"),
            Who::Server => (self.server_host(), "srv:100"),
        };
        Side {
            host: host.into(),
            page_bytes: Some(4096),
            processes: vec![process.into()],
            shared: self.shared,
            recording: Recording { t_s, columns, ..Recording::default() },
            ..Side::default()
        }
    }
}

fn host(name: &str, role: &str) -> HostInfo {
    HostInfo { name: name.into(), role: role.into(), cpus: 4, kernel: "6.18".into(), ..HostInfo::default() }
}

fn summary(mean: f64, count: u64) -> Summary {
    Summary {
        count,
        mean,
        min: mean * 0.8,
        p50: mean * 0.98,
        p90: mean * 1.2,
        p99: mean * 1.6,
        p99_9: mean * 2.2,
        max: mean * 3.0,
        ..Summary::default()
    }
}

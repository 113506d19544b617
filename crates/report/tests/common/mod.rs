//! Runs built by hand: one that looks like a real `find`, and unusual ones.

#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

pub mod any;
pub mod history;

use std::collections::BTreeMap;

use run::*;

/// Returns the run with judge's decisions, such as the deciding trials and their results. Its sentences stay as
/// planted.
pub fn decided(mut run: Run) -> Run {
    let mut judged = run.clone();
    judge::judge(&mut judged);
    let Findings { limits, picks, outcomes, devices, cost_names, state, hosts, failure, trust, .. } = judged.findings;
    run.findings.trust.ceiling_used = trust.ceiling_used;
    run.findings = Findings { limits, picks, outcomes, devices, cost_names, state, hosts, failure, ..run.findings };
    run
}

/// Returns a `find` of a server with one full thread: sweep, search, overload, with recordings of both sides.
pub fn find() -> Run {
    let mut trials: Vec<Trial> = [1, 2, 4, 8, 16, 32, 64, 128].into_iter().map(sweep).collect();
    trials
        .extend([(12_000.0, 0.25), (24_000.0, 0.5), (36_000.0, 0.75), (44_000.0, 0.92), (46_500.0, 0.97)].map(search));
    trials.push(overload(96_000.0));
    decided(Run {
        format: FORMAT.into(),
        version: "0.1.0".into(),
        label: None,
        command: "loadline find http://127.0.0.1:8080/index.html --p99 20ms".into(),
        started: "2026-11-21T05:39:13Z".into(),
        elapsed_s: 29.4,
        plan: plan(),
        hosts: vec![host()],
        medium: None,
        at_rest: vec![],
        trials,
        findings: findings(),
        notes: vec![Note { text: "io_uring is not allowed here, epoll is used instead.".into() }],
        interrupted: false,
    })
}

fn plan() -> Plan {
    let mut plan = Plan { command: "find".into(), ..Plan::default() };
    plan.target.url = "http://127.0.0.1:8080/index.html".into();
    plan.objective.p99_us = Some(20_000.0);
    plan
}

fn host() -> HostInfo {
    HostInfo {
        name: "127.0.0.1".into(),
        role: "client and server".into(),
        kernel: "6.18.0".into(),
        cpus: 2,
        cpu_model: "Example 2.4 GHz".into(),
        memory_bytes: 8 << 30,
        facts: BTreeMap::from([("net.core.somaxconn".into(), "4096".into())]),
    }
}

/// Returns the throughput of the modelled server with `n` clients, in requests per second.
fn rate(n: f64) -> f64 {
    15_200.0 * n / (1.0 + 0.29 * (n - 1.0) + 0.0004 * n * (n - 1.0))
}

fn hist(mean_us: f64, tail: f64, n: u64) -> Hist {
    let mut hist = Hist::new();
    for i in 0..n {
        let u = (i as f64 + 0.5) / n as f64;
        let us = mean_us * (0.55 + 0.45 * -(1.0 - u).ln() * (1.0 + tail * u.powi(8)));
        hist.record_ns((us * 1e3) as u64);
    }
    hist
}

fn sweep(n: u32) -> Trial {
    let x = rate(f64::from(n));
    let mut t = filled(x, f64::from(n) / x * 1e6, 0.5);
    t.label = if n == 1 { "1 connection".into() } else { format!("{n} connections") };
    t.kind = TrialKind::Sweep;
    t.intensity = Intensity::Closed { connections: n, pipeline: 1, think: ThinkTime::default() };
    t.rates.concurrency = f64::from(n) * 0.998;
    t
}

fn search((offered, rho): (f64, f64)) -> Trial {
    let mut t = filled(offered, 66.0 + 40.0 * rho / (1.0 - rho), 3.0);
    t.label = format!("{offered}/s offered");
    t.kind = TrialKind::Search;
    t.intensity = Intensity::Open { rate: offered, arrival: Arrival::Poisson, max_connections: 10_000, pipeline: 1 };
    t
}

fn overload(offered: f64) -> Trial {
    let mut t = filled(41_000.0, 1_350_000.0, 0.2);
    t.label = format!("{offered}/s offered");
    t.kind = TrialKind::Overload;
    t.intensity = Intensity::Open { rate: offered, arrival: Arrival::Poisson, max_connections: 10_000, pipeline: 1 };
    t.rates.offered_rate = offered;
    t.rates.sent_rate = offered * 0.93;
    t.rates.goodput = 2_200.0;
    t.tally.errors.0.insert(ErrorKind::ConnectTimeout, 312);
    t.tally.errors.0.insert(ErrorKind::Reset, 4);
    t.measured.tally.errors = t.tally.errors.clone();
    t
}

/// Returns a trial of two seconds with this throughput and mean response time, and with counters of both sides.
fn filled(rate: f64, mean_us: f64, tail: f64) -> Trial {
    let hist = hist(mean_us, tail, 20_000);
    let n = (rate * 2.0) as u64;
    let busy = (rate / 48_000.0).min(1.0);
    Trial {
        tally: Tally { attempted: 64, connected: 64, sent: n, completed: n, due: n, ..Tally::default() },
        rates: Rates {
            offered_rate: rate,
            sent_rate: rate,
            completed_rate: rate,
            goodput: rate,
            concurrency: rate * mean_us / 1e6,
        },
        measured: Measured {
            window: Window { begin_s: 1.0, end_s: 3.0 },
            length_s: 2.0,
            tally: Tally { sent: n, completed: n, due: n, ..Tally::default() },
            series_completed: (0..20).map(|i| rate * (1.0 + 0.03 * f64::from(i * 7 % 5 - 2))).collect(),
            slot_rates: Vec::new(),
            slot_times: Vec::new(),
            ..Measured::default()
        },
        latency_us: hist.summary(),
        service_us: hist.summary(),
        histograms: BTreeMap::from([("response".into(), hist)]),
        steady: Steady { steady: true, warmup_s: 0.8, reason: "slope 0.2 %, variation 1.1 %".into() },
        client: side("client", "loadline:900", busy * 0.7, rate),
        server: Some(side("server", "nginx:1234", busy, rate)),
        ..Trial::default()
    }
}

fn side(role: &str, process: &str, busy: f64, rate: f64) -> Side {
    let t_s: Vec<f64> = (0..=6).map(|i| 0.5 * f64::from(i)).collect();
    let growing = |id: &'static str, instance: &str, per_s: f64| Column {
        counter: CounterId::new(id),
        instance: instance.into(),
        values: t_s.iter().enumerate().map(|(i, t)| Some(t * per_s * (1.0 + 0.02 * (i % 3) as f64))).collect(),
    };
    let level = |id: &'static str, instance: &str, v: f64| Column {
        counter: CounterId::new(id),
        instance: instance.into(),
        values: t_s.iter().map(|_| Some(v)).collect(),
    };
    let thread = format!("{process}/1240");
    let columns = vec![
        growing("cpu.user", "total", 3e5 * busy),
        growing("cpu.system", "total", 9e5 * busy),
        growing("cpu.softirq", "total", 3e5 * busy),
        growing("cpu.idle", "total", 2e6 - 1.5e6 * busy),
        growing("process.cpu", process, 1e6 * busy),
        growing("thread.cpu", &thread, 0.97e6 * busy),
        growing("system.context_switches", "", rate * 1.7),
        growing("softirq.count", "NET_RX", rate * 1.02),
        growing("tcp.retrans_segs", "", 0.0),
        growing("interface.rx_bytes", "lo", rate * 1500.0),
        growing("interface.tx_bytes", "lo", rate * 1500.0),
        level("interface.speed", "lo", 1.25e9),
        level("process.rss", process, 9.4e6),
        level("process.fds", process, 75.0),
        level("process.fd_limit", process, 20_000.0),
        level("listen.queue", "0.0.0.0:8080", 3.0),
        level("listen.limit", "0.0.0.0:8080", 511.0),
    ];
    let value = |v: f64, unit| Cost { per_request: Reading::Value(v), unit };
    let scale = if role == "client" { 0.7 } else { 1.0 };
    Side {
        host: "127.0.0.1".into(),
        machine: "m".into(),
        processes: vec![process.into()],
        behind: vec![],
        waits: (role == "server").then(|| Box::new(sampled())),
        shared: true,
        recording: Recording { t_s, columns, ..Recording::default() },
        counters: BTreeMap::from([
            (CounterId::new("process.cpu"), Reading::Value(2e6 * busy)),
            (CounterId::new("tcp.retrans_segs"), Reading::Value(0.0)),
            (CounterId::new("cgroup.cpu_throttled_time"), Reading::absent("no quota is set")),
        ]),
        costs: BTreeMap::from([
            ("process_cpu_us".into(), value(20.4 * scale, FigureUnit::Micros)),
            ("process_user_us".into(), value(4.1 * scale, FigureUnit::Micros)),
            ("process_system_us".into(), value(16.2 * scale, FigureUnit::Micros)),
            ("cpu_user_us".into(), value(7.2, FigureUnit::Micros)),
            ("cpu_system_us".into(), value(22.4, FigureUnit::Micros)),
            ("cpu_softirq_us".into(), value(7.1, FigureUnit::Micros)),
            ("cpu_irq_us".into(), value(0.3, FigureUnit::Micros)),
            ("context_switches".into(), value(1.7, FigureUnit::Plain)),
            ("bytes_out".into(), value(1518.0, FigureUnit::Bytes)),
            ("segments_in".into(), value(1.02, FigureUnit::Plain)),
            ("segments_out".into(), value(1.01, FigureUnit::Plain)),
            (
                "packets_in".into(),
                Cost { per_request: Reading::absent("loopback has no packet counter"), unit: FigureUnit::Plain },
            ),
        ]),
    }
}

fn findings() -> Findings {
    let evidence = |text: &str, counter: &str, value: f64, unit: FigureUnit, limit: f64| Evidence {
        text: text.into(),
        counter: counter.into(),
        value: Some(value),
        unit,
        place: "server 127.0.0.1 nginx:1234".into(),
        limit: Some(limit),
    };
    Findings {
        capacity: Some(Capacity {
            rate: 46_480.0,
            failed_at: Some(49_100.0),
            failed_why: Some("p99 was 31 ms".into()),
            objective: "p99 under 20 ms and errors at most 0.1 %".into(),
            method: "bisected to 5 %".into(),
            held: true,
            ..Capacity::default()
        }),
        knee: Some(Knee { concurrency: 3.19, r1_us: 65.8, x_max: 48_500.0, reached_at: Some(16.0) }),
        bottleneck: Bottleneck {
            id: "server-single-thread".into(),
            confidence: 0.93,
            sureness: Certainty::from_confidence(0.93),
            sentence: "Thread 1240 of nginx:1234 is full while 0.9 of 2 CPUs idle.".into(),
            evidence: vec![
                evidence("thread 1240 used 99.1 % of one CPU", "thread.cpu", 0.991, FigureUnit::Plain, 1.0),
                evidence("its run queue stayed short: 0.3 % of the time runnable but not running", "thread.run_delay", 0.003, FigureUnit::Plain, 1.0),
                evidence("one request costs it 20.4 µs, so 49,000/s fill it", "process_cpu_us", 20.4, FigureUnit::Micros, 20.6),
            ],
            ruled_out: vec![
                RuledOut { id: "client-cpu".into(), why: "the generator used 61 % of its CPU".into() },
                RuledOut { id: "network-medium".into(), why: "lo carried 72 MB/s and has no limit".into() },
                RuledOut { id: "network-loss".into(), why: "no segment was sent again".into() },
                RuledOut { id: "accept-queue".into(), why: "no overflow, at most 3 of 511 waited".into() },
            ],
            next: Some(NextBottleneck { id: "client-cpu".into(), rate: Some(76_000.0), why: "the generator's thread would be full".into() }),
            missing: vec!["syscalls per request: needs tracing".into()],
            waits_for: None,
            advice: vec!["Let nginx run more workers: worker_processes auto.".into()],
            ..Bottleneck::default()
        },
        checks: vec![],
        conclusions: vec![],
        fits: BTreeMap::from([(
            "usl".into(),
            Fit {
                formula: "X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1))".into(),
                coefficients: BTreeMap::from([("lambda".into(), 15_200.0), ("sigma".into(), 0.29), ("kappa".into(), 0.0004)]),
                r2: 0.997,
                points: 8,
                quality: "good".into(),
                ..Fit::default()
            },
        )]),
        trust: Trust {
            generator_ceiling: Some(412_000.0),
            ceiling_used: None,
            generator_limited: false,
            warnings: vec!["Client and server share both CPUs of this machine: the capacity would be higher with a generator of its own.".into()],
            held: vec!["Little's law: 63.9 in flight against 48,400/s × 1.32 ms = 63.8".into()],
            probe_share: Some(0.0031),
            measured_share: Some(0.71),
            spent: Some(run::TimeSpent {
                measured_s: 21.3,
                at_rest_s: 0.6,
                start_s: 0.4,
                settle_s: 3.1,
                drain_s: 0.5,
                other_s: 4.1,
            }),
        },
        argument: vec![
            "With one client a request takes 65.8 µs; the CPU of the server explains 20.4 µs of it.".into(),
            "Throughput stops growing at 16 clients, so something is full there.".into(),
        ],
        ..Findings::default()
    }
}

/// Returns a run with a chain of upstreams, whose names are long and hostile.
pub fn behind() -> Run {
    let load = |address: String, from: &str, depth, limit| run::UpstreamLoad {
        behind: run::Upstream {
            address,
            from: from.into(),
            depth,
            processes: vec!["<i>a-process-with-a-long-name</i>:812".into(), "python3:813".into()],
            ..run::Upstream::default()
        },
        connections: Some(1_048_576.0),
        cpu_used: Some(0.98),
        cpu_allowed: Some(2.0),
        busiest_thread: Some(0.98),
        limit,
        ..run::UpstreamLoad::default()
    };
    let long = format!("unix:/{}", "a-directory/".repeat(30));
    let mut run = find();
    run.findings.behind = vec![
        load("127.0.0.1:8001".into(), "", 1, Some(run::UpstreamLimit::Thread)),
        load(long.clone(), "127.0.0.1:8001", 2, None),
        load("[2001:db8:1111:2222:3333:4444:5555:6666]:65535".into(), &long, 3, None),
    ];
    run.findings.bottleneck.waits_for =
        Some(run::WaitsFor { address: "127.0.0.1:8001".into(), ..run::WaitsFor::default() });
    let elasticity = run::Elasticity {
        lever: "behind-cpu".into(),
        estimate: run::Estimate::around(0.97, 0.05),
        ..run::Elasticity::default()
    };
    run.findings.proof = Some(run::Proof { elasticities: vec![elasticity], ..run::Proof::default() });
    run
}

/// Returns a server whose threads ran this stack.
pub fn with_stack(stack: &str) -> Side {
    let cpu = vec![run::StackSum { stack: stack.into(), weight: 1.0 }];
    let stacks = run::StackProfile { cpu_samples: 1, cpu, ..run::StackProfile::default() };
    let waits = run::WaitProfile { stacks: Some(stacks), ..run::WaitProfile::default() };
    Side { waits: Some(Box::new(waits)), ..Side::default() }
}

/// Returns a run with every unusual feature.
pub fn awkward() -> Run {
    let hostile = "<script>alert('x')</script> & \"quotes\" | pipe \u{1b}[31m\n=cmd()".to_string();
    let long = "a-very-long-name-without-any-space-".repeat(8);
    let odd = Trial {
        label: hostile.clone(),
        rates: Rates {
            offered_rate: f64::INFINITY,
            sent_rate: f64::NAN,
            completed_rate: 1e300,
            goodput: -1.0,
            concurrency: f64::NAN,
        },
        latency_us: Summary { count: 3, mean: f64::NAN, p99: f64::INFINITY, ..Summary::default() },
        histograms: BTreeMap::from([("response".into(), Hist::new())]),
        notes: vec![hostile.clone()],
        server: Some(with_stack(&hostile)),
        ..Trial::default()
    };
    let empty = Trial { label: long.clone(), kind: TrialKind::Sweep, ..Trial::default() };
    decided(Run {
        format: FORMAT.into(),
        version: "0.1.0".into(),
        command: hostile.clone(),
        elapsed_s: f64::NAN,
        trials: vec![
            odd,
            empty.clone(),
            Trial { kind: TrialKind::Search, ..empty.clone() },
            Trial { kind: TrialKind::Overload, ..empty },
        ],
        findings: Findings {
            bottleneck: Bottleneck {
                sentence: long,
                evidence: vec![Evidence {
                    text: hostile.clone(),
                    value: Some(f64::NAN),
                    limit: Some(0.0),
                    ..Evidence::default()
                }],
                ..Bottleneck::default()
            },
            checks: vec![Check { name: hostile, value: f64::NAN, limit: 1.0, pass: false, relation: Relation::AtMost }],
            knee: Some(Knee { concurrency: f64::INFINITY, r1_us: 0.0, x_max: f64::NAN, reached_at: None }),
            ..Findings::default()
        },
        interrupted: true,
        ..Run::default()
    })
}

/// Returns a load with one fixed intensity and no access to the server's side.
pub fn load() -> Run {
    let mut trial = sweep(16);
    trial.kind = TrialKind::Fixed;
    trial.label = String::new();
    trial.server = None;
    trial.client.shared = false;
    decided(Run {
        command: "loadline load http://10.0.0.2/ --connections 16 --duration 2s".into(),
        started: "2026-11-21T06:00:00Z".into(),
        elapsed_s: 4.2,
        trials: vec![trial],
        findings: Findings::default(),
        notes: vec![],
        ..find()
    })
}

/// Returns a run that ended before its first trial.
pub fn nothing() -> Run {
    Run {
        format: FORMAT.into(),
        command: "loadline find http://127.0.0.1:1/".into(),
        interrupted: true,
        ..Run::default()
    }
}

/// Returns an experiment: one to five clients on a slow medium, with the published shape.
pub fn experiment() -> Run {
    let rates = [198.2, 371.0, 468.9, 509.3, 513.8];
    let step = |(i, x): (usize, &f64)| {
        let n = i as f64 + 1.0;
        let mut t = filled(*x, n / x * 1e6, 0.1);
        t.label = if i == 0 { "1 client".into() } else { format!("{n} clients") };
        t.kind = TrialKind::Experiment;
        t.key.clients = Some(n as u32);
        t.rates.concurrency = n;
        t
    };
    let check = |name: &str, value: f64, limit: f64, pass: bool, relation: Relation| Check {
        name: name.into(),
        value,
        limit,
        pass,
        relation,
    };
    let mut run = find();
    run.findings.experiment = Some(shown(&rates));
    run.command = "loadline lab sample".into();
    run.plan.command = "lab sample".into();
    run.trials = rates.iter().enumerate().map(step).collect();
    run.findings.capacity = None;
    run.findings.fits.clear();
    run.findings.bottleneck.id = "network-medium".into();
    run.findings.knee = Some(Knee { concurrency: 2.63, r1_us: 5113.8, x_max: 514.3, reached_at: Some(4.0) });
    run.findings.conclusions = vec![
        "Every added client waits for the wire: neither host is busy, and the response time grows by 1/Xmax a client."
            .into(),
    ];
    run.findings.checks = vec![
        check("wire use at five clients", 0.934, 0.9, true, Relation::AtLeast),
        check("response time follows N/X, largest deviation", 0.031, 0.02, false, Relation::AtMost),
    ];
    decided(run)
}

/// Returns a table with growths, a chart with published points, and a chart with two lines and a marked height.
fn shown(rates: &[f64; 5]) -> ExperimentReport {
    let row = |(i, x): (usize, &f64)| {
        let growth =
            i.checked_sub(1).map_or(String::new(), |last| format!("+{:.1} %", (x / rates[last] - 1.0) * 100.0));
        vec![Some(format!("{} clients", i + 1)), Some(format!("{x:.0}")), Some(growth), None]
    };
    let table = ResultTable {
        caption: "Each step, and what it changed.".into(),
        columns: vec![
            ResultColumn::words("trial", 0),
            ResultColumn::numbers("reads/s", 1),
            ResultColumn::numbers("growth", 1),
            ResultColumn::numbers("wire use", 1),
        ],
        rows: rates.iter().enumerate().map(row).collect(),
        absent: "not measured in this trial".into(),
        full_only: false,
    };
    let points = || rates.iter().zip(1..).map(|(x, n)| (f64::from(n), *x));
    let axis = |label: &str| ChartAxis { label: label.into(), ..ChartAxis::default() };
    let one = Chart {
        title: "Each client brings less than the one before".into(),
        caption: "Reads of 2048 bytes per second; hollow: the source's.".into(),
        x: axis("clients"),
        y: axis("reads per second"),
        series: vec![ChartSeries::new("reads", points())],
        published: vec![ChartSeries::new("", [(1.0, 195.55), (2.5, 364.41), (9.0, 514.0)])],
        levels: Vec::new(),
    };
    let two = Chart {
        title: "Response time on two back ends".into(),
        y: ChartAxis { label: "response time".into(), unit: FigureUnit::Micros, logarithmic: true },
        series: ["epoll", "select"].map(|name| ChartSeries::new(name, points().map(|(n, x)| (n, n / x * 1e6)))).into(),
        published: vec![ChartSeries::new("select", [(2.0, 5488.3)])],
        levels: vec![ChartLevel { y: 7000.0, label: "published: 7 ms".into() }],
        ..one.clone()
    };
    ExperimentReport { tables: vec![table], charts: vec![one, two], ..ExperimentReport::default() }
}

/// Stacks of a web server that compresses.
fn sampled() -> run::WaitProfile {
    let sum = |stack: &str, weight| run::StackSum { stack: stack.into(), weight };
    let worker = "nginx;_start;main;ngx_worker_process_cycle";
    let cpu = vec![
        sum(&format!("{worker};ngx_http_gzip_filter;deflate;deflate_fast"), 0.41),
        sum(&format!("{worker};ngx_http_gzip_filter;deflate;deflate_fast;longest_match"), 0.19),
        sum(&format!("{worker};ngx_http_gzip_filter;crc32_z"), 0.08),
        sum(&format!("{worker};ngx_epoll_process_events;epoll_wait"), 0.07),
        sum(&format!("{worker};ngx_http_process_request_line;ngx_http_parse_request_line"), 0.05),
        sum(&format!("{worker};ngx_http_write_filter;writev"), 0.12),
        sum("postgres;[postgres];hash_search(HTAB*, void const*, HASHACTION, bool*)", 0.04),
    ];
    let waiting = vec![
        sum("app;handler;std::mutex::lock();pthread_mutex_lock;__lll_lock_wait", 14.7),
        sum("app;handler;update_counter;fsync", 1.0),
        sum("app;handler;query;recv", 2.1),
    ];
    run::WaitProfile {
        stacks: Some(run::StackProfile { cpu_samples: 812, cpu, waiting }),
        ..run::WaitProfile::default()
    }
}

//! Trials of a server whose only thread becomes full.

use std::collections::BTreeMap;

use run::*;

fn hist(mean_us: f64, tail: f64, n: u64) -> Hist {
    let mut hist = Hist::new();
    for i in 0..n {
        let u = (i as f64 + 0.5) / n as f64;
        let us = mean_us * (0.55 + 0.45 * -(1.0 - u).ln() * (1.0 + tail * u.powi(8)));
        hist.record_ns((us * 1e3) as u64);
    }
    hist
}

pub fn sweep(n: u32) -> Trial {
    let x = rate(f64::from(n));
    let mut t = filled(x, f64::from(n) / x * 1e6, 0.5);
    t.label = if n == 1 { "1 connection".into() } else { format!("{n} connections") };
    t.kind = TrialKind::Sweep;
    t.intensity = Intensity::Closed { connections: n, pipeline: 1, think: ThinkTime::default() };
    t.rates.concurrency = f64::from(n) * 0.998;
    t
}

pub fn search((offered, rho): (f64, f64)) -> Trial {
    let mut t = filled(offered, 66.0 + 40.0 * rho / (1.0 - rho), 3.0);
    t.label = format!("{offered}/s offered");
    t.kind = TrialKind::Search;
    t.intensity = Intensity::Open { rate: offered, arrival: Arrival::Poisson, max_connections: 10_000, pipeline: 1 };
    t
}

pub fn overload(offered: f64) -> Trial {
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

/// Returns a trial of two seconds with the given throughput and mean response time, and with counters of both sides.
pub fn filled(rate: f64, mean_us: f64, tail: f64) -> Trial {
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
        latency_us: run::Summary::of(&hist),
        service_us: run::Summary::of(&hist),
        histograms: BTreeMap::from([("response".into(), hist)]),
        steady: Steady { steady: true, warmup_s: 0.8, reason: "slope 0.2 %, variation 1.1 %".into(), too_short: false },
        client: side("client", "loadline:900", busy * 0.7, rate),
        server: Some(side("server", "nginx:1234", busy, rate)),
        ..Trial::default()
    }
}

/// Returns the throughput of the modelled server with `n` clients, requests per second.
fn rate(n: f64) -> f64 {
    15_200.0 * n / (1.0 + 0.29 * (n - 1.0) + 0.0004 * n * (n - 1.0))
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
        page_bytes: None,
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

/// Returns sampled stacks, mostly of a web server that compresses its answers.
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

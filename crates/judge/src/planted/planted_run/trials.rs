//! Trials of a made-up run: their rates and response times follow from R1 and Xmax, and their counters from the
//! functions that the cases set.

use std::collections::BTreeMap;

use run::{
    Arrival, Column, CounterId, HostInfo, Intensity, Kind, Measured, Rates, Recording, Run, Side, Steady, Summary,
    Tally, ThinkTime, Trial, TrialKind, Window, counter,
};

use super::{PlantedRun, Point, Who};

/// Length of the measured window of a made-up trial, seconds.
const WINDOW_S: f64 = 2.0;

impl PlantedRun {
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
            measured: measured(&point, tally),
            latency_us: latency,
            service_us: latency,
            connect_us: summary(100.0, point.n as u64),
            steady: settled(),
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

/// Returns the measured window of a trial with a constant rate. `tally` counts the whole trial.
fn measured(point: &Point, tally: Tally) -> Measured {
    Measured {
        window: Window { begin_s: 0.0, end_s: WINDOW_S },
        length_s: WINDOW_S,
        tally: Tally { attempted: 0, connected: 0, ..tally },
        series_completed: vec![point.x; 20],
        slot_rates: Vec::new(),
        slot_times: Vec::new(),
        ..Measured::default()
    }
}

/// Returns the warm-up of a trial whose rate settled.
fn settled() -> Steady {
    Steady {
        steady: true,
        warmup_s: 0.6,
        reason: "the rate drifted by 0.500 % (within the noise)".into(),
        too_short: false,
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

//! Made-up runs: a run without a warning, and a run for each kind of warning.

use run::{Intensity, Run, Trial, TrialKind};

use super::planted_run::{PlantedRun, Point, Who};

use Who::{Client, Server};

/// Builds a run without a warning, in which the server's workers are the limit.
fn plain() -> PlantedRun {
    PlantedRun::new(1000.0, 4000.0)
}

fn changed(change: impl Fn(&mut Trial, &Point) + 'static) -> Run {
    plain().change(change).run()
}

/// Description of a run, and the function that makes it.
type Warned = (&'static str, fn() -> Run);

/// All runs with their descriptions.
pub(super) const WARNED: &[Warned] = &[
    ("nothing unusual", || plain().run()),
    ("another program uses three of four CPUs", || plain().level(Client, "cpu.idle", "total", 1e6).run()),
    ("one host, shared CPUs, loopback", || plain().shared().run()),
    ("the generator's threads have little left", || {
        let full = |p: &Point| p.x * 225.0;
        plain()
            .per_s(Client, "process.cpu", "loadline:50", full)
            .per_s(Client, "thread.cpu", "shard0:50/51", full)
            .run()
    }),
    ("near the generator's ceiling", || {
        let mut run = plain().run();
        run.findings.trust.generator_ceiling = Some(4200.0);
        run
    }),
    ("far below the generator's ceiling", || {
        let mut run = plain().run();
        run.findings.trust.generator_ceiling = Some(42_000.0);
        run
    }),
    ("the generator's control group is throttled", || {
        plain()
            .level(Client, "cgroup.cpu_quota", "/gen", 0.5)
            .per_s(Client, "cgroup.cpu_periods", "/gen", |_| 10.0)
            .per_s(Client, "cgroup.cpu_throttled_periods", "/gen", |_| 8.0)
            .run()
    }),
    ("arrivals were sent late", || {
        changed(|t, _| {
            if matches!(t.intensity, Intensity::Open { .. }) {
                t.start_error_us = run::Summary { count: 100, p99: 5000.0, ..run::Summary::default() };
            }
        })
    }),
    ("a server that was stopped", || {
        changed(|t, p| {
            let text = "the server's process srv:100 was stopped (SIGSTOP) at 1.0 s".into();
            t.incidents = if p.n > 4.0 {
                vec![run::Incident { kind: run::IncidentKind::ServerStopped, begin_s: 1.0, end_s: None, text }]
            } else {
                Vec::new()
            };
        })
    }),
    ("response times that contradict the rate", || changed(|t, _| t.service_us.mean *= 2.0)),
    ("more CPU time than there is", || plain().per_s(Server, "cpu.user", "total", |_| 6e6).run()),
    ("processes busier than their host", || {
        plain().level(Server, "cpu.user", "total", 0.0).per_s(Server, "process.cpu", "srv:100", |p| p.x * 300.0).run()
    }),
    ("a request gets cheaper with load", || {
        let cost = |p: &Point| p.x * if p.n > 4.0 { 100.0 } else { 700.0 };
        plain().per_s(Server, "process.cpu", "srv:100", cost).per_s(Server, "cpu.user", "total", cost).run()
    }),
    ("two clients do three times the work of one", || {
        changed(|t, p| {
            if t.kind == TrialKind::Sweep && p.n < 2.0 {
                (t.rates.completed_rate, t.rates.goodput) = (t.rates.completed_rate / 2.0, t.rates.goodput / 2.0);
                (t.latency_us.mean, t.service_us.mean) = (2000.0, 2000.0);
            }
        })
    }),
    ("an open loop that gets past the sweep", || {
        changed(|t, p| {
            if t.kind == TrialKind::Search && p.offered > 4000.0 {
                (t.rates.completed_rate, t.rates.goodput) = (5000.0, 5000.0);
            }
        })
    }),
    ("requests that nobody counted", || changed(|t, _| t.tally.sent += 50)),
    ("connections that were never answered", || changed(|t, _| t.tally.phantom = 30)),
    ("connections of others", || {
        plain().per_s(Server, "tcp.passive_opens", "", |_| 700.0).change(|t, _| t.measured.tally.connected = 100).run()
    }),
    ("few requests, not settled", || {
        PlantedRun::new(100_000.0, 40.0)
            .change(|t, _| {
                t.steady.steady = false;
                t.steady.reason = "over the last 6 intervals the rate drifted by 12.0 % (beyond the noise)".into();
            })
            .run()
    }),
    ("a warm-up that is too short for the test", || {
        plain().change(|t, _| (t.steady.steady, t.steady.too_short) = (false, true)).run()
    }),
    ("requests without an answer when the window ended", || {
        changed(|t, _| {
            let mut ages = run::Hist::new();
            (0..20).for_each(|_| ages.record_ns(900_000_000));
            t.histograms.insert("under_way".into(), ages);
        })
    }),
    ("a hypervisor that takes CPUs away", || plain().per_s(Client, "cpu.steal", "total", |_| 4e5).run()),
    ("counters that cost much, taken late", || {
        plain().per_s(Client, "probe.cpu", "", |_| 30_000.0).per_s(Client, "probe.late", "", |_| 4.0).run()
    }),
    ("nothing of the server's side", || plain().no_server().run()),
    ("a leak", || {
        let leak = |t: &mut Trial, _: &Point| {
            t.measured.window.end_s = 60.0;
            (t.measured.length_s, t.rates.concurrency) = (60.0, t.rates.concurrency);
            for side in std::iter::once(&mut t.client).chain(&mut t.server) {
                side.recording.t_s = (0..=60).map(f64::from).collect();
                for column in &mut side.recording.columns {
                    let first = column.values.first().copied().flatten().unwrap_or(0.0);
                    column.values = (0..=60).map(|_| Some(first)).collect();
                }
                let values = (0..=60).map(|s| Some(50e6 + 1e6 * f64::from(s))).collect();
                let counter = run::CounterId::new("process.rss");
                side.recording.columns.push(run::Column { counter, instance: "srv:100".into(), values });
            }
        };
        PlantedRun::new(1000.0, 4000.0).steps(&[4]).rates(&[]).change(leak).run()
    }),
    ("no answer was good", || {
        changed(|t, _| {
            let completed = t.measured.tally.completed;
            t.measured.tally.unexpected_status = completed;
            t.measured.tally.status = [("5xx".to_string(), completed)].into();
        })
    }),
    ("a server that was only watched", || {
        let mut run = plain().steps(&[4]).rates(&[]).run();
        run.trials.iter_mut().for_each(|t| t.kind = TrialKind::Watched);
        run
    }),
    ("one load, nothing full", || plain().steps(&[4]).rates(&[]).run()),
    ("one rate, all of it completed", || plain().steps(&[]).rates(&[0.5]).run()),
    ("nothing was completed", Run::default),
];

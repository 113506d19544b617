//! Findings about a server whose only thread is fully utilised.

use std::collections::BTreeMap;

use run::*;

pub fn findings() -> Findings {
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

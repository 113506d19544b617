//! Tests of runs in which a resource is nearly full: threads that are 88 to 95 % busy, and a CPU with many soft
//! interrupts. Other tests are about CPUs that only all programs together fill, and about a generator that gets too
//! little CPU time.

use run::{Bottleneck, Upstream};

use super::{PlantedRun, Who};

/// Makes a server with one thread on four CPUs. At the plateau, the thread runs for the share `busy` of the time.
fn one_thread(busy: f64) -> PlantedRun {
    let us = move |p: &super::Point| p.x / 500.0 * busy * 1e6;
    PlantedRun::new(6000.0, 500.0)
        .per_s(Who::Server, "process.cpu", "srv:100", us)
        .per_s(Who::Server, "thread.cpu", "srv:100/101", us)
        .level(Who::Server, "connection.receive_queue", "", 60.0)
}

/// In real servers, a thread at its limit is 88 to 95 % busy. Examples are an event loop that hashes passwords, a TLS
/// proxy with one thread, and a key-value store with slow commands.
#[test]
fn a_thread_of_88_to_95_percent_at_a_plateau_is_the_likely_limit() {
    for busy in [0.88, 0.9, 0.927, 0.95] {
        let b = one_thread(busy).verdict();
        assert_eq!(b.id, "server-single-thread", "{busy}: {b:#?}");
        let word = b.sureness >= run::Certainty::Likely;
        assert_eq!(word, busy > 0.89, "{busy}: {b:#?}");
        let both = b.ruled_out.iter().any(|out| out.id == b.id);
        assert!(!both, "full and ruled out: {b:#?}");
    }
    let (less, more) = (one_thread(0.9).verdict().confidence, one_thread(0.94).verdict().confidence);
    assert!(less < more && more <= 0.95, "{less} {more}");
    assert_eq!(one_thread(0.6).verdict().id, "server-concurrency");
}

#[test]
fn a_thread_of_92_percent_counts_only_where_the_rate_went_flat() {
    let flat = one_thread(0.92).verdict();
    let growing = PlantedRun::new(6000.0, 1e9).steps(&[1, 2, 4]).rates(&[]);
    let grows = growing.per_s(Who::Server, "thread.cpu", "srv:100/101", |p| p.n / 4.0 * 0.92e6).verdict();
    assert!(flat.id == "server-single-thread" && flat.confidence > 0.8, "{flat:#?}");
    assert!(grows.id != "server-single-thread" || grows.confidence < 0.5, "{grows:#?}");
}

#[test]
fn the_margin_of_a_verdict_names_the_signal_and_the_next_best() {
    let b = one_thread(0.93).verdict();
    let margin = &b.margins[0];
    assert!(margin.signal.contains("thread") && (margin.value - 0.93).abs() < 1e-6, "{margin:?}");
    assert!(margin.low <= margin.value && margin.value <= margin.high && margin.threshold < margin.value, "{margin:?}");
    assert!(!margin.would_be.is_empty() && margin.would_be != b.id, "{margin:?}");
}

/// A worker thread is pinned to one CPU, and soft interrupts take a fifth of this CPU's time.
#[test]
fn soft_interrupts_on_the_cpu_of_a_pinned_worker_are_time_that_it_lacks() {
    let pinned = |softirq: f64| {
        let planted = one_thread(0.76)
            .level(Who::Server, "process.cpus_allowed", "srv:100", 4.0)
            .level(Who::Server, "process.cpu_mask", "srv:100", 15.0)
            .level(Who::Server, "thread.cpu_mask", "srv:100/101", 2.0)
            .per_s(Who::Server, "cpu.softirq", "1", move |_| softirq * 1e6)
            .per_s(Who::Server, "cpu.idle", "1", move |_| (0.23 - softirq).max(0.0) * 1e6);
        let idle = |planted: PlantedRun, cpu: &str| planted.per_s(Who::Server, "cpu.idle", cpu, |_| 0.9e6);
        ["0", "2", "3"].iter().fold(planted, |planted, cpu| idle(planted, cpu)).verdict()
    };
    let (with, without) = (pinned(0.2), pinned(0.02));
    assert!(with.id == "server-single-thread" && with.confidence > 0.8, "{with:#?}");
    assert!(with.evidence.iter().any(|e| e.text.contains("soft interrupts used 20")), "{with:#?}");
    assert_ne!(without.id, "server-single-thread", "{without:#?}");
}

/// Judges a run of a proxy, its upstream store and the generator on the same two CPUs. The arguments are the CPU use of
/// proxy, store and generator at the plateau, in CPUs.
fn on_two_cpus(proxy: f64, store: f64, generator: f64) -> Bottleneck {
    let at = move |p: &super::Point, cpus: f64| p.x / 4000.0 * cpus * 1e6;
    let mut planted = PlantedRun::new(1000.0, 4000.0)
        .shared()
        .per_s(Who::Client, "process.cpu", "loadline:50", move |p| at(p, generator))
        .per_s(Who::Client, "thread.cpu", "shard0:50/51", move |p| at(p, generator / 2.0))
        .per_s(Who::Client, "thread.cpu", "shard1:50/52", move |p| at(p, generator / 2.0))
        .per_s(Who::Server, "process.cpu", "srv:100", move |p| at(p, proxy))
        .per_s(Who::Server, "process.cpu", "store:812", move |p| at(p, store));
    for thread in ["101", "102", "103", "104"] {
        planted = planted.per_s(Who::Server, "thread.cpu", &format!("srv:100/{thread}"), move |p| at(p, proxy / 4.0));
    }
    let all = proxy + store + generator;
    for who in [Who::Client, Who::Server] {
        planted = planted
            .level(who, "cpu.online", "", 2.0)
            .per_s(who, "cpu.user", "total", move |p| at(p, all))
            .per_s(who, "cpu.system", "total", |_| 0.0)
            .per_s(who, "cpu.softirq", "total", |_| 0.0)
            .per_s(who, "cpu.idle", "total", move |p| 2e6 - at(p, all));
    }
    let planted = planted
        .level(Who::Server, "process.cpus_allowed", "srv:100", 2.0)
        .level(Who::Client, "process.cpus_allowed", "loadline:50", 2.0)
        .change(|t, _| {
            let processes = vec!["store:812".to_string()];
            let behind = Upstream { address: "127.0.0.1:6379".into(), depth: 1, processes, ..Upstream::default() };
            t.server.iter_mut().for_each(|side| side.behind = vec![behind.clone()]);
        });
    planted.verdict()
}

#[test]
fn cpus_that_are_full_only_in_sum_are_the_limit_and_their_parts_are_named_by_size() {
    let b = on_two_cpus(1.1, 0.5, 0.35);
    assert!(b.id == "server-cpu" && b.confidence > 0.7, "{b:#?}");
    assert!(b.sentence.contains("srv 1.10, store 0.500, generator 0.350"), "{}", b.sentence);
    let b = on_two_cpus(0.4, 0.2, 1.36);
    assert!(b.id == "client-cpu" && b.sentence.contains("generator 1.36"), "{b:#?}");
    let room = on_two_cpus(0.6, 0.2, 0.3);
    assert!(!["server-cpu", "client-cpu"].contains(&room.id.as_str()), "{room:#?}");
}

/// Three programs with high priority take the generator's CPU, while the server is idle. Answers are slow because the
/// generator waits for a CPU.
#[test]
fn a_generator_that_others_starve_is_the_limit_whatever_the_server_looks_like() {
    let starved = |steps: &[u32], ran: f64, waited: f64| {
        let most = if steps.len() > 1 { 200.0 } else { 50.0 };
        PlantedRun::new(20_000.0, 200.0)
            .steps(steps)
            .per_s(Who::Client, "process.cpu", "loadline:50", move |p| p.x / most * ran * 1e6)
            .per_s(Who::Client, "thread.cpu", "shard0:50/51", move |p| p.x / most * ran * 1e6)
            .per_s(Who::Client, "thread.run_delay", "shard0:50/51", move |p| p.x / most * waited * 1e6)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .verdict()
    };
    let sweep = [1, 2, 4, 8, 16, 32];
    for (steps, ran, waited) in [(&sweep[..], 0.05, 0.94), (&[1], 0.1, 0.8), (&[1], 0.2, 0.7)] {
        let b = starved(steps, ran, waited);
        assert!(b.id == "client-cpu" && b.sentence.contains("too little CPU"), "{ran} {waited}: {b:#?}");
    }
    assert_eq!(starved(&sweep, 0.3, 0.05).id, "server-concurrency");
    // The generator runs only 0.7 to 20 % of the time, and waits for a CPU for more than half of the time. The
    // generator's waits are only a small part of the response time.
    for (ran, waited) in [(0.007, 0.518), (0.019, 0.581), (0.2, 0.6)] {
        let b = starved(&sweep, ran, waited);
        assert_ne!(b.id, "client-cpu", "{ran} {waited}: {b:#?}");
    }
}

/// Figures of a real run: three programs with high priority run on the generator's CPU. In an open loop with 56
/// requests in flight, the generator ran for 14.9 % of the time and waited for a CPU for 67.8 %. An earlier version of
/// loadline gave a generator that lacks CPU time a probability of only 17.5 % to be the limit, so the verdict was
/// `unknown`. The reason: the waits for a CPU are short compared with the time that requests wait for a free
/// connection. The generator's own clock shows the delay: the generator sends 1.4 ms late.
#[test]
fn a_generator_that_sends_late_beside_three_neighbours_is_starved() {
    let beside = |late_us: f64, server_waits: f64| {
        let mean = |mean| run::Summary { count: 7491, mean, p50: mean, ..run::Summary::default() };
        PlantedRun::new(1200.0, 8000.0)
            .steps(&[])
            .rates(&[0.6, 0.85])
            .per_s(Who::Client, "process.cpu", "loadline:50", |_| 0.149e6)
            .per_s(Who::Client, "thread.cpu", "shard0:50/51", |_| 0.149e6)
            .per_s(Who::Client, "thread.run_delay", "shard0:50/51", |_| 0.678e6)
            .per_s(Who::Client, "process.voluntary_switches", "loadline:50", |_| 4000.0)
            .per_s(Who::Client, "process.involuntary_switches", "loadline:50", |_| 500.0)
            .per_s(Who::Client, "cpu.user", "total", |_| 1.9e6)
            .per_s(Who::Client, "cpu.idle", "total", |_| 2e6)
            .per_s(Who::Server, "thread.run_delay", "srv:100/101", move |_| server_waits * 1e6)
            .change(move |t, _| {
                if t.kind == run::TrialKind::Search {
                    (t.latency_us, t.service_us) = (mean(8202.0), mean(2285.0));
                    (t.blocked_us, t.start_error_us) = (mean(5116.0), mean(late_us));
                    t.rates.concurrency = 56.0;
                }
            })
            .verdict()
    };
    let late = beside(1400.0, 0.0);
    assert!(late.id == "client-cpu" && late.sentence.contains("too little CPU"), "{late:#?}");
    assert!((0.7..0.9).contains(&late.confidence), "the neighbours are the cause: {late:#?}");
    let both = beside(1400.0, 0.5);
    assert!(both.id != "client-cpu" || both.confidence < 0.7, "the server lacks a CPU as well: {both:#?}");
    let in_time = beside(20.0, 0.0);
    assert_ne!(in_time.id, "client-cpu", "{in_time:#?}");
}

#[test]
fn only_on_busy_cpus_do_client_and_server_compete() {
    let warns = |cpus: f64| {
        let mut planted = PlantedRun::new(1000.0, 4000.0).shared();
        for who in [Who::Client, Who::Server] {
            planted = planted.per_s(who, "cpu.user", "total", move |p| p.x / 4000.0 * cpus * 1e6);
        }
        let mut run = planted.run();
        crate::judge(&mut run);
        run.findings.trust.warnings.iter().any(|warning| warning.contains("compete for CPU"))
    };
    assert!(warns(3.2) && !warns(1.6));
}

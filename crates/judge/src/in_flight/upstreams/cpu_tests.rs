//! Tests of upstreams whose threads wait for a CPU, because they or other programs fill the CPUs.

use run::{Run, UpstreamLimit};

use super::tests::proxied_at;
use crate::planted::{PlantedRun, Who};

/// Makes a run of a proxy whose upstream is an application with `threads` threads. Each thread of the application runs
/// for the share `ran` of the time, and waits for a CPU for the share `waited`. On average, `idle` of the four CPUs are
/// idle.
fn parallel(threads: u32, [ran, waited]: [f64; 2], idle: f64) -> Run {
    before(threads, [ran, waited], idle, [0.01, 0.0])
}

/// Makes a run like [`parallel`]. The proxy's thread runs for the share `of_proxy[0]` of the time, and waits for a CPU
/// for the share `of_proxy[1]`.
fn before(threads: u32, shares: [f64; 2], idle: f64, of_proxy: [f64; 2]) -> Run {
    before_at(200.0, threads, shares, idle, of_proxy)
}

/// Makes a run like [`before`] with the given highest rate. At rates of at most half of the highest rate, the
/// application and the proxy mostly sleep.
fn before_at(x_max: f64, threads: u32, [ran, waited]: [f64; 2], idle: f64, of_proxy: [f64; 2]) -> Run {
    let mut planted = PlantedRun::new(20_000.0, x_max)
        .per_s(Who::Server, "process.cpu", "python3:812", move |_| f64::from(threads) * ran * 1e6)
        .per_s(Who::Server, "process.cpu", "srv:100", move |_| of_proxy[0] * 1e6)
        .per_s(Who::Server, "thread.cpu", "srv:100/101", move |_| of_proxy[0] * 1e6)
        .per_s(Who::Server, "thread.run_delay", "srv:100/101", move |_| of_proxy[1] * 1e6)
        .per_s(Who::Server, "cpu.idle", "total", move |_| idle * 1e6)
        .per_s(Who::Server, "cpu.user", "total", move |_| (4.0 - idle) * 1e6);
    for thread in 0..threads {
        let name = format!("python3:812/{}", 812 + thread);
        planted = planted.per_s(Who::Server, "thread.cpu", &name, move |_| ran * 1e6).per_s(
            Who::Server,
            "thread.run_delay",
            &name,
            move |_| waited * 1e6,
        );
    }
    let (mut run, made) = (proxied_at(x_max, 0.1, 0.1, &[]), planted.run().trials.pop().unwrap().server.unwrap());
    let loaded = run.trials.iter_mut().filter(|t| t.rates.completed_rate > x_max / 2.0);
    for side in loaded.filter_map(|t| t.server.as_mut()) {
        let behind = std::mem::take(&mut side.behind);
        *side = run::Side { behind, ..made.clone() };
    }
    crate::judge(&mut run);
    run
}

/// In this test, an application with eight threads gets only one CPU, because other programs use all others. Each
/// thread of the application waits for a CPU nearly all the time, and hardly runs.
#[test]
fn an_upstream_beside_other_programs_has_neither_a_lock_nor_a_full_thread() {
    let limit = |x_max, waited, idle| before_at(x_max, 8, [0.119, waited], idle, [0.01, 0.0]).findings.behind[0].limit;
    assert_eq!(limit(50.0, 0.0, 2.8), Some(UpstreamLimit::Lock), "CPUs idle, it uses one, one request at a time");
    assert_eq!(limit(50.0, 0.87, 0.0), None);
    assert_eq!(limit(200.0, 0.0, 2.8), None, "four requests at a time");
}

/// This test repeats a situation that was observed with a Go application behind two proxies: the busy threads always
/// wanted a CPU, because all CPUs were full.
#[test]
fn a_parallel_upstream_that_fills_the_cpus_has_no_full_thread() {
    let found = parallel(4, [0.85, 0.15], 0.1).findings;
    let limit = found.behind.iter().find(|load| load.behind.depth == 1).and_then(|load| load.limit);
    assert_eq!(limit, Some(UpstreamLimit::Cpu));
    let verdict = &found.bottleneck;
    assert!(verdict.id == "server-concurrency" && verdict.waits_for.is_some(), "{verdict:#?}");
}

/// This test repeats a situation that was observed with a proxy on the same two CPUs as its upstream: the proxy's
/// worker waited for a CPU half of the time. The verdict of an earlier version of loadline was `unknown`.
#[test]
fn a_proxy_that_lacks_cpu_time_waits_for_the_upstream_that_takes_it() {
    let found = before(4, [0.7, 0.3], 0.1, [0.28, 0.52]).findings;
    let verdict = &found.bottleneck;
    assert!(verdict.id == "server-concurrency" && verdict.waits_for.is_some(), "{verdict:#?}");
    assert!(verdict.evidence.iter().any(|line| line.text.contains("the CPUs were busy")), "{verdict:#?}");
}

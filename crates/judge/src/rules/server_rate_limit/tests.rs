//! Tests of the rule `server-rate-limit`.

use crate::planted::servers::uses;
use crate::planted::{PlantedRun, Who, refuses_beyond_500, refuses_beyond_500_after};

/// In this observed case, the machine was busy and the generator lacked CPU time. An earlier version of loadline named
/// the generator as the bottleneck.
#[test]
fn a_starved_generator_does_not_hold_the_good_answers_at_one_rate() {
    let mut run = refuses_beyond_500()
        .per_s(Who::Client, "process.cpu", "loadline:50", |_| 250_000.0)
        .per_s(Who::Client, "thread.cpu", "shard0:50/51", |_| 250_000.0)
        .per_s(Who::Client, "thread.run_delay", "shard0:50/51", |_| 400_000.0)
        .run();
    crate::judge(&mut run);
    let (verdict, trust) = (&run.findings.bottleneck, &run.findings.trust);
    assert_eq!(verdict.id, "server-rate-limit", "{verdict:#?}");
    assert!(!trust.warnings.iter().any(|w| w.contains("starved")), "{trust:#?}");
}

/// Varnish stands in front of a backend with at most 30 connections. An earlier version of loadline said "limits the
/// rate on purpose" with a confidence of 95 %. A rate limit is still possible, because it would give the same number of
/// open connections.
#[test]
fn a_full_pool_of_connections_that_refuses_is_a_guess() {
    let with_connections = |count: f64| {
        let behind = |t: &mut run::Trial, _: &crate::planted::Point| {
            let upstream = run::Upstream {
                address: "127.0.0.1:9402".into(),
                depth: 1,
                processes: vec!["app:200".into()],
                ..run::Upstream::default()
            };
            t.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
        };
        let mut run = refuses_beyond_500_after(10_000.0)
            .level(Who::Server, "behind.connections", "127.0.0.1:9402", count)
            .level(Who::Server, "behind.busy", "127.0.0.1:9402", count)
            .change(behind)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let (pool, other) = (with_connections(5.0), with_connections(50.0));
    assert!(pool.sentence.contains("srv has 5 connections to app") && pool.confidence <= 0.5, "{pool:#?}");
    assert!(other.sentence.contains("on purpose") && other.confidence >= 0.9, "{other:#?}");
}

/// The server answers 500 requests per second, each after 10 ms: 5 requests at a time. If response times differ between
/// two loads, but rates of good answers do not, the limit is on requests per second.
#[test]
fn a_limit_of_requests_per_second_is_told_from_one_of_requests_at_a_time() {
    let verdict = |status: &'static str, slower: f64, r1_us: f64| {
        let refuse = move |t: &mut run::Trial, p: &crate::planted::Point| {
            let n = t.measured.tally.unexpected_status;
            t.measured.tally.unexpected_statuses = [(status.into(), n)].into_iter().filter(|s| s.1 > 0).collect();
            t.latency_us.mean = if p.n > 64.0 { slower * r1_us } else { r1_us };
        };
        let mut run = refuses_beyond_500_after(r1_us).change(refuse).run();
        crate::judge(&mut run);
        let found = run.findings.bottleneck;
        let names_both = found.sentence.contains("or of requests at a time");
        (found.id == "server-rate-limit", found.confidence >= 0.9, names_both)
    };
    assert_eq!(verdict("503", 1.0, 10_000.0), (true, false, true), "5 at a time, or 500/s");
    assert_eq!(verdict("503", 2.0, 10_000.0), (true, true, false), "5 and 10 at a time");
    assert_eq!(verdict("429", 1.0, 10_000.0), (true, true, true), "too many requests, of either kind");
    assert_eq!(verdict("429", 2.0, 10_000.0), (true, true, false), "5 and 10 at a time");
    assert_eq!(verdict("503", 1.0, 500.0), (true, true, false), "a quarter of a request at a time");
}

/// A single load cannot show an upper limit of the rate of good answers, so the statuses of the answers decide.
#[test]
fn one_load_shows_a_limit_by_statuses_of_too_many_requests_alone() {
    let with_series = |status: &str, series: [Vec<f64>; 2]| {
        let mut run = refuses_beyond_500().run();
        let mut trial = run.trials.iter().rev().find(|t| t.measured.tally.unexpected_status > 0).unwrap().clone();
        trial.kind = run::TrialKind::Fixed;
        [trial.measured.series_completed, trial.measured.series_refused] = series;
        let tally = &mut trial.measured.tally;
        tally.unexpected_statuses = [(status.into(), tally.unexpected_status)].into();
        run.trials = vec![trial];
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let verdict = |status: &str| with_series(status, Default::default());
    let limited = verdict("429");
    // A single load does not tell whether the server limits requests per second or requests at a time.
    assert!(limited.sentence.ends_with("or of requests at a time"), "{limited:#?}");
    assert!(limited.id == "server-rate-limit" && limited.evidence[0].text.contains("(429: "), "{limited:#?}");
    for status in ["401", "404", "500", "503"] {
        assert_eq!(verdict(status).id, "unknown", "{status}");
    }
    let all: Vec<f64> = (0..30).map(|i| 200.0 + 20.0 * f64::from(i % 7)).collect();
    let every_fifth = all.iter().map(|rate| rate / 5.0).collect();
    assert_eq!(with_series("429", [all, every_fifth]).id, "unknown", "every fifth request at any rate");
    let failing = verdict("503");
    assert!(failing.sentence.contains("of the requests failed (503: "), "{failing:#?}");
    assert!(failing.missing.iter().any(|missing| missing.contains("one load cannot tell a limit")), "{failing:#?}");
}

/// Half of the refusals of this server come from its rate limit; the other half has another cause.
#[test]
fn refusals_of_another_kind_are_not_those_of_a_limit() {
    let mut run = refuses_beyond_500().run();
    for trial in &mut run.trials {
        let tally = &mut trial.measured.tally;
        let half = tally.unexpected_status / 2;
        tally.unexpected_statuses = [("429", tally.unexpected_status - half), ("401", half)]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .map(|(status, n)| (status.into(), n))
            .collect();
    }
    crate::judge(&mut run);
    let b = &run.findings.bottleneck;
    assert!(b.id == "server-rate-limit" && b.sentence.contains("; other answers failed (401: "), "{b:#?}");
}

/// This test repeats a situation that was observed with memcached, which accepts at most 1,024 connections. 32
/// clients got 151,000 good answers per second. 1,024 clients got only 36,000 good answers per second, and
/// refusals.
#[test]
fn no_load_without_refusals_completes_more_than_a_limit() {
    let with_status = |status: &'static str| {
        let refuse = move |t: &mut run::Trial, p: &crate::planted::Point| {
            if p.n >= 128.0 && t.kind == run::TrialKind::Sweep {
                (t.rates.completed_rate, t.rates.goodput) = (38_000.0, 36_000.0);
                t.measured.tally.completed = 76_000;
                t.measured.tally.unexpected_status = 4000;
                if !status.is_empty() {
                    t.measured.tally.unexpected_statuses = [(status.into(), 4000)].into();
                }
            }
        };
        let mut run = PlantedRun::new(60.0, 151_000.0).rates(&[]).change(refuse).run();
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    assert_ne!(with_status("").id, "server-rate-limit");
    assert_eq!(with_status("429").id, "server-rate-limit", "the status says so");
}

/// In this observed case, the only thread of a Node.js server was full. The server refused requests with status 503
/// while ten others waited. An earlier version of this rule was certain that the server refuses on purpose, because the
/// thread used less than half of the host's CPUs.
#[test]
fn a_server_that_refuses_because_its_thread_is_full_sets_no_limit_on_purpose() {
    let refusing = |thread: f64| {
        let busy = move |p: &crate::planted::Point| thread * 1e6 * (p.x / 500.0).min(1.0);
        let mut run = refuses_beyond_500()
            .per_s(Who::Server, "process.cpu", "srv:100", busy)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", busy)
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let (full, idle) = (refusing(0.99), refusing(0.3));
    let out = full.ruled_out.iter().find(|out| out.id == "server-rate-limit").map(|out| out.why.as_str());
    assert!(out.is_some_and(|why| why.contains("it refuses what it cannot do")), "{full:#?}");
    assert!(idle.id == "server-rate-limit" && idle.confidence >= 0.9, "{idle:#?}");
}

/// A circuit breaker opens beyond 1,600 requests per second, and then lets 100 requests per second pass. An earlier
/// version of this rule said "it serves 100/s" with a confidence of 95 %.
#[test]
fn a_circuit_breaker_that_opened_is_no_limit_of_the_rate() {
    let open = |t: &mut run::Trial, p: &crate::planted::Point| {
        if p.offered > 1600.0 {
            (t.rates.completed_rate, t.rates.goodput) = (p.offered, 100.0);
            t.measured.tally.completed = (2.0 * p.offered) as u64;
            t.measured.tally.unexpected_status = (2.0 * (p.offered - 100.0)) as u64;
            t.measured.tally.unexpected_statuses = [("503".into(), t.measured.tally.unexpected_status)].into();
        }
    };
    let b = PlantedRun::new(5000.0, 1600.0).rates(&[0.5, 1.05, 1.3, 1.7]).change(open).verdict();
    assert!(b.id != "server-rate-limit" || b.confidence <= 0.5, "{b:#?}");
}

/// Makes a run of a server that takes 50 requests at a time, each for 100 ms, and refuses all others with status 503.
/// With n clients, an answer takes `slower(n)` times as long.
fn takes_50_at_a_time(slower: fn(f64) -> f64) -> PlantedRun {
    let refuse = move |t: &mut run::Trial, p: &crate::planted::Point| {
        let is_closed = t.kind == run::TrialKind::Sweep;
        let service_s = 0.1 * if is_closed { slower(p.n) } else { 1.0 };
        let (offered, busy) = match is_closed {
            true => (p.n.min(50.0) / service_s + 2000.0 * (p.n - 50.0).max(0.0), p.n.min(50.0)),
            false => (p.offered, (p.offered * service_s).min(48.5)),
        };
        let good = busy / service_s;
        (t.rates.completed_rate, t.rates.goodput) = (offered, good);
        (t.measured.tally.completed, t.latency_us.mean) = ((2.0 * offered) as u64, 1e6 * service_s);
        let refused = (2.0 * (offered - good)) as u64;
        t.measured.tally.unexpected_status = refused;
        t.measured.tally.unexpected_statuses = [("503".into(), refused)].into_iter().filter(|s| s.1 > 0).collect();
    };
    PlantedRun::new(100_000.0, 500.0)
        .steps(&[1, 2, 4, 8, 16, 32, 64, 128, 256])
        .rates(&[0.5, 0.9, 1.3, 1.6])
        .change(refuse)
}

/// This test repeats a situation that was observed with a server that refuses beyond 50 requests in flight. Response
/// times differed by 6 % between two loads. An earlier version of loadline was 95 % sure of a rate limit.
#[test]
fn a_limit_on_requests_in_flight_is_no_rate_limit() {
    let b = takes_50_at_a_time(|n| if n > 200.0 { 1.06 } else { 1.0 }).verdict();
    assert!(b.id == "server-rate-limit" && b.confidence <= 0.5, "{b:#?}");
    assert!(b.sentence.contains("about 50 requests at a time") && b.sentence.contains("/s, or"), "{b:#?}");
    assert!(b.evidence.iter().any(|line| line.text.contains("looks the same as a rate limit")), "{b:#?}");
    assert!(b.advice[0].contains("twice as long") && b.advice[0].contains("it falls to half"), "{:?}", b.advice);
}

/// With many clients, refusals take CPU time from the requests in flight, which then take longer. The rate of good
/// answers falls, and the number of requests in flight stays at 50. An earlier version of loadline said that the server
/// "sets no limit".
#[test]
fn a_constant_number_of_requests_in_flight_is_a_limit() {
    let b = takes_50_at_a_time(|n| (n / 64.0).max(1.0)).verdict();
    assert!(b.id == "server-rate-limit" && b.confidence >= 0.9, "{b:#?}");
    assert!(b.sentence.contains("limits the requests in flight: it takes only about 50 requests at a time"), "{b:#?}");
    assert!(b.advice.len() == 1 && b.advice[0].contains("limit_conn"), "{:?}", b.advice);
}

/// The rates of good answers and the response times of a rate limit vary a little, as in every measurement.
#[test]
fn a_rate_limit_with_noise_is_sure_if_response_times_change() {
    let noisy = |slower: f64| {
        let noise = move |t: &mut run::Trial, p: &crate::planted::Point| {
            let wave = 1.0 + 0.03 * (p.n + p.offered).sin();
            let n = t.measured.tally.unexpected_status;
            t.measured.tally.unexpected_statuses = [("429".into(), n)].into_iter().filter(|s| s.1 > 0).collect();
            (t.rates.completed_rate, t.latency_us.mean) = (t.rates.completed_rate * wave, 10_000.0 / wave);
            if p.n > 64.0 {
                t.latency_us.mean *= slower;
            }
        };
        refuses_beyond_500_after(10_000.0).change(noise).verdict()
    };
    let (sure, same) = (noisy(2.0), noisy(1.0));
    assert!(sure.id == "server-rate-limit" && sure.confidence >= 0.9, "{sure:#?}");
    assert!(sure.sentence.contains("limits the rate on purpose") && !sure.sentence.contains("at a time"), "{sure:#?}");
    assert!(sure.evidence.iter().any(|line| line.text.contains("no limit on their number explains")), "{sure:#?}");
    assert!(same.sentence.ends_with("or of requests at a time"), "{same:#?}");
}

/// A server takes five requests at a time and refuses the rest with status 503. Clients that are refused send again at
/// once, so refusals fill the four CPUs. An earlier version of loadline named the CPUs as the limit. Without refusals,
/// four clients use half of the CPUs. If `each` (CPUs per 1,000 good answers a second) is larger, good answers fill the
/// CPUs, too.
fn takes_5_at_a_time(each: f64) -> PlantedRun {
    let good = |n: f64| match n {
        n if n <= 4.0 => 875.0 * n,
        n => (4000.0 - 125.0 * (n - 8.0)).max(1000.0),
    };
    let refuse = move |t: &mut run::Trial, p: &crate::planted::Point| {
        let (good, refused) = (good(p.n), if p.n > 4.0 { 3000.0 * (p.n / 8.0) + 500.0 } else { 0.0 });
        (t.rates.completed_rate, t.rates.goodput) = (good + refused, good);
        t.measured.tally.completed = (2.0 * (good + refused)) as u64;
        t.measured.tally.unexpected_status = (2.0 * refused) as u64;
        t.measured.tally.unexpected_statuses =
            [("503".into(), (2.0 * refused) as u64)].into_iter().filter(|s| s.1 > 0).collect();
        t.latency_us.mean = 1e6 * p.n.min(5.0) / good;
    };
    let used = move |p: &crate::planted::Point| if p.n > 4.0 { 3.98 } else { (each * 0.875 * p.n).min(3.98) };
    uses(PlantedRun::new(1143.0, 4000.0).steps(&[1, 2, 4, 8, 16, 32]).rates(&[]).change(refuse), used)
}

#[test]
fn cpus_full_of_refusals_are_not_the_limit() {
    let limit = takes_5_at_a_time(0.6).verdict();
    assert!(limit.id == "server-rate-limit" && limit.confidence >= 0.9, "{limit:#?}");
    assert!(limit.sentence.contains("it takes only about 5 requests at a time"), "{limit:#?}");
    let why = limit.ruled_out.iter().find(|out| out.id == "server-cpu").map(|out| out.why.as_str());
    assert!(why.is_some_and(|why| why.contains("503") || why.contains("mostly for refusals")), "{limit:#?}");
    let full = takes_5_at_a_time(1.1).verdict();
    assert!(full.id == "server-cpu" && full.confidence >= 0.9, "{full:#?}");
}

/// Makes a run with a gateway that refuses requests with 502. If `share` is given, the gateway refuses this share of
/// any load. Without `share`, the gateway refuses all requests beyond 500 good answers per second. If `children` is
/// true, its five child processes all have a request, and six further requests wait.
fn gateway(share: Option<f64>, children: bool) -> PlantedRun {
    let refuse = move |t: &mut run::Trial, _: &crate::planted::Point| {
        let tally = &mut t.measured.tally;
        if let Some(share) = share {
            tally.unexpected_status = (share * tally.completed as f64) as u64;
        }
        let refused = tally.unexpected_status;
        tally.unexpected_statuses = [("502".to_string(), refused)].into_iter().filter(|(_, n)| *n > 0).collect();
        let waits = Box::new(crate::waits::tests::sleeping_children(5.0, 6.0));
        t.server.iter_mut().filter(|_| children).for_each(|side| side.waits = Some(waits.clone()));
    };
    refuses_beyond_500_after(10_000.0).change(refuse)
}

/// nginx answers 502 if its upstream takes no more connections (`max_conns`, a full backlog), and also if its upstream
/// is broken. An earlier version of loadline named no cause in either case.
#[test]
fn a_gateway_that_refuses_more_of_a_heavier_load_has_a_limit_and_one_that_fails_a_share_has_none() {
    let limits = gateway(None, false).verdict();
    assert!(limits.id == "server-rate-limit" && limits.sentence.contains("refuses"), "{limits:#?}");
    for share in [0.02, 0.6] {
        let breaks = gateway(Some(share), false).verdict();
        assert_ne!(breaks.id, "server-rate-limit", "{breaks:#?}");
    }
}

/// This test repeats a situation that was observed with four children of PHP-FPM whose backlog was full, so that nginx
/// answered 502.
#[test]
fn a_gateway_whose_requests_queue_for_all_workers_refuses_what_they_cannot_do() {
    // The first step at the highest rate has 64 clients, so most of its answers are refusals.
    let b = gateway(None, true).steps(&[1, 2, 64]).verdict();
    assert!(b.id == "server-concurrency" && b.sentence.contains("all 5 children of app"), "{b:#?}");
}

/// Hardly any answer of the heaviest loads is good, so their cheap refusals do not show the cost of a request.
#[test]
fn a_load_of_refusals_does_not_contradict_the_cost_of_a_request() {
    let mut run = gateway(None, false).run();
    crate::judge(&mut run);
    let said = [run.findings.trust.warnings, run.findings.trust.held].concat();
    assert!(said.iter().all(|text| !text.contains("busy CPUs at the limit")), "{said:#?}");
}

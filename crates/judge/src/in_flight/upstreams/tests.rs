//! Tests of the chain of upstreams that a server waits for, or does not wait for.

use run::{Run, Upstream, UpstreamLimit};

use crate::planted::{PlantedRun, Who};

/// Makes a run of a proxy that mostly sleeps, an application behind it that uses `app_cpus` of four CPUs, and a
/// database behind the application.
fn proxy(app_cpus: f64, db_cpus: f64) -> Run {
    let mut run = proxied(app_cpus, db_cpus, &[]);
    crate::judge(&mut run);
    run
}

/// Makes the run of [`proxy`], without a verdict. `levels` are further counters of the server's host: each has an ID,
/// an instance and a constant value.
fn proxied(app_cpus: f64, db_cpus: f64, levels: &[(&'static str, &str, f64)]) -> Run {
    proxied_at(200.0, app_cpus, db_cpus, levels)
}

/// Makes the run of [`proxied`] with the given highest rate.
pub(super) fn proxied_at(x_max: f64, app_cpus: f64, db_cpus: f64, levels: &[(&'static str, &str, f64)]) -> Run {
    let behind = |address: &str, depth, from: &str, process: &str| Upstream {
        address: address.into(),
        depth,
        from: from.into(),
        processes: vec![process.into()],
        pids: vec![812],
    };
    let busy = |cpus: f64| move |p: &crate::planted::Point| (p.x / x_max).min(1.0) * cpus * 1e6;
    let planted = PlantedRun::new(20_000.0, x_max).level(Who::Server, "connection.receive_queue", "", 60.0).level(
        Who::Server,
        "behind.connections",
        "127.0.0.1:8001",
        24.0,
    );
    let add = |planted: PlantedRun, (id, instance, value): &(&'static str, &str, f64)| {
        planted.level(Who::Server, id, instance, *value)
    };
    levels
        .iter()
        .fold(planted, add)
        .per_s(Who::Server, "process.cpu", "python3:812", busy(app_cpus))
        .per_s(Who::Server, "thread.cpu", "python3:812/812", busy(app_cpus))
        .per_s(Who::Server, "process.cpu", "postgres:900", busy(db_cpus))
        .per_s(Who::Server, "thread.cpu", "postgres:900/900", busy(db_cpus))
        .change(move |t, _| {
            t.server.iter_mut().for_each(|side| {
                side.behind = vec![
                    behind("127.0.0.1:5432", 2, "127.0.0.1:8001", "postgres:900"),
                    behind("127.0.0.1:8001", 1, "", "python3:812"),
                ];
            });
        })
        .run()
}

#[test]
fn a_full_process_behind_the_server_is_what_it_waits_for() {
    let found = proxy(0.98, 0.1).findings;
    let verdict = &found.bottleneck;
    assert_eq!(verdict.id, "server-concurrency", "{verdict:#?}");
    assert!(verdict.sentence.contains("waits for 127.0.0.1:8001 (python3:812)"), "{}", verdict.sentence);
    let waits_for = verdict.waits_for.as_ref().map(|w| (w.address.as_str(), &w.pids[..]));
    assert_eq!(waits_for, Some(("127.0.0.1:8001", &[812][..])));
    assert_eq!(found.behind[0].limit, Some(UpstreamLimit::Thread));
    assert!(verdict.evidence.iter().any(|e| e.text.contains("24 connections to 127.0.0.1:8001")), "{verdict:#?}");
    assert!(!verdict.sentence.contains("other programs"), "{}", verdict.sentence);
}

/// The run of this test has two loads, and the first load has a single client. The second load has a higher rate than
/// the first load only because other programs slowed the first load. If the second load has 4 clients, no request
/// waits. If the second load has 128 clients, most requests wait for the upstream.
#[test]
fn a_load_that_fills_an_upstream_is_not_called_light() {
    let of_two_loads = |app_cpus, most| {
        let mut run = proxy(app_cpus, 0.1);
        let n = |trial: &run::Trial| crate::context::single::clients(trial);
        run.trials.retain(|t| t.kind == run::TrialKind::Sweep && (n(t) == 1.0 || n(t) == most));
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let (light, full) = (of_two_loads(0.3, 4.0), of_two_loads(0.98, 128.0));
    assert_eq!(light.id, "not-saturated", "{light:#?}");
    assert!(full.id != "not-saturated" || full.confidence < 0.5, "{full:#?}");
}

/// A single load level shows the limit if most requests of the load wait for the full upstream. If few requests of the
/// load wait for the full upstream, other clients may fill the upstream.
#[test]
fn one_load_level_suffices_if_its_requests_wait_behind_a_full_upstream() {
    let of_one_load = |app_cpus, waiting| {
        let mut run = proxied(app_cpus, 0.1, &[("behind.busy", "127.0.0.1:8001", waiting)]);
        let most = run.trials.iter().filter(|t| t.kind == run::TrialKind::Sweep).map(crate::context::single::clients);
        let most = most.fold(0.0, f64::max);
        run.trials.retain(|t| t.kind == run::TrialKind::Sweep && crate::context::single::clients(t) == most);
        crate::judge(&mut run);
        let verdict = run.findings.bottleneck;
        (verdict.id.clone(), verdict.waits_for.is_some_and(|waits_for| waits_for.address == "127.0.0.1:8001"))
    };
    assert_eq!(of_one_load(0.98, 200.0), ("server-concurrency".into(), true));
    assert_ne!(of_one_load(0.98, 2.0).0, "server-concurrency");
    assert_ne!(of_one_load(0.3, 200.0).0, "server-concurrency");
}

#[test]
fn round_trips_to_an_upstream_are_counted_per_request() {
    let behind = Upstream {
        address: "127.0.0.1:5432".into(),
        depth: 1,
        processes: vec!["postgres:900".into()],
        ..Upstream::default()
    };
    let mut run = PlantedRun::new(20_000.0, 200.0)
        .shared()
        .per_s(Who::Server, "process.cpu", "postgres:900", |p| p.x)
        .level(Who::Server, "behind.connections", "127.0.0.1:5432", 64.0)
        .level(Who::Server, "behind.unread", "127.0.0.1:5432", 300.0)
        .level(Who::Server, "behind.busy", "127.0.0.1:5432", 62.0)
        .per_s(Who::Server, "behind.data_out", "127.0.0.1:5432", |p| p.x * 31.0)
        .per_s(Who::Server, "behind.data_in", "127.0.0.1:5432", |p| p.x * 40.0)
        .change(move |t, _| t.server.iter_mut().for_each(|side| side.behind = vec![behind.clone()]))
        .run();
    crate::judge(&mut run);
    let b = &run.findings.bottleneck;
    let said = |text: &str| b.evidence.iter().any(|e| e.text.contains(text));
    assert!(said("the server makes at most 31 round trips to 127.0.0.1:5432 (postgres:900) per request"), "{b:#?}");
    assert!(said("64 connections (all busy) to"), "{b:#?}");
    assert!(said("300 bytes of requests waited unread before") && b.confidence >= 0.8, "{b:#?}");
}

#[test]
fn the_chain_of_upstreams_is_followed_to_the_full_one() {
    let verdict = proxy(0.2, 0.99).findings.bottleneck;
    assert!(verdict.sentence.contains("waits for 127.0.0.1:5432 (postgres:900)"), "{}", verdict.sentence);
    assert!(verdict.evidence.iter().any(|e| e.text.starts_with("the upstream at 127.0.0.1:8001 holds")));
}

#[test]
fn idle_upstreams_are_reported_and_not_blamed() {
    let found = proxy(0.1, 0.1).findings;
    assert_eq!((found.bottleneck.id.as_str(), &found.bottleneck.waits_for), ("server-concurrency", &None));
    assert!(found.bottleneck.sentence.contains("at a time"), "{}", found.bottleneck.sentence);
    assert_eq!(found.behind.iter().map(|b| b.behind.depth).collect::<Vec<_>>(), [1, 2]);
}

/// From 32 clients on, a database compacts its files, which fills one of its threads. The rate of the server, which has
/// a pool of four workers, had stopped growing at four clients.
#[test]
fn work_in_the_background_of_an_upstream_is_not_what_the_server_waits_for() {
    let waits_for = |first: f64| {
        let busy = move |p: &crate::planted::Point| if p.n >= first { 0.99e6 } else { 0.02e6 };
        let mut run = PlantedRun::new(20_000.0, 200.0)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .level(Who::Server, "behind.connections", "127.0.0.1:9000", 4.0)
            .per_s(Who::Server, "process.cpu", "java:300", busy)
            .per_s(Who::Server, "thread.cpu", "java:300/301", busy)
            .change(|t, _| {
                let java = Upstream {
                    address: "127.0.0.1:9000".into(),
                    depth: 1,
                    processes: vec!["java:300".into()],
                    ..Upstream::default()
                };
                t.server.iter_mut().for_each(|side| side.behind = vec![java.clone()]);
            })
            .run();
        crate::judge(&mut run);
        run.findings.bottleneck.waits_for
    };
    assert!(waits_for(32.0).is_none() && waits_for(4.0).is_some());
}

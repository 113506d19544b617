//! Tests of the causes of failed answers.

use run::{Bottleneck, Side, Upstream};

use crate::planted::{PlantedRun, Point, Who};

const ADDRESS: &str = "127.0.0.1:9000";

/// Number of clients from which on the proxy answers a third of the requests with status 502.
const FAILS_FROM: f64 = 16.0;

/// Returns a proxy that keeps the connections of its clients open. The proxy's upstream is the process `app:200`. From
/// 16 clients on, the proxy answers a third of the requests with status 502.
fn proxy(change: fn(&mut Side, &Point)) -> PlantedRun {
    PlantedRun::new(1000.0, 20_000.0)
        .per_s(Who::Server, "tcp.attempt_fails", "", |_| 0.0)
        .level(Who::Server, "ports.range", "", 28_232.0)
        .level(Who::Server, "socket.tcp_time_wait", "", 40.0)
        .per_s(Who::Server, "process.cpu", "srv:100", |p| p.x * 10.0)
        .change(move |trial, point| {
            if point.n >= FAILS_FROM {
                let tally = &mut trial.measured.tally;
                tally.unexpected_status = tally.completed / 3;
                tally.unexpected_statuses = [("502".to_string(), tally.unexpected_status)].into();
            }
            let Some(side) = &mut trial.server else { return };
            let (address, processes) = (ADDRESS.into(), vec!["app:200".into()]);
            side.behind = vec![Upstream { address, depth: 1, processes, ..Upstream::default() }];
            change(side, point);
        })
}

fn nothing(_: &mut Side, _: &Point) {}

/// Returns true if the verdict's sentence names the failed requests, their status, and the load from which on they
/// fail.
fn says_failures(verdict: &Bottleneck) -> bool {
    let sentence = &verdict.sentence;
    sentence.starts_with("from ") && sentence.contains("requests failed") && sentence.contains("502")
}

#[test]
fn failures_without_a_known_cause_name_the_place_to_look() {
    let mostly_fails = |trial: &mut run::Trial, point: &Point| {
        if point.n >= FAILS_FROM {
            trial.rates.completed_rate *= 1.0 + point.n / 64.0;
            let tally = &mut trial.measured.tally;
            tally.unexpected_status = tally.completed * 4 / 5;
            tally.unexpected_statuses = [("502".to_string(), tally.unexpected_status)].into();
        }
    };
    let found = proxy(nothing).change(mostly_fails).verdict();
    assert!(found.id == "unknown" && says_failures(&found), "{found:#?}");
    assert!(found.advice[0].contains("app:200"), "{:?}", found.advice);
}

#[test]
fn a_proxy_without_local_ports_is_named() {
    let waiting = |p: &Point| if p.n >= FAILS_FROM { 28_100.0 } else { 9000.0 };
    let found = proxy(nothing).per_s(Who::Server, "socket.tcp_time_wait", "", waiting).verdict();
    assert!(found.id == "server-concurrency" && found.confidence >= 0.7 && says_failures(&found), "{found:#?}");
    assert!(found.sentence.contains("no local port left for connects to 127.0.0.1:9000 (app:200)"), "{found:#?}");
    assert!(found.advice[0].contains("ip_local_port_range"), "{:?}", found.advice);
}

#[test]
fn an_upstream_whose_accept_queue_overflows_is_named() {
    let dropped = |p: &Point| if p.n >= FAILS_FROM { 200.0 } else { 0.0 };
    let with_queue = |queue: f64| {
        proxy(nothing)
            .per_s(Who::Server, "tcp.listen_overflows", "", dropped)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |_| 0.0)
            .level(Who::Server, "behind.queue", ADDRESS, queue)
            .verdict()
    };
    let found = with_queue(2.0);
    assert!(found.id == "accept-queue" && found.confidence >= 0.7 && says_failures(&found), "{found:#?}");
    assert!(found.sentence.contains("the accept queue of the upstream 127.0.0.1:9000 (app:200) overflows"));
    let elsewhere = with_queue(0.0);
    assert!(!elsewhere.sentence.contains("accept queue of"), "the drops of another program: {elsewhere:#?}");
}

#[test]
fn a_pool_of_connections_that_are_all_busy_is_named() {
    let with_pool = |open: fn(&Point) -> f64| {
        proxy(nothing)
            .per_s(Who::Server, "behind.connections", ADDRESS, open)
            .per_s(Who::Server, "behind.busy", ADDRESS, move |p| 0.95 * open(p))
            .verdict()
    };
    let found = with_pool(|p| p.n.min(4.0));
    assert!(found.id == "server-concurrency" && found.confidence >= 0.5 && says_failures(&found), "{found:#?}");
    assert!(found.sentence.contains("all 4 connections to 127.0.0.1:9000 (app:200) await a reply"), "{found:#?}");
    let grows = with_pool(|p| p.n).sentence;
    assert!(!grows.contains("await a reply"), "one connection for each request is no pool: {grows}");
}

#[test]
fn an_upstream_that_ended_or_refuses_connects_is_told_without_a_bottleneck() {
    let refused = |p: &Point| if p.n >= FAILS_FROM { 900.0 } else { 0.0 };
    let refuses = proxy(nothing).per_s(Who::Server, "tcp.attempt_fails", "", refused).verdict();
    assert!(refuses.id == "unknown" && says_failures(&refuses), "{refuses:#?}");
    assert!(refuses.sentence.contains("an upstream (127.0.0.1:9000 (app:200)) refuses connects"), "{refuses:#?}");
    let ends = |side: &mut Side, point: &Point| {
        if point.n >= FAILS_FROM {
            side.behind.clear();
        }
    };
    let ended = proxy(ends).per_s(Who::Server, "tcp.attempt_fails", "", refused).verdict();
    assert!(ended.sentence.contains("the upstream 127.0.0.1:9000 (app:200) ended"), "{ended:#?}");
    assert!(ended.advice[0].contains("it may have ended"), "{:?}", ended.advice);
}

//! Tests of connections that the simulated server ends, either with an announcement or after an idle time.

use run::{ErrorKind, HttpPlan, Intensity, LoadPart, LoadPlan, Phase, Protocol, Summary, ThinkTime};

use crate::drivers::sim::SimDriver;
use crate::shard::{self, LiveCounts, Order};
use crate::{Service, SilentClose, SimServer, simulate};

fn plan(connections: u32, pipeline: u32, think_ms: f64) -> LoadPlan {
    let think = ThinkTime { mean_ms: think_ms, exponential: false };
    LoadPlan {
        intensity: Intensity::Closed { connections, pipeline, think },
        warmup_s: 0.5,
        duration_s: 10.0,
        drain_s: 60.0,
        ..LoadPlan::default()
    }
}

fn server() -> SimServer {
    SimServer { service: Service::Constant, workers: 4, rtt_ns: 100_000, closes_after: 1, ..SimServer::default() }
}

fn run(plan: &LoadPlan, server: &SimServer) -> LoadPart {
    simulate(plan, server).unwrap().0
}

fn rate(part: &LoadPart) -> f64 {
    part.measured.completed as f64 / part.measured_s
}

/// Workers that need 1 ms per request complete nearly 1000 requests per second each, no matter which side closes the
/// connections. The simulated server works on all requests of a pipeline at the same time, so the case with a pipeline
/// has only one worker.
#[test]
fn no_wait_for_a_fin_enters_the_rate() {
    for (pipeline, workers) in [(1, 4), (8, 1)] {
        let server = SimServer { workers, ..server() };
        let full = 1000.0 * f64::from(workers);
        let closes = run(&plan(20, pipeline, 0.0), &server);
        assert!((rate(&closes) / full - 1.0).abs() < 0.01, "{pipeline}: {}", rate(&closes));
        assert_eq!((closes.total.closes_left_to_client, closes.total.error_count()), (0, 0), "{pipeline}");
        let leaves = run(&plan(20, pipeline, 0.0), &SimServer { leaves_close: true, ..server });
        // An answer takes 0.05 ms to reach the client, and the simulated server notices the client's close at once.
        // Once a second, the client waits 10 ms for a FIN to see whether the server closes. During this wait, one of
        // the workers is occupied.
        let expected = full / 1.05 * (1.0 - 0.01 / f64::from(workers));
        assert!((rate(&leaves) / expected - 1.0).abs() < 0.01, "{pipeline}: {}", rate(&leaves));
        assert_eq!(leaves.total.error_count(), 0, "{pipeline}");
        let connections = leaves.total.completed;
        assert!(leaves.total.closes_left_to_client + 30 > connections, "{pipeline}: {:?}", leaves.total);
    }
}

#[test]
fn an_open_loop_keeps_its_rate_and_its_number_of_connections() {
    let open =
        |rate, max_connections| Intensity::Open { rate, arrival: run::Arrival::Constant, max_connections, pipeline: 1 };
    for leaves_close in [false, true] {
        let plan = LoadPlan { intensity: open(2000.0, 30), ..plan(1, 1, 0.0) };
        let part = run(&plan, &SimServer { leaves_close, ..server() });
        assert!((rate(&part) / 2000.0 - 1.0).abs() < 0.01, "{leaves_close}: {}", rate(&part));
        let p99 = Summary::of(&part.histograms["response"]).p99;
        assert!(part.total.error_count() == 0 && p99 < 3000.0, "{leaves_close}: {p99}");
    }
}

/// A client whose connection was closed waits for its next connect. A connect and an exchange each take a round trip of
/// 20 ms, and the service takes 1 ms.
#[test]
fn the_wait_for_the_next_connect_is_part_of_the_response_time() {
    for (closes_after, think_ms) in [(1, 0.0), (4, 0.0), (4, 50.0)] {
        let part = run(&plan(2, 1, think_ms), &SimServer { closes_after, rtt_ns: 20_000_000, ..server() });
        let [response, service] = ["response", "service"].map(|name| part.histograms[name].mean_us());
        let expected_us = 21_000.0 + 20_000.0 / f64::from(closes_after);
        assert!((response / expected_us - 1.0).abs() < 0.03, "{response} us, not {expected_us}, {closes_after}");
        assert!((service / 21_000.0 - 1.0).abs() < 0.03, "{service} us, {closes_after}");
    }
}

/// After the 100th answer on a connection, the server reads nothing more from this connection.
#[test]
fn requests_behind_an_announced_close_are_sent_again() {
    let part = run(&plan(4, 16, 0.0), &SimServer { closes_after: 100, ..server() });
    let t = &part.total;
    assert_eq!((t.error_count(), t.unanswered), (0, 0), "{t:?}");
    assert!(t.unprocessed >= t.completed / 100 * 15 - 60 && t.sent == t.completed, "{t:?}");
    // If each request takes 1 ms, 4 workers need 16 ms for 64 requests. The longest response times also include the
    // wait of an unprocessed request for another connection.
    let response = Summary::of(&part.histograms["response"]);
    assert!((15e3..17e3).contains(&response.p50) && response.max > 20e3, "{response:?}");
}

#[test]
fn think_time_goes_on_when_the_server_closes_the_connection() {
    // Each client sends a request every 151.1 ms, or every 151.2 ms if it must connect. The server closes a connection
    // after 100 ms without a request.
    let idle = SimServer { closes_after: 0, keep_alive_ns: 100_000_000, workers: 100, ..server() };
    let part = run(&plan(30, 1, 150.0), &idle);
    assert!((rate(&part) * 0.1512 / 30.0 - 1.0).abs() < 0.01, "{}", rate(&part));
    assert!(part.total.closed_by_server > 1000 && part.total.error_count() == 0, "{:?}", part.total);
    let after_s = part.closes_idle_after_s.unwrap();
    assert!((after_s - 0.1).abs() < 0.001, "{after_s}");
}

/// Runs a load whose mean think time equals the keep-alive timeout. Some requests are therefore sent just when the
/// server closes their idle connection.
fn racing(method: &str) -> LoadPart {
    let think = ThinkTime { mean_ms: 100.0, exponential: true };
    let mut plan = LoadPlan {
        intensity: Intensity::Closed { connections: 200, pipeline: 1, think },
        duration_s: 60.0,
        ..plan(1, 1, 0.0)
    };
    plan.protocol = Protocol::Http1(HttpPlan { method: method.into(), ..HttpPlan::default() });
    run(&plan, &SimServer { closes_after: 0, keep_alive_ns: 100_000_000, rtt_ns: 2_000_000, workers: 500, ..server() })
}

#[test]
fn a_keep_alive_race_is_named_and_idempotent_requests_are_sent_again() {
    let t = racing("GET").total;
    // A keep-alive race occurs if a think time ends during the 2 ms (one round trip) around the keep-alive timeout. The
    // share of think times that end in the 2 ms around the timeout is exp(-1) × 2 ms / 100 ms = 0.7 %.
    let share = t.keep_alive_races as f64 / t.completed as f64;
    assert!((0.003..0.012).contains(&share), "{share}");
    assert_eq!((t.resent, t.error_count(), t.sent), (t.keep_alive_races, 0, t.completed), "{t:?}");
    let t = racing("POST").total;
    assert_eq!((t.resent, t.errors.0.len()), (0, 1), "{t:?}");
    assert_eq!(t.errors.0.get(&ErrorKind::KeepAliveRace), Some(&t.keep_alive_races));
}

/// The server closes each connection after 10 answers, and does not announce the close. The client sends its next
/// request at once, so this request arrives after the server has closed the connection.
#[test]
fn requests_that_meet_an_unannounced_close_are_sent_again() {
    let silent = SimServer { closes_after: 10, closes_silently: true, ..server() };
    for (pipeline, method) in [(1, "GET"), (4, "GET"), (1, "POST")] {
        let mut plan = plan(4, pipeline, 0.0);
        plan.protocol = Protocol::Http1(HttpPlan { method: method.into(), ..HttpPlan::default() });
        let part = run(&plan, &silent);
        let (t, races) = (&part.total, part.total.completed / 10);
        assert!(pipeline > 1 || t.keep_alive_races.abs_diff(races) <= 4, "{t:?}");
        if pipeline > 1 {
            assert_eq!((t.keep_alive_races, t.sent), (0, t.completed + t.error_count()), "{t:?}");
            assert!(t.error_count().abs_diff(races) <= 4, "the oldest request may have been read: {t:?}");
            assert!(t.unprocessed > 2 * t.error_count(), "those behind it are sent again: {t:?}");
        } else if method == "GET" {
            assert_eq!((t.resent, t.error_count(), t.sent), (t.keep_alive_races, 0, t.completed), "{t:?}");
            // A request that is sent again takes one and a half round trips longer than other requests. Half a round
            // trip passes until the client sees the close, and a whole one until the connect is complete.
            let response = Summary::of(&part.histograms["response"]);
            assert!(response.max > response.p50 + 90.0, "{response:?}");
        } else {
            assert_eq!((t.resent, t.errors.0.get(&ErrorKind::KeepAliveRace)), (0, Some(&t.keep_alive_races)), "{t:?}");
        }
    }
}

/// The server closes each connection after 10 answers without announcing it, but only 1 ms after the answer on average.
/// Most clients send their next request before the close, and get a reset. In one of ten cases, the close comes before
/// the client's next request.
#[test]
fn resets_by_a_late_unannounced_close_are_keep_alive_races() {
    let late =
        SimServer { closes_after: 10, closes_silently: true, silent_close: SilentClose::Later(1_000_000), ..server() };
    let t = run(&plan(4, 1, 0.0), &late).total;
    let ends = t.completed / 10;
    // After eight resets, further resets count as failures until a close arrives before the client sends a request.
    let failed = t.error_count();
    assert!(ends > 1000 && failed < 60 && t.keep_alive_races + failed + 4 >= ends, "{t:?}");
    assert_eq!((t.resent, t.sent), (t.keep_alive_races, t.completed + failed), "{t:?}");
}

/// The server closes each connection some milliseconds after its seventh answer. In an open loop, a connection is idle
/// before most requests. Many closes therefore find the connection idle, and others find a request in flight.
#[test]
fn closes_after_equal_numbers_of_answers_are_races_in_an_open_loop_too() {
    let silent_close = SilentClose::Later(3_000_000);
    let late = SimServer { closes_after: 7, closes_silently: true, silent_close, ..server() };
    let intensity = Intensity::Open { rate: 200.0, arrival: run::Arrival::Constant, max_connections: 16, pipeline: 1 };
    let t = run(&LoadPlan { intensity, duration_s: 30.0, ..plan(1, 1, 0.0) }, &late).total;
    assert!(t.closed_by_server > 100 && t.keep_alive_races > 20, "{t:?}");
    assert!(t.error_count() <= 2 && t.completed + t.error_count() == t.due, "{t:?}");
}

/// The server reads the eleventh request of each connection, and then fails. If the failing server has read a request,
/// the end of the connection is no keep-alive race. The end is no keep-alive race even if each connection had the same
/// number of answers.
#[test]
fn resets_by_a_server_that_fails_are_no_keep_alive_races() {
    for think_ms in [0.0, 5.0] {
        let fails = SilentClose::AtNextRequest;
        let dies = SimServer { closes_after: 10, closes_silently: true, silent_close: fails, ..server() };
        for pipeline in [1, 3] {
            let t = run(&plan(4, pipeline, think_ms), &dies).total;
            assert!(t.keep_alive_races == 0 && t.resent == 0 && t.error_count() + 4 >= t.connected, "{t:?}");
            assert_eq!(t.error_count(), t.lost_connections, "one request for each end: {t:?}");
            let kinds: Vec<_> = t.errors.0.keys().copied().collect();
            assert_eq!(kinds, [ErrorKind::Reset], "the first eight, too");
        }
        // The server also closes connections that were idle for 20 ms. Some clients think for longer than 20 ms.
        let think = ThinkTime { mean_ms: 10.0, exponential: true };
        let intensity = Intensity::Closed { connections: 40, pipeline: 1, think };
        let both = SimServer { keep_alive_ns: 20_000_000, workers: 40, ..dies };
        let t = run(&LoadPlan { intensity, ..plan(1, 1, 0.0) }, &both).total;
        let resets = t.errors.0.get(&ErrorKind::Reset).copied().unwrap_or(0);
        assert!(t.closed_by_server > 1000 && resets > 5 * t.keep_alive_races, "{t:?}");
    }
}

/// In an earlier version of loadline, the first request was due before the window began but was answered within the
/// window. The earlier version thus counted more completed requests than offered requests.
#[test]
fn the_window_of_recorded_times_has_all_their_requests() {
    let times = run::RecordedTimes { gaps_us: vec![0, 50_000, 100_000], items: Vec::new(), speed: 1.0 };
    let intensity = Intensity::Open { rate: 13.3, arrival: run::Arrival::Constant, max_connections: 9, pipeline: 1 };
    let arrivals = Some(run::ArrivalTimes { times: Some(times), ..run::ArrivalTimes::default() });
    let plan = LoadPlan { intensity, arrivals, warmup_s: 0.0, duration_s: 0.225, ..plan(1, 1, 0.0) };
    // The command to begin the measured window comes 14 ms late from the conductor (controlling process).
    let (measure, drain) = (14_000_000, 239_000_000);
    let phase =
        |now| [Phase::WarmUp, Phase::Measure, Phase::Drain][usize::from(now >= measure) + usize::from(now >= drain)];
    let order = |now: u64, _| Order {
        phase: phase(now),
        at_ns: now,
        stop: false,
        next_ns: [measure, drain].into_iter().find(|&edge| edge > now).unwrap_or(u64::MAX),
        factor: 1.0,
    };
    let client = proto::client(&plan.protocol, None, None).unwrap();
    let task = crate::share::task(&plan, 0, 0, 1000);
    let (request, answer) = crate::ceiling::exchange(&plan, &*client);
    let server = SimServer { closes_after: 0, service_ns: 30_000_000, ..server() };
    let mut driver = SimDriver::new(task.capacity(), &server, request, &answer);
    let part = shard::run(&mut driver, &*client, task, &LiveCounts::default(), &order).unwrap();
    assert_eq!((part.offered, part.measured.completed, part.measured_at_s, part.measured_s), (3.0, 3, 0.0, 0.225));
}

#[test]
fn a_restart_is_told_from_a_keep_alive_timeout() {
    let server = SimServer { closes_after: 0, workers: 100, ..server() };
    let restart = SimServer { restarts_ns: vec![4_000_000_000], ..server.clone() };
    for think_ms in [0.0, 150.0] {
        let ends = run(&plan(30, 1, think_ms), &restart).ended_together.unwrap();
        assert!(ends.is_restart() && (ends.at_s - 4.0).abs() < 0.001, "{think_ms}: {ends:?}");
        assert_eq!((ends.connections, ends.open, ends.all), (30, 30, 30), "{think_ms}");
    }
    let timeout = run(&plan(30, 1, 150.0), &SimServer { keep_alive_ns: 100_000_000, ..server.clone() });
    assert!(!timeout.ended_together.unwrap().is_restart(), "{:?}", timeout.ended_together);
    assert_eq!(run(&plan(30, 1, 0.0), &server).ended_together, None);
}

/// The simulated server sends each answer twice. The client takes every second answer for an answer to another request.
#[test]
fn late_second_answers_are_seen_in_the_drain() {
    for (connections, pipeline, again_ms, workers) in [(1, 1, 5, 1), (20, 1, 60, 20), (4, 8, 20, 4), (10, 1, 100, 100)]
    {
        let twice = SimServer { closes_after: 0, answers_again_ns: again_ms * 1_000_000, workers, ..server() };
        let t = run(&plan(connections, pipeline, 0.0), &twice).total;
        assert!(t.unasked_messages >= u64::from(connections) && t.doubtful_share() > 0.5, "{again_ms}: {t:?}");
        let once = run(&plan(connections, pipeline, 0.0), &SimServer { answers_again_ns: 0, ..twice }).total;
        assert_eq!((once.unasked_messages, once.doubtful_answers, once.error_count()), (0, 0, 0), "{again_ms}");
    }
}

#[test]
fn an_open_loop_sees_second_answers_on_idle_connections() {
    let intensity = Intensity::Open { rate: 50.0, arrival: run::Arrival::Constant, max_connections: 30, pipeline: 1 };
    let plan = LoadPlan { intensity, ..plan(1, 1, 0.0) };
    let t = run(&plan, &SimServer { closes_after: 0, answers_again_ns: 60_000_000, workers: 100, ..server() }).total;
    assert!(t.doubtful_share() > 0.9, "{t:?}");
}

/// If 1000 requests start per second and each takes 0.3 s, 300 connections are needed at the same time. An earlier
/// version of loadline did not time answers that end their connection, so its connection pool stayed at 128
/// connections.
#[test]
fn a_pool_grows_for_a_slow_server_that_closes_after_each_answer() {
    let intensity =
        Intensity::Open { rate: 1000.0, arrival: run::Arrival::Constant, max_connections: 2000, pipeline: 1 };
    let plan = LoadPlan { intensity, warmup_s: 3.0, ..plan(1, 1, 0.0) };
    let part = run(&plan, &SimServer { service_ns: 300_000_000, workers: 2000, rtt_ns: 0, ..server() });
    assert!((rate(&part) / 1000.0 - 1.0).abs() < 0.01, "{}", rate(&part));
    let p99_us = part.histograms["response"].quantile_us(0.99);
    assert!(p99_us < 310_000.0, "{p99_us} us");
}

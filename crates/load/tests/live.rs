//! Tests of every kind of load with both drivers, against a server that counts. Client and server must count equal
//! numbers of connections and requests.

mod common;

use std::time::{Duration, Instant};

use common::{Behaviour, Server, closed, conduct, drive, drive_until, drivers, plan};
use loadline_load as _;
use run::{Arrival, ErrorKind, Intensity, LoadPart, LoadPlan, ThinkTime, Tick};

/// Returns a condition for [`drive_until`]: at least `responses` responses in the measured window.
fn completes(responses: u64) -> impl Fn(&Tick, &Tick) -> bool {
    move |begin, now| now.completed - begin.completed >= responses
}

/// Returns a condition for [`drive_until`]: at least `failures` failures since the start of the load.
fn fails(failures: u64) -> impl Fn(&Tick, &Tick) -> bool {
    move |_, now| now.errors >= failures
}

/// Checks relations between counts that hold for every result.
fn consistent(part: &LoadPart) {
    let (t, m) = (&part.total, &part.measured);
    assert!(t.connected <= t.attempted && t.completed <= t.sent && t.sent <= t.due, "{t:?}");
    assert_eq!(m.completed, part.histograms["response"].len(), "every measured answer is in the histogram");
    assert!(m.completed <= t.completed && m.sent <= t.sent && m.due <= t.due);
    assert_eq!(t.status.values().sum::<u64>(), t.completed);
}

#[test]
fn keep_alive_counts_agree_with_the_server() {
    for io in drivers() {
        for pipeline in [1, 4] {
            let server = Server::start(Behaviour::Proper);
            let part = drive_until(&plan(io, closed(8, pipeline)), server.addr, 200, completes(200));
            consistent(&part);
            let t = &part.total;
            assert_eq!((t.attempted, t.connected, server.connections()), (8, 8, 8), "{io:?}");
            assert_eq!((t.sent, t.completed, t.unanswered, t.error_count()), (t.due, t.due, 0, 0), "{io:?}");
            assert_eq!(server.requests(), t.completed, "{io:?}");
            assert!(part.measured.completed > 100, "{io:?}: {part:?}");
            let in_flight = part.in_flight_s / part.measured_s;
            assert!(in_flight > 0.9 * 8.0 * f64::from(pipeline) && in_flight <= 8.0 * f64::from(pipeline) + 0.01);
        }
    }
}

#[test]
fn simple_clients_open_one_connection_a_request() {
    for io in drivers() {
        let server = Server::start(Behaviour::Proper);
        let plan = LoadPlan { new_connections: true, ..plan(io, closed(4, 1)) };
        let part = drive_until(&plan, server.addr, 200, completes(100));
        consistent(&part);
        let t = &part.total;
        assert_eq!(t.error_count(), 0, "{io:?} {t:?}");
        assert_eq!(t.completed, server.requests(), "{io:?}");
        assert_eq!(t.sent, t.connected, "{io:?}");
        assert!(t.completed > 50 && t.connected - t.completed <= 4, "{io:?} {t:?}");
    }
}

#[test]
fn an_open_loop_sends_what_is_due() {
    for io in drivers() {
        let server = Server::start(Behaviour::Proper);
        let open = Intensity::Open { rate: 1000.0, arrival: Arrival::Constant, max_connections: 4096, pipeline: 1 };
        let part = drive(&LoadPlan { threads: 2, ..plan(io, open) }, server.addr, 400);
        consistent(&part);
        let t = &part.total;
        assert_eq!((t.completed, t.error_count()), (t.sent, 0), "{io:?} {t:?}");
        // If the generator stalled at the end of the measured window, some requests may still wait for a connection.
        let waited = part.histograms.get("under_way").map_or(0, |ages| ages.len());
        assert!(t.sent <= t.due && t.due - t.sent <= waited, "{io:?}, {waited} under way: {t:?}");
        assert_eq!(server.requests(), t.completed);
        assert!((part.offered / (1000.0 * part.measured_s) - 1.0).abs() < 0.02, "{} {}", part.offered, part.measured_s);
        let due = part.measured.due as f64;
        // The generator may get no CPU at the start or the end of the measured window. A generator without CPU time may
        // count requests that are due just outside of the window as inside, and requests just inside as outside.
        let late_s = part.histograms["start_error"].quantile_us(1.0) / 1e6;
        assert!((due - part.offered).abs() < 40.0 + 1000.0 * late_s, "{io:?}: {due} due of {}", part.offered);
        assert_eq!(part.histograms["start_error"].len(), part.measured.due);
        assert!(t.connected < t.due, "an idle connection is used again: {t:?}");
    }
}

#[test]
fn statuses_and_bodies_are_told_apart() {
    for io in drivers() {
        let server = Server::start(Behaviour::Unavailable);
        let t = drive_until(&plan(io, closed(2, 1)), server.addr, 60, completes(20)).total;
        assert!(t.completed > 10 && t.unexpected_status == t.completed && t.status["5xx"] == t.completed, "{t:?}");
        let server = Server::start(Behaviour::Chunked);
        let t = drive_until(&plan(io, closed(2, 1)), server.addr, 60, completes(20)).total;
        assert!(t.completed > 10 && t.error_count() == 0 && t.completed == server.requests(), "{t:?}");
    }
}

#[test]
fn a_connection_that_the_server_closes_is_replaced() {
    for io in drivers() {
        let server = Server::start(Behaviour::CloseAfter(5));
        let think = ThinkTime { mean_ms: 10.0, exponential: false };
        let plan = plan(io, Intensity::Closed { connections: 2, pipeline: 1, think });
        // Of the four connections, the server has closed at least two.
        let t = drive_until(&plan, server.addr, 400, |_, _| server.connections() >= 4).total;
        assert!(t.closed_by_server >= 2 && t.connected >= t.closed_by_server, "{io:?} {t:?}");
        assert_eq!((t.completed, t.error_count()), (server.requests(), 0), "{io:?} {t:?}");
    }
}

/// Returns the maximum number of attempts that `connections` connections make within `took`. The delays between the
/// attempts of a connection double (1 + 2 + 4 + … ms), and one more attempt may be in progress.
fn tries(connections: u64, took: Duration) -> u64 {
    connections * (u64::from((took.as_millis() as u64 + 1).ilog2()) + 2)
}

#[test]
fn resets_short_bodies_and_rubbish_are_errors_and_no_storm() {
    for io in drivers() {
        for (behaviour, kind) in [
            (Behaviour::Reset, ErrorKind::Reset),
            (Behaviour::Short, ErrorKind::CutResponse),
            (Behaviour::Rubbish, ErrorKind::Malformed),
        ] {
            let server = Server::start(behaviour);
            let begin = Instant::now();
            let part = drive_until(&plan(io, closed(2, 1)), server.addr, 300, fails(4));
            let most = tries(2, begin.elapsed());
            consistent(&part);
            let t = &part.total;
            assert_eq!(t.completed, 0, "{io:?} {behaviour:?} {t:?}");
            assert!(t.errors.0[&kind] >= 4 && t.errors.0.len() == 1, "{io:?} {behaviour:?} {t:?}");
            assert!(t.attempted <= most, "{io:?} {behaviour:?} {t:?}");
        }
    }
}

#[test]
fn a_refused_port_is_named_and_not_hammered() {
    for io in drivers() {
        let ((_bound, addr), begin) = (testkit::refusing(), Instant::now());
        let t = drive_until(&plan(io, closed(2, 1)), addr, 200, fails(4)).total;
        assert!(t.errors.0[&ErrorKind::ConnectRefused] >= 4 && t.connected == 0, "{io:?} {t:?}");
        assert!(t.attempted <= tries(2, begin.elapsed()), "{io:?} {t:?}");
        let open = Intensity::Open { rate: 500.0, arrival: Arrival::Poisson, max_connections: 16, pipeline: 1 };
        let t = drive_until(&plan(io, open), addr, 200, fails(1)).total;
        assert!(t.due > 50 && t.sent == 0 && t.error_count() > 0, "{io:?} {t:?}");
    }
}

#[test]
fn a_silent_server_times_out_and_leaves_the_rest_unanswered() {
    for io in drivers() {
        let server = Server::start(Behaviour::Silent);
        let plan = LoadPlan { timeout_s: 0.15, drain_s: 0.05, ..plan(io, closed(3, 1)) };
        let t = drive_until(&plan, server.addr, 250, fails(3)).total;
        let timeouts = t.errors.0[&ErrorKind::ResponseTimeout];
        assert!(timeouts >= 3, "{io:?} {t:?}");
        assert_eq!(timeouts + t.unanswered, t.sent, "{io:?} {t:?}");
        assert_eq!(t.phantom, t.sent, "{io:?} {t:?}");
    }
}

#[test]
fn a_server_that_dies_leaves_honest_counts() {
    for io in drivers() {
        let server = Server::start(Behaviour::Proper);
        // On a busy machine, the first answers may come late.
        let answered = || server.counted.requests.load(std::sync::atomic::Ordering::Relaxed) > 100;
        let dies = || {
            testkit::eventually(|| answered().then_some(()));
            server.die();
        };
        // Each of the four connections fails once when the server dies. Further failures are refused connects.
        let part = conduct(&plan(io, closed(4, 1)), server.addr, 400, dies, fails(8));
        consistent(&part);
        let t = &part.total;
        assert!(t.completed > 20, "{io:?} {t:?}");
        assert!(t.errors.0.contains_key(&ErrorKind::ConnectRefused), "{io:?} {t:?}");
        let on_connections = t.error_count() - t.errors.0[&ErrorKind::ConnectRefused];
        // A connect may have been reset because the listener closed. A connection that was reset by the listener had no
        // request.
        let no_request = t.attempted - t.connected - t.errors.0[&ErrorKind::ConnectRefused];
        let ended = t.completed + on_connections + t.unanswered;
        assert!((t.sent..=t.sent + no_request).contains(&ended), "{io:?} {t:?}");
    }
}

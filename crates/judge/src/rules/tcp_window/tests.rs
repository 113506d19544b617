//! Tests of the rule `tcp-window`.

use crate::planted::{PlantedRun, Point, Who, held_by_a_window, windows_up_to};

fn verdict(planted_run: &PlantedRun) -> run::Bottleneck {
    let mut run = planted_run.run();
    crate::judge(&mut run);
    run.findings.bottleneck
}

#[test]
fn the_kernel_undercounts_window_limited_time_under_paced_congestion_control() {
    let b = verdict(&held_by_a_window().level(Who::Server, "connection.rwnd_limited", "", 0.2));
    assert!(b.id == "tcp-window" && b.confidence >= 0.8, "{b:#?}");
    assert!(b.evidence.iter().any(|e| e.counter == "connection.peer_window"), "{b:#?}");
}

/// In this test, the connections are read only twice, each time between two requests, so no reading shows a wait.
#[test]
fn a_transfer_of_several_windows_needs_no_reading_of_its_wait() {
    let windows = |n: u64| {
        let planted_run = held_by_a_window().per_s(Who::Server, "connection.waiting", "", |_| 0.0);
        verdict(&planted_run.change(move |trial, _| {
            trial.latency_us.p50 = 500_000.0;
            trial.measured.tally.bytes_received = trial.measured.tally.completed * n * 65_536;
        }))
    };
    let five = windows(5);
    assert!(five.id == "tcp-window" && five.sentence.contains("79"), "{five:#?}");
    assert_ne!(windows(3).id, "tcp-window", "two of five round trips are not most of the time");
}

#[test]
fn a_small_send_buffer_is_named_too() {
    let planted_run = held_by_a_window()
        .level(Who::Server, "connection.rwnd_limited", "", 0.0)
        .level(Who::Server, "connection.sndbuf_limited", "", 0.38)
        .level(Who::Server, "connection.send_queue", "", 62_000.0)
        .per_s(Who::Server, "connection.write_full", "", |p| p.n * 0.9);
    let b = verdict(&planted_run);
    assert!(b.id == "tcp-window" && b.sentence.contains("sender's buffer"), "{b:#?}");
}

/// Each case changes a run with a window limit so that another cause shows the same signs.
#[test]
fn runs_that_only_look_like_a_window_limit_are_not_named() {
    type Change = fn(PlantedRun) -> PlantedRun;
    let cases: &[(&str, Change)] = &[
        ("a server that computes most of the time", |s| s.per_s(Who::Server, "connection.waiting", "", |p| p.n * 0.2)),
        ("a congestion window below the other end's", |s| {
            s.level(Who::Server, "connection.delivery_rate", "", 300_000.0)
        }),
        ("a queue on the way", |s| s.level(Who::Server, "connection.min_rtt", "", 40_000.0)),
        ("a client that reads slowly", |s| s.level(Who::Client, "connection.receive_queue", "", 60_000.0)),
        ("a sender that hardly ever stood", |s| s.level(Who::Server, "connection.rwnd_limited", "", 0.1)),
    ];
    for (what, change) in cases {
        let b = verdict(&change(held_by_a_window()));
        assert_ne!(b.id, "tcp-window", "{what}: {b:#?}");
    }
}

/// Each answer of a distant server takes four TCP windows. A pool inside the server limits the rate, or workers send
/// each answer before they read the next request.
#[test]
fn a_window_of_each_connection_limits_no_rate_unless_workers_wait_for_it() {
    let sampled = |p: &Point| 0.75 * p.n.min(32.0) * p.n.min(64.0) / p.n;
    let far = || {
        let planted = windows_up_to(80.0).per_s(Who::Server, "connection.waiting", "", sampled);
        planted.change(|t, _| t.measured.tally.bytes_sent = 64 * t.measured.tally.sent)
    };
    let pool = verdict(&far());
    assert_ne!(pool.id, "tcp-window", "{pool:#?}");
    let why = pool.ruled_out.iter().find(|out| out.id == "tcp-window").map(|out| out.why.as_str());
    assert!(why.is_some_and(|why| why.contains("more connections carry more")), "{why:?}");
    let unread = |p: &Point| 64.0 * (p.n - 32.0).max(0.0) / p.n;
    let waits = |far: PlantedRun| far.per_s(Who::Server, "connection.receive_queue", "", unread);
    let workers = verdict(&waits(far()));
    assert_eq!(workers.id, "tcp-window", "{workers:#?}");
    // Throughput grew up to the sweep's last step, and only an overload shows the limit.
    let short = || far().steps(&[1, 2, 4, 8, 16, 32]).rates(&[1.15]);
    assert_ne!(verdict(&short()).id, "tcp-window");
    assert_eq!(verdict(&waits(short())).id, "tcp-window");
}

#[test]
fn an_unobserved_server_leaves_the_window_limit_open() {
    let b = verdict(&held_by_a_window().no_server());
    assert!(b.id != "tcp-window" && b.missing.iter().any(|m| m.contains("tcp-window")), "{b:#?}");
}

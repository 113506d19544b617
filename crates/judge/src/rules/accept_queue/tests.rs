//! Tests of the rule `accept-queue`.

use super::*;
use crate::planted::{PlantedRun, Who};

/// Makes a run on one shared host with full CPUs. The load is `times` the server's capacity. `ran_us` and
/// `waited_us` are the times per second for which the generator's thread ran and waited for a CPU. `drops` is the
/// share of dropped connects.
fn full_host(capacity: f64, times: f64, (ran_us, waited_us): (f64, f64), drops: f64) -> PlantedRun {
    PlantedRun::new(1000.0, capacity)
        .steps(&[])
        .rates(&[times])
        .shared()
        .per_s(Who::Client, "process.cpu", "loadline:50", move |_| ran_us)
        .per_s(Who::Client, "thread.cpu", "shard0:50/51", move |_| ran_us)
        .per_s(Who::Client, "thread.run_delay", "shard0:50/51", move |_| waited_us)
        .per_s(Who::Server, "cpu.idle", "total", |_| 0.0)
        .per_s(Who::Server, "cpu.user", "total", |_| 4e6)
        .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
        .per_s(Who::Server, "listen.drops", "127.0.0.1:8080", move |p| p.x * drops)
        .per_s(Who::Server, "tcp.listen_overflows", "", move |p| p.x * drops)
}

/// This test repeats a situation that was observed with `python3 -m http.server` at 5,000 requests/s, while a build
/// ran on the host. The accept queue dropped 12 % of the connects, and the generator lacked CPU time.
#[test]
fn a_starved_generator_fills_no_accept_queue() {
    let starved = |drops| full_host(800.0, 6.0, (2.6e5, 4e5), drops).verdict();
    let b = starved(0.13);
    assert_eq!(b.id, "accept-queue", "{b:#?}");
    let b = starved(0.0);
    assert!(!["accept-queue", "client-cpu"].contains(&b.id.as_str()), "{b:#?}");
}

/// In this test, the server has a short accept queue, and other programs fill the host's CPUs. The server uses more CPU
/// time than the generator, and is idle at times.
#[test]
fn processors_that_others_fill_do_not_hide_a_full_queue() {
    let beside = |drops| {
        let planted_run = full_host(1200.0, 4.0, (3e5, 1e5), drops)
            .per_s(Who::Server, "process.cpu", "srv:100", |_| 1.6e6)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", |_| 1.7e5)
            .per_s(Who::Server, "thread.run_delay", "srv:100/101", |_| 2.7e5);
        planted_run.verdict()
    };
    let b = beside(0.15);
    assert_eq!(b.id, "accept-queue", "{b:#?}");
    // Without drops, the verdict is unknown, because other programs use more than half of the CPU time.
    let b = beside(0.0);
    assert_eq!(b.id, "unknown", "{b:#?}");
}

/// In this test, another listener of the host overflows. Connects of the measured load succeed at once, and the
/// server's own listener drops nothing.
#[test]
fn an_overflow_of_another_listener_is_not_ours() {
    let beside = |own: Option<f64>| {
        let planted = PlantedRun::new(1000.0, 4000.0).per_s(Who::Server, "tcp.listen_overflows", "", |_| 40.0);
        let planted = match own {
            Some(share) => planted.per_s(Who::Server, "listen.drops", "0.0.0.0:8080", move |_| share * 40.0),
            None => planted,
        };
        let mut run = planted.run();
        crate::judge(&mut run);
        (RULE.judge)(&Facts::of(&run))
    };
    for own in [Some(0.0), None] {
        let verdict = beside(own);
        let told = matches!(&verdict, Verdict::RuledOut(why) if why.contains("80 more at other listeners"));
        assert!(told, "{own:?}: {verdict:#?}");
    }
    assert!(matches!(beside(Some(1.0)), Verdict::Binds { .. }), "{:#?}", beside(Some(1.0)));
}

/// Another listener overflows, and the counters of the server's own listener are unknown. A network path that loses
/// packets can also make connects take a second.
#[test]
fn slow_connects_beside_a_listener_that_was_not_read_are_not_sure() {
    let slow = |t: &mut run::Trial, _: &crate::planted::Point| (t.connect_us.p99, t.connect_us.max) = (1.04e6, 3.1e6);
    let unread = || {
        PlantedRun::new(1000.0, 1e9)
            .rates(&[])
            .none(Who::Server, "listen.queue")
            .none(Who::Server, "listen.limit")
            .per_s(Who::Server, "tcp.listen_overflows", "", |_| 400.0)
            .change(slow)
    };
    let confidence = |planted: PlantedRun| {
        let mut run = planted.run();
        crate::judge(&mut run);
        match (RULE.judge)(&Facts::of(&run)) {
            Verdict::Binds { confidence, .. } => confidence,
            other => panic!("{other:#?}"),
        }
    };
    assert!(confidence(unread()) <= INDIRECT);
    assert!(confidence(unread().per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |_| 400.0)) > ONE_SIGN);
}

/// 128 clients connect at the same time to a backlog of 32. Clients whose SYN was dropped connect a second later
/// and stay connected, so no connect is dropped in the measured window.
#[test]
fn connects_that_were_dropped_while_all_connected_limit_no_load_that_stays_connected() {
    let dropped = |again: f64| {
        let change = move |t: &mut run::Trial, _: &crate::planted::Point| {
            t.measured.window.begin_s = 0.5;
            t.connect_us.max = 1.05e6;
            let own = |c: &&mut run::Column| ["tcp.listen_overflows", "listen.drops"].contains(&c.counter.as_str());
            for column in t.server.iter_mut().flat_map(|side| &mut side.recording.columns).filter(own) {
                column.values = [0.0, 90.0, 90.0, 90.0, 90.0 + again].map(Some).to_vec();
            }
        };
        PlantedRun::new(20_000.0, 300.0)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .per_s(Who::Server, "tcp.listen_overflows", "", |_| 45.0)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |_| 45.0)
            .change(change)
    };
    assert_eq!(dropped(0.0).verdict().id, "server-concurrency");
    assert_eq!(dropped(40.0).verdict().id, "accept-queue");
}

/// In this test, a server accepts connections in batches. A client whose SYN was dropped waits a second, so many
/// clients may wait although few connects per second are dropped.
#[test]
fn few_drops_count_if_clients_wait_long_for_them() {
    let batches = |t: &mut run::Trial, _: &crate::planted::Point| {
        t.measured.tally.attempted = t.measured.tally.completed;
        t.tally.connected = t.tally.completed;
        t.connect_us.max = 1.02e6;
    };
    let planted = PlantedRun::new(10_000.0, 2000.0)
        .per_s(Who::Server, "tcp.listen_overflows", "", |p| (p.n - 22.0).max(0.0) / 6.0)
        .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |p| (p.n - 22.0).max(0.0) / 6.0)
        .level(Who::Server, "listen.queue", "0.0.0.0:8080", 21.0)
        .level(Who::Server, "listen.limit", "0.0.0.0:8080", 21.0)
        .change(batches);
    let b = planted.verdict();
    assert_eq!(b.id, "accept-queue", "{b:#?}");
    let told = &b.evidence[0].text;
    assert!(told.starts_with("0.") && told.contains("of the clients' time"), "few connects: {told}");
}

/// TCP counters do not count connections of Unix sockets.
#[test]
fn a_unix_socket_has_no_drops() {
    let mut run = crate::planted::planted("accept-queue").unwrap();
    run.plan.target.url = "unix:///run/app.sock:/".into();
    crate::judge(&mut run);
    assert_ne!(run.findings.bottleneck.id, "accept-queue", "{:#?}", run.findings.bottleneck);
    let facts = Facts::of(&run);
    for rule in crate::RULES.iter().filter(|rule| rule.id.starts_with("tcp-") || rule.id.starts_with("network-")) {
        assert!(matches!((rule.judge)(&facts), Verdict::RuledOut(_)), "{}", rule.id);
    }
}

#[test]
fn segments_that_a_listener_drops_on_a_lossy_line_are_no_overflow() {
    let lossy = PlantedRun::new(500.0, 20_000.0).per_s(Who::Server, "listen.drops", "0.0.0.0:80", |p| p.x / 20.0);
    let judged = |planted_run: PlantedRun| {
        let mut run = planted_run.run();
        crate::judge(&mut run);
        (RULE.judge)(&Facts::of(&run))
    };
    assert!(matches!(judged(lossy), Verdict::RuledOut(_)));
    let unknown = PlantedRun::new(500.0, 20_000.0)
        .none(Who::Server, "tcp.listen_overflows")
        .none(Who::Server, "tcp.listen_drops")
        .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
        .per_s(Who::Server, "listen.drops", "0.0.0.0:80", |p| p.x / 20.0);
    assert!(matches!(judged(unknown), Verdict::Binds { .. }));
}

/// In this test, eight workers need 20 ms per request and close each connection. The backlog holds 10 connections, so
/// connects are dropped only with more than 18 clients: 8 in service and 10 in the queue.
fn workers_that_close_connections() -> PlantedRun {
    let closes = |t: &mut run::Trial, p: &crate::planted::Point| {
        t.measured.tally.attempted = t.measured.tally.completed;
        (t.tally.attempted, t.tally.connected) = (t.tally.completed, t.tally.completed);
        if p.n > 18.0 {
            (t.connect_us.p99, t.connect_us.max) = (1.04e6, 3.1e6);
        }
    };
    let drops = |p: &crate::planted::Point| (p.n - 18.0).max(0.0);
    PlantedRun::new(20_000.0, 400.0)
        .steps(&[1, 2, 4, 8, 16, 32])
        .rates(&[])
        .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
        .per_s(Who::Server, "tcp.listen_overflows", "", drops)
        .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", drops)
        .level(Who::Server, "listen.queue", "0.0.0.0:8080", 8.0)
        .level(Who::Server, "listen.limit", "0.0.0.0:8080", 10.0)
        .change(closes)
}

#[test]
fn drops_after_throughput_stopped_growing_are_no_limit() {
    let b = workers_that_close_connections().verdict();
    assert_eq!(b.id, "server-concurrency", "{b:#?}");
    let why = b.ruled_out.iter().find(|other| other.id == "accept-queue").map(|other| other.why.as_str());
    assert!(why.is_some_and(|why| why.contains("from 8 to 16 clients, where no connect was dropped")), "{why:?}");
    let without_16 = workers_that_close_connections().steps(&[1, 2, 4, 8, 32]).verdict();
    assert_eq!(without_16.id, "accept-queue", "one step of the plateau shows no growth: {without_16:#?}");
}

#[test]
fn a_single_load_tells_slow_accepts_from_busy_workers_only_by_samples() {
    let with = |samples: Option<run::WaitProfile>| {
        let one = workers_that_close_connections().steps(&[32]).change(move |trial, _| {
            trial.kind = run::TrialKind::Fixed;
            trial.server.iter_mut().for_each(|side| side.waits = samples.clone().map(Box::new));
        });
        one.verdict()
    };
    let unseen = with(None);
    assert!(unseen.id == "accept-queue" && unseen.confidence <= INDIRECT, "{unseen:#?}");
    let mut locked = waits::tests::locked(run::FutexKind::OwnedMutex);
    let names = locked.processes.iter_mut().map(|process| &mut process.process);
    let names = names.chain(locked.groups.iter_mut().map(|group| &mut group.process));
    names.chain(locked.futexes.iter_mut().map(|futex| &mut futex.process)).for_each(|name| *name = "srv:100".into());
    let busy = with(Some(locked.clone()));
    assert_ne!(busy.id, "accept-queue", "{busy:#?}");
    // As observed with Python, some threads wait for the interpreter's lock, and the others could accept connections.
    locked.processes[0].threads = 32.0;
    let contended = with(Some(locked));
    assert_eq!(contended.id, "accept-queue", "{contended:#?}");
}

/// In this observed case, a server has one thread and a backlog of 4. Every 20 ms, the server accepts all waiting
/// connections. An earlier version of loadline named only the server's thread as the limit, although this thread
/// sleeps.
#[test]
fn a_worker_that_takes_the_whole_queue_is_limited_by_the_queue() {
    let drops = |p: &crate::planted::Point| (p.n - 5.0).max(0.0);
    let with = |limit: f64| {
        PlantedRun::new(20_000.0, 250.0)
            .steps(&[1, 2, 4, 8, 16])
            .rates(&[])
            .plan(|plan| plan.load.new_connections = true)
            .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Who::Server, "tcp.listen_overflows", "", drops)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", drops)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", limit)
            .level(Who::Server, "listen.limit", "0.0.0.0:8080", limit)
            .run()
    };
    for (limit, whole) in [(4.0, true), (128.0, false), (1.0, false)] {
        let run = with(limit);
        let facts = Facts::of(&run);
        let worst = Overflow::worst(&facts).unwrap();
        assert_eq!(takes_the_whole_queue(&facts, &worst.view), whole, "a queue of {limit}");
    }
}

/// Sixteen workers take 20 ms per request, each request has its own connection, and the backlog is 5. Sixteen clients
/// reach the highest rate without a drop; 32 clients overflow the backlog. A longer backlog would not help.
#[test]
fn busy_workers_with_a_short_backlog_are_not_slow_to_accept() {
    let overflows = |p: &crate::planted::Point| if p.n > 21.0 { p.x / 2.0 } else { 0.0 };
    let b = PlantedRun::new(20_000.0, 800.0)
        .steps(&[1, 2, 4, 8, 16, 32])
        .rates(&[])
        .plan(|plan| plan.load.new_connections = true)
        .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
        .per_s(Who::Server, "listen.drops", "127.0.0.1:8080", overflows)
        .per_s(Who::Server, "tcp.listen_overflows", "", overflows)
        .per_s(Who::Server, "listen.queue", "", |p| if p.n > 16.0 { 6.0 } else { 0.0 })
        .level(Who::Server, "listen.limit", "", 5.0)
        .verdict();
    assert!(b.id != "accept-queue" || b.confidence <= INDIRECT, "{b:#?}");
}

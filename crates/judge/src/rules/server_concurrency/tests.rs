//! Tests of the rule `server-concurrency`.

use crate::planted::{PlantedRun, Who};
use run::{Bottleneck, FutexKind};

/// In this test, the sweep ended early, at 9 clients, because its time was spent. At 9 clients, requests waited for one
/// lock.
#[test]
fn a_queue_seen_at_the_last_step_of_a_growing_sweep_is_the_limit() {
    let last = |is_seen: bool| {
        let change = move |t: &mut run::Trial, p: &crate::planted::Point| {
            let waits = Box::new(crate::waits::tests::locked(FutexKind::OwnedMutex));
            t.server.iter_mut().filter(|_| is_seen && p.n >= 9.0).for_each(|s| s.waits = Some(waits.clone()));
        };
        PlantedRun::new(20_000.0, 245.0).steps(&[1, 2, 9]).rates(&[]).change(change).verdict()
    };
    let (seen, unseen) = (last(true), last(false));
    assert_eq!((seen.id.as_str(), unseen.id.as_str()), ("server-concurrency", "not-saturated"), "{seen:#?}");
    assert!(seen.sentence.contains("wait for one lock"), "{}", seen.sentence);
}

/// Idle threads of a pool wait for one lock, while requests sleep in an event loop. With twice the clients, throughput
/// doubles and answers take no longer, so no request waits for the lock.
#[test]
fn threads_that_wait_while_answers_take_no_longer_are_not_the_limit() {
    let change = |t: &mut run::Trial, _: &crate::planted::Point| {
        let waits = Box::new(crate::waits::tests::locked(FutexKind::OwnedMutex));
        t.server.iter_mut().for_each(|side| side.waits = Some(waits.clone()));
    };
    let grows = PlantedRun::new(20_000.0, 1e9).steps(&[1, 2, 4, 8, 16]).rates(&[]).change(change).verdict();
    assert_eq!(grows.id, "not-saturated", "{grows:#?}");
    // The sweep ended early, before the lock's rate of 184/s. At 322/s, requests piled up in front of the lock.
    let locked = PlantedRun::new(48_000.0, 184.0).steps(&[1, 2, 8]).rates(&[0.5, 1.75]).change(change).verdict();
    assert!(locked.id == "server-concurrency" && locked.sentence.contains("one lock"), "{locked:#?}");
}

/// With 16 clients, requests seemed to wait for one lock. With 64 clients, the rate was four times as high, so the lock
/// did not limit it.
#[test]
fn a_queue_seen_in_a_light_load_is_not_the_limit() {
    let at_16 = |x_max: f64| {
        let change = |t: &mut run::Trial, p: &crate::planted::Point| {
            let waits = Box::new(crate::waits::tests::locked(FutexKind::OwnedMutex));
            let is_sweep = t.kind == run::TrialKind::Sweep && p.n == 16.0;
            t.server.iter_mut().filter(|_| is_sweep).for_each(|s| s.waits = Some(waits.clone()));
        };
        PlantedRun::new(7700.0, x_max).steps(&[1, 2, 4, 8, 16, 32, 64]).rates(&[]).change(change).verdict()
    };
    let (grows, flat) = (at_16(1e9), at_16(2100.0));
    assert!(grows.id == "not-saturated" && !grows.sentence.contains("lock"), "{grows:#?}");
    assert!(flat.id == "server-concurrency" && flat.sentence.contains("wait for one lock"), "{flat:#?}");
}

/// This test repeats a situation that was observed with a server that writes its log to a slow program: requests wait
/// for a pipe. An earlier version of loadline said that the server limits the rate on purpose.
#[test]
fn threads_that_wait_for_a_pipe_with_their_requests_are_a_sign() {
    use run::ThreadState::{Accept, Pipe};
    let waits = |in_progress: f64| {
        let mut profile = crate::waits::tests::process(9.0, &[(Pipe, "pipe", 7.9), (Accept, "", 1.0)]);
        let clients = run::ClientConnections { readings: 20, open: 16.0, in_progress, ..Default::default() };
        profile.clients = Some(clients);
        let change = move |trial: &mut run::Trial, _: &crate::planted::Point| {
            trial.server.iter_mut().for_each(|side| side.waits = Some(Box::new(profile.clone())));
        };
        PlantedRun::new(20_000.0, 300.0).shared().change(change).verdict()
    };
    let (held, idle) = (waits(8.0), waits(0.5));
    assert!(held.id == "server-concurrency" && (0.7..0.9).contains(&held.confidence), "{held:#?}");
    assert!(held.sentence.contains("wait for the pipe") && held.advice[0].contains("the other end"), "{held:#?}");
    assert!(idle.confidence <= 0.5 && !idle.sentence.contains("pipe"), "{idle:#?}");
}

/// Behind a firewall that limits SYNs per second, answers take 5 ms, but connects take seconds. An earlier version of
/// loadline reported that the server handles "0.05 requests at a time".
#[test]
fn less_than_one_worker_is_no_number_of_workers() {
    let held_up = |t: &mut run::Trial, _: &crate::planted::Point| {
        (t.rates.completed_rate, t.rates.goodput) = (10.0, 10.0);
        t.measured.tally.completed = 20;
    };
    let b = PlantedRun::new(5000.0, 200.0).steps(&[1, 2, 4, 8]).rates(&[]).change(held_up).verdict();
    assert!(!b.sentence.contains("at a time"), "{b:#?}");
    let one = PlantedRun::new(20_000.0, 50.0).level(Who::Server, "connection.receive_queue", "", 60.0).verdict();
    assert!(one.id == "server-concurrency" && one.sentence.contains("about 1 request"), "{one:#?}");
}

/// If the response time does not grow with the load, there is no queue, whatever limits the rate.
#[test]
fn a_response_time_that_does_not_grow_shows_no_queue() {
    let waits = |fixed: bool| {
        let change = move |t: &mut run::Trial, _: &crate::planted::Point| {
            if fixed {
                t.latency_us.mean = 20_000.0;
            }
        };
        PlantedRun::new(20_000.0, 200.0)
            .change(change)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .verdict()
    };
    let (grows, fixed) = (waits(false), waits(true));
    assert!(grows.id == "server-concurrency" && grows.confidence >= 0.9, "{grows:#?}");
    assert!(fixed.confidence <= 0.5, "{fixed:#?}");
}

/// This test repeats a situation that was observed with Puma: three workers keep their three connections, and 29 other
/// connections get no answer. The mean response time of the answered requests was too short, so an earlier version of
/// loadline gave the verdict a confidence of only 0.5.
#[test]
fn requests_without_an_answer_wait_too() {
    let unanswered = |is_told: bool| {
        let change = move |t: &mut run::Trial, p: &crate::planted::Point| {
            if p.n > 8.0 {
                t.latency_us.mean *= 0.6;
                let figures = if is_told { vec![run::SummaryFigure::Mean] } else { Vec::new() };
                t.latency_us.at_least = figures.into_iter().collect();
            }
        };
        PlantedRun::new(20_000.0, 200.0)
            .change(change)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .verdict()
    };
    let (told, untold) = (unanswered(true), unanswered(false));
    assert!(told.id == "server-concurrency" && told.confidence >= 0.9, "{told:#?}");
    assert!(untold.confidence <= 0.5, "{untold:#?}");
}

/// The rate no longer grows and the CPUs are mostly idle. No queue is seen at the server in this test, so the limit may
/// be elsewhere.
#[test]
fn without_a_queue_at_the_server_the_verdict_is_not_sure() {
    let b = PlantedRun::new(20_000.0, 300.0).shared().verdict();
    assert!(b.confidence <= 0.5 && b.sentence.contains("no queue was seen"), "{b:#?}");
}

/// Samples of the server's threads show the queue: most threads wait for one lock.
#[test]
fn threads_that_wait_for_a_lock_are_the_queue() {
    let b = PlantedRun::new(20_000.0, 300.0)
        .shared()
        .change(|trial, _| {
            let waits = Some(Box::new(crate::waits::tests::locked(run::FutexKind::OwnedMutex)));
            trial.server.iter_mut().for_each(|side| side.waits = waits.clone());
        })
        .verdict();
    assert!(b.confidence >= 0.8 && b.confidence < 0.9, "{b:#?}");
    assert!(b.sentence.contains("lock") && !b.sentence.contains("no queue was seen"), "{b:#?}");
    let lines = b.evidence.iter().filter(|line| line.text.starts_with("sampled threads:")).count();
    assert_eq!(lines, 1, "{b:#?}");
}

/// A single load shows no plateau. However, if most requests of a single load wait for one lock, the lock limits the
/// rate.
#[test]
fn a_lock_limits_a_single_load() {
    let one_load = |is_sampled: bool| {
        PlantedRun::new(20_000.0, 300.0)
            .shared()
            .steps(&[16])
            .rates(&[])
            .change(move |trial, _| {
                trial.kind = run::TrialKind::Fixed;
                let waits = is_sampled.then(|| Box::new(crate::waits::tests::locked(run::FutexKind::OwnedMutex)));
                trial.server.iter_mut().for_each(|side| side.waits = waits.clone());
            })
            .verdict()
    };
    let (seen, unseen) = (one_load(true), one_load(false));
    assert_eq!(unseen.id, "unknown", "{unseen:#?}");
    assert!(seen.id == "server-concurrency" && (0.8..0.9).contains(&seen.confidence), "{seen:#?}");
    let wait = "14.7 of 16 threads of app:7 wait for one lock";
    assert!(seen.sentence.starts_with(wait) && seen.sentence.contains("the server completes"), "{seen:#?}");
}

/// The only client of the first step waited for a CPU, so its response time is no service time. Threads that wait for a
/// lock show a queue, even if the response time with one client is no service time. Only the number of requests handled
/// at a time is unknown.
#[test]
fn a_queue_that_was_seen_needs_no_service_time() {
    let slow_alone = |is_sampled: bool| {
        PlantedRun::new(20_000.0, 300.0)
            .shared()
            .change(move |trial, point| {
                if trial.kind == run::TrialKind::Sweep && point.n == 1.0 {
                    trial.rates.completed_rate *= 0.6;
                    trial.latency_us.mean /= 0.6;
                }
                let waits = is_sampled.then(|| Box::new(crate::waits::tests::locked(run::FutexKind::OwnedMutex)));
                trial.server.iter_mut().for_each(|side| side.waits = waits.clone());
            })
            .verdict()
    };
    let (seen, unseen) = (slow_alone(true), slow_alone(false));
    assert!(seen.id == "server-concurrency" && seen.confidence >= 0.7, "{seen:#?}");
    assert!(seen.sentence.contains("lock") && !seen.sentence.contains("at a time"), "{seen:#?}");
    assert!(unseen.id == "server-concurrency" && unseen.confidence <= 0.5, "{unseen:#?}");
    assert!(!unseen.sentence.contains("at a time"), "{unseen:#?}");
}

/// Each connection sends sixteen requests at a time to a server that takes only eight per connection. Eight of the
/// sixteen requests on each connection wait, and the evidence gives their number.
#[test]
fn requests_that_wait_for_a_stream_are_told_with_the_servers_limit() {
    let limited = |limit| {
        let story = move |t: &mut run::Trial, p: &crate::planted::Point| {
            let (connections, think) = ((p.n / 16.0) as u32, run::ThinkTime::default());
            t.intensity = run::Intensity::Closed { connections, pipeline: 16, think };
            t.stream_limit = limit;
        };
        let run = PlantedRun::new(20_000.0, 200.0).steps(&[16, 32, 64, 128]).rates(&[]).change(story);
        run.level(Who::Server, "connection.receive_queue", "", 60.0).verdict()
    };
    let told = |b: &Bottleneck| b.evidence.iter().find(|e| e.counter == "stream_limit").map(|e| e.text.clone());
    let b = limited(Some(8));
    assert_eq!(b.id, "server-concurrency", "{b:#?}");
    let text = told(&b).unwrap();
    assert!(text.contains("8 streams per connection") && text.contains(" waited in the generator"), "{text}");
    for enough in [None, Some(16), Some(128)] {
        assert_eq!(told(&limited(enough)), None);
    }
}

/// Each HTTP/2 connection has its own limit on concurrent streams. With more connections, the server would complete
/// more requests, because nothing in the server is full.
#[test]
fn a_limit_of_streams_is_told_where_more_connections_would_still_bring_more() {
    let eight = |t: &mut run::Trial, p: &crate::planted::Point| {
        let (connections, think) = ((p.n / 16.0) as u32, run::ThinkTime::default());
        t.intensity = run::Intensity::Closed { connections, pipeline: 16, think };
        t.stream_limit = Some(8);
    };
    let b = PlantedRun::new(20_000.0, 1e9).steps(&[16, 32, 64, 128]).rates(&[]).change(eight).verdict();
    let told = b.evidence.iter().find(|e| e.counter == "stream_limit");
    assert!(b.id == "not-saturated" && told.is_some_and(|e| e.text.contains("8 streams per connection")), "{b:#?}");
}

/// The server is in another network namespace of this machine, behind a veth link. Requests can wait on the veth
/// link.
#[test]
fn one_host_with_a_link_in_it_is_no_loopback() {
    let on = |url: &str| {
        let named = move |t: &mut run::Trial, _: &crate::planted::Point| {
            t.server.iter_mut().for_each(|s| s.host = t.client.host.clone());
        };
        PlantedRun::new(20_000.0, 300.0).url(url).change(named).verdict()
    };
    let said = |b: &Bottleneck| b.evidence.iter().any(|e| e.text.contains("no network in which"));
    let (loopback, veth) = (on("http://127.0.0.1:8080/"), on("http://10.1.0.2:8080/"));
    assert!(loopback.id == "server-concurrency" && said(&loopback), "{loopback:#?}");
    assert!(veth.id == "server-concurrency" && !said(&veth), "{veth:#?}");
}

/// This test repeats a situation that was observed with four workers of gunicorn. The sweep ended at 16 clients, while
/// its rate still grew. An open loop then offered more than the server completed, and connections waited to be
/// accepted.
#[test]
fn an_open_loop_that_piles_up_at_the_server_shows_the_limit_that_the_sweep_did_not_reach() {
    let piles_up = |queue: f64| {
        let planted = PlantedRun::new(5500.0, 726.0).steps(&[1, 2, 16]).rates(&[0.8, 1.15]);
        planted.level(Who::Server, "listen.queue", "0.0.0.0:8080", queue).verdict()
    };
    let (queue, none) = (piles_up(12.0), piles_up(0.0));
    assert_eq!(queue.id, "server-concurrency", "{queue:#?}");
    assert_ne!(none.id, "server-concurrency", "no request waited at the server: {none:#?}");
}

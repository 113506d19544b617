//! Tests of runs in which a full thread or full CPUs are not the limit. Threads spin or work in the background, the
//! load is too small, or the hypervisor took time away. In the run of one test, the CPUs are fully in use only under an
//! open-loop load.

use run::TrialKind;

use super::servers::{rested, uses};
use super::{PlantedRun, Point, Who};

/// Makes a server whose four workers each sleep 20 ms per request.
fn sleeps() -> PlantedRun {
    PlantedRun::new(20_000.0, 200.0).rates(&[]).level(Who::Server, "connection.receive_queue", "", 60.0)
}

/// One request at a time holds a spin lock for 1 ms. Threads that wait for the lock spin, as in HAProxy, in adaptive
/// mutexes, or in PostgreSQL. With more CPUs, a server that is full of spinning threads would not complete more
/// requests.
#[test]
fn cpus_that_are_full_of_spinning_threads_are_no_sure_limit() {
    let planted = PlantedRun::new(1000.0, 1000.0).rates(&[]);
    let spins = uses(planted, |p| p.n.min(4.0) * 0.99).verdict();
    assert!(spins.confidence <= 0.6, "{spins:#?}");
    assert!(spins.id != "server-cpu" || spins.sentence.contains("may spin"), "{spins:#?}");
    let works = uses(PlantedRun::new(1000.0, 4000.0).rates(&[]), |p| p.x / 4000.0 * 3.96).verdict();
    assert!(works.id == "server-cpu" && works.confidence >= 0.9 && !works.sentence.contains("spin"), "{works:#?}");
}

/// A storage engine compacts its files, or a database vacuums its tables, from 32 clients on. The rate had stopped
/// growing at four clients.
#[test]
fn work_in_the_background_that_starts_during_the_sweep_is_not_the_limit() {
    let compacts = |p: &Point| if p.n >= 32.0 { 1e6 } else { 0.0 };
    let one = uses(sleeps(), |p| p.x * 2e-5)
        .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * 20.0 + compacts(p))
        .per_s(Who::Server, "thread.cpu", "compact:100/109", compacts)
        .verdict();
    assert_eq!(one.id, "server-concurrency", "{one:#?}");
    let all = uses(sleeps(), |p| if p.n >= 64.0 { 3.9 } else { p.x * 2e-5 }).verdict();
    assert_ne!(all.id, "server-cpu", "{all:#?}");
}

/// The server of this test has one thread per connection. The server's only client keeps one thread busy all the time,
/// and no request waits.
#[test]
fn a_load_without_a_waiting_request_shows_no_full_thread() {
    let judged = |clients: u32| {
        let planted = PlantedRun::new(1000.0, 1e9).steps(&[clients]).rates(&[]);
        let run = planted
            .change(|trial, _| trial.kind = TrialKind::Fixed)
            .per_s(Who::Server, "process.cpu", "srv:100", |_| 0.99e6)
            .per_s(Who::Server, "thread.cpu", "srv:100/101", |_| 0.99e6)
            .run();
        let mut run = rested(run, 0.0);
        crate::judge(&mut run);
        run.findings.bottleneck
    };
    let (one, eight) = (judged(1), judged(8));
    assert!(one.confidence <= 0.6 && one.sentence.contains("less sure"), "{one:#?}");
    assert!(eight.id == "server-single-thread" && eight.confidence >= 0.9, "{eight:#?}");
}

/// The server is far away, so the sweep ends while throughput still grows. Only the open loop offers enough load to
/// fill the server's CPUs.
#[test]
fn cpus_that_only_an_open_loop_fills_are_the_limit() {
    let far = PlantedRun::new(50_000.0, 4000.0).steps(&[1, 4, 16, 64]).rates(&[0.7, 1.3]);
    let verdict = uses(far, |p| p.x / 4000.0 * 3.96).verdict();
    assert!(verdict.id == "server-cpu" && verdict.confidence >= 0.8, "{verdict:#?}");
}

/// The hypervisor takes half of the generator's only CPU, so the generator reads the answers too late.
#[test]
fn answers_that_wait_for_the_generator_show_no_lack_of_workers() {
    let verdict = PlantedRun::new(4000.0, 4000.0)
        .rates(&[])
        .level(Who::Client, "connection.receive_queue", "", 3900.0)
        .per_s(Who::Client, "cpu.steal", "0", |p| p.x / 4000.0 * 0.5e6)
        .change(|trial, _| {
            let tally = &mut trial.measured.tally;
            (tally.bytes_sent, tally.bytes_received) = (tally.sent * 4096, tally.completed * 4096);
        })
        .verdict();
    assert_ne!(verdict.id, "server-concurrency", "{verdict:#?}");
}

/// A virtual machine has used up its CPU credits: the hypervisor gives it a fifth of its CPUs.
#[test]
fn a_server_without_time_from_the_hypervisor_does_not_lack_workers() {
    let given = |share: f64| {
        let planted =
            PlantedRun::new(8000.0, 500.0).rates(&[]).level(Who::Server, "connection.receive_queue", "", 60.0);
        let stolen = move |p: &Point| p.x / 500.0 * (0.99 - share) * 4e6;
        uses(planted, move |p| p.x / 500.0 * share * 4.0).per_s(Who::Server, "cpu.steal", "total", stolen).per_s(
            Who::Server,
            "cpu.idle",
            "total",
            move |p| 4e6 - p.x / 500.0 * 0.99 * 4e6,
        )
    };
    let verdict = given(0.2).verdict();
    assert!(verdict.id == "server-cpu" && verdict.sentence.contains("the hypervisor took 79 %"), "{verdict:#?}");
}

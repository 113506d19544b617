//! Tests of the rule `server-single-thread`.

use crate::planted::{PlantedRun, Who};

/// Returns the verdict on a server with one working thread, while other programs fill all CPUs. The thread gets
/// `us` microseconds of CPU time per request, and waits for a CPU for nearly all of the remaining time.
fn beside_others(us: f64) -> run::Bottleneck {
    let mut run = PlantedRun::new(60.0, 20_000.0)
        .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x * us)
        .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| p.x * us)
        .per_s(Who::Server, "thread.run_delay", "srv:100/101", move |p| p.x * (49.8 - us))
        .per_s(Who::Server, "thread.cpu", "srv:100/102", |p| p.x * 0.1)
        .per_s(Who::Server, "thread.cpu", "srv:100/103", |p| p.x * 0.1)
        .per_s(Who::Server, "thread.cpu", "srv:100/104", |p| p.x * 0.1)
        .per_s(Who::Server, "cpu.idle", "total", |_| 1e4)
        .per_s(Who::Server, "cpu.user", "total", |_| 3.9e6)
        .run();
    crate::judge(&mut run);
    run.findings.bottleneck
}

#[test]
fn a_thread_with_a_whole_cpu_does_not_lack_cpus_though_all_are_full() {
    let (all, some) = (beside_others(47.0), beside_others(30.0));
    assert_eq!(all.id, "server-single-thread", "{all:#?}");
    assert_eq!(some.id, "server-cpu", "{some:#?}");
}

/// Returns the verdict on a server with one working thread, which runs 70 % of the time. `steal` is the share of
/// the time that the hypervisor takes from each of the four CPUs. `mask` are the CPUs that the thread may use.
fn beside_guests(steal: [f64; 4], mask: f64) -> run::Bottleneck {
    let busy = |p: &crate::planted::Point| p.x / 500.0 * 0.7e6;
    let mut planted = PlantedRun::new(6000.0, 500.0)
        .none(Who::Server, "thread.cpu")
        .per_s(Who::Server, "process.cpu", "srv:100", busy)
        .per_s(Who::Server, "thread.cpu", "srv:100/101", busy)
        .level(Who::Server, "thread.cpu_mask", "srv:100/101", mask)
        .level(Who::Server, "connection.receive_queue", "", 60.0);
    for (cpu, share) in ["0", "1", "2", "3"].into_iter().zip(steal) {
        planted = planted.per_s(Who::Server, "cpu.steal", cpu, move |_| share * 1e6);
    }
    planted.verdict()
}

/// The hypervisor takes a quarter of the time of one CPU. An earlier version of loadline corrected the busy share of
/// every thread for stolen time, even if another CPU had lost this time.
#[test]
fn time_stolen_from_a_cpu_counts_for_the_threads_that_run_there() {
    let elsewhere = beside_guests([0.25, 0.0, 0.0, 0.0], 14.0);
    assert!(elsewhere.id == "server-concurrency" && elsewhere.confidence >= 0.9, "{elsewhere:#?}");
    let open = beside_guests([0.25, 0.0, 0.0, 0.0], 15.0);
    assert!(open.id == "server-concurrency" && (0.5..0.9).contains(&open.confidence), "{open:#?}");
    for there in [beside_guests([0.25, 0.0, 0.0, 0.0], 1.0), beside_guests([0.25; 4], 15.0)] {
        assert!(there.id == "server-single-thread" && there.confidence >= 0.8, "{there:#?}");
    }
}

/// Returns the verdict on a server with four threads on four CPUs, of which the first `full` are full.
fn full_threads(full: usize) -> run::Bottleneck {
    let each = |p: &crate::planted::Point| p.x / p.capacity * 0.97e6;
    let mut planted = PlantedRun::new(500.0, 2000.0 * full as f64)
        .per_s(Who::Server, "process.cpu", "srv:100", move |p| full as f64 * each(p))
        .per_s(Who::Server, "cpu.user", "total", move |p| full as f64 * each(p))
        .per_s(Who::Server, "cpu.idle", "total", move |p| 3.9e6 - full as f64 * each(p));
    for (at, name) in ["srv:100/101", "srv:100/102", "srv:100/103", "srv:100/104"].into_iter().enumerate() {
        planted = planted.per_s(Who::Server, "thread.cpu", name, move |p| if at < full { each(p) } else { 0.0 });
    }
    planted.verdict()
}

#[test]
fn several_full_threads_are_counted() {
    let one = full_threads(1);
    assert!(one.id == "server-single-thread" && one.sentence.starts_with("one thread of"), "{one:#?}");
    for (full, said) in [(2, "2 of the server's 4 threads are full"), (3, "3 of the server's 4 threads are full")] {
        let several = full_threads(full);
        assert!(several.id == "server-single-thread" && several.sentence.starts_with(said), "{several:#?}");
        assert!(several.advice[0].starts_with("Divide the connections evenly"), "{several:#?}");
    }
}

/// Two threads of a server spin while they wait for a lock, and two of four CPUs are idle. With one client a request
/// costs 100 µs of CPU time. An earlier version of loadline advised to start more threads, with a confidence of 95 %.
#[test]
fn full_threads_that_spin_are_told_from_full_threads_that_work() {
    let used = |p: &crate::planted::Point| if p.n > 1.0 { 1.96e6 } else { p.x * 100.0 };
    let spinning = PlantedRun::new(100.0, 9800.0)
        .per_s(Who::Server, "process.cpu", "srv:100", used)
        .per_s(Who::Server, "cpu.user", "total", used)
        .per_s(Who::Server, "cpu.idle", "total", move |p| 3.9e6 - used(p))
        .per_s(Who::Server, "thread.cpu", "srv:100/101", move |p| 0.5 * used(p))
        .per_s(Who::Server, "thread.cpu", "srv:100/102", move |p| 0.5 * used(p))
        .none(Who::Server, "thread.run_delay")
        .verdict();
    assert!(spinning.id != "server-single-thread" || spinning.confidence <= 0.7, "{spinning:#?}");
    assert!(spinning.advice.iter().all(|text| !text.contains("Start more")), "{spinning:#?}");
    assert!(spinning.sentence.contains("may spin"), "{spinning:#?}");
}

//! Only one request runs on the CPU at any time. If requests take turns, several threads together use about one CPU,
//! none of them is full, and about one request is handled at a time. The cause is a lock around computation, such as
//! the interpreter lock of CPython and Ruby.

use run::{Evidence, FigureUnit, UpstreamLimit};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::sweep::Plateau;
use crate::context::view::{Task, View};
use crate::in_flight::places::Places;
use crate::number::{counted, cpus, percent, ratio};
use crate::thresholds::{FULL, LEAST_PLACES, LIKELY, ONE_PLACE, ONE_THREAD, SERIAL_CPU, SEVERAL_CPUS};
use crate::waits;

/// Returns evidence that a server runs only one request at a time: its threads together use about one CPU. Returns
/// `None` if the counters do not show that requests run one at a time.
pub(crate) fn turns(facts: &Facts<'_>, places: Option<&Places>) -> Option<Evidence> {
    let flat = matches!(facts.plateau, Plateau::Flat { .. });
    let view = facts.crowded_server().filter(|_| flat)?;
    let places = places?.places;
    let used = view.cpu_used()?;
    let one = (LEAST_PLACES..=ONE_PLACE).contains(&places) && (SERIAL_CPU..=ONE_PLACE).contains(&used);
    let lock = waits::lock_of_turns(&facts.waits, &view).is_some();
    // A server that uses a whole quota of about one CPU shows the same signs as a server with a lock around its
    // computation.
    let is_quota = || crate::context::quota::used_up(facts, &view) >= LIKELY;
    (one && !is_quota()).then(|| changing(&view, used, lock)).flatten()
}

/// Returns evidence that several threads shared the CPU time and none was full, although the server may use several
/// CPUs. If one thread did nearly all the work, the other threads were helper threads of a runtime, such as those of a
/// garbage collector. If requests wait for a lock (`lock`), one thread may do all the work, because a runtime such as
/// Go's moves tasks between threads.
fn changing(view: &View<'_>, used: f64, lock: bool) -> Option<Evidence> {
    let threads = view.threads();
    let busiest = threads.first().map(|task| task.busy)?;
    let several = ratio(busiest, used)? < ONE_THREAD && threads.iter().map(Task::wants).all(|wants| wants < FULL);
    let text = format!(
        "{} used {} together, the busiest {}",
        counted(threads.iter().filter(|task| task.busy > 0.0).count() as f64, "thread"),
        cpus(used),
        percent(busiest)
    );
    ((several || lock) && view.cpu_allowed()? >= SEVERAL_CPUS)
        .then(|| measured(view, ("process.cpu", ""), (used, FigureUnit::Cpus), Some(1.0), text))
}

/// Returns true if only one request runs on a CPU at any time, in the server or in the upstream that the server waits
/// for.
pub(crate) fn is_serial(facts: &Facts<'_>, places: Option<&Places>) -> bool {
    match crate::in_flight::upstreams::full(facts) {
        Some(upstream) => upstream.limit == Some(UpstreamLimit::Lock),
        None => turns(facts, places).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::{Bottleneck, FutexKind, HolderState, ThreadState, WaitProfile};

    /// Returns the verdict on a server with eight threads on four CPUs. Each thread holds a lock for most of a request.
    /// `used` is the server's CPU use in CPUs.
    fn threads(used: f64, x_max: f64) -> Bottleneck {
        let x = x_max;
        let mut planted = PlantedRun::new(4000.0, x_max)
            .none(Who::Server, "thread.cpu")
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .per_s(Who::Server, "cpu.user", "total", move |p| p.x / x * used * 1e6)
            .per_s(Who::Server, "cpu.idle", "total", move |p| 3.9e6 - p.x / x * used * 1e6)
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x / x * used * 1e6);
        for tid in 101..109 {
            let name = format!("srv:100/{tid}");
            planted = planted.per_s(Who::Server, "thread.cpu", &name, move |p| p.x / x * used / 8.0 * 1e6);
        }
        let mut run = planted.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn one_cpu_in_turns_of_eight_threads_is_a_lock() {
        let b = threads(0.97, 246.0);
        assert!(b.id == "server-concurrency" && b.serial && b.sentence.contains("take turns on the CPU"), "{b:#?}");
        assert!(b.advice[0].contains("more processes"), "{b:#?}");
        assert!(!b.sentence.contains("sleep"), "{b:#?}");
    }

    /// Returns the verdict on a server with three threads. The busiest thread runs for the share `ran` of the time, and
    /// waits for a CPU for the share `waited`. The other two threads run for a fifth and a tenth of the time.
    fn uneven(ran: f64, waited: f64) -> Bottleneck {
        uneven_with(ran, waited, None)
    }

    fn uneven_with(ran: f64, waited: f64, waits: Option<WaitProfile>) -> Bottleneck {
        let rate = 246.0;
        let mut planted = PlantedRun::new(4000.0, rate).none(Who::Server, "thread.cpu");
        for (tid, busy, wait) in [(101, ran, waited), (102, 0.2, 0.1), (103, 0.1, 0.05)] {
            let name = format!("srv:100/{tid}");
            planted = planted.per_s(Who::Server, "thread.cpu", &name, move |p| p.x / rate * busy * 1e6).per_s(
                Who::Server,
                "thread.run_delay",
                &name,
                move |p| p.x / rate * wait * 1e6,
            );
        }
        let used = ran + 0.3;
        let planted = planted
            .per_s(Who::Server, "cpu.user", "total", move |p| p.x / rate * used * 1e6)
            .per_s(Who::Server, "cpu.idle", "total", move |p| 3.9e6 - p.x / rate * used * 1e6)
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x / rate * used * 1e6);
        let plant = move |trial: &mut run::Trial, point: &crate::planted::Point| {
            let server = trial.server.as_mut().filter(|_| point.n > 8.0);
            server.into_iter().for_each(|server| server.waits = waits.clone().map(Box::new));
        };
        planted.change(plant).verdict()
    }

    /// This test repeats a situation that was observed with a Go server that computes under a mutex. The server's
    /// runtime gave nearly all tasks to one thread, which ran for 97 % of the time. In one run, the samples of the
    /// server's threads did not show what the mutex's holder was doing.
    #[test]
    fn one_thread_that_does_all_the_work_behind_a_lock_is_no_full_thread() {
        let locked = |holder: Option<ThreadState>| {
            let mut profile = crate::waits::tests::locked(FutexKind::Mutex);
            let state = |state| HolderState { state, share: 1.0, ..HolderState::default() };
            profile.futexes[0].holders = holder.map(state).into_iter().collect();
            let text = serde_json::to_string(&profile).unwrap().replace("app:7", "srv:100");
            uneven_with(0.97, 0.0, Some(serde_json::from_str(&text).unwrap()))
        };
        for holder in [Some(ThreadState::OnCpu), None] {
            let lock = locked(holder);
            assert!(lock.id == "server-concurrency" && lock.serial && lock.confidence >= 0.8, "{lock:#?}");
        }
        assert_eq!(locked(Some(ThreadState::Sleep)).id, "server-single-thread");
    }

    /// This test repeats a situation that was observed with a Go server that computes under a mutex. One thread did two
    /// thirds of the work, and waited for a CPU while other threads ran.
    #[test]
    fn a_thread_that_waits_while_others_do_its_work_is_not_full() {
        let lock = uneven(0.68, 0.25);
        assert!(lock.id == "server-concurrency" && lock.serial && lock.confidence >= 0.8, "{lock:#?}");
        let one = uneven(0.95, 0.04);
        assert_eq!(one.id, "server-single-thread", "{one:#?}");
    }

    /// This test repeats a situation that was observed with Python threads that share the interpreter lock. A single
    /// client got 4 % more answers per second than several clients did. With one client, the thread of its connection
    /// did all of the server's work.
    #[test]
    fn a_single_client_that_fills_one_thread_shows_no_full_thread() {
        let shared = |single: f64, rest: f64| {
            let mut planted = PlantedRun::new(4000.0, 250.0)
                .steps(&[1, 2, 4])
                .none(Who::Server, "thread.cpu")
                .change(|t, p| {
                    if t.kind == run::TrialKind::Sweep && p.n == 1.0 {
                        t.rates.completed_rate = 260.0;
                    }
                })
                .per_s(Who::Server, "cpu.user", "total", |_| 0.97e6)
                .per_s(Who::Server, "cpu.idle", "total", |_| 1.03e6)
                .per_s(Who::Server, "process.cpu", "srv:100", |_| 0.97e6);
            for (name, share) in [("srv:100/101", single), ("srv:100/102", rest), ("srv:100/103", rest)] {
                let alone = if name == "srv:100/101" { 0.97 } else { 0.0 };
                let used = move |n: f64| if n == 1.0 { alone } else { share };
                planted = planted.per_s(Who::Server, "thread.cpu", name, move |p| 1e6 * used(p.n) * p.x / p.capacity);
            }
            let mut run = planted.run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (turns, one) = (shared(0.33, 0.32), shared(0.96, 0.005));
        assert!(turns.id == "server-concurrency" && turns.serial, "{turns:#?}");
        assert_eq!(one.id, "server-single-thread", "{one:#?}");
    }

    /// In this test, the server handles one request at a time, but its threads mostly sleep while they hold the lock.
    #[test]
    fn one_request_at_a_time_that_sleeps_is_no_work_in_turns() {
        let b = threads(0.1, 246.0);
        assert!(b.id == "server-concurrency" && !b.serial && b.sentence.contains("sleep"), "{b:#?}");
        let four = threads(0.97, 1000.0);
        assert!(!four.serial && !four.sentence.contains("sleep"), "{four:#?}");
    }
}

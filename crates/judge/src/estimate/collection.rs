//! Share of the server's CPU time that garbage collection takes.

use std::collections::BTreeMap;

use run::Run;

use super::hot::{GARBAGE_COLLECTION, is_beyond, stacks};
use crate::Facts;
use crate::context::view::{View, program};
use crate::number::ratio;
use crate::thresholds::HOT_SHARE;
use crate::waits::{GarbageCollection, is_collector_thread};

/// Returns the garbage collection that takes a large share of the server's CPU time. The CPU time of the collector's
/// threads is exact. Sampled stacks also show a collector without threads of its own.
pub(crate) fn of(facts: &Facts<'_>) -> Option<GarbageCollection> {
    facts.full_server().and_then(|view| by_threads(&view)).or_else(|| by_stacks(facts.run))
}

/// Returns the garbage collection by the CPU time of the collector's threads.
fn by_threads(view: &View<'_>) -> Option<GarbageCollection> {
    let used = view.cpu_used()?;
    let collectors: Vec<_> =
        view.threads().into_iter().filter(|task| is_collector_thread(program(&task.name))).collect();
    let busiest = collectors.first()?;
    let share = ratio(collectors.iter().map(|task| task.busy).sum(), used)?.min(1.0);
    (share >= HOT_SHARE).then(|| GarbageCollection { process: process(view), share, thread_busy: Some(busiest.busy) })
}

/// Returns the name of the server's only process; the word "the server" if it has several.
fn process(view: &View<'_>) -> String {
    match view.side.processes.as_slice() {
        [only] => only.clone(),
        _ => "the server".into(),
    }
}

/// Returns the garbage collection of the process whose sampled stacks contain the most of it.
fn by_stacks(run: &Run) -> Option<GarbageCollection> {
    let profile = run.cpu_stacks()?;
    let mut processes: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    let stacks = stacks(profile);
    for stack in &stacks {
        let collects = stack.functions.last() == Some(&GARBAGE_COLLECTION);
        let [all, of_collector] = processes.entry(stack.process).or_default();
        *all += stack.share;
        *of_collector += f64::from(u8::from(collects)) * stack.share;
    }
    let (process, [all, of_collector]) = processes.into_iter().max_by(|(_, a), (_, b)| a[1].total_cmp(&b[1]))?;
    let share = ratio(of_collector, all)?;
    is_beyond(of_collector, HOT_SHARE, profile.cpu_samples).then(|| GarbageCollection {
        process: process.into(),
        share,
        thread_busy: None,
    })
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::{Bottleneck, Side, StackProfile, StackSum, WaitProfile};

    /// Returns the verdict on a Java server with the serial collector, which stops the eight workers for the share
    /// `stopped` of the time.
    fn stopped_for(stopped: f64) -> Bottleneck {
        let x = 4000.0;
        let mut planted = PlantedRun::new(500.0, x)
            .none(Who::Server, "thread.cpu")
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x / x * (stopped + 0.7) * 1e6)
            .per_s(Who::Server, "thread.cpu", "VM Thread:100/102", move |p| p.x / x * stopped * 1e6);
        for tid in 103..111 {
            let name = format!("pool-1-thread-{}:100/{tid}", tid - 102);
            planted = planted.per_s(Who::Server, "thread.cpu", &name, move |p| p.x / x * 0.7 / 8.0 * 1e6);
        }
        planted.verdict()
    }

    /// With a collector that ran for less than half of the time, an earlier version of loadline was sure that workers
    /// lacked, and advised more of them.
    #[test]
    fn a_collector_that_stops_the_workers_is_told_and_makes_the_verdict_less_sure() {
        let (none, some, most) = (stopped_for(0.0), stopped_for(0.4), stopped_for(0.6));
        for found in [&none, &some, &most] {
            assert_eq!(found.id, "server-concurrency", "{found:#?}");
        }
        assert!(!none.sentence.contains("garbage") && none.confidence > 0.6, "{none:#?}");
        let said =
            "garbage collection takes 36.4 % of the CPU time of srv:100 (one of its threads ran 40 % of the time)";
        assert!(some.sentence.ends_with(said), "{}", some.sentence);
        assert!(some.advice.len() == 1 && some.advice[0].contains("larger heap"), "{:?}", some.advice);
        assert!(some.confidence <= 0.6 && most.confidence <= 0.5, "{} {}", some.confidence, most.confidence);
    }

    /// This test repeats a situation that was observed with Go and a memory limit near the size of the live heap. Go's
    /// collector has no threads of its own.
    #[test]
    fn a_collector_without_threads_of_its_own_is_seen_in_the_stacks() {
        let told = |samples: u64, share: f64| {
            let mut run = crate::planted::planted("server-cpu").unwrap();
            let scan = "srv;runtime.systemstack;runtime.gcBgMarkWorker.func2;runtime.gcDrain;runtime.scanSpan";
            let sum = |stack: &str, weight| StackSum { stack: stack.into(), weight };
            let cpu = vec![sum(scan, share), sum("srv;net/http.(*conn).serve;main.answer", 1.0 - share)];
            let stacks = StackProfile { cpu_samples: samples, cpu, ..StackProfile::default() };
            let waits = WaitProfile { rounds: 9, stacks: Some(stacks), ..WaitProfile::default() };
            let last = run.trials.last_mut().and_then(|trial| trial.server.as_mut());
            last.into_iter().for_each(|side: &mut Side| side.waits = Some(Box::new(waits.clone())));
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let b = told(100, 0.7);
        assert!(
            b.id == "server-cpu" && b.sentence.ends_with("garbage collection takes 70 % of the user CPU time of srv"),
            "{b:#?}"
        );
        assert!(b.advice[0].contains("GOMEMLIMIT"), "{:?}", b.advice);
        assert!(!told(100, 0.1).sentence.contains("garbage"), "a small share");
        assert!(!told(3, 0.5).sentence.contains("garbage"), "few samples");
    }
}

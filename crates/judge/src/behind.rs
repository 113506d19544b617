//! What stands behind the server: how busy each process there was at the limit, and which of them the server waits for.

use run::{Behind, BehindLimit, BehindLoad, Evidence, FigureUnit, Own, Trial, WaitsFor};

use crate::evidence::measured;
use crate::number::{figure, percent, ratio};
use crate::single::server_of;
use crate::sweep::top;
use crate::view::{Task, View, busy};

/// Share of its CPUs, or of one thread's time, from which a process behind the server is full. Lower than for the server
/// itself: it has nothing to do while an answer of its travels and the next request is made.
const FULL: f64 = 0.9;
/// A process of which a lock lets one thread run at a time uses no more CPUs than this.
const ONE_CPU: f64 = 1.05;

/// What stands behind the server, nearest first, under the most clients of the trials that came to the highest rate: with
/// fewer it may have idled between two requests.
pub(crate) fn loads(sweep: &[&Trial], decisive: Option<&Trial>) -> Vec<BehindLoad> {
    let most = top(sweep).last().copied().and_then(server_of);
    most.or_else(|| decisive.and_then(server_of)).map(|view| loads_of(&view)).unwrap_or_default()
}

fn loads_of(view: &View<'_>) -> Vec<BehindLoad> {
    let mut loads: Vec<BehindLoad> = view.side.behind.iter().map(|behind| load(view, behind)).collect();
    loads.sort_by_key(|load| load.behind.depth);
    loads
}

fn load(view: &View<'_>, behind: &Behind) -> BehindLoad {
    let own = Own::of(&behind.processes);
    let (processes, threads) = (view.processes_of(&own), view.threads_of(&own));
    let cpu_used = (!processes.is_empty()).then(|| processes.iter().map(|p| p.busy).sum::<f64>());
    let cpu_allowed = (!processes.is_empty()).then(|| view.cpu_allowed_of(&busy(&processes))).flatten();
    let busiest_thread = threads.iter().map(Task::wants).reduce(f64::max);
    let cpus_full =
        cpu_used.zip(cpu_allowed).and_then(|(used, allowed)| ratio(used, allowed)).is_some_and(|s| s > FULL);
    let one_cpu = processes.len() == 1 && cpu_used.is_some_and(|used| (FULL..ONE_CPU).contains(&used));
    let limit = match busiest_thread {
        _ if cpus_full => Some(BehindLimit::Cpu),
        Some(share) if share > FULL => Some(BehindLimit::Thread),
        _ => one_cpu.then_some(BehindLimit::Lock),
    };
    let connections = view.side.recording.columns_of("behind.connections").find(|c| c.instance == behind.address);
    let connections = connections.and_then(|c| view.side.recording.most(c, view.window));
    BehindLoad { behind: behind.clone(), connections, cpu_used, cpu_allowed, busiest_thread, limit }
}

/// The nearest of them that is full: what stands behind that one waits for nothing.
pub(crate) fn full(loads: &[BehindLoad]) -> Option<&BehindLoad> {
    loads.iter().find(|load| load.limit.is_some())
}

/// What the server waits for, where it is seen.
pub(crate) fn waits_for(loads: &[BehindLoad]) -> Option<WaitsFor> {
    let Behind { address, processes, pids, .. } = full(loads)?.behind.clone();
    Some(WaitsFor { address, processes, pids })
}

/// What a person can do about it.
pub(crate) fn advice(waits_for: &WaitsFor) -> String {
    format!(
        "What answers at {} is full and the server is not: give it more workers or CPUs, or profile it at this load.",
        waits_for.address
    )
}

/// The sentence of a verdict that names what the server waits for.
pub(crate) fn sentence(load: &BehindLoad) -> String {
    let (used, allowed) = (load.cpu_used.unwrap_or(0.0), load.cpu_allowed.unwrap_or(0.0));
    match load.limit {
        Some(BehindLimit::Thread) => format!(
            "the server waits for {}, of which one thread was on CPU or wanted to {} of the time",
            named(&load.behind),
            percent(load.busiest_thread.unwrap_or(0.0))
        ),
        Some(BehindLimit::Lock) => format!(
            "the server waits for {}, whose threads together used {} CPUs of {}: one at a time",
            named(&load.behind),
            figure(used),
            figure(allowed)
        ),
        _ => format!(
            "the server waits for {}, which used {} of the {} CPUs that it may use",
            named(&load.behind),
            figure(used),
            figure(allowed)
        ),
    }
}

/// `127.0.0.1:8001 (python3:812)`.
fn named(behind: &Behind) -> String {
    match behind.processes.as_slice() {
        [] => format!("{} (on no host that is watched)", behind.address),
        [one] => format!("{} ({one})", behind.address),
        [one, more @ ..] => format!("{} ({one} and {} more)", behind.address, more.len()),
    }
}

/// Most lines of evidence that tell of what stands behind.
const MOST_LINES: usize = 4;

/// A line for each that the server itself is connected to, and for what is full.
pub(crate) fn evidence(view: &View<'_>, loads: &[BehindLoad]) -> Vec<Evidence> {
    let tells = |load: &&BehindLoad| load.behind.depth == 1 || load.limit.is_some();
    loads.iter().filter(tells).take(MOST_LINES).map(|load| line(view, load)).collect()
}

fn line(view: &View<'_>, load: &BehindLoad) -> Evidence {
    let whose = match load.behind.from.as_str() {
        "" => "the server holds".to_string(),
        from => format!("what answers at {from} holds"),
    };
    let connections = load.connections.unwrap_or(0.0);
    let does = match load.cpu_used {
        Some(used) => format!("used {} CPUs", figure(used)),
        None => "could not be watched".to_string(),
    };
    let of = if connections == 1.0 { "connection" } else { "connections" };
    let text = format!("{whose} {} {of} to {}, which {does}", figure(connections), named(&load.behind));
    match (load.cpu_used, load.behind.processes.first()) {
        (Some(used), Some(process)) => {
            measured(view, ("process.cpu", process), (used, FigureUnit::Processors), load.cpu_allowed, text)
        }
        _ => measured(view, ("behind.connections", &load.behind.address), (connections, FigureUnit::Plain), None, text),
    }
}

#[cfg(test)]
mod tests {
    use run::{Behind, BehindLimit, Run};

    use crate::planted::{PlantedRun, Who};

    /// A proxy that sleeps, with an application behind it that uses so many CPUs of four, and its database behind that.
    fn proxy(app_cpus: f64, db_cpus: f64) -> Run {
        let behind = |address: &str, depth, from: &str, process: &str| Behind {
            address: address.into(),
            depth,
            from: from.into(),
            processes: vec![process.into()],
            pids: vec![812],
        };
        let busy = |cpus: f64| move |p: &crate::planted::Point| (p.x / 200.0).min(1.0) * cpus * 1e6;
        let mut run = PlantedRun::new(20_000.0, 200.0)
            .level(Who::Server, "connection.receive_queue", "", 60.0)
            .level(Who::Server, "behind.connections", "127.0.0.1:8001", 24.0)
            .per_s(Who::Server, "process.cpu", "python3:812", busy(app_cpus))
            .per_s(Who::Server, "thread.cpu", "python3:812/812", busy(app_cpus))
            .per_s(Who::Server, "process.cpu", "postgres:900", busy(db_cpus))
            .per_s(Who::Server, "thread.cpu", "postgres:900/900", busy(db_cpus))
            .change(move |t, _| {
                t.server.iter_mut().for_each(|side| {
                    side.behind = vec![
                        behind("127.0.0.1:5432", 2, "127.0.0.1:8001", "postgres:900"),
                        behind("127.0.0.1:8001", 1, "", "python3:812"),
                    ];
                });
            })
            .run();
        crate::judge(&mut run);
        run
    }

    #[test]
    fn a_full_process_behind_the_server_is_what_it_waits_for() {
        let found = proxy(0.98, 0.1).findings;
        let verdict = &found.bottleneck;
        assert_eq!(verdict.id, "server-concurrency", "{verdict:#?}");
        assert!(verdict.sentence.contains("waits for 127.0.0.1:8001 (python3:812)"), "{}", verdict.sentence);
        let waits_for = verdict.waits_for.as_ref().map(|w| (w.address.as_str(), &w.pids[..]));
        assert_eq!(waits_for, Some(("127.0.0.1:8001", &[812][..])));
        assert_eq!(found.behind[0].limit, Some(BehindLimit::Thread));
        assert!(verdict.evidence.iter().any(|e| e.text.contains("24 connections to 127.0.0.1:8001")), "{verdict:#?}");
        assert!(!verdict.sentence.contains("other programs"), "{}", verdict.sentence);
    }

    #[test]
    fn the_chain_is_followed_to_where_it_is_full() {
        let verdict = proxy(0.2, 0.99).findings.bottleneck;
        assert!(verdict.sentence.contains("waits for 127.0.0.1:5432 (postgres:900)"), "{}", verdict.sentence);
        assert!(verdict.evidence.iter().any(|e| e.text.starts_with("what answers at 127.0.0.1:8001 holds")));
    }

    #[test]
    fn what_idles_behind_the_server_is_told_and_not_blamed() {
        let found = proxy(0.1, 0.1).findings;
        assert_eq!((found.bottleneck.id.as_str(), &found.bottleneck.waits_for), ("server-concurrency", &None));
        assert!(found.bottleneck.sentence.contains("at a time"), "{}", found.bottleneck.sentence);
        assert_eq!(found.behind.iter().map(|b| b.behind.depth).collect::<Vec<_>>(), [1, 2]);
    }
}

//! Counts of the workers of a server and of its upstreams, and of the connections between them.

use std::collections::{BTreeMap, HashMap};

use run::{Counted, CountedKind, InstanceFilter, UpstreamLimit, WaitCause, WaitFinding};

use crate::Facts;
use crate::context::view::{View, program};
use crate::in_flight::long_polls::may_hold_requests;
use crate::number::positive;
use crate::thresholds::{BUSY, HOLDS_MANY, PLACES_APART};
use crate::waits;

/// Counts of workers or connections, each with the distance of its program from the server.
pub(super) type Counts = Vec<(u32, Counted)>;

/// Returns all counts that may explain how many requests the server handles at a time. `light` is the server's side in
/// the lightest load.
pub(super) fn of(facts: &Facts<'_>, view: &View<'_>, light: Option<View<'_>>) -> Counts {
    let all = all(view);
    let (children, connections) = distinct(children(view, light, &all), connections(view));
    let mut threads = if may_be_pool(facts) { threads(view, &all) } else { Counts::new() };
    threads.retain(|(_, one)| !is_sized_by_quota(facts, one));
    let mut passed_on = passed_on(facts, &all);
    passed_on.retain(|(_, one)| connections.iter().all(|(_, other)| other.of != one.of));
    [children, threads, blocked(facts, &all), connections, passed_on].concat()
}

/// Returns true if `threads` counts the threads of an upstream that is limited by its CPU quota. Runtimes such as Go's
/// start as many threads as the quota has CPUs. The quota, and not the number of threads, then limits the number of
/// requests at the same time.
fn is_sized_by_quota(facts: &Facts<'_>, threads: &Counted) -> bool {
    let is_limited = facts.upstreams.iter().filter(|load| load.limit == Some(UpstreamLimit::Quota));
    let mut programs = is_limited.flat_map(|load| &load.behind.processes).map(|process| program(process));
    programs.any(|program| threads.of == program || threads.of.ends_with(&format!(" of {program}")))
}

/// Returns false if the server's threads were sampled (read repeatedly), and the samples show no pool of workers. The
/// threads of a runtime, such as those of Go or tokio, handle many requests each. The number of such threads may
/// therefore equal the number of requests by chance.
fn may_be_pool(facts: &Facts<'_>) -> bool {
    let is_pool = |finding: &WaitFinding| finding.cause == WaitCause::WorkerPool;
    !waits::has_enough_samples(facts.run) || facts.waits.iter().any(is_pool)
}

/// Processes by ID. The value of a process is its name and its distance from the server: 0 for the server, 1 for its
/// direct upstreams, and so on.
type Processes<'a> = HashMap<&'a str, (&'a str, u32)>;

/// Returns the processes of the server and of the upstreams on its machine.
fn all<'a>(view: &View<'a>) -> Processes<'a> {
    let own = view.side.processes.iter().map(|name| (name.as_str(), 0));
    let behind = view.side.behind.iter().flat_map(|b| b.processes.iter().map(|name| (name.as_str(), b.depth)));
    let mut found = HashMap::new();
    for (name, depth) in own.chain(behind) {
        found.entry(pid(name)).or_insert((name, depth));
    }
    found
}

/// Returns the process ID in a name such as `nginx:1234`.
fn pid(name: &str) -> &str {
    name.rsplit_once(':').map_or("", |(_, pid)| pid)
}

/// Counts, for each parent and name, the child processes that used CPU time. `light` is the server's side in the
/// lightest load. Leaves out processes that have many more open descriptors than in the lightest load. A process that
/// opens many connections under load runs an event loop, so it handles several requests at a time.
fn children<'a>(view: &View<'a>, light: Option<View<'a>>, all: &Processes<'a>) -> Counts {
    let held = |view: View<'a>| (view.side.recording.instances("process.fds"), view.window);
    let loads = light.map(|light| (held(*view), held(light)));
    let holds_many = |name: &str| {
        let number = |(of, window): &(run::Instances<'_>, run::Window)| of.value(name, *window);
        let more = loads.as_ref().and_then(|(now, before)| Some(number(now)? - number(before)?));
        more.is_some_and(|more| more >= HOLDS_MANY)
    };
    let parents: HashMap<String, f64> = view.instances("process.parent").into_iter().collect();
    let mut groups: BTreeMap<(u32, String, &str), f64> = BTreeMap::new();
    for task in view.processes_of(&filter(view)).iter().filter(|task| task.busy > 0.0 && !holds_many(&task.name)) {
        let Some(parent) = parents.get(&task.name) else { continue };
        let Some((name, depth)) = all.get(pid(&task.name)).filter(|(name, _)| *name == task.name) else { continue };
        *groups.entry((*depth, parent.to_string(), program(name))).or_default() += 1.0;
    }
    let of = |((depth, parent, name), count): ((u32, String, &str), f64)| {
        let (master, _) = all.get(parent.as_str())?;
        // A child process that runs another program than its parent is not a worker.
        (program(master) == name)
            .then(|| (depth, Counted { what: CountedKind::Children, count, of: name.into(), peer: String::new() }))
    };
    groups.into_iter().filter_map(of).collect()
}

/// Counts, for each program and thread name, the threads that used CPU time. Leaves out the first thread of a process,
/// which often only accepts connections.
fn threads(view: &View<'_>, all: &Processes<'_>) -> Counts {
    let mut groups: BTreeMap<(u32, &str, String), f64> = BTreeMap::new();
    for task in view.threads_of(&filter(view)).iter().filter(|task| task.busy > 0.0) {
        let parts = task.name.rsplit_once('/').and_then(|(of, tid)| Some((of.rsplit_once(':')?, tid)));
        let Some(((name, pid), _)) = parts.filter(|((_, pid), tid)| pid != tid) else { continue };
        let Some((process, depth)) = all.get(pid) else { continue };
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || "-_#:. ".contains(c));
        *groups.entry((*depth, program(process), name.to_string())).or_default() += 1.0;
    }
    let of = |((depth, process, name), count): ((u32, &str, String), f64)| {
        let of = if process == name || name.is_empty() { process.into() } else { format!("{name} of {process}") };
        (depth, Counted { what: CountedKind::Threads, count, of, peer: String::new() })
    };
    groups.into_iter().map(of).collect()
}

/// Counts the threads of the server and of its upstreams that are always blocked while further requests wait.
fn blocked(facts: &Facts<'_>, all: &Processes<'_>) -> Counts {
    let of = |workers: waits::BlockedWorkers| {
        let of = program(&workers.process).to_string();
        let counted = Counted { what: CountedKind::BlockedThreads, count: workers.threads, of, peer: workers.peer };
        Some((depth(all, &workers.process)?, counted))
    };
    waits::blocked_workers(facts.run).into_iter().filter_map(of).collect()
}

/// Counts the requests that wait for replies of upstreams, while further requests wait inside the server.
fn passed_on(facts: &Facts<'_>, all: &Processes<'_>) -> Counts {
    let of = |passed: waits::PassedOn| {
        let (of, count) = (program(&passed.process).to_string(), passed.requests.round());
        let counted = Counted { what: CountedKind::BusyConnections, count, of, peer: passed.peer };
        Some((depth(all, &passed.process)?, counted))
    };
    waits::passed_on(facts.run).into_iter().filter_map(of).collect()
}

/// Returns the distance of a process from the server: 0 for the server, and 1 for its direct upstreams. `name` is the
/// name of the process, with or without its ID. Returns `None` if the process belongs neither to the server nor to an
/// upstream on the server's machine.
fn depth(all: &Processes<'_>, name: &str) -> Option<u32> {
    let is_of = |(own, _): &&(&str, u32)| [*own, program(own)].contains(&name);
    all.values().filter(is_of).map(|(_, depth)| *depth).min()
}

/// Returns a filter of the processes of the server and of its upstreams.
fn filter<'a>(view: &View<'a>) -> InstanceFilter<'a> {
    InstanceFilter::new(view.side.processes.iter().chain(view.side.behind.iter().flat_map(|b| &b.processes)))
}

/// Count of the connections to one upstream.
struct Connections {
    /// Distance of the upstream from the server, and the number of connections.
    counted: (u32, Counted),
    /// Program that accepts the connections.
    program: String,
    /// True if nearly all connections await a reply. False if no counter shows how many connections await a reply, as
    /// for Unix sockets.
    is_busy: bool,
}

/// Keeps only one count of an upstream for which both children and connections were counted. A database, for example,
/// starts a child process for each connection. If as many connections await a reply as there are child processes, keeps
/// the count of connections. If the number of connections that await a reply is unknown, keeps the count of child
/// processes instead.
fn distinct(children: Counts, connections: Vec<Connections>) -> (Counts, Counts) {
    let is_equal = |a: &Counted, b: &Counted| (a.count - b.count).abs() <= PLACES_APART * b.count;
    let follows =
        |child: &Counted, c: &Connections| c.is_busy && child.of == c.program && is_equal(&c.counted.1, child);
    let is_accepted = |c: &Connections| !c.is_busy && children.iter().any(|(_, child)| child.of == c.program);
    let pools: Vec<Connections> = connections.into_iter().filter(|c| !is_accepted(c)).collect();
    let kept = children.into_iter().filter(|(_, child)| !pools.iter().any(|c| follows(child, c))).collect();
    (kept, pools.into_iter().map(|c| c.counted).collect())
}

/// Counts the connections to each upstream. Leaves out an upstream with unused connections.
fn connections(view: &View<'_>) -> Vec<Connections> {
    let side = view.side;
    let holder = |from: &str| {
        let behind = side.behind.iter().find(|b| b.address == from).and_then(|b| b.processes.first());
        behind.or(side.processes.first().filter(|_| from.is_empty())).map_or(from, |name| program(name)).to_string()
    };
    let counted = |b: &run::Upstream| {
        let column = side.recording.columns_of("behind.connections").find(|c| c.instance == b.address)?;
        let count = side.recording.over(column, view.window).value().and_then(positive)?.round();
        // No request waits for a connection of a pool with unused connections.
        let busy = side.recording.reading("behind.busy", &b.address, view.window).value();
        busy.is_none_or(|busy| busy >= BUSY * count && may_hold_requests(view, &b.address, busy, count))
            .then_some(())?;
        let answers = b.processes.first().map_or("", |name| program(name));
        let peer = format!("{answers} {}", b.address).trim_start().to_string();
        let counted = (b.depth, Counted { what: CountedKind::Connections, count, of: holder(&b.from), peer });
        Some(Connections { counted, program: answers.into(), is_busy: busy.is_some() })
    };
    side.behind.iter().filter_map(counted).collect()
}

//! Compares the number of requests that a server handles at the same time with other counts, which may explain it.
//! These other counts are the children of a master process, the threads with one name, and the connections to an
//! upstream service. If a count equals the number of requests, the counted children, threads or connections are the
//! server's workers. A count of workers far above the number of requests shows that most workers wait for something
//! else.

use std::collections::{BTreeMap, HashMap};

use run::{Counted, InstanceFilter, UpstreamLimit, WaitCause, WaitFinding};

use crate::Facts;
use crate::ack_timer;
use crate::delayed::delayed_answers;
use crate::laws::service_us;
use crate::number::{figure, positive};
use crate::single::{clients, good, server_of};
use crate::thresholds::{BUSY, HOLDS_MANY, MANY_PLACES, NEARLY_FULL, PLACES_APART, REACHED, TRIP_SHARE};
use crate::view::{View, program};
use crate::waits;

/// Number of requests that the server handles at the same time, and counts of workers or connections that may be the
/// reason for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Places {
    /// Number of requests that the server handles at a time: Xmax × R1 (highest rate times response time with one
    /// client). R1 is taken without the round trip to the server, because a request on the network occupies no worker.
    pub(crate) places: f64,
    /// All counts that may explain the number of requests in `places`, the best match first.
    counted: Counts,
}

impl Places {
    /// Returns the number of requests that the server handles at the same time, with the counts of workers or
    /// connections that may be the reason for it. Returns `None` if even the lightest load used the full capacity of
    /// the server. Also returns `None` if R1 is not the service time, or consists mostly of network round trips, of
    /// waits for a TCP timer, or of a delay that may be on purpose.
    pub(crate) fn of(facts: &Facts<'_>) -> Option<Self> {
        let r1 = service_us(facts)?;
        let (one, x_max) = (facts.unloaded?, facts.x_max()?);
        // If even the lightest step is saturated, Xmax × R1 is merely the number of clients in this step (Little's
        // law).
        if clients(one) > 1.0 && good(one) >= REACHED * x_max {
            return None;
        }
        if ack_timer::fills_light_load(facts) || delayed_answers(facts).is_some() {
            return None;
        }
        let way = server_of(one).and_then(|v| v.value("connection.min_rtt")).filter(|us| *us > 0.0).unwrap_or(0.0);
        if way > TRIP_SHARE * r1 {
            return None;
        }
        let places = positive(x_max * (r1 - way) / 1e6)?;
        let view = facts.crowded_server()?;
        let (children, connections) = distinct(children(&view, server_of(one)), connections(&view));
        let mut threads = if may_be_pool(facts) { threads(&view) } else { Counts::new() };
        threads.retain(|(_, one)| !is_sized_by_quota(facts, one));
        let mut passed_on = passed_on(facts, &view);
        passed_on.retain(|(_, one)| connections.iter().all(|(_, other)| other.of != one.of));
        let mut counted = [children, threads, blocked(facts, &view), connections, passed_on].concat();
        counted.retain(|(depth, one)| !(equals(one, places) && passes_all_on(&view, *depth, one.count)));
        counted.sort_by(|(_, a), (_, b)| (a.count - places).abs().total_cmp(&(b.count - places).abs()));
        Some(Self { places, counted })
    }

    /// Returns the counts that equal the number of requests handled at a time, within the error of both measurements.
    pub(crate) fn matching(&self) -> impl Iterator<Item = &Counted> {
        self.counted.iter().map(|(_, counted)| counted).filter(|one| equals(one, self.places))
    }

    /// Among the groups of workers that are far larger than the number of requests handled at a time, returns the group
    /// furthest from the client. In a group with far more workers than requests, most workers wait for something
    /// outside the group. Returns `None` if any count equals the number of requests handled at a time.
    pub(crate) fn too_many(&self) -> Option<&Counted> {
        let workers =
            self.counted.iter().filter(|(_, c)| c.what != CONNECTIONS && c.count >= MANY_PLACES * self.places);
        let last = workers.max_by(|(a, one), (b, other)| a.cmp(b).then(other.count.total_cmp(&one.count)));
        last.map(|(_, counted)| counted).filter(|_| self.matching().next().is_none())
    }
}

/// Returns true if a count equals the number of requests handled at a time, within the error of both measurements.
fn equals(counted: &Counted, places: f64) -> bool {
    (counted.count - places).abs() <= PLACES_APART * counted.count
}

/// Returns true if `count` workers at the distance `depth` from the server pass nearly all requests in flight on to
/// their upstreams, more than one per worker. No request waits for a worker that passes requests on, so each worker
/// handles many requests at a time. Proxies such as nginx with a few workers pass all requests on.
fn passes_all_on(view: &View<'_>, depth: u32, count: f64) -> bool {
    let awaited = |b: &run::Upstream| view.side.recording.reading("behind.busy", &b.address, view.window).value();
    let next = view.side.behind.iter().filter(|b| b.depth == depth + 1);
    let passed_on: f64 = next.filter_map(awaited).sum();
    let in_flight = positive(view.trial.rates.concurrency).unwrap_or_else(|| clients(view.trial));
    passed_on > (1.0 + PLACES_APART) * count && passed_on >= NEARLY_FULL * in_flight
}

/// Returns true for a count of the threads of an upstream whose CPU quota is its limit. More threads would need a
/// larger quota, so the number of threads does not explain the number of requests.
fn is_sized_by_quota(facts: &Facts<'_>, threads: &Counted) -> bool {
    let is_limited = facts.upstreams.iter().filter(|load| load.limit == Some(UpstreamLimit::Quota));
    let mut programs = is_limited.flat_map(|load| &load.behind.processes).map(|process| program(process));
    programs.any(|program| threads.of == program || threads.of.ends_with(&format!(" of {program}")))
}

/// Returns false if repeated readings (samples) of the server's threads were made, but show no pool of workers. The
/// threads of a runtime, such as those of Go or tokio, handle many requests each, so their number may equal the number
/// of requests by chance.
fn may_be_pool(facts: &Facts<'_>) -> bool {
    let is_pool = |finding: &WaitFinding| finding.cause == WaitCause::WorkerPool;
    !waits::has_enough_samples(facts.run) || facts.waits.iter().any(is_pool)
}

const CHILDREN: &str = "children";
const THREADS: &str = "threads";
const BLOCKED_THREADS: &str = "blocked threads";
const CONNECTIONS: &str = "connections";
const BUSY_CONNECTIONS: &str = "busy connections";

/// Returns true for a count of connections.
pub(crate) fn is_connections(counted: &Counted) -> bool {
    counted.what == CONNECTIONS
}

/// Returns true for a count of child processes.
pub(crate) fn is_children(counted: &Counted) -> bool {
    counted.what == CHILDREN
}

/// Returns true for a count of threads. A thread that ran need not be a worker, so a count of threads alone shows no
/// queue.
pub(crate) fn is_threads(counted: &Counted) -> bool {
    counted.what == THREADS
}

/// Returns true for a count of threads or connections that each hold one request, if samples showed further requests
/// that wait in the process.
pub(crate) fn is_seen_before_a_queue(counted: &Counted) -> bool {
    [BLOCKED_THREADS, BUSY_CONNECTIONS].contains(&counted.what.as_str())
}

/// Describes a count in words: `php-fpm has 5 children`, `4 worker threads of srv ran`.
pub(crate) fn text(counted: &Counted) -> String {
    let Counted { what, count, of, peer } = counted;
    if what == BLOCKED_THREADS {
        return format!("{} threads of {of} are always blocked", figure(*count));
    }
    let one = if what == CHILDREN { "child" } else { what.trim_end_matches('s') };
    let what = if *count == 1.0 { one } else { what };
    if what.starts_with("thread") {
        return format!("{} worker {what} of {of} ran", figure(*count));
    }
    let to = if peer.is_empty() { String::new() } else { format!(" to {peer}") };
    format!("{of} has {} {what}{to}", figure(*count))
}

/// Returns advice on a count that equals the number of requests handled at a time.
pub(crate) fn advice(counted: &Counted) -> String {
    let Counted { what, count, of, peer } = counted;
    match what.as_str() {
        CONNECTIONS => format!(
            "Raise the number of connections from {of} to {peer} (now {}): the size of its pool, while {peer} is not full.",
            figure(*count)
        ),
        THREADS => format!("Raise the number of worker threads of {of} (now {}).", figure(*count)),
        BLOCKED_THREADS => format!(
            "Raise the number of worker threads of {of} (now {}), or shorten what each of them waits for.",
            figure(*count)
        ),
        BUSY_CONNECTIONS => format!(
            "Let {of} pass more requests at a time on to {peer} (now {}): a limit (maxconn of HAProxy) or a pool holds the \
             others back.",
            figure(*count)
        ),
        _ => format!("Raise the number of {what} of {of} (now {}).", figure(*count)),
    }
}

/// Returns advice for a server whose workers mostly wait: more workers do not help.
pub(crate) fn advice_too_many(counted: &Counted, places: f64) -> String {
    format!(
        "More workers will not help: {}, and only about {} work at a time. Look for a lock that they share, or a row or an upstream that they wait for.",
        text(counted),
        figure(places)
    )
}

/// Returns a number of requests as text. Rounds the number to a whole number if the difference is smaller than the
/// measurement error.
pub(crate) fn requests(places: f64) -> String {
    let whole = places.round();
    let shown = if (places - whole).abs() <= WHOLE * whole { whole } else { places };
    format!("{} request{}", figure(shown), if shown == 1.0 { "" } else { "s" })
}

/// Relative difference below which a number of requests is shown as a whole number. The rounding affects only the
/// displayed text.
const WHOLE: f64 = 0.02;

/// Returns the processes of the server and of the upstreams on its machine, keyed by process ID. Each process comes
/// with its distance from the server: 0 for the server, 1 for its direct upstreams, and so on.
fn all<'a>(view: &View<'a>) -> HashMap<&'a str, (&'a str, u32)> {
    let own = view.side.processes.iter().map(|name| (name.as_str(), 0));
    let behind = view.side.behind.iter().flat_map(|b| b.processes.iter().map(|name| (name.as_str(), b.depth)));
    let mut found = HashMap::new();
    for (name, depth) in own.chain(behind) {
        found.entry(pid(name)).or_insert((name, depth));
    }
    found
}

/// Returns the process ID in `name:pid`.
fn pid(name: &str) -> &str {
    name.rsplit_once(':').map_or("", |(_, pid)| pid)
}

/// Counts, for each parent and name, the child processes that used CPU time. `light` is the server's side in the
/// lightest load. Leaves out processes with many more open descriptors than in the lightest load. A process that opens
/// many connections under load runs an event loop, so it handles several requests at a time.
fn children<'a>(view: &View<'a>, light: Option<View<'a>>) -> Counts {
    let all = all(view);
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
        // A child process that runs another program than its parent is no worker.
        (program(master) == name)
            .then(|| (depth, Counted { what: CHILDREN.into(), count, of: name.into(), peer: String::new() }))
    };
    groups.into_iter().filter_map(of).collect()
}

/// Counts, for each program and thread name, the threads that used CPU time. Leaves out the first thread of a process,
/// which often only accepts connections.
fn threads(view: &View<'_>) -> Counts {
    let all = all(view);
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
        (depth, Counted { what: THREADS.into(), count, of, peer: String::new() })
    };
    groups.into_iter().map(of).collect()
}

/// Counts the threads of the server and of its upstreams that are always blocked while further requests wait.
fn blocked(facts: &Facts<'_>, view: &View<'_>) -> Counts {
    let of = |workers: waits::BlockedWorkers| {
        let of = program(&workers.process).to_string();
        let counted = Counted { what: BLOCKED_THREADS.into(), count: workers.threads, of, peer: String::new() };
        Some((depth(view, &workers.process)?, counted))
    };
    waits::blocked_workers(facts.run).into_iter().filter_map(of).collect()
}

/// Counts the requests that wait for replies of other servers while further requests wait inside the server.
fn passed_on(facts: &Facts<'_>, view: &View<'_>) -> Counts {
    let of = |passed: waits::PassedOn| {
        let (of, count) = (program(&passed.process).to_string(), passed.requests.round());
        let counted = Counted { what: BUSY_CONNECTIONS.into(), count, of, peer: passed.peer };
        Some((depth(view, &passed.process)?, counted))
    };
    waits::passed_on(facts.run).into_iter().filter_map(of).collect()
}

/// Returns the distance of a process from the server: 0 for the server, and 1 for its direct upstreams. `name` is the
/// name of the process, with or without its ID. Returns `None` if neither the server nor its upstreams on the same
/// machine have such a process.
fn depth(view: &View<'_>, name: &str) -> Option<u32> {
    let is_of = |(own, _): &&(&str, u32)| [*own, program(own)].contains(&name);
    all(view).values().filter(is_of).map(|(_, depth)| *depth).min()
}

/// Returns a filter of the processes of the server and of its upstreams.
fn filter<'a>(view: &View<'a>) -> InstanceFilter<'a> {
    InstanceFilter::new(view.side.processes.iter().chain(view.side.behind.iter().flat_map(|b| &b.processes)))
}

/// Counts, each with the distance of its program from the server.
type Counts = Vec<(u32, Counted)>;

/// Count of the connections to one upstream.
struct Connections {
    /// Distance of the upstream from the server, and the number of connections.
    counted: (u32, Counted),
    /// Program that accepts the connections.
    program: String,
    /// True if nearly all connections await a reply. False if the number of connections that await a reply is unknown,
    /// as for Unix sockets.
    is_busy: bool,
}

/// Keeps only one of two counts that describe one upstream. A database, for example, starts a child process for each
/// connection. If there are as many busy connections as children, keeps the count of connections. If the number of busy
/// connections is unknown, keeps the count of the child processes of the program that accepts the connections.
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
        let counted = (b.depth, Counted { what: CONNECTIONS.into(), count, of: holder(&b.from), peer });
        Some(Connections { counted, program: answers.into(), is_busy: busy.is_some() })
    };
    side.behind.iter().filter_map(counted).collect()
}

/// Returns false if a reply on the connections to an upstream takes longer than the slowest request of the load. No
/// request waits for such a reply: the server polls for news (long polling) or waits for messages of a queue. By
/// Little's law, the mean time of a reply is the mean number of awaited replies (`busy`), divided by the rate of
/// requests to the upstream. Each of the `count` connections may await a reply to a request from before the window.
fn may_hold_requests(view: &View<'_>, address: &str, busy: f64, count: f64) -> bool {
    let sent = view.side.recording.reading("behind.data_out", address, view.window).value();
    let reply_s = sent.zip(view.span_s).map(|(sent, span_s)| busy * span_s / (sent + count));
    let slowest_s = positive(view.trial.latency_us.max).map(|us| us / 1e6);
    reply_s.zip(slowest_s).is_none_or(|(reply_s, slowest_s)| reply_s <= slowest_s)
}

#[cfg(test)]
mod tests;

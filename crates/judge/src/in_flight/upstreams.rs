//! Upstream services of the server: the load of each upstream at the server's limit, and the upstream that the server
//! waits for.

pub(crate) mod awaited;
mod disk;
mod full;
mod limit;
mod on_server_cpus;
mod quota;
mod waits_for;
mod words;

use run::{Evidence, FigureUnit, InstanceFilter, Trial, Upstream, UpstreamLimit, UpstreamLoad};

pub(crate) use self::full::{FullUpstreams, is_named};
use self::full::{Judged, keep_awaited};
pub(crate) use self::on_server_cpus::{cpus_with, on_server_cpus};
pub(crate) use self::waits_for::{fills_cpus, full, full_on_cpus, held, waits_for, without};
pub(crate) use self::words::{advice, sentence};
use crate::context::evidence::measured;
use crate::context::lighter::LighterLoads;
use crate::context::single::{clients, good, r1_us, server_of};
use crate::context::sweep::top;
use crate::context::view::{Task, View, busy};
use crate::number::{cpus, figure, percent, positive, ratio};
use crate::thresholds::{LIKELY, MOSTLY_RUNS, NEARLY_FULL, REACHED, SEVERAL_TRIPS, THROTTLED};

/// Facts from the trials (loads) of a run that show whether the server is at its limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    /// True if throughput stopped growing.
    pub(crate) is_flat: bool,
    /// True if throughput stopped growing or a load missed the objective.
    pub(crate) is_limited: bool,
    /// Number of requests that the server handles at the same time, as [`at_a_time`] computes it.
    pub(crate) at_a_time: Option<f64>,
}

/// Returns the number of requests that the server handles at the same time. Requests that are on the network do not
/// count. The result is the highest rate of answers, multiplied by the response time under the lightest load
/// (`unloaded`) minus the round-trip time. Returns `None` if a value is unknown, or if the lightest load already nearly
/// reached the highest rate with several clients.
pub(crate) fn at_a_time(unloaded: Option<&Trial>, decisive: Option<&Trial>) -> Option<f64> {
    let (one, x_max) = (unloaded?, positive(good(decisive?))?);
    let way = server_of(one).and_then(|view| view.value("connection.min_rtt")).unwrap_or(0.0).max(0.0);
    let service_us = positive(r1_us(one)? - way)?;
    (clients(one) <= 1.0 || good(one) < REACHED * x_max).then_some(x_max * service_us / 1e6)
}

/// Returns the load of each upstream service, the upstream nearest to the server first. Also returns which of these
/// upstreams are full. The loads of the upstreams come from the trial with the most clients among the trials near the
/// highest rate. With fewer clients, an upstream may be idle between two requests. `lighter` returns the lighter loads
/// of the run.
pub(crate) fn loads<'a>(
    sweep: &[&'a Trial],
    decisive: Option<&'a Trial>,
    lighter: impl Fn(&View<'a>) -> LighterLoads<'a>,
    course: Course,
) -> (Vec<UpstreamLoad>, FullUpstreams) {
    let most = top(sweep).last().copied().and_then(server_of);
    let Some(view) = most.or_else(|| decisive.and_then(server_of)) else { return Default::default() };
    let lighter = lighter(&view);
    // A single client leaves an upstream idle between two requests.
    let steps: Vec<View<'_>> =
        top(sweep).into_iter().filter(|trial| clients(trial) > 1.0).filter_map(server_of).collect();
    let each = view.side.behind.iter().map(|behind| load(&view, behind, &lighter, &steps, course));
    let mut loads: Vec<Judged> = each.collect();
    loads.sort_by_key(|one| one.load.behind.depth);
    keep_awaited(&mut loads, view.trial.rates.concurrency, course.is_flat);
    let full = FullUpstreams::of(&loads);
    (loads.into_iter().map(|one| one.load).collect(), full)
}

fn load<'a>(
    view: &View<'a>,
    behind: &Upstream,
    lighter: &LighterLoads<'a>,
    steps: &[View<'a>],
    course: Course,
) -> Judged {
    let own = InstanceFilter::new(&behind.processes);
    let (processes, threads) = (view.processes_of(&own), view.threads_of(&own));
    let cpu_used = (!processes.is_empty()).then(|| processes.iter().map(|p| p.busy).sum::<f64>());
    let quota = quota::Quota::of(view, &behind.address);
    let may_run_on = (!processes.is_empty()).then(|| view.cpu_allowed_of(&busy(&processes))).flatten();
    let cpu_allowed = quota.at_most(may_run_on);
    let busiest_thread = threads.iter().map(Task::wants).reduce(f64::max);
    let column = view.side.recording.columns_of("behind.connections").find(|c| c.instance == behind.address);
    let connections = column.and_then(|c| view.side.recording.most(c, view.window));
    let mean = column.and_then(|c| view.side.recording.over(c, view.window).value());
    let (awaited, has_queue) = (awaited(view, behind), queue_before(view, behind, None).is_some());
    let work = limit::Work {
        view,
        lighter,
        processes: &processes,
        threads: &threads,
        connections,
        awaited,
        has_queue,
        at_a_time: course.at_a_time,
        quota,
        // Requests that wait unread in front of the upstream show a limit even if throughput still grows.
        shows_limit: course.is_limited || has_queue,
    };
    let of_disk = || Some((UpstreamLimit::Disk, disk::chance_of(view, &own))).filter(|(_, chance)| *chance >= LIKELY);
    let limit = work.limit().filter(|(limit, _)| ran_in_each(*limit, view, behind, steps)).or_else(of_disk);
    let (limit, chance) = limit.map_or((None, 0.0), |(limit, chance)| (Some(limit), chance));
    let (behind, cpu_quota, throttled) = (behind.clone(), quota.cpus, quota.throttled);
    let load = UpstreamLoad { behind, connections, cpu_used, cpu_allowed, cpu_quota, throttled, busiest_thread, limit };
    Judged { load, chance, has_queue, connections: mean, awaited }
}

/// Returns true if an upstream used nearly as much CPU time in each of the `steps` as in `view`, or more. All `steps`
/// are near the highest rate. Background work that starts during the sweep fills a thread or CPUs only in some of the
/// steps, so it is not the limit. If the upstream's limit is a full thread, the CPU use of its busiest thread is
/// compared.
fn ran_in_each(limit: UpstreamLimit, view: &View<'_>, behind: &Upstream, steps: &[View<'_>]) -> bool {
    let used = |view: &View<'_>, behind: &Upstream| -> f64 {
        let own = InstanceFilter::new(&behind.processes);
        match limit {
            UpstreamLimit::Thread => view.threads_of(&own).iter().map(Task::wants).fold(0.0, f64::max),
            _ => view.processes_of(&own).iter().map(|process| process.busy).sum(),
        }
    };
    let most = used(view, behind);
    let in_step = |step: &View<'_>| {
        let same = step.side.behind.iter().find(|other| other.address == behind.address);
        same.is_none_or(|same| used(step, same) >= MOSTLY_RUNS * most)
    };
    matches!(limit, UpstreamLimit::Quota | UpstreamLimit::Disk) || steps.iter().all(in_step)
}

/// Returns the mean number of connections to an upstream that await a reply.
fn awaited(view: &View<'_>, behind: &Upstream) -> Option<f64> {
    view.side.recording.reading("behind.busy", &behind.address, view.window).value()
}

/// Returns the name of an upstream, such as `127.0.0.1:8001 (python3:812)`.
pub(crate) fn named(behind: &Upstream) -> String {
    match behind.processes.as_slice() {
        [] => format!("{} (not on a watched host)", behind.address),
        [one] => format!("{} ({one})", behind.address),
        [one, more @ ..] => format!("{} ({one} and {} more)", behind.address, more.len()),
    }
}

/// Returns the names of the upstreams, separated by commas.
pub(crate) fn names(upstreams: &[Upstream]) -> String {
    upstreams.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// Maximum number of lines of evidence about upstreams.
const MOST_LINES: usize = 4;

/// Returns a line of evidence for each upstream that the server is connected to, and for each full upstream. Lines
/// about several round trips per request come last. Returns at most [`MOST_LINES`] lines.
pub(crate) fn evidence(view: &View<'_>, loads: &[UpstreamLoad]) -> Vec<Evidence> {
    let tells = |load: &&UpstreamLoad| load.behind.depth == 1 || load.limit.is_some();
    let trips = loads.iter().filter_map(|load| round_trips(view, load));
    loads.iter().filter(tells).map(|load| line(view, load)).chain(trips).take(MOST_LINES).collect()
}

/// Returns evidence of the number of exchanges with an upstream per request, if there are several per request. Each
/// exchange needs at least one data segment in each direction. The smaller of the two directions' counts of data
/// segments is therefore an upper bound of the number of exchanges. The text of the evidence therefore says "at most".
fn round_trips(view: &View<'_>, load: &UpstreamLoad) -> Option<Evidence> {
    let address = &load.behind.address;
    let read = |id| view.side.recording.reading(id, address, view.window).value();
    let exchanges = read("behind.data_out")?.min(read("behind.data_in")?);
    let each = ratio(exchanges, view.span_s?).zip(crate::context::own_rate::rate_of(view.trial, view.side));
    let trips = each.and_then(|(per_s, rate)| ratio(per_s, rate)).filter(|trips| *trips >= SEVERAL_TRIPS)?;
    let whose =
        if load.behind.from.is_empty() { "the server".into() } else { format!("the upstream at {}", load.behind.from) };
    let text = format!("{whose} makes at most {} round trips to {} per request", figure(trips), named(&load.behind));
    Some(measured(view, ("behind.data_out", address), (trips, FigureUnit::PerRequest), None, text))
}

/// Returns evidence of the queue in front of the nearest upstream with a queue, and the number of requests in this
/// queue. The queue in front of an upstream consists of connections that wait to be accepted, or else of unread
/// requests. `request_bytes` is the size of a request.
pub(crate) fn queue(view: &View<'_>, request_bytes: Option<f64>) -> Option<(Evidence, f64)> {
    let mut behind: Vec<&Upstream> = view.side.behind.iter().collect();
    behind.sort_by_key(|behind| behind.depth);
    behind.into_iter().find_map(|behind| queue_before(view, behind, request_bytes))
}

/// Returns evidence of the queue in front of one upstream, and the number of requests in this queue: see [`queue`].
fn queue_before(view: &View<'_>, behind: &Upstream, request_bytes: Option<f64>) -> Option<(Evidence, f64)> {
    let mean = |id| view.side.recording.reading(id, &behind.address, view.window).value().filter(|n| *n >= 1.0);
    let put = |id, value, unit, what: &str, requests| {
        let text = format!("{} {what} {}", figure(value), named(behind));
        (measured(view, (id, &behind.address), (value, unit), None, text), requests)
    };
    // Other clients of an upstream may wait in the upstream's queue, too. At most as many waiting connections are
    // counted as the server has connections that await replies.
    let own = awaited(view, behind);
    let unaccepted = mean("behind.queue").map(|n| n.min(own.unwrap_or(n))).filter(|n| *n >= 1.0);
    let unaccepted =
        unaccepted.map(|n| put("behind.queue", n, FigureUnit::Plain, "connections waited to be accepted by", n));
    let unread = || {
        let bytes = mean("behind.unread")?;
        let requests = bytes / request_bytes.unwrap_or(1.0);
        Some(put("behind.unread", bytes, FigureUnit::Bytes, "bytes of requests waited unread before", requests))
    };
    unaccepted.or_else(unread)
}

pub(crate) fn line(view: &View<'_>, load: &UpstreamLoad) -> Evidence {
    let whose = match load.behind.from.as_str() {
        "" => "the server holds".to_string(),
        from => format!("the upstream at {from} holds"),
    };
    let connections = load.connections.unwrap_or(0.0);
    let does = match load.cpu_used {
        Some(used) => match load.throttled {
            Some(share) if share >= THROTTLED => {
                format!("used {} and was throttled in {} of the periods", cpus(used), percent(share))
            }
            _ => format!("used {}", cpus(used)),
        },
        None => "could not be watched".to_string(),
    };
    let of = if connections == 1.0 { "connection" } else { "connections" };
    let busy = awaited(view, &load.behind);
    let busy =
        if busy.is_some_and(|busy| busy > 0.0 && busy >= NEARLY_FULL * connections) { " (all busy)" } else { "" };
    let text = format!("{whose} {} {of}{busy} to {}, which {does}", figure(connections), named(&load.behind));
    match (load.cpu_used, load.behind.processes.first()) {
        (Some(used), Some(process)) => {
            measured(view, ("process.cpu", process), (used, FigureUnit::Cpus), load.cpu_allowed, text)
        }
        _ => measured(view, ("behind.connections", &load.behind.address), (connections, FigureUnit::Plain), None, text),
    }
}

#[cfg(test)]
mod cpu_tests;
#[cfg(test)]
mod full_tests;
#[cfg(test)]
mod quota_tests;
#[cfg(test)]
mod tests;

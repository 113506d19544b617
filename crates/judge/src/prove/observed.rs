//! Direct observations of bottlenecks. A counter of queues, refusals or losses shows a bottleneck directly, unlike a
//! counter of a device's use.

use run::{Bottleneck, Counted, Evidence};

use super::decision_inputs::Observed;
use crate::Facts;
use crate::conclude::verdict::without;
use crate::context::disks;
use crate::context::single::server_of;
use crate::context::view::{View, program};
use crate::failed::overflow::backlog;
use crate::in_flight::places::{self, Places};
use crate::in_flight::server_queue;
use crate::number::{counted, figure};
use crate::rules::{RULES, Tier};
use crate::signals::medium::is_full_link;
use crate::waits;

/// Counters that show each bottleneck directly. A rule lists a counter of this table as evidence only if the counter
/// shows the rule's bottleneck.
const OBSERVATIONS: &[(&str, &[&str])] = &[
    (
        "server-concurrency",
        &["connection.receive_queue", "listen.queue", "behind.queue", "behind.unread", waits::EVIDENCE],
    ),
    ("accept-queue", &["tcp.listen_overflows", "tcp.listen_drops", "listen.drops"]),
    ("network-loss", &["tcp.retrans_segs", "tcp.syn_retrans", "qdisc.drops", "medium.drops"]),
    ("network-medium", &["medium.bytes", "medium.drops", "qdisc.backlog", "interface.tx_bytes", "interface.rx_bytes"]),
    ("tcp-window", &["connection.rwnd_limited", "connection.sndbuf_limited"]),
    ("tcp-delayed-ack", &["tcp.delayed_acks", "connection.send_queue"]),
    ("server-cpu-quota", &["cgroup.cpu_throttled_periods"]),
    ("server-interrupts", &["cpu.softirq"]),
    ("server-disk", disks::WAITS),
    ("server-memory", &["pressure.memory_some", "cgroup.memory_max_events", "cgroup.refaults"]),
    ("server-fds", &["process.fds"]),
    ("server-rate-limit", &["unexpected_status"]),
    ("client-ports", &["errors"]),
    ("client-fds", &["errors"]),
];

/// Returns the first line of evidence that shows the verdict's bottleneck directly.
pub(super) fn observation<'a>(facts: &Facts<'_>, verdict: &'a Bottleneck) -> Option<&'a Evidence> {
    let (_, counters) = OBSERVATIONS.iter().find(|(id, _)| *id == verdict.id)?;
    let shows = |evidence: &&Evidence| match evidence.counter.as_str() {
        // A full listen queue drops connects, so it is a limit itself, and no sign of too few workers. Connections that
        // may wait only for the server's accept call are no sign of too few workers, either.
        "listen.queue" => {
            let is_full = evidence.value.zip(evidence.limit).is_some_and(|(queue, limit)| queue >= limit);
            !is_full && !server_queue::may_wait_for_accept(facts, Places::of(facts).as_ref())
        }
        // A disk may be busy without a request that waits for it, so only waiting threads show the limit directly.
        counter if disks::WAITS.contains(&counter) => {
            evidence.value.zip(evidence.limit).is_some_and(|(share, mostly)| share >= mostly)
        }
        // The verdict may rest on other signs of a full link than on the number of bytes. If the bytes are far below
        // the link's rate, they do not show directly that the link is full.
        "medium.bytes" | "interface.tx_bytes" | "interface.rx_bytes" => {
            evidence.value.zip(evidence.limit).is_some_and(|(used, rate)| is_full_link(used / rate))
        }
        _ => true,
    };
    verdict.evidence.iter().filter(|evidence| counters.contains(&evidence.counter.as_str())).find(shows)
}

/// Returns true if sampled threads wait for what the verdict names.
pub(super) fn is_sampled(verdict: &Bottleneck) -> bool {
    verdict.id == "server-concurrency" && verdict.evidence.iter().any(|evidence| evidence.counter == waits::EVIDENCE)
}

/// Returns true if a count of child processes or connections equals the number of requests that the server handles at a
/// time. A count of threads is not sufficient, because a thread that ran need not be a worker.
pub(super) fn are_places_seen(verdict: &Bottleneck) -> bool {
    !verdict.counted.iter().all(places::is_threads)
}

/// Returns true if the verdict names only threads or child processes of the server as workers, and no request waits
/// unread or unaccepted. A child process that handles one request at a time leaves the other requests unread or
/// unaccepted. Returns false if no counter shows waiting requests.
fn are_requests_read_at_once(facts: &Facts<'_>, verdict: &Bottleneck) -> bool {
    let views: Vec<View<'_>> = facts.loaded().filter_map(server_of).collect();
    let waits = |id| views.iter().filter_map(|view| view.value(id)).reduce(f64::max).is_none_or(|most| most >= 1.0);
    let is_own = |child: &Counted| views.iter().any(|v| v.side.processes.iter().any(|p| program(p) == child.of));
    let of_reader = |one: &Counted| places::is_threads(one) || places::is_children(one) && is_own(one);
    verdict.counted.iter().all(of_reader) && !["connection.receive_queue", "listen.queue"].into_iter().any(waits)
}

/// Returns a direct sign of a bottleneck other than the verdict's, in words. Ignores the bottlenecks that the
/// experiment excluded.
pub(super) fn other_cause(facts: &Facts<'_>, verdict: &Bottleneck, excluded: &[&str]) -> Option<String> {
    let not_asked: Vec<&str> = excluded.iter().copied().chain([verdict.id.as_str()]).collect();
    let other = without(facts, &not_asked);
    let other = Some(other).filter(|other| is_other_cause(&verdict.id, &other.id));
    let sign = other.as_ref().and_then(|other| observation(facts, other)).map(|evidence| evidence.text.clone());
    sign.or_else(|| full_listen_queue(facts).filter(|_| verdict.id == "network-loss"))
}

/// Returns true if `other` is a specific cause whose signs the verdict's cause does not explain.
fn is_other_cause(verdict: &str, other: &str) -> bool {
    let rule = |id: &str| RULES.iter().find(|rule| rule.id == id);
    let is_explained = rule(verdict).is_some_and(|rule| rule.explains.contains(&other));
    !is_explained && rule(other).is_some_and(|rule| rule.tier < Tier::LeftOver)
}

/// Describes a listen queue that was full in a trial at the limit. A full listen queue drops packets that the network
/// did not lose.
fn full_listen_queue(facts: &Facts<'_>) -> Option<String> {
    let full = |view: &View<'_>| {
        let limit = backlog(view)?;
        let queue = view.max("listen.queue").filter(|queue| *queue >= limit)?;
        Some(format!("the server's listen queue held {} (limit {})", counted(queue, "connection"), figure(limit)))
    };
    facts.focus().into_iter().filter_map(server_of).find_map(|view| full(&view))
}

/// Compares the direct observations with the verdict. `other` is a direct sign of another cause, if any.
pub(super) fn observed(facts: &Facts<'_>, verdict: &Bottleneck, other: Option<&String>) -> Observed {
    match (observation(facts, verdict), other) {
        (_, Some(_)) => Observed::Contradicts,
        (Some(_), None) => Observed::Agrees,
        (None, None) if are_places_seen(verdict) && !are_requests_read_at_once(facts, verdict) => Observed::Agrees,
        (None, None) => Observed::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use run::CountedKind::{self, Children, Connections, Threads};

    use super::*;
    use crate::planted::{PlantedRun, Who};

    #[test]
    fn every_observation_is_of_a_known_bottleneck_and_of_a_known_counter() {
        let figures = ["errors", "unexpected_status", waits::EVIDENCE];
        for (id, counters) in OBSERVATIONS {
            assert!(run::bottleneck(id).is_some(), "{id}");
            for counter in *counters {
                assert!(figures.contains(counter) || run::counter(counter).is_some(), "{id}: {counter}");
            }
        }
    }

    /// The situation of this test occurs with nginx in front of workers that listen on a Unix socket. Nothing shows
    /// that nginx passes all requests on, but its child processes leave no request unread.
    #[test]
    fn children_that_read_all_requests_at_once_are_not_seen_directly() {
        let seen = |unread: f64, what: CountedKind| {
            let planted = PlantedRun::new(20_000.0, 200.0).level(Who::Server, "connection.receive_queue", "", unread);
            let mut run = planted.run();
            crate::judge(&mut run);
            let counted = vec![Counted { what, count: 4.0, of: "srv".into(), peer: String::new() }];
            let verdict = Bottleneck { id: "server-concurrency".into(), counted, ..Bottleneck::default() };
            observed(&Facts::of(&run), &verdict, None)
        };
        assert_eq!((seen(0.0, Children), seen(60.0, Children)), (Observed::Nothing, Observed::Agrees));
        assert_eq!((seen(0.0, Connections), seen(60.0, Threads)), (Observed::Agrees, Observed::Nothing));
    }

    /// A router between the hosts queues the packets, as a router in front of a slow uplink does. The interfaces of
    /// both hosts are nearly idle, so the bytes that they carried show no full link.
    #[test]
    fn a_link_that_carries_little_is_not_seen_to_be_full() {
        let mut run = PlantedRun::new(5000.0, 200.0)
            .per_s(Who::Server, "connection.rtt", "", |p| 0.9 * p.r_us)
            .level(Who::Server, "connection.min_rtt", "", 90.0)
            .run();
        crate::judge(&mut run);
        let verdict = &run.findings.bottleneck;
        assert_eq!(verdict.id, "network-medium", "{verdict:#?}");
        assert!(verdict.evidence.iter().any(|line| line.counter.starts_with("interface.")), "{verdict:#?}");
        assert_eq!(observation(&Facts::of(&run), verdict), None);
    }

    /// HAProxy with a limit of sessions per second leaves connections in its backlog, as a server with too few workers
    /// does. If each connection carries many requests, connections stay in the backlog for long only if the
    /// server has too few workers.
    #[test]
    fn connections_in_the_backlog_show_few_workers_only_if_connections_are_kept() {
        let is_seen = |is_kept: bool| {
            let planted = PlantedRun::new(20_000.0, 400.0)
                .per_s(Who::Server, "listen.queue", "0.0.0.0:8080", |p| (p.n - 8.0).max(0.0))
                .change(move |t, _| t.tally.attempted = if is_kept { 1 } else { t.tally.completed });
            let mut run = planted.run();
            crate::judge(&mut run);
            assert_eq!(run.findings.bottleneck.id, "server-concurrency");
            observation(&Facts::of(&run), &run.findings.bottleneck).is_some()
        };
        assert_eq!((is_seen(true), is_seen(false)), (true, false));
    }

    /// If the table lists counters for a bottleneck, the made-up run of this bottleneck must show at least one of these
    /// counters.
    #[test]
    fn the_rules_report_what_they_saw() {
        for (id, _) in OBSERVATIONS {
            let mut run = crate::planted::planted(id).unwrap_or_else(|| panic!("{id}"));
            crate::judge(&mut run);
            let verdict = &run.findings.bottleneck;
            assert!(verdict.id == *id && observation(&Facts::of(&run), verdict).is_some(), "{id}: {verdict:#?}");
        }
    }
}

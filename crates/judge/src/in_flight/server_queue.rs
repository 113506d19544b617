//! Queue of requests at the server or in front of its upstream, as a share of all requests that wait anywhere. A few
//! unread bytes are no queue. A server that delays answers on purpose has already read the requests, so they do not
//! wait unread.

use run::{Evidence, FigureUnit, Intensity, Trial};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{clients, good, server_of};
use crate::context::view::View;
use crate::failed::overflow::Overflow;
use crate::in_flight::places::{self, Places};
use crate::in_flight::upstreams;
use crate::network::link_queue;
use crate::number::{counted, figure, positive, ratio};
use crate::thresholds::{NEARLY_FULL, PLATEAU_KEPT, QUEUE_SHARE, WINDOW_WAIT};
use crate::waits;

/// Counter of the connections that wait to be accepted.
const UNACCEPTED: &str = "listen.queue";

/// Queue of requests at the server or in front of its upstream.
pub(crate) struct Queue<'a> {
    /// Server's side of the trial that shows the queue.
    pub(crate) view: View<'a>,
    pub(crate) evidence: Evidence,
    /// Number of requests in the queue.
    pub(crate) requests: f64,
}

impl Queue<'_> {
    /// Returns true if requests may wait for the server to accept their connections, and not for workers. A limit of
    /// accepted connections per second, or a TLS handshake in the accepting thread, also makes connections wait to be
    /// accepted. Returns false if a count of child processes or connections equals the number of requests handled at a
    /// time, because this count shows the workers.
    pub(crate) fn may_wait_for_accept(&self, places: Option<&Places>) -> bool {
        let is_unaccepted = self.evidence.counter == UNACCEPTED;
        let is_counted = places.is_some_and(|all| all.matching().any(|one| !places::is_threads(one)));
        is_unaccepted && !is_counted && !waits::keeps_connections(self.view.trial)
    }
}

/// Returns true if the queue that [`queue`] finds may wait for the server to accept connections.
pub(crate) fn may_wait_for_accept(facts: &Facts<'_>, places: Option<&Places>) -> bool {
    queue(facts, places).is_some_and(|queue| queue.may_wait_for_accept(places))
}

/// Returns evidence of the queue that [`queue`] finds.
pub(crate) fn seen(facts: &Facts<'_>, places: Option<&Places>) -> Option<Evidence> {
    queue(facts, places).map(|queue| queue.evidence)
}

/// If most waiting requests wait in a queue at the server, returns evidence of this queue. Neither lost packets nor a
/// full link delay requests that have reached the server. Returns `None` if most requests that the server handles have
/// an answer that TCP has not sent yet. A worker that cannot send its answer reads no other request, so the network may
/// cause a queue at the server.
pub(crate) fn past_the_network(facts: &Facts<'_>) -> Option<Evidence> {
    let queue = queue(facts, Places::of(facts).as_ref())?;
    let unsent = link_queue::unsent_share(&queue.view).unwrap_or(0.0);
    (unsent <= 0.0 || handled_share(&queue.view, unsent, queue.requests) < WINDOW_WAIT).then_some(queue.evidence)
}

/// Converts a share of all requests in flight to a share of the requests that the server handles. `queued` requests
/// wait for a worker.
fn handled_share(view: &View<'_>, share: f64, queued: f64) -> f64 {
    let in_flight = view.trial.rates.concurrency;
    ratio(share * in_flight, in_flight - queued).map_or(f64::INFINITY, |share| share.max(0.0))
}

/// Returns the server's side of the trial with the most requests in flight at the plateau. The returned trial is an
/// open loop if the server completed as many requests in an overload as in the sweep.
fn most_crowded<'a>(facts: &Facts<'a>) -> Option<View<'a>> {
    let kept = PLATEAU_KEPT * facts.x_max()?;
    let overload = facts.failing.filter(|trial| good(trial) >= kept).and_then(server_of);
    let in_flight = |view: &View<'a>| view.trial.rates.concurrency;
    overload.into_iter().chain(facts.crowded_server()).max_by(|a, b| in_flight(a).total_cmp(&in_flight(b)))
}

/// Returns the share of a request's time for which requests that the server handles wait in TCP. `waits` returns the
/// TCP share of all requests in flight of a trial. The trial used has the most requests in flight at the plateau. A
/// delay of each connection takes a smaller share of a longer response time, unless the delay keeps workers from the
/// queued requests.
pub(crate) fn share_of_handled(facts: &Facts<'_>, waits: impl Fn(&View<'_>) -> Option<f64>) -> Option<f64> {
    let view = most_crowded(facts)?;
    let queued = queue_in(view, Places::of(facts).as_ref()).map_or(0.0, |queue| queue.requests);
    Some(handled_share(&view, waits(&view)?, queued).min(1.0))
}

/// Returns true if most requests that the server handles at the plateau have an answer that TCP has not sent yet. A
/// worker that cannot send its answer reads no other request.
pub(crate) fn workers_wait_to_send(facts: &Facts<'_>) -> bool {
    share_of_handled(facts, link_queue::unsent_share).is_some_and(|share| share >= WINDOW_WAIT)
}

/// Returns true if the most crowded trial at the plateau has more connections than the lightest load. If a heavier load
/// only added requests to the same connections, a delay of each connection may limit the rate.
pub(crate) fn adds_connections(facts: &Facts<'_>) -> bool {
    let connections = |trial: &Trial| match trial.intensity {
        Intensity::Closed { connections, .. } => f64::from(connections),
        Intensity::Open { max_connections, .. } => f64::from(max_connections).min(trial.rates.concurrency),
        Intensity::SClients { .. } => 0.0,
    };
    let most = most_crowded(facts).map(|view| connections(view.trial));
    most.zip(facts.unloaded.map(connections)).is_some_and(|(most, least)| most > least)
}

/// Returns the queue in the trial with the most clients near the highest rate. Returns `None` if the queue contains
/// only a small share of the requests that no worker handles yet.
pub(crate) fn queue<'a>(facts: &Facts<'a>, places: Option<&Places>) -> Option<Queue<'a>> {
    queue_in(facts.crowded_server()?, places)
}

/// Returns the longest queue in the trial of `view`: requests that are unread, in connections not yet accepted, or in
/// front of an upstream. Returns `None` if the longest queue contains only a small share of the requests that no worker
/// handles yet.
fn queue_in<'a>(view: View<'a>, places: Option<&Places>) -> Option<Queue<'a>> {
    let in_flight = positive(view.trial.rates.concurrency).unwrap_or_else(|| clients(view.trial));
    let waiting = positive(in_flight - places.map_or(1.0, |places| places.places)).filter(|n| *n >= 1.0)?;
    let queues = [unread(&view, in_flight), unaccepted(&view), upstreams::queue(&view, request_bytes(&view))];
    let (mut evidence, requests) = queues.into_iter().flatten().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let share = ratio(requests, waiting).filter(|share| *share >= QUEUE_SHARE)?.min(1.0);
    evidence.text += &format!(", {:.0} % of all waiting requests", 100.0 * share);
    Some(Queue { view, evidence, requests })
}

/// Returns the mean size of a request, in bytes.
fn request_bytes(view: &View<'_>) -> Option<f64> {
    let tally = &view.trial.measured.tally;
    positive(ratio(tally.bytes_sent as f64, tally.sent as f64)?)
}

/// Returns evidence of the requests that wait unread at the server, and their number. If the size of a request is
/// unknown, counts each byte as one request.
fn unread(view: &View<'_>, in_flight: f64) -> Option<(Evidence, f64)> {
    let bytes = view.value("connection.receive_queue").filter(|bytes| *bytes >= 1.0)?;
    let connections = match view.trial.intensity {
        Intensity::Closed { connections, .. } => f64::from(connections),
        _ => in_flight,
    };
    let requests = bytes / request_bytes(view).unwrap_or(1.0) * connections;
    let text = format!("{} bytes of requests waited unread in each receive queue of the server", figure(bytes));
    Some((measured(view, ("connection.receive_queue", ""), (bytes, FigureUnit::Bytes), None, text), requests))
}

/// Returns evidence of the connections that wait to be accepted, and their number. Returns `None` if the queue was full
/// and connects were dropped, because a full queue is a limit itself. With SO_REUSEPORT, several sockets listen at one
/// address, and each has a queue with a limit of its own.
fn unaccepted(view: &View<'_>) -> Option<(Evidence, f64)> {
    let queue = view.value(UNACCEPTED).filter(|queue| *queue >= 1.0)?;
    let limits = view.side.recording.instances("listen.limit");
    let limit_of = |name: &str| limits.value(name, view.window);
    let is_full = |name: &str, queue: f64| limit_of(name).is_some_and(|limit| queue >= NEARLY_FULL * limit);
    let any_full = view.instances(UNACCEPTED).iter().any(|(name, queue)| is_full(name, *queue));
    if any_full && Overflow::of(view.trial).is_some_and(|overflow| overflow.drops >= 1.0) {
        return None;
    }
    let limit = view.instances("listen.limit").into_iter().map(|(_, limit)| limit).reduce(|a, b| a + b);
    let text = format!("{} waited for the server to accept", counted(queue, "connection"));
    Some((measured(view, (UNACCEPTED, ""), (queue, FigureUnit::Plain), limit, text), queue))
}

#[cfg(test)]
mod tests {
    use super::{server_of, unaccepted};
    use crate::planted::{PlantedRun, Point, Who};
    use crate::thresholds::WEAK_SIGN;
    use run::Bottleneck;
    use run::Trial;

    /// Returns the confidence of the verdict about a server that handles six of 128 requests in flight at a time. A
    /// request has 69 bytes.
    fn confidence(unread_bytes: f64, unaccepted: f64) -> f64 {
        let mut run = PlantedRun::new(20_000.0, 300.0)
            .shared()
            .level(Who::Server, "connection.receive_queue", "", unread_bytes)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", unaccepted)
            .change(|t, _| t.measured.tally.bytes_sent = 69 * t.measured.tally.sent)
            .run();
        crate::judge(&mut run);
        assert_eq!(run.findings.bottleneck.id, "server-concurrency");
        run.findings.bottleneck.confidence
    }

    #[test]
    fn a_few_unread_bytes_are_no_queue() {
        assert!(confidence(1.54, 0.0) <= 0.5, "2 % of the connections");
        assert!(confidence(6.86, 0.0) <= 0.5, "a tenth");
        assert!(confidence(64.0, 0.0) >= 0.9);
        assert!(confidence(0.0, 110.0) >= 0.9);
    }

    /// Returns the number of connections that wait at two listeners with SO_REUSEPORT, and the sum of both queues'
    /// limits. In each queue, which may hold 64 connections, `queue` connections wait.
    fn of_two_listeners(queue: f64) -> Option<(f64, Option<f64>)> {
        let planted = PlantedRun::new(4000.0, 250.0).per_s(Who::Server, "tcp.listen_overflows", "", |_| 1.0).per_s(
            Who::Server,
            "listen.drops",
            "0.0.0.0:8080",
            |_| 1.0,
        );
        let listener = |planted: PlantedRun, name: &str| {
            planted.level(Who::Server, "listen.queue", name, queue).level(Who::Server, "listen.limit", name, 64.0)
        };
        let mut run = ["0.0.0.0:8080", "0.0.0.0:8080#2"].into_iter().fold(planted, listener).run();
        crate::context::sides::derive(&mut run);
        let view = server_of(run.trials.last()?)?;
        unaccepted(&view).map(|(evidence, waiting)| (waiting, evidence.limit))
    }

    #[test]
    fn many_short_queues_are_not_a_full_one() {
        assert_eq!(of_two_listeners(40.0), Some((80.0, Some(128.0))));
        assert_eq!(of_two_listeners(63.0), None, "full queues that dropped connects");
    }

    /// Makes a run with a connection for each request. At most eight connections are served at a time, 20 ms each. All
    /// other connections wait to be accepted. The server has `children` child processes.
    fn fresh_connections(children: u32, has_tls: bool) -> Bottleneck {
        let fresh = move |t: &mut Trial, _: &Point| {
            t.measured.tally.attempted = t.measured.tally.completed;
            t.measured.tally.connected = t.measured.tally.completed;
            t.measured.tally.handshakes = if has_tls { t.measured.tally.completed } else { 0 };
            (t.tally.attempted, t.tally.connected) = (t.tally.completed, t.tally.completed);
            let all = (0..=children).map(|n| format!("srv:{}", 100 + n)).collect::<Vec<_>>();
            t.server.iter_mut().for_each(|side| side.processes = all.clone());
        };
        let planted = PlantedRun::new(20_000.0, 400.0)
            .per_s(Who::Server, "listen.queue", "0.0.0.0:8080", |p| (p.n - 8.0).max(0.0))
            .change(fresh);
        let child = |planted: PlantedRun, n: u32| {
            let name = format!("srv:{}", 100 + n);
            planted.per_s(Who::Server, "process.cpu", &name, |p| p.x).level(Who::Server, "process.parent", &name, 100.0)
        };
        (1..=children).fold(planted, child).verdict()
    }

    /// HAProxy with `rate-limit sessions 400` accepts 400 connections per second, and all other connections wait in the
    /// backlog. A server in Python that wraps its listener with TLS does each handshake in the accepting thread. A
    /// server with eight workers shows the same counters, unless the number of workers is known.
    #[test]
    fn connections_that_wait_to_be_accepted_may_wait_for_the_accept_itself() {
        let open = fresh_connections(0, false);
        assert!(open.id == "server-concurrency" && open.confidence <= WEAK_SIGN, "{open:#?}");
        assert!(open.sentence.contains("or it accepts no more than 400 connections/s"), "{}", open.sentence);
        assert!(open.advice[0].contains("--new-connections"), "{:?}", open.advice);
        let tls = fresh_connections(0, true);
        assert!(tls.sentence.ends_with("connections/s, each with a handshake"), "{}", tls.sentence);
        let counted = fresh_connections(8, false);
        assert!(counted.confidence >= 0.9 && !counted.sentence.contains("accepts"), "{counted:#?}");
    }
}

//! Queue of requests at the server or in front of its upstream, as a share of all requests that wait anywhere. A few
//! unread bytes are no queue. A server that delays answers on purpose has read the requests, so its requests do not
//! wait unread.

use run::{Evidence, FigureUnit};

use crate::Facts;
use crate::evidence::measured;
use crate::number::{counted, figure, positive, ratio};
use crate::overflow::Overflow;
use crate::places::Places;
use crate::single::clients;
use crate::thresholds::{NEARLY_FULL, QUEUE_SHARE};
use crate::upstreams;
use crate::view::View;

/// Queue of requests at the server or in front of its upstream.
pub(crate) struct Queue<'a> {
    /// Server's side of the trial that shows the queue.
    pub(crate) view: View<'a>,
    pub(crate) evidence: Evidence,
    /// Number of requests in the queue.
    pub(crate) requests: f64,
}

/// Returns evidence of the queue that [`queue`] finds.
pub(crate) fn seen(facts: &Facts<'_>, places: Option<&Places>) -> Option<Evidence> {
    queue(facts, places).map(|queue| queue.evidence)
}

/// Returns the queue in the trial with the most clients near the highest rate. Returns `None` if the queue contains only
/// a small share of the requests that no worker handles.
pub(crate) fn queue<'a>(facts: &Facts<'a>, places: Option<&Places>) -> Option<Queue<'a>> {
    let view = facts.crowded_server()?;
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
        run::Intensity::Closed { connections, .. } => f64::from(connections),
        _ => in_flight,
    };
    let requests = bytes / request_bytes(view).unwrap_or(1.0) * connections;
    let text = format!("{} bytes of requests waited unread in each receive queue of the server", figure(bytes));
    Some((measured(view, ("connection.receive_queue", ""), (bytes, FigureUnit::Bytes), None, text), requests))
}

/// Returns evidence of the connections that wait to be accepted, and their number. Returns `None` for a full queue that
/// dropped connects, because a full queue is a limit itself.
fn unaccepted(view: &View<'_>) -> Option<(Evidence, f64)> {
    let queue = view.value("listen.queue").filter(|queue| *queue >= 1.0)?;
    let limit = view.value("listen.limit");
    let full = limit.is_some_and(|limit| queue >= NEARLY_FULL * limit);
    if full && Overflow::of(view.trial).is_some_and(|overflow| overflow.drops >= 1.0) {
        return None;
    }
    let text = format!("{} waited for the server to accept", counted(queue, "connection"));
    Some((measured(view, ("listen.queue", ""), (queue, FigureUnit::Plain), limit, text), queue))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};

    /// Returns the confidence of the verdict about a server that handles six of 128 requests at a time. A request has
    /// 69 bytes.
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
}

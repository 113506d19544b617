//! Connections to upstreams on which the server polls for news (long polling), or waits for messages of a queue. No
//! request waits for such a reply.

use crate::number::positive;
use crate::view::View;

/// Returns false if a reply on the connections to an upstream takes longer than the slowest request of the load. No
/// request waits for such a reply: the server polls for news (long polling) or waits for messages of a queue. By
/// Little's law, the mean time of a reply is the mean number of awaited replies (`busy`), divided by the rate of
/// requests to the upstream. Each of the `count` connections may await a reply to a request from before the window.
pub(crate) fn may_hold_requests(view: &View<'_>, address: &str, busy: f64, count: f64) -> bool {
    let sent = view.side.recording.reading("behind.data_out", address, view.window).value();
    let reply_s = sent.zip(view.span_s).map(|(sent, span_s)| busy * span_s / (sent + count));
    let slowest_s = positive(view.trial.latency_us.max).map(|us| us / 1e6);
    reply_s.zip(slowest_s).is_none_or(|(reply_s, slowest_s)| reply_s <= slowest_s)
}

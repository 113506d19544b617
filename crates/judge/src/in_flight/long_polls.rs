//! Connections to upstreams on which the server polls for news (long polling), or waits for messages of a queue. No
//! request waits for the reply to a long poll.

use crate::context::view::View;
use crate::number::{positive, ratio};
use crate::thresholds::LIMIT_CONNECTS;

/// Returns false if a reply on the connections to an upstream takes longer than the slowest request of the load. If a
/// reply is slower than every request, no request waits for it. The server polls for news (long polling) or waits for
/// messages of a queue. By Little's law, the mean time of a reply is the number of awaited replies (`busy`) divided by
/// the upstream's request rate. Each of the `count` connections may await a reply to a request from before the window.
///
/// If the server opens a connection for each request, most connections end between two readings, so the counter of sent
/// data misses them. If the time of a reply is unknown, the function returns true. If fewer requests than connections
/// were seen, the server did not open a connection for each request.
pub(crate) fn may_hold_requests(view: &View<'_>, address: &str, busy: f64, count: f64) -> bool {
    let sent = view.side.recording.reading("behind.data_out", address, view.window).value();
    if sent.is_some_and(|sent| sent >= count) && connects_for_each_request(view) {
        return true;
    }
    let reply_s = sent.zip(view.span_s).map(|(sent, span_s)| busy * span_s / (sent + count));
    let slowest_s = positive(view.trial.latency_us.max).map(|us| us / 1e6);
    reply_s.zip(slowest_s).is_none_or(|(reply_s, slowest_s)| reply_s <= slowest_s)
}

/// Returns true if the server's host opens about one connection per answer, as a proxy does that keeps no connections
/// to its upstream. The counter of connects includes the generator's connects if the generator is in the server's
/// network namespace, so these are subtracted.
fn connects_for_each_request(view: &View<'_>) -> bool {
    let tally = &view.trial.measured.tally;
    let of_load = ratio(tally.attempted as f64, tally.completed as f64);
    let of_load = of_load.filter(|_| view.side.same_network(&view.trial.client)).unwrap_or(0.0);
    view.per_request("tcp.active_opens").is_some_and(|opens| opens - of_load >= LIMIT_CONNECTS)
}

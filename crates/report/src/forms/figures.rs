//! Figures of a trial, in one list for all output forms that programs read (CSV and OpenMetrics). The list of figures
//! is in the order of the CSV columns.

use run::{ClassPart, Run, Side, Summary, Trial};

/// A figure of a trial.
pub(super) struct Figure {
    /// Name of the CSV column, which contains the unit.
    pub(super) column: &'static str,
    /// Name of the OpenMetrics metric family, without the prefix `loadline_trial_`.
    pub(super) family: &'static str,
    /// Description in one sentence.
    pub(super) help: &'static str,
    pub(super) of: Of,
}

/// Type of a figure, with the function that returns its value.
pub(super) enum Of {
    /// The figure is a count over the whole trial.
    Count(fn(&Trial) -> u64),
    /// The figure is a mean over the measured window.
    Level(fn(&Trial) -> f64),
}

const fn count(column: &'static str, family: &'static str, help: &'static str, of: fn(&Trial) -> u64) -> Figure {
    Figure { column, family, help, of: Of::Count(of) }
}

const fn level(column: &'static str, family: &'static str, help: &'static str, of: fn(&Trial) -> f64) -> Figure {
    Figure { column, family, help, of: Of::Level(of) }
}

/// Counts and rates of a trial, in the order of the CSV columns.
#[rustfmt::skip]
pub(super) const FIGURES: &[Figure] = &[
    count("attempted", "connects_attempted", "Connections tried.", |t| t.tally.attempted),
    count("connected", "connects_established", "Connections established.", |t| t.tally.connected),
    count("due", "requests_due", "Requests due in the plan.", |t| t.tally.due),
    count("sent", "requests_sent", "Requests sent.", |t| t.tally.sent),
    count("completed", "requests_completed", "Responses complete and well-formed.", |t| t.tally.completed),
    count("unexpected_status", "unexpected_status", "Responses of an unexpected status.", |t| t.tally.unexpected_status),
    count("unanswered", "unanswered", "Requests without an answer when the drain ended.", |t| t.tally.unanswered),
    count("phantom", "phantom_connections", "Connections that the server never served.", |t| t.tally.phantom),
    count("closed_by_server", "closed_by_server", "Connections that the server closed.", |t| t.tally.closed_by_server),
    count("bytes_sent", "sent_bytes", "Bytes written to sockets.", |t| t.tally.bytes_sent),
    count("bytes_received", "received_bytes", "Bytes read from sockets.", |t| t.tally.bytes_received),
    level("offered_rate_per_s", "offered_rate", "Offered requests per second.", |t| t.rates.offered_rate),
    level("sent_rate_per_s", "sent_rate", "Sent requests per second.", |t| t.rates.sent_rate),
    level("completed_rate_per_s", "completed_rate", "Completed requests per second.", |t| t.rates.completed_rate),
    level("goodput_per_s", "goodput", "Requests per second with a good answer in time.", |t| t.rates.goodput),
    level("concurrency", "concurrency", "Mean number of requests in flight.", |t| t.rates.concurrency),
];

/// Counts of a trial that were added after the first version of the CSV. The columns of later counts are at the end of
/// the CSV, so the older columns keep their positions.
#[rustfmt::skip]
const LATER_FIGURES: &[Figure] = &[
    count("unprocessed_resent", "unprocessed_resent", "Requests that the server left unprocessed behind an announced close, each sent again.", |t| t.tally.unprocessed),
    count("keep_alive_races", "keep_alive_races", "Connections that the server closed just as requests left on them.", |t| t.tally.keep_alive_races),
    count("keep_alive_resent", "keep_alive_resent", "Requests of keep-alive races that were sent again.", |t| t.tally.resent),
    count("closes_left_to_client", "closes_left_to_client", "Connections whose end the server announced and left to the client.", |t| t.tally.closes_left_to_client),
    count("unasked_messages", "unasked_messages", "Messages of the server that no request asked for.", |t| t.tally.unasked_messages),
];

/// Figures of event streams in the measured window. Only runs that read answers as streams of events have these
/// figures.
#[rustfmt::skip]
const STREAM_FIGURES: &[Figure] = &[
    level("events_per_s", "event_rate", "Events of streams per second.", |t| t.events as f64 / t.measured.length_s),
    level("streams_open", "streams_open", "Mean number of open streams.", |t| t.streams_open),
    level("streams_stalled", "streams_stalled", "Streams with a gap that was longer than allowed.", |t| t.streams_stalled as f64),
    level("streams_broken", "streams_broken", "Streams that began and ended early.", |t| t.streams_broken as f64),
];

/// Returns the figures whose columns are at the end of the CSV. The last columns of the CSV contain counts that later
/// versions of loadline added, and figures of event streams, if the run requests any.
pub(super) fn later_figures(run: &Run) -> impl Iterator<Item = &'static Figure> {
    let of_streams = run.plan.load.stream.as_ref().map_or(&[][..], |_| STREAM_FIGURES);
    LATER_FIGURES.iter().chain(of_streams)
}

/// A distribution of times: its name, its description, and the function that returns its summary.
pub(super) type Times = (&'static str, &'static str, fn(&Trial) -> &Summary);

/// Distributions of times that every run has.
const TIMES: &[Times] = &[
    ("response", "Response time from the intended start.", |t| &t.latency_us),
    ("service", "Service time from the actual send.", |t| &t.service_us),
    ("blocked", "Time the generator could not send.", |t| &t.blocked_us),
    ("start_error", "How late requests left by the generator's own doing.", |t| &t.start_error_us),
    ("connect", "Connect time.", |t| &t.connect_us),
];

/// Handshake times. Only runs with handshakes have handshake times, for example runs with TLS.
const HANDSHAKE: Times =
    ("handshake", "Time from a connection to one that is ready for requests.", |t| &t.handshake_us);

/// Times to the first byte. Runs of earlier loadline versions do not have times to the first byte.
const FIRST_BYTE: Times = ("first_byte", "Time to the first byte from the intended start.", |t| &t.first_byte_us);

/// Parts of the time from a send to the last byte. Only runs with answers that arrived in several pieces have the parts
/// `wait` and `transfer`.
const SEND_PARTS: &[Times] = &[
    ("wait", "Time from the actual send to the first byte.", |t| &t.wait_us),
    ("transfer", "Time from the first byte to the last.", |t| &t.transfer_us),
];

/// Times of event streams. Only runs that request streams of events have these times.
const STREAM_TIMES: &[Times] = &[
    ("first_event", "Time to the first event of a stream from the intended start.", |t| &t.first_event_us),
    ("gap", "Time between an event of a stream and the next one.", |t| &t.gap_us),
];

/// Returns the recorded sides (client and server) of a trial, with their names.
pub(super) fn sides(trial: &Trial) -> impl Iterator<Item = (&'static str, &Side)> {
    [("client", Some(&trial.client)), ("server", trial.server.as_ref())]
        .into_iter()
        .filter_map(|(name, side)| Some((name, side?)))
}

/// Returns the distributions of times that a run has.
pub(super) fn times(run: &Run) -> impl Iterator<Item = &'static Times> {
    let handshakes = run.trials.iter().any(|t| !t.handshake_us.is_empty());
    let first_bytes = run.trials.iter().any(|t| !t.first_byte_us.is_empty());
    let in_pieces = run.trials.iter().any(|t| !t.transfer_us.is_empty());
    let parts = if in_pieces { SEND_PARTS } else { &[] };
    let of_streams = run.plan.load.stream.as_ref().map_or(&[][..], |_| STREAM_TIMES);
    let first_byte = first_bytes.then_some(&FIRST_BYTE);
    TIMES.iter().chain(handshakes.then_some(&HANDSHAKE)).chain(first_byte).chain(parts).chain(of_streams)
}

/// A count of a request class: its name, its description, and the function that returns it.
pub(super) type ClassCount = (&'static str, &'static str, fn(&ClassPart) -> u64);

/// Counts of one class of a request mix, over the whole trial.
pub(super) const CLASS_COUNTS: &[ClassCount] = &[
    ("requests_begun", "Requests of a class that were begun.", |c| c.total.begun),
    ("requests_completed", "Responses of a class complete and well-formed.", |c| c.total.completed),
    ("unexpected_status", "Responses of a class of an unexpected status.", |c| c.total.unexpected_status),
    ("requests_failed", "Requests of a class that failed.", |c| c.total.failed),
    ("received_bytes", "Bytes of the responses of a class.", |c| c.total.bytes),
];

//! Tables and charts of the experiments with the event API.

use run::number::Unit;
use run::{FigureUnit, SummaryFigure};

use super::values::{
    ARRAY_MAX, ARRIVALS, BACKEND, BARE_ADD_US, BARE_DELETE_US, CALL_US, CALLS, DECLARE_US, DECLARE_WITH_STATE_US,
    EVENT_US, MEDIAN_US, P99_US, REJECTED, REJECTED_ROUNDS, RETURNED, REVOKE_US, SMALL_DECLARE_US, SMALL_REVOKE_US,
    TRIMMED_US, WHOLE_US,
};
use crate::figures::{COMPLETED, Figures, Lines, Of, Quantity, Server, TableSpec, c, chart, q, set};

const COLD: Quantity = q(Of::Field(|t| t.key.cold.map(f64::from)), "cold connections", FigureUnit::Plain);
const COMPLETED_RATE: Quantity = q(COMPLETED, "completed per second", FigureUnit::Plain);
const ARRAY: Quantity = q(set(ARRAY_MAX), "array_max", FigureUnit::Plain).log();

/// Tables and charts of `event-api`.
pub(crate) const EVENT_API: Figures = Figures {
    tables: &[TableSpec {
        caption: "Every timing of get_next_event(). Rounds in which a call would have blocked are \
                  rejected; the timer's own cost is taken off.",
        columns: &[
            c("mean", Of::Measured(CALL_US), Unit::Micros),
            c("calls", Of::Measured(CALLS), Unit::Plain),
            c("events a call", Of::Measured(RETURNED), Unit::Plain),
            c("median", Of::Measured(MEDIAN_US), Unit::Micros),
            c("p99", Of::Measured(P99_US), Unit::Micros),
            c("rejected calls", Of::Measured(REJECTED), Unit::Plain),
            c("rejected rounds", Of::Measured(REJECTED_ROUNDS), Unit::Plain),
            c("trimmed mean", Of::Measured(TRIMMED_US), Unit::Micros),
            c("whole event", Of::Measured(WHOLE_US), Unit::Micros),
            c("declare", Of::Measured(DECLARE_US), Unit::Micros),
            c("epoll_ctl add", Of::Measured(BARE_ADD_US), Unit::Micros),
            c("revoke", Of::Measured(REVOKE_US), Unit::Micros),
            c("epoll_ctl delete", Of::Measured(BARE_DELETE_US), Unit::Micros),
            c("declare with state", Of::Measured(DECLARE_WITH_STATE_US), Unit::Micros),
            c("declare, small file", Of::Measured(SMALL_DECLARE_US), Unit::Micros),
            c("revoke, small file", Of::Measured(SMALL_REVOKE_US), Unit::Micros),
        ],
        published: Some((
            "Source 2 in words; ours are the checks and what is shown above.",
            include_str!("../../data/event_claims.csv"),
        )),
    }],
    charts: &[
        chart(
            "The cost of a call grows with the events that it returns, until the clients run out",
            "Median cost of get_next_event() on epoll against array_max: clients on a 40 MB file, 750 \
             cold connections. The source: linear in array_max until the number of clients limits it.",
            ARRAY,
            q(Of::Measured(MEDIAN_US), "a call", FigureUnit::Micros).log(),
            Lines::ByKey,
        )
        .only(|t| t.key.get(BACKEND).as_deref() == Some("epoll")),
        chart(
            "The same on every back end",
            "32 clients on a 40 MB file, 750 cold connections.",
            ARRAY,
            q(Of::Measured(MEDIAN_US), "a call", FigureUnit::Micros).log(),
            Lines::ByKey,
        )
        .only(|t| t.key.clients == Some(32)),
        chart(
            "The cost of an event against cold connections",
            "get_next_event() per event returned, 32 hot connections, array_max 10. The source saw at \
             most 0.005 % of change up to 2,000.",
            COLD,
            q(Of::Measured(EVENT_US), "an event", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "More arrivals behind an event",
            "A call of 10 events against the arrivals that each event stands for. The source: a \
             higher rate does not make an event dearer.",
            q(set(ARRIVALS), "arrivals an event", FigureUnit::Plain),
            q(Of::Measured(TRIMMED_US), "a call", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "The cost of declaring interest",
            "declare_interest() with a new interest against cold connections. The source: slight \
             variation, perhaps an artefact.",
            COLD,
            q(Of::Measured(DECLARE_US), "a declaration", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "The cost of revoking it",
            "declare_interest() with no interest against cold connections. The source: shorter than \
             declaring.",
            COLD,
            q(Of::Measured(REVOKE_US), "a revocation", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
    ],
    compared: &[
        ("time of a call", &[TRIMMED_US, CALL_US]),
        ("time of an event", &[EVENT_US]),
        ("time of a declaration", &[DECLARE_US]),
        ("time of a revocation", &[REVOKE_US]),
    ],
    ..Figures::NONE
};

/// Tables and charts of `proxy`.
pub(crate) const PROXY: Figures = Figures {
    tables: &[TableSpec {
        caption: "Every back end at every number of cold connections.",
        columns: &[
            c("cold", Of::Field(|t| t.key.cold.map(f64::from)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("p50", Of::Response(SummaryFigure::P50), Unit::Micros),
            c("p99", Of::Response(SummaryFigure::P99), Unit::Micros),
            c("proxy cpu per request", Of::Cost(Server, "process_cpu_us"), Unit::Micros),
            c("user", Of::Cost(Server, "process_user_us"), Unit::Micros),
            c("kernel", Of::Cost(Server, "process_system_us"), Unit::Micros),
            c("errors", Of::Field(|t| Some(t.tally.error_count() as f64)), Unit::Plain),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Throughput of the proxy against cold connections",
            "Completed requests per second through the proxy, one line a back end.",
            COLD,
            COMPLETED_RATE,
            Lines::ByKey,
        ),
        chart(
            "Response time through the proxy",
            "99th percentile against cold connections.",
            COLD,
            q(Of::Response(SummaryFigure::P99), "p99", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "CPU time of the proxy for one request",
            "Time of the proxy's processes.",
            COLD,
            q(Of::Cost(Server, "process_cpu_us"), "CPU time per request", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
    ],
    ..Figures::NONE
};

//! Tables and charts of the experiments with the event API (source 2).

use run::FigureUnit;
use run::number::Unit;

use crate::figures::{COMPLETED, Figures, Lines, Of, Quantity, Server, TableSpec, c, chart, q};

const COLD: Quantity = q(Of::Field(|t| t.key.cold.map(f64::from)), "cold connections", FigureUnit::Plain);
const COMPLETED_RATE: Quantity = q(COMPLETED, "completed per second", FigureUnit::Plain);
const ARRAY: Quantity = q(Of::Field(|t| t.key.array_max.map(f64::from)), "array_max", FigureUnit::Plain).log();

/// `event-api`.
pub(crate) const EVENT_API: Figures = Figures {
    tables: &[TableSpec {
        caption: "Every timing of get_next_event(). Rounds in which a call would have blocked are \
                  rejected; the timer's own cost is taken off.",
        columns: &[
            c("mean", Of::Field(|t| t.results.call_us), Unit::Micros),
            c("calls", Of::Field(|t| t.results.calls), Unit::Plain),
            c("events a call", Of::Field(|t| t.results.returned), Unit::Plain),
            c("median", Of::Field(|t| t.results.median_us), Unit::Micros),
            c("p99", Of::Field(|t| t.results.p99_us), Unit::Micros),
            c("rejected calls", Of::Field(|t| t.results.rejected), Unit::Plain),
            c("rejected rounds", Of::Field(|t| t.results.rejected_rounds), Unit::Plain),
            c("trimmed mean", Of::Field(|t| t.results.trimmed_us), Unit::Micros),
            c("whole event", Of::Field(|t| t.results.whole_us), Unit::Micros),
            c("declare", Of::Field(|t| t.results.declare_us), Unit::Micros),
            c("epoll_ctl add", Of::Field(|t| t.results.bare_add_us), Unit::Micros),
            c("revoke", Of::Field(|t| t.results.revoke_us), Unit::Micros),
            c("epoll_ctl delete", Of::Field(|t| t.results.bare_delete_us), Unit::Micros),
            c("declare with state", Of::Field(|t| t.results.declare_with_state_us), Unit::Micros),
            c("declare, small file", Of::Field(|t| t.results.small_declare_us), Unit::Micros),
            c("revoke, small file", Of::Field(|t| t.results.small_revoke_us), Unit::Micros),
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
            q(Of::Field(|t| t.results.median_us), "a call", FigureUnit::Micros).log(),
            Lines::ByKey,
        )
        .only(|t| t.key.backend.as_deref() == Some("epoll")),
        chart(
            "The same on every back end",
            "32 clients on a 40 MB file, 750 cold connections.",
            ARRAY,
            q(Of::Field(|t| t.results.median_us), "a call", FigureUnit::Micros).log(),
            Lines::ByKey,
        )
        .only(|t| t.key.clients == Some(32)),
        chart(
            "The cost of an event against cold connections",
            "get_next_event() per event returned, 32 hot connections, array_max 10. The source saw at \
             most 0.005 % of change up to 2,000.",
            COLD,
            q(Of::Field(|t| t.results.event_us), "an event", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "More arrivals behind an event",
            "A call of 10 events against the arrivals that each event stands for. The source: a \
             higher rate does not make an event dearer.",
            q(Of::Field(|t| t.key.arrivals.map(f64::from)), "arrivals an event", FigureUnit::Plain),
            q(Of::Field(|t| t.results.trimmed_us), "a call", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "The cost of declaring interest",
            "declare_interest() with a new interest against cold connections. The source: slight \
             variation, perhaps an artefact.",
            COLD,
            q(Of::Field(|t| t.results.declare_us), "a declaration", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "The cost of revoking it",
            "declare_interest() with no interest against cold connections. The source: shorter than \
             declaring.",
            COLD,
            q(Of::Field(|t| t.results.revoke_us), "a revocation", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
    ],
    ..Figures::NONE
};

/// `proxy`.
pub(crate) const PROXY: Figures = Figures {
    tables: &[TableSpec {
        caption: "Every back end at every number of cold connections.",
        columns: &[
            c("cold", Of::Field(|t| t.key.cold.map(f64::from)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("p50", Of::Response(|s| s.p50), Unit::Micros),
            c("p99", Of::Response(|s| s.p99), Unit::Micros),
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
            q(Of::Response(|s| s.p99), "p99", FigureUnit::Micros).log(),
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

//! Tables and charts of the experiments with S-Clients.

use run::number::Unit;
use run::{FigureUnit, SummaryFigure};

use super::values::{
    COOKIES_SENT_PER_S, DELAY_MS, DESCRIPTORS, LOSS, LOST_SHARE, MEAN_RATE, OPEN_CONNECTIONS, OVERFLOWS_PER_S,
    PHANTOMS, SYN_RATE, SYNS_FILTER, SYNS_GENERATOR, SYNS_KERNEL, US_PER_DROPPED_SYN,
};
use crate::figures::{COMPLETED, Figures, Lines, Of, Quantity, TableSpec, c, chart, q, set};

const COMPLETED_RATE: Quantity = q(COMPLETED, "completed per second", FigureUnit::Plain);

/// Tables and charts of `lab request-rate`.
pub(crate) const REQUEST_RATE: Figures = Figures {
    tables: &[TableSpec {
        caption: "Connection requests, counted three ways over each whole trial: by the generator, by the \
                  server's kernel, by a packet filter at its interface.",
        columns: &[
            c("by generator", Of::Measured(SYNS_GENERATOR), Unit::Plain),
            c("by kernel", Of::Measured(SYNS_KERNEL), Unit::Plain),
            c("by filter", Of::Measured(SYNS_FILTER), Unit::Plain),
            c("at server/s", Of::Measured(SYN_RATE), Unit::Plain),
            c("sent/s", Of::Field(|t| Some(t.rates.sent_rate)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("connect p99", Of::Connect(SummaryFigure::P99), Unit::Micros),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Simple clients stay at the server's capacity",
            "Connection requests per second at the server against the number of simple clients. The \
             source's stayed at about 130.",
            q(Of::Field(|t| t.key.clients.map(f64::from)), "simple clients", FigureUnit::Plain),
            q(Of::Measured(SYN_RATE), "connection requests per second", FigureUnit::Plain),
            Lines::One("simple clients"),
        )
        .levels(&[(130.0, "published: 130/s")])
        .only(|t| t.key.clients.is_some()),
        chart(
            "S-Clients offer what their descriptors ask for",
            "Connection requests per second at the server against descriptors; hollow: the source's \
             last point, D from its T of 500 ms.",
            q(set(DESCRIPTORS), "descriptors", FigureUnit::Plain),
            q(Of::Measured(SYN_RATE), "connection requests per second", FigureUnit::Plain),
            Lines::One("S-Clients"),
        )
        .published(include_str!("../../data/request_rate.csv"))
        .only(|t| t.key.get(DESCRIPTORS).is_some()),
    ],
    ..Figures::NONE
};

/// Tables and charts of `lab overload`.
pub(crate) const OVERLOAD: Figures = Figures {
    tables: &[TableSpec {
        caption: "What is left of the capacity, and where the rest went; x: offered over the capacity that \
                  was asked for.",
        columns: &[
            c("offered/s", Of::Field(|t| Some(t.rates.offered_rate)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("a drop costs", Of::Measured(US_PER_DROPPED_SYN), Unit::Micros),
            c("overflows/s", Of::Measured(OVERFLOWS_PER_S), Unit::Plain),
            c("phantoms", Of::Measured(PHANTOMS), Unit::Plain),
            c("cookies/s", Of::Measured(COOKIES_SENT_PER_S), Unit::Plain),
            c("sent/s", Of::Field(|t| Some(t.rates.sent_rate)), Unit::Plain),
            c("goodput/s", Of::Field(|t| Some(t.rates.goodput)), Unit::Plain),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Completed against offered, far beyond the capacity",
            "Completed per second, with syncookies and without; hollow: the source's capacity and end \
             point.",
            q(Of::Field(|t| Some(t.rates.offered_rate)), "offered connections per second", FigureUnit::Plain).log(),
            COMPLETED_RATE,
            Lines::ByKey,
        )
        .published(include_str!("../../data/overload.csv")),
        chart(
            "Connections that are established for the client alone",
            "Established at the client and never answered, because the server's accept queue was \
             full.",
            q(Of::Field(|t| Some(t.rates.offered_rate)), "offered connections per second", FigureUnit::Plain).log(),
            q(Of::Measured(PHANTOMS), "phantom connections", FigureUnit::Plain),
            Lines::ByKey,
        ),
    ],
    ..Figures::NONE
};

/// Tables and charts of `lab bursty`.
pub(crate) const BURSTY: Figures = Figures {
    tables: &[TableSpec {
        caption: "Each arrival process at each mean rate.",
        columns: &[
            c("mean/s", set(MEAN_RATE), Unit::Plain),
            c("offered/s", Of::Field(|t| Some(t.rates.offered_rate)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("lost", Of::Measured(LOST_SHARE), Unit::Share),
            c("p99", Of::Response(SummaryFigure::P99), Unit::Micros),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "What bursts cost at the same mean rate",
            "Completed per second against the mean offered rate; the names are (peak over mean, share \
             of time at peak).",
            q(set(MEAN_RATE), "mean offered rate", FigureUnit::Plain),
            COMPLETED_RATE,
            Lines::ByKey,
        ),
        chart(
            "Throughput lost to bursts",
            "Share of the steady load's throughput that is lost at the same mean. The source lost 12 \
             to 20 % to peaks of 6 for 5 % of the time.",
            q(set(MEAN_RATE), "mean offered rate", FigureUnit::Plain),
            q(Of::Measured(LOST_SHARE), "throughput lost", FigureUnit::Share),
            Lines::ByKey,
        )
        .levels(&[(0.12, "published, (6, 5 %): from 12 %"), (0.2, "to 20 %")]),
    ],
    ..Figures::NONE
};

/// Tables and charts of `lab wan`.
pub(crate) const WAN: Figures = Figures {
    tables: &[TableSpec {
        caption: "Each line. The round trip is twice the delay.",
        columns: &[
            c("ms each way", set(DELAY_MS), Unit::Plain),
            c("loss", set(LOSS), Unit::Share),
            c("completed/s", COMPLETED, Unit::Plain),
            c("open", Of::Measured(OPEN_CONNECTIONS), Unit::Plain),
            c("p50", Of::Response(SummaryFigure::P50), Unit::Micros),
            c("p99", Of::Response(SummaryFigure::P99), Unit::Micros),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Throughput against delay",
            "Completed per second behind a forwarder that delays and drops.",
            q(set(DELAY_MS), "ms of delay each way", FigureUnit::Plain),
            COMPLETED_RATE,
            Lines::ByKey,
        ),
        chart(
            "Connections that are open at once",
            "Established connections at the server, behind the same forwarder.",
            q(set(DELAY_MS), "ms of delay each way", FigureUnit::Plain),
            q(Of::Measured(OPEN_CONNECTIONS), "open connections", FigureUnit::Plain),
            Lines::ByKey,
        ),
    ],
    ..Figures::NONE
};

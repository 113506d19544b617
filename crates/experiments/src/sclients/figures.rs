//! Tables and charts of the experiments around S-Clients (source 1).

use run::FigureUnit;
use run::number::Unit;

use crate::figures::{COMPLETED, Figures, Lines, Of, Quantity, TableSpec, c, chart, q};

const COMPLETED_RATE: Quantity = q(COMPLETED, "completed per second", FigureUnit::Plain);

/// `request-rate`.
pub(crate) const REQUEST_RATE: Figures = Figures {
    tables: &[TableSpec {
        caption: "Connection requests, counted three ways over each whole trial: by the generator, by the \
                  server's kernel, by a packet filter at its interface.",
        columns: &[
            c("by generator", Of::Field(|t| t.results.syns_generator), Unit::Plain),
            c("by kernel", Of::Field(|t| t.results.syns_kernel), Unit::Plain),
            c("by filter", Of::Field(|t| t.results.syns_filter), Unit::Plain),
            c("at server/s", Of::Field(|t| t.results.syn_rate), Unit::Plain),
            c("sent/s", Of::Field(|t| Some(t.rates.sent_rate)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("connect p99", Of::Connect(|s| s.p99), Unit::Micros),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Simple clients stay at the server's capacity",
            "Connection requests per second at the server against the number of simple clients. The \
             source's stayed at about 130.",
            q(Of::Field(|t| t.key.clients.map(f64::from)), "simple clients", FigureUnit::Plain),
            q(Of::Field(|t| t.results.syn_rate), "connection requests per second", FigureUnit::Plain),
            Lines::One("simple clients"),
        )
        .levels(&[(130.0, "published: 130/s")])
        .only(|t| t.key.clients.is_some()),
        chart(
            "S-Clients offer what their descriptors ask for",
            "Connection requests per second at the server against descriptors; hollow: the source's \
             last point, D from its T of 500 ms.",
            q(Of::Field(|t| t.key.descriptors.map(f64::from)), "descriptors", FigureUnit::Plain),
            q(Of::Field(|t| t.results.syn_rate), "connection requests per second", FigureUnit::Plain),
            Lines::One("S-Clients"),
        )
        .published(include_str!("../../data/request_rate.csv"))
        .only(|t| t.key.descriptors.is_some()),
    ],
    ..Figures::NONE
};

/// `overload`.
pub(crate) const OVERLOAD: Figures = Figures {
    tables: &[TableSpec {
        caption: "What is left of the capacity, and where the rest went; x: offered over the capacity that \
                  was asked for.",
        columns: &[
            c("offered/s", Of::Field(|t| Some(t.rates.offered_rate)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("a drop costs", Of::Field(|t| t.results.us_per_dropped_syn), Unit::Micros),
            c("overflows/s", Of::Field(|t| t.results.overflows_per_s), Unit::Plain),
            c("phantoms", Of::Field(|t| t.results.phantoms), Unit::Plain),
            c("cookies/s", Of::Field(|t| t.results.cookies_sent_per_s), Unit::Plain),
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
            q(Of::Field(|t| t.results.phantoms), "phantom connections", FigureUnit::Plain),
            Lines::ByKey,
        ),
    ],
    ..Figures::NONE
};

/// `bursty`.
pub(crate) const BURSTY: Figures = Figures {
    tables: &[TableSpec {
        caption: "Each arrival process at each mean rate.",
        columns: &[
            c("mean/s", Of::Field(|t| t.key.mean_rate), Unit::Plain),
            c("offered/s", Of::Field(|t| Some(t.rates.offered_rate)), Unit::Plain),
            c("completed/s", COMPLETED, Unit::Plain),
            c("lost", Of::Field(|t| t.results.lost_share), Unit::Share),
            c("p99", Of::Response(|s| s.p99), Unit::Micros),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "What bursts cost at the same mean rate",
            "Completed per second against the mean offered rate; the names are (peak over mean, share \
             of time at peak).",
            q(Of::Field(|t| t.key.mean_rate), "mean offered rate", FigureUnit::Plain),
            COMPLETED_RATE,
            Lines::ByKey,
        ),
        chart(
            "Throughput lost to bursts",
            "Share of the steady load's throughput that is lost at the same mean. The source lost 12 \
             to 20 % to peaks of 6 for 5 % of the time.",
            q(Of::Field(|t| t.key.mean_rate), "mean offered rate", FigureUnit::Plain),
            q(Of::Field(|t| t.results.lost_share), "throughput lost", FigureUnit::Share),
            Lines::ByKey,
        )
        .levels(&[(0.12, "published, (6, 5 %): from 12 %"), (0.2, "to 20 %")]),
    ],
    ..Figures::NONE
};

/// `wan`.
pub(crate) const WAN: Figures = Figures {
    tables: &[TableSpec {
        caption: "Each line. The round trip is twice the delay.",
        columns: &[
            c("ms each way", Of::Field(|t| t.key.delay_ms), Unit::Plain),
            c("loss", Of::Field(|t| t.key.loss), Unit::Share),
            c("completed/s", COMPLETED, Unit::Plain),
            c("open", Of::Field(|t| t.results.open_connections), Unit::Plain),
            c("p50", Of::Response(|s| s.p50), Unit::Micros),
            c("p99", Of::Response(|s| s.p99), Unit::Micros),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Throughput against delay",
            "Completed per second behind a forwarder that delays and drops.",
            q(Of::Field(|t| t.key.delay_ms), "ms of delay each way", FigureUnit::Plain),
            COMPLETED_RATE,
            Lines::ByKey,
        ),
        chart(
            "Connections that are open at once",
            "Established connections at the server, behind the same forwarder.",
            q(Of::Field(|t| t.key.delay_ms), "ms of delay each way", FigureUnit::Plain),
            q(Of::Field(|t| t.results.open_connections), "open connections", FigureUnit::Plain),
            Lines::ByKey,
        ),
    ],
    ..Figures::NONE
};

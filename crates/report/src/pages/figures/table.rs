//! The figures, one row each, in the order of the page.

use run::Trial;

use super::figure::{Figure, Lines, Quantity};
use super::value::Who::{Client, Server};
use super::value::{COMPLETED as RATE, Of, RESPONSE};
use crate::Unit;
use crate::plot::Scale;

const fn q(of: Of, label: &'static str, unit: Unit, scale: Scale) -> Quantity {
    Quantity { of, label, unit, scale }
}

const fn figure(
    experiment: &'static str,
    title: &'static str,
    caption: &'static str,
    x: Quantity,
    y: Quantity,
    lines: Lines,
) -> Figure {
    Figure { experiment, title, caption, x, y, lines, only: |_| true, published: "", levels: &[] }
}

const fn published(figure: Figure, csv: &'static str) -> Figure {
    Figure { published: csv, ..figure }
}

const fn only(figure: Figure, only: fn(&Trial) -> bool) -> Figure {
    Figure { only, ..figure }
}

const fn levels(figure: Figure, levels: &'static [(f64, &'static str)]) -> Figure {
    Figure { levels, ..figure }
}

/// Each line of such a figure has a quantity of its own.
const NOTHING: Of = Of::Field(|_| None);

const RECORD: Quantity =
    q(Of::Field(|t| t.key.record_bytes.map(|n| n as f64)), "bytes a record", Unit::Size, Scale::Linear);
const CLIENTS: Quantity = q(Of::Field(|t| t.key.clients.map(f64::from)), "clients", Unit::Plain, Scale::Linear);
const COLD: Quantity = q(Of::Field(|t| t.key.cold.map(f64::from)), "cold connections", Unit::Plain, Scale::Linear);
const CONNECTIONS: Quantity =
    q(Of::Field(|t| t.key.connections.map(f64::from)), "connections", Unit::Plain, Scale::Linear);
const COMPLETED: Quantity = q(RATE, "completed per second", Unit::Plain, Scale::Linear);
const ARRAY: Quantity = q(Of::Field(|t| t.key.array_max.map(f64::from)), "array_max", Unit::Plain, Scale::Log);

/// The table.
pub(super) const FIGURES: &[Figure] = &[
    // Source 3: one client, 19 record sizes.
    published(
        figure(
            "throughput-profile",
            "Throughput against record size",
            "Messages with their heads, both ways, as the source counted them; hollow: the three points that it printed.",
            RECORD,
            q(Of::Field(|t| t.results.message_bytes_per_s), "bytes per second", Unit::BytesPerSecond, Scale::Linear),
            Lines::One("throughput"),
        ),
        include_str!("../../../data/profile_throughput.csv"),
    ),
    figure(
        "throughput-profile",
        "The client's view",
        "Its messages as a share of the wire, and its CPU time in the kernel and in interrupts.",
        RECORD,
        q(NOTHING, "share", Unit::Share, Scale::Linear),
        Lines::Values(&[
            ("throughput", Of::Field(|t| t.results.client_throughput_share)),
            ("privileged time", Of::Privileged(Client)),
        ]),
    ),
    figure(
        "throughput-profile",
        "The server's view",
        "The same at the other end: its bytes by IP as a share of the wire, and its time in the kernel and in interrupts.",
        RECORD,
        q(NOTHING, "share", Unit::Share, Scale::Linear),
        Lines::Values(&[
            ("throughput", Of::Field(|t| t.results.server_throughput_share)),
            ("privileged time", Of::Privileged(Server)),
        ]),
    ),
    // Source 0: one to five clients.
    published(
        figure(
            "adding-clients",
            "Each client brings less than the one before",
            "Reads of 2048 bytes per second, all clients together; hollow: the source's.",
            CLIENTS,
            q(RATE, "reads per second", Unit::Plain, Scale::Linear),
            Lines::One("reads"),
        ),
        include_str!("../../../data/clients_reads.csv"),
    ),
    published(
        figure(
            "adding-clients",
            "Response time N/X",
            "Clients over reads per second; hollow: the source's, recomputed from its rates.",
            CLIENTS,
            q(RESPONSE, "response time", Unit::Micros, Scale::Linear),
            Lines::One("response time"),
        ),
        include_str!("../../../data/clients_response.csv"),
    ),
    published(
        figure(
            "adding-clients",
            "CPU time of the server for one read",
            "Whole host, user to interrupts; hollow: the source's utilisation over its rate.",
            CLIENTS,
            q(Of::Cost(Server, "cpu_us"), "CPU time per read", Unit::Micros, Scale::Linear),
            Lines::One("CPU time"),
        ),
        include_str!("../../../data/clients_processor.csv"),
    ),
    // Source 1: request generation rate, simple clients and S-Clients.
    only(
        levels(
            figure(
                "request-rate",
                "Simple clients stay at the server's capacity",
                "Connection requests per second at the server against the number of simple clients. The source's stayed at about 130.",
                q(Of::Field(|t| t.key.clients.map(f64::from)), "simple clients", Unit::Plain, Scale::Linear),
                q(Of::Field(|t| t.results.syn_rate), "connection requests per second", Unit::Plain, Scale::Linear),
                Lines::One("simple clients"),
            ),
            &[(130.0, "published: 130/s")],
        ),
        |t| t.key.clients.is_some(),
    ),
    only(
        published(
            figure(
                "request-rate",
                "S-Clients offer what their descriptors ask for",
                "Connection requests per second at the server against descriptors; hollow: the source's last point, D from its T of 500 ms.",
                q(Of::Field(|t| t.key.descriptors.map(f64::from)), "descriptors", Unit::Plain, Scale::Linear),
                q(Of::Field(|t| t.results.syn_rate), "connection requests per second", Unit::Plain, Scale::Linear),
                Lines::One("S-Clients"),
            ),
            include_str!("../../../data/request_rate.csv"),
        ),
        |t| t.key.descriptors.is_some(),
    ),
    published(
        figure(
            "overload",
            "Completed against offered, far beyond the capacity",
            "Completed per second, with syncookies and without; hollow: the source's capacity and end point.",
            q(Of::Field(|t| Some(t.rates.offered_rate)), "offered connections per second", Unit::Plain, Scale::Log),
            COMPLETED,
            Lines::ByKey,
        ),
        include_str!("../../../data/overload.csv"),
    ),
    figure(
        "overload",
        "Connections that are established for the client alone",
        "Established at the client and never answered, because the server's accept queue was full.",
        q(Of::Field(|t| Some(t.rates.offered_rate)), "offered connections per second", Unit::Plain, Scale::Log),
        q(Of::Field(|t| t.results.phantoms), "phantom connections", Unit::Plain, Scale::Linear),
        Lines::ByKey,
    ),
    figure(
        "bursty",
        "What bursts cost at the same mean rate",
        "Completed per second against the mean offered rate; the names are (peak over mean, share of time at peak).",
        q(Of::Field(|t| t.key.mean_rate), "mean offered rate", Unit::Plain, Scale::Linear),
        COMPLETED,
        Lines::ByKey,
    ),
    levels(
        figure(
            "bursty",
            "Throughput lost to bursts",
            "Share of the steady load's throughput that is lost at the same mean. The source lost 12 to 20 % to peaks of 6 for 5 % of the time.",
            q(Of::Field(|t| t.key.mean_rate), "mean offered rate", Unit::Plain, Scale::Linear),
            q(Of::Field(|t| t.results.lost_share), "throughput lost", Unit::Share, Scale::Linear),
            Lines::ByKey,
        ),
        &[(0.12, "published, (6, 5 %): from 12 %"), (0.2, "to 20 %")],
    ),
    figure(
        "wan",
        "Throughput against delay",
        "Completed per second behind a forwarder that delays and drops.",
        q(Of::Field(|t| t.key.delay_ms), "ms of delay each way", Unit::Plain, Scale::Linear),
        COMPLETED,
        Lines::ByKey,
    ),
    figure(
        "wan",
        "Connections that are open at once",
        "Established connections at the server, behind the same forwarder.",
        q(Of::Field(|t| t.key.delay_ms), "ms of delay each way", Unit::Plain, Scale::Linear),
        q(Of::Field(|t| t.results.open_connections), "open connections", Unit::Plain, Scale::Linear),
        Lines::ByKey,
    ),
    // Source 4: I/O models.
    figure(
        "io-models",
        "Throughput by model",
        "Bytes per second that the client received.",
        CONNECTIONS,
        q(Of::Field(|t| t.results.bytes_per_s), "bytes per second", Unit::BytesPerSecond, Scale::Log),
        Lines::ByKey,
    ),
    figure(
        "io-models",
        "CPU time of the server for one message",
        "Time of the server's processes.",
        CONNECTIONS,
        q(Of::Cost(Server, "process_cpu_us"), "CPU time per message", Unit::Micros, Scale::Log),
        Lines::ByKey,
    ),
    figure(
        "io-models",
        "User memory of one connection",
        "Resident memory of the server over its connections.",
        CONNECTIONS,
        q(Of::Field(|t| t.results.memory_per_connection_bytes), "bytes per connection", Unit::Bytes, Scale::Log),
        Lines::ByKey,
    ),
    // Source 2: the event API. The first two are the source's figure 6, in two views; the declarations its figure 7.
    only(
        figure(
            "event-api",
            "The cost of a call grows with the events that it returns, until the clients run out",
            "Median cost of get_next_event() on epoll against array_max: clients on a 40 MB file, 750 cold connections. The source: linear in array_max until the number of clients limits it.",
            ARRAY,
            q(Of::Field(|t| t.results.median_us), "a call", Unit::Micros, Scale::Log),
            Lines::ByKey,
        ),
        |t| t.key.backend.as_deref() == Some("epoll"),
    ),
    only(
        figure(
            "event-api",
            "The same on every back end",
            "32 clients on a 40 MB file, 750 cold connections.",
            ARRAY,
            q(Of::Field(|t| t.results.median_us), "a call", Unit::Micros, Scale::Log),
            Lines::ByKey,
        ),
        |t| t.key.clients == Some(32),
    ),
    figure(
        "event-api",
        "The cost of an event against cold connections",
        "get_next_event() per event returned, 32 hot connections, array_max 10. The source saw at most 0.005 % of change up to 2,000.",
        COLD,
        q(Of::Field(|t| t.results.event_us), "an event", Unit::Micros, Scale::Log),
        Lines::ByKey,
    ),
    figure(
        "event-api",
        "More arrivals behind an event",
        "A call of 10 events against the arrivals that each event stands for. The source: a higher rate does not make an event dearer.",
        q(Of::Field(|t| t.key.arrivals.map(f64::from)), "arrivals an event", Unit::Plain, Scale::Linear),
        q(Of::Field(|t| t.results.trimmed_us), "a call", Unit::Micros, Scale::Log),
        Lines::ByKey,
    ),
    figure(
        "event-api",
        "The cost of declaring interest",
        "declare_interest() with a new interest against cold connections. The source: slight variation, perhaps an artefact.",
        COLD,
        q(Of::Field(|t| t.results.declare_us), "a declaration", Unit::Micros, Scale::Log),
        Lines::ByKey,
    ),
    figure(
        "event-api",
        "The cost of revoking it",
        "declare_interest() with no interest against cold connections. The source: shorter than declaring.",
        COLD,
        q(Of::Field(|t| t.results.revoke_us), "a revocation", Unit::Micros, Scale::Log),
        Lines::ByKey,
    ),
    figure(
        "proxy",
        "Throughput of the proxy against cold connections",
        "Completed requests per second through the proxy, one line a back end.",
        COLD,
        COMPLETED,
        Lines::ByKey,
    ),
    figure(
        "proxy",
        "Response time through the proxy",
        "99th percentile against cold connections.",
        COLD,
        q(Of::Response(|s| s.p99), "p99", Unit::Micros, Scale::Log),
        Lines::ByKey,
    ),
    figure(
        "proxy",
        "CPU time of the proxy for one request",
        "Time of the proxy's processes.",
        COLD,
        q(Of::Cost(Server, "process_cpu_us"), "CPU time per request", Unit::Micros, Scale::Log),
        Lines::ByKey,
    ),
];

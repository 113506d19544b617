//! The figures, one row each, in the order of the page. The names of axes (`axis …`) are those that the experiments fill
//! in `Trial.axes`; labels begin with the name of the line (`epoll, 750 cold`).

use super::{Figure, Lines, Quantity};
use crate::Unit;
use crate::plot::Scale;

const fn q(of: &'static str, label: &'static str, unit: Unit, scale: Scale) -> Quantity {
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
    Figure { experiment, title, caption, x, y, lines, only: "", published: "", levels: &[] }
}

const fn published(figure: Figure, csv: &'static str) -> Figure {
    Figure { published: csv, ..figure }
}

const fn only(figure: Figure, label: &'static str) -> Figure {
    Figure { only: label, ..figure }
}

const fn levels(figure: Figure, levels: &'static [(f64, &'static str)]) -> Figure {
    Figure { levels, ..figure }
}

const RECORD: Quantity = q("axis record_bytes", "bytes a record", Unit::Size, Scale::Linear);
const CLIENTS: Quantity = q("axis clients", "clients", Unit::Plain, Scale::Linear);
const COLD: Quantity = q("axis cold", "cold connections", Unit::Plain, Scale::Linear);
const CONNECTIONS: Quantity = q("axis connections", "connections", Unit::Plain, Scale::Linear);
const COMPLETED: Quantity = q("completed_rate", "completed per second", Unit::Plain, Scale::Linear);
const ARRAY: Quantity = q("axis array_max", "array_max", Unit::Plain, Scale::Log);

/// The table.
pub(super) const FIGURES: &[Figure] = &[
    // Source 3: one client, 19 record sizes.
    published(
        figure(
            "throughput-profile",
            "Throughput against record size",
            "Messages with their heads, both ways, as the source counted them; hollow: the three points that it printed.",
            RECORD,
            q("axis message_bytes_per_s", "bytes per second", Unit::BytesPerSecond, Scale::Linear),
            Lines::One("throughput"),
        ),
        include_str!("../../../data/profile_throughput.csv"),
    ),
    figure(
        "throughput-profile",
        "The client's view",
        "Its messages as a share of the wire, and its processor time in the kernel and in interrupts.",
        RECORD,
        q("", "share", Unit::Share, Scale::Linear),
        Lines::Values(&[("throughput", "axis client_throughput_share"), ("privileged time", "client privileged")]),
    ),
    figure(
        "throughput-profile",
        "The server's view",
        "The same at the other end: its bytes by IP as a share of the wire, and its time in the kernel and in interrupts.",
        RECORD,
        q("", "share", Unit::Share, Scale::Linear),
        Lines::Values(&[("throughput", "axis server_throughput_share"), ("privileged time", "server privileged")]),
    ),
    // Source 0: one to five clients.
    published(
        figure(
            "adding-clients",
            "Each client brings less than the one before",
            "Reads of 2048 bytes per second, all clients together; hollow: the source's.",
            CLIENTS,
            q("completed_rate", "reads per second", Unit::Plain, Scale::Linear),
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
            q("response mean", "response time", Unit::Micros, Scale::Linear),
            Lines::One("response time"),
        ),
        include_str!("../../../data/clients_response.csv"),
    ),
    published(
        figure(
            "adding-clients",
            "Processor time of the server for one read",
            "Whole host, user to interrupts; hollow: the source's utilisation over its rate.",
            CLIENTS,
            q("server cost cpu_us", "processor time a read", Unit::Micros, Scale::Linear),
            Lines::One("processor time"),
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
                q("axis clients", "simple clients", Unit::Plain, Scale::Linear),
                q("axis syn_rate", "connection requests per second", Unit::Plain, Scale::Linear),
                Lines::One("simple clients"),
            ),
            &[(130.0, "published: 130/s")],
        ),
        "simple",
    ),
    only(
        published(
            figure(
                "request-rate",
                "S-Clients offer what their descriptors ask for",
                "Connection requests per second at the server against descriptors; hollow: the source's last point, D from its T of 500 ms.",
                q("axis descriptors", "descriptors", Unit::Plain, Scale::Linear),
                q("axis syn_rate", "connection requests per second", Unit::Plain, Scale::Linear),
                Lines::One("S-Clients"),
            ),
            include_str!("../../../data/request_rate.csv"),
        ),
        "S-Clients",
    ),
    published(
        figure(
            "overload",
            "Completed against offered, far beyond the capacity",
            "Completed per second, with syncookies and without; hollow: the source's capacity and end point.",
            q("offered_rate", "offered connections per second", Unit::Plain, Scale::Log),
            COMPLETED,
            Lines::ByLabel,
        ),
        include_str!("../../../data/overload.csv"),
    ),
    figure(
        "overload",
        "Connections that only the client believes in",
        "Established at the client and never answered, because the server's accept queue was full.",
        q("offered_rate", "offered connections per second", Unit::Plain, Scale::Log),
        q("axis phantoms", "phantom connections", Unit::Plain, Scale::Linear),
        Lines::ByLabel,
    ),
    figure(
        "bursty",
        "What bursts cost at the same mean rate",
        "Completed per second against the mean offered rate; the names are (peak over mean, share of time at peak).",
        q("axis mean_rate", "mean offered rate", Unit::Plain, Scale::Linear),
        COMPLETED,
        Lines::ByLabel,
    ),
    levels(
        figure(
            "bursty",
            "Throughput lost to bursts",
            "Share of the steady load's throughput that is lost at the same mean. The source lost 12 to 20 % to peaks of 6 for 5 % of the time.",
            q("axis mean_rate", "mean offered rate", Unit::Plain, Scale::Linear),
            q("axis lost_share", "throughput lost", Unit::Share, Scale::Linear),
            Lines::ByLabel,
        ),
        &[(0.12, "published, (6, 5 %): from 12 %"), (0.2, "to 20 %")],
    ),
    figure(
        "wan",
        "Throughput against delay",
        "Completed per second behind a forwarder that delays and drops.",
        q("axis delay_ms", "ms of delay each way", Unit::Plain, Scale::Linear),
        COMPLETED,
        Lines::ByLabel,
    ),
    figure(
        "wan",
        "Connections that are open at once",
        "Established connections at the server, behind the same forwarder.",
        q("axis delay_ms", "ms of delay each way", Unit::Plain, Scale::Linear),
        q("axis open_connections", "open connections", Unit::Plain, Scale::Linear),
        Lines::ByLabel,
    ),
    // Source 4: I/O models.
    figure(
        "io-models",
        "Throughput by model",
        "Bytes per second that the client received.",
        CONNECTIONS,
        q("axis bytes_per_s", "bytes per second", Unit::BytesPerSecond, Scale::Log),
        Lines::ByLabel,
    ),
    figure(
        "io-models",
        "Processor time of the server for one message",
        "Time of the server's processes.",
        CONNECTIONS,
        q("server cost process_cpu_us", "processor time a message", Unit::Micros, Scale::Log),
        Lines::ByLabel,
    ),
    figure(
        "io-models",
        "User memory of one connection",
        "Resident memory of the server over its connections.",
        CONNECTIONS,
        q("axis memory_per_connection_bytes", "bytes a connection", Unit::Bytes, Scale::Log),
        Lines::ByLabel,
    ),
    // Source 2: the event API. The first two are the source's figure 6, in two views; the declarations its figure 7.
    only(
        figure(
            "event-api",
            "The cost of a call grows with the events that it returns, until the clients run out",
            "Median cost of get_next_event() on epoll against array_max: clients on a 40 MB file, 750 cold connections. The source: linear in array_max until the number of clients limits it.",
            ARRAY,
            q("axis median_us", "a call", Unit::Micros, Scale::Log),
            Lines::ByLabel,
        ),
        "epoll ",
    ),
    only(
        figure(
            "event-api",
            "The same on every back end",
            "32 clients on a 40 MB file, 750 cold connections.",
            ARRAY,
            q("axis median_us", "a call", Unit::Micros, Scale::Log),
            Lines::ByLabel,
        ),
        " 32 clients, array_max",
    ),
    figure(
        "event-api",
        "The cost of an event against cold connections",
        "get_next_event() per event returned, 32 hot connections, array_max 10. The source saw at most 0.005 % of change up to 2,000.",
        COLD,
        q("axis event_us", "an event", Unit::Micros, Scale::Log),
        Lines::ByLabel,
    ),
    figure(
        "event-api",
        "More arrivals behind an event",
        "A call of 10 events against the arrivals that each event stands for. The source: a higher rate does not make an event dearer.",
        q("axis arrivals", "arrivals an event", Unit::Plain, Scale::Linear),
        q("axis trimmed_us", "a call", Unit::Micros, Scale::Log),
        Lines::ByLabel,
    ),
    figure(
        "event-api",
        "The cost of declaring interest",
        "declare_interest() with a new interest against cold connections. The source: slight variation, perhaps an artefact.",
        COLD,
        q("axis declare_us", "a declaration", Unit::Micros, Scale::Log),
        Lines::ByLabel,
    ),
    figure(
        "event-api",
        "The cost of revoking it",
        "declare_interest() with no interest against cold connections. The source: shorter than declaring.",
        COLD,
        q("axis revoke_us", "a revocation", Unit::Micros, Scale::Log),
        Lines::ByLabel,
    ),
    figure(
        "proxy",
        "Throughput of the proxy against cold connections",
        "Completed requests per second through the proxy, one line a back end.",
        COLD,
        COMPLETED,
        Lines::ByLabel,
    ),
    figure(
        "proxy",
        "Response time through the proxy",
        "99th percentile against cold connections.",
        COLD,
        q("response p99", "p99", Unit::Micros, Scale::Log),
        Lines::ByLabel,
    ),
    figure(
        "proxy",
        "Processor time of the proxy for one request",
        "Time of the proxy's processes.",
        COLD,
        q("server cost process_cpu_us", "processor time a request", Unit::Micros, Scale::Log),
        Lines::ByLabel,
    ),
];

//! Tables and charts of `lab io-models`. (In titles and captions, "source 4" is the published table of I/O models.)

use run::FigureUnit;
use run::number::Unit;

use super::values::{
    KERNEL_PAGE_TABLES_BYTES, KERNEL_PAGE_TABLES_BYTES_NOISE, KERNEL_SLAB_BYTES, KERNEL_SLAB_BYTES_NOISE,
    KERNEL_STACKS_BYTES, KERNEL_STACKS_BYTES_NOISE, KERNEL_TCP_PAGES_BYTES, KERNEL_TCP_PAGES_BYTES_NOISE,
    SERVER_RECEIVES_BYTES_PER_S, SERVER_SENDS_BYTES_PER_S, SWITCHES_PER_S, THREADS,
};
use crate::figures::{
    Busy, Figures, Lines, Of, Order, Quantity, Ranking, Server, TableSpec, above, c, chart, per_s, q, set, words,
};
use crate::values::{
    BYTES_PER_S, CONNECTIONS, ENTRY, HELD, KERNEL_MEMORY_PER_CONNECTION_BYTES, MEMORY_PER_CONNECTION_BYTES, WIRE_USE,
};

const ATTEMPTED: Quantity = q(set(CONNECTIONS), "connections", FigureUnit::Plain);

/// Tables and charts of `lab io-models`.
pub(crate) const FIGURES: Figures = Figures {
    rankings: &[Ranking {
        group: set(ENTRY),
        captions: &[
            (
                1.0,
                "Entry 1, as fast as they can: by connections held, then by throughput (what the client received), then by \
             CPU time per message.",
            ),
            (
                2.0,
                "Entry 2, every block limited to its rate, ranked the same way. More than is offered is \
                 what had piled up.",
            ),
            (3.0, "Entry 3, as many as the model holds, limited the same way."),
        ],
        order: &[
            Order { of: Of::Measured(HELD), most_first: true, digits: 0 },
            Order { of: Of::Measured(BYTES_PER_S), most_first: true, digits: 2 },
            Order { of: Of::Cost(Server, "process_cpu_us"), most_first: false, digits: 0 },
        ],
        columns: &[
            c("held", Of::Measured(HELD), Unit::Plain),
            c("throughput", Of::Measured(BYTES_PER_S), Unit::BytesPerSecond),
            c("cpu/message", Of::Cost(Server, "process_cpu_us"), Unit::Micros),
            words("limited by", |t| t.results.limited_by.as_ref().map(ToString::to_string)),
            c("memory", Of::Measured(MEMORY_PER_CONNECTION_BYTES), Unit::Bytes),
        ],
    }],
    tables: &[
        TableSpec {
            caption: "Every entry of every model, and what limited it. CPU time per message (cpu), bytes sent \
                      and busy are the server's.",
            columns: &[
                c("entry", set(ENTRY), Unit::Plain),
                c("held", Of::Measured(HELD), Unit::Plain),
                c("cpu", Of::Cost(Server, "process_cpu_us"), Unit::Micros),
                c("sends", Of::Measured(SERVER_SENDS_BYTES_PER_S), Unit::BytesPerSecond),
                words("limited by", |t| t.results.limited_by.as_ref().map(ToString::to_string)),
                c("busy", Of::Busy(Server, Busy::Mean), Unit::Share),
                c("wire use", Of::Measured(WIRE_USE), Unit::Share),
                c("attempted", set(CONNECTIONS), Unit::Plain),
                c("connected", Of::Field(|t| Some(t.tally.connected as f64)), Unit::Plain),
                c("errors", Of::Field(|t| Some(t.tally.error_count() as f64)), Unit::Plain),
                c("busy least", Of::Busy(Server, Busy::Least), Unit::Share),
                c("busy most", Of::Busy(Server, Busy::Most), Unit::Share),
                c("user of cpu", Of::Cost(Server, "process_user_us"), Unit::Micros),
                c("system of cpu", Of::Cost(Server, "process_system_us"), Unit::Micros),
            ],
            published: None,
        },
        TableSpec {
            caption: "Memory of the server, and growth in the kernel since before the load, both ends of every \
                      connection. Below the noise of its looks: < that.",
            columns: &[
                c("entry", set(ENTRY), Unit::Plain),
                c("user per connection", Of::Measured(MEMORY_PER_CONNECTION_BYTES), Unit::Bytes),
                c("kernel per connection", Of::Measured(KERNEL_MEMORY_PER_CONNECTION_BYTES), Unit::Bytes),
                above(
                    "TCP pages",
                    Of::Measured(KERNEL_TCP_PAGES_BYTES),
                    Of::Measured(KERNEL_TCP_PAGES_BYTES_NOISE),
                    Unit::Bytes,
                ),
                above("slab", Of::Measured(KERNEL_SLAB_BYTES), Of::Measured(KERNEL_SLAB_BYTES_NOISE), Unit::Bytes),
                above(
                    "kernel stacks",
                    Of::Measured(KERNEL_STACKS_BYTES),
                    Of::Measured(KERNEL_STACKS_BYTES_NOISE),
                    Unit::Bytes,
                ),
                above(
                    "page tables",
                    Of::Measured(KERNEL_PAGE_TABLES_BYTES),
                    Of::Measured(KERNEL_PAGE_TABLES_BYTES_NOISE),
                    Unit::Bytes,
                ),
                c("resident", Of::Counter(Server, "process.rss"), Unit::Bytes),
                c("proportional", Of::Counter(Server, "process.pss"), Unit::Bytes),
                c("pinned", Of::Counter(Server, "process.pinned"), Unit::Bytes),
            ],
            published: None,
        },
        TableSpec {
            caption: "Threads, switches between them, and bytes each way as each end counts them.",
            columns: &[
                c("entry", set(ENTRY), Unit::Plain),
                c("threads", Of::Measured(THREADS), Unit::Plain),
                c("switches/s", Of::Measured(SWITCHES_PER_S), Unit::Plain),
                c("client sends", Of::Field(|t| per_s(t, t.measured.tally.bytes_sent)), Unit::BytesPerSecond),
                c("server receives", Of::Measured(SERVER_RECEIVES_BYTES_PER_S), Unit::BytesPerSecond),
                c("client receives", Of::Field(|t| per_s(t, t.measured.tally.bytes_received)), Unit::BytesPerSecond),
            ],
            published: Some((
                "Source 4, Table 6-3 (2002: Pentium 4 1.7 GHz, 100 Mbit/s hub). Its perspective is not \
                 stated; the best rows fill the hub, so they do not rank the models.",
                include_str!("../../data/table_6_3.csv"),
            )),
        },
    ],
    charts: &[
        chart(
            "Throughput by model",
            "Bytes per second that the client received.",
            ATTEMPTED,
            q(Of::Measured(BYTES_PER_S), "bytes per second", FigureUnit::BytesPerSecond).log(),
            Lines::ByKey,
        ),
        chart(
            "CPU time of the server for one message",
            "Time of the server's processes.",
            ATTEMPTED,
            q(Of::Cost(Server, "process_cpu_us"), "CPU time per message", FigureUnit::Micros).log(),
            Lines::ByKey,
        ),
        chart(
            "User memory of one connection",
            "Resident memory of the server over its connections.",
            ATTEMPTED,
            q(Of::Measured(MEMORY_PER_CONNECTION_BYTES), "bytes per connection", FigureUnit::Bytes).log(),
            Lines::ByKey,
        ),
    ],
    ..Figures::NONE
};

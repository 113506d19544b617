//! Tables and charts for `lab throughput-profile` and `lab adding-clients`: two experiments in which clients read
//! records from a server.

use run::FigureUnit;
use run::number::Unit;

use super::plateau;
use super::values::{
    BYTES_PER_FRAME, CLIENT_PROCESSOR_US, CLIENT_THROUGHPUT_SHARE, FRAMES_PER_READ, MESSAGE_BYTES_PER_S,
    MODEL_US_PER_READ, SERVER_PROCESSOR_US, SERVER_THROUGHPUT_SHARE, WIRE_US_PER_READ,
};
use crate::figures::{
    Busy, COMPLETED, Client, Column, Figures, Lines, Of, Quantity, RESPONSE, Server, Show, TableSpec, c, chart, q,
};
use crate::values::{BYTES_PER_S, WIRE_USE};

const RECORD: Quantity = q(Of::Field(|t| t.key.record_bytes.map(|n| n as f64)), "bytes a record", FigureUnit::Size);
const CLIENTS: Quantity = q(Of::Field(|t| t.key.clients.map(f64::from)), "clients", FigureUnit::Plain);
/// Placeholder for the `y` of a chart in which each line has a value of its own.
const NOTHING: Of = Of::Field(|_| None);

/// Tables and charts of `lab throughput-profile`.
pub(crate) const THROUGHPUT_PROFILE: Figures = Figures {
    own_table: plateau::table,
    tables: &[TableSpec {
        caption: "Both ends at every record size. Interrupts are net of the rate at rest.",
        columns: &[
            c("reads/s", COMPLETED, Unit::Plain),
            c("throughput", Of::Measured(BYTES_PER_S), Unit::BytesPerSecond),
            c("response", RESPONSE, Unit::Micros),
            c("client privileged", Of::Privileged(Client), Unit::Share),
            c("server privileged", Of::Privileged(Server), Unit::Share),
            c("client cpu per read", Of::Measured(CLIENT_PROCESSOR_US), Unit::Micros),
            c("server cpu per read", Of::Measured(SERVER_PROCESSOR_US), Unit::Micros),
            c("segments in per read", Of::Cost(Client, "segments_in"), Unit::Plain),
            c("segments out per read", Of::Cost(Client, "segments_out"), Unit::Plain),
            c("client softirqs per read", Of::Cost(Client, "softirqs_net_rx"), Unit::Plain),
            c("frames per read", Of::Measured(FRAMES_PER_READ), Unit::Plain),
            c("bytes a frame", Of::Measured(BYTES_PER_FRAME), Unit::Bytes),
            c("wire time per read", Of::Measured(WIRE_US_PER_READ), Unit::Micros),
            c("sum of the parts", Of::Measured(MODEL_US_PER_READ), Unit::Micros),
            c("wire use", Of::Measured(WIRE_USE), Unit::Share),
            c("cache hits per read", Of::Cost(Server, "cache_hits"), Unit::Plain),
            c("disk reads per read", Of::Cost(Server, "disk_reads"), Unit::Plain),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Throughput against record size",
            "Messages with their heads, both ways, as the source counted them; hollow: the three \
             points that it printed.",
            RECORD,
            q(Of::Measured(MESSAGE_BYTES_PER_S), "bytes per second", FigureUnit::BytesPerSecond),
            Lines::One("throughput"),
        )
        .published(include_str!("../../data/profile_throughput.csv")),
        chart(
            "The client's view",
            "Its messages as a share of the wire, and its CPU time in the kernel and in interrupts.",
            RECORD,
            q(NOTHING, "share", FigureUnit::Share),
            Lines::Values(&[
                ("throughput", Of::Measured(CLIENT_THROUGHPUT_SHARE)),
                ("privileged time", Of::Privileged(Client)),
            ]),
        ),
        chart(
            "The server's view",
            "The same at the other end: its bytes by IP as a share of the wire, and its time in the \
             kernel and in interrupts.",
            RECORD,
            q(NOTHING, "share", FigureUnit::Share),
            Lines::Values(&[
                ("throughput", Of::Measured(SERVER_THROUGHPUT_SHARE)),
                ("privileged time", Of::Privileged(Server)),
            ]),
        ),
    ],
    ..Figures::NONE
};

/// Tables and charts of `lab adding-clients`.
pub(crate) const ADDING_CLIENTS: Figures = Figures {
    tables: &[TableSpec {
        caption: "Each step, and what it changed. CPU and interrupt time, and what is busy, are the \
                  server's.",
        columns: &[
            c("reads/s", COMPLETED, Unit::Plain),
            Column { show: Show::Growth, ..c("growth", COMPLETED, Unit::Share) },
            c("response", RESPONSE, Unit::Micros),
            Column { show: Show::Change, ..c("change", RESPONSE, Unit::Micros) },
            c("cpu per read", Of::Cost(Server, "cpu_us"), Unit::Micros),
            Column { show: Show::Change, ..c("change", Of::Cost(Server, "cpu_us"), Unit::Micros) },
            c("wire use", Of::Measured(WIRE_USE), Unit::Share),
            c("softirq time per read", Of::Cost(Server, "cpu_softirq_us"), Unit::Micros),
            Column { show: Show::Change, ..c("change", Of::Cost(Server, "cpu_softirq_us"), Unit::Micros) },
            c("interrupts per read", Of::Cost(Server, "interrupts_net"), Unit::Plain),
            c("server busy", Of::Busy(Server, Busy::Mean), Unit::Share),
            c("cache hits per read", Of::Cost(Server, "cache_hits"), Unit::Plain),
            c("disk reads per read", Of::Cost(Server, "disk_reads"), Unit::Plain),
        ],
        published: None,
    }],
    charts: &[
        chart(
            "Each client brings less than the one before",
            "Reads of 2048 bytes per second, all clients together; hollow: the source's.",
            CLIENTS,
            q(COMPLETED, "reads per second", FigureUnit::Plain),
            Lines::One("reads"),
        )
        .published(include_str!("../../data/clients_reads.csv")),
        chart(
            "Response time N/X",
            "Clients over reads per second; hollow: the source's, recomputed from its rates.",
            CLIENTS,
            q(RESPONSE, "response time", FigureUnit::Micros),
            Lines::One("response time"),
        )
        .published(include_str!("../../data/clients_response.csv")),
        chart(
            "CPU time of the server for one read",
            "Whole host, user to interrupts; hollow: the source's utilisation over its rate.",
            CLIENTS,
            q(Of::Cost(Server, "cpu_us"), "CPU time per read", FigureUnit::Micros),
            Lines::One("CPU time"),
        )
        .published(include_str!("../../data/clients_processor.csv")),
    ],
    ..Figures::NONE
};

//! Table of `lab connections`.

use run::SummaryFigure;
use run::number::Unit;

use super::values::{CLIENT_MEMORY_PER_CONNECTION_BYTES, OPENED_S};
use crate::figures::{COMPLETED, Client, Figures, Of, Server, TableSpec, c, set};
use crate::values::{HELD, KERNEL_MEMORY_PER_CONNECTION_BYTES, MEMORY_PER_CONNECTION_BYTES, PROCESSES};

/// Table of `lab connections`.
pub(crate) const FIGURES: Figures = Figures {
    tables: &[TableSpec {
        caption: "Few connections and all of them, held by as many processes. User memory is the growth \
                  from the one to the other, kernel memory too, both ends of a connection in it.",
        columns: &[
            c("held", Of::Measured(HELD), Unit::Plain),
            c("all up", Of::Measured(OPENED_S), Unit::Seconds),
            c("p50", Of::Response(SummaryFigure::P50), Unit::Micros),
            c("p99", Of::Response(SummaryFigure::P99), Unit::Micros),
            c("generator each", Of::Measured(CLIENT_MEMORY_PER_CONNECTION_BYTES), Unit::Bytes),
            c("server each", Of::Measured(MEMORY_PER_CONNECTION_BYTES), Unit::Bytes),
            c("kernel each", Of::Measured(KERNEL_MEMORY_PER_CONNECTION_BYTES), Unit::Bytes),
            c("messages/s", COMPLETED, Unit::Plain),
            c("processes a side", set(PROCESSES), Unit::Plain),
            c("generator resident", Of::Counter(Client, "process.rss"), Unit::Bytes),
            c("server resident", Of::Counter(Server, "process.rss"), Unit::Bytes),
            c("generator cpu per message", Of::Cost(Client, "process_cpu_us"), Unit::Micros),
            c("server cpu per message", Of::Cost(Server, "process_cpu_us"), Unit::Micros),
        ],
        published: None,
    }],
    ..Figures::NONE
};

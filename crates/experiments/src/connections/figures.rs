//! The table of `connections`.

use run::number::Unit;

use crate::figures::{COMPLETED, Client, Figures, Of, Server, TableSpec, c};

/// `connections`.
pub(crate) const FIGURES: Figures = Figures {
    tables: &[TableSpec {
        caption: "Few connections and all of them, held by as many processes. User memory is the growth \
                  from the one to the other, kernel memory too, both ends of a connection in it.",
        columns: &[
            c("held", Of::Field(|t| t.results.held), Unit::Plain),
            c("all up", Of::Field(|t| t.results.opened_s), Unit::Seconds),
            c("p50", Of::Response(|s| s.p50), Unit::Micros),
            c("p99", Of::Response(|s| s.p99), Unit::Micros),
            c("generator each", Of::Field(|t| t.results.client_memory_per_connection_bytes), Unit::Bytes),
            c("server each", Of::Field(|t| t.results.memory_per_connection_bytes), Unit::Bytes),
            c("kernel each", Of::Field(|t| t.results.kernel_memory_per_connection_bytes), Unit::Bytes),
            c("messages/s", COMPLETED, Unit::Plain),
            c("processes a side", Of::Field(|t| t.key.processes.map(f64::from)), Unit::Plain),
            c("generator resident", Of::Counter(Client, "process.rss"), Unit::Bytes),
            c("server resident", Of::Counter(Server, "process.rss"), Unit::Bytes),
            c("generator cpu per message", Of::Cost(Client, "process_cpu_us"), Unit::Micros),
            c("server cpu per message", Of::Cost(Server, "process_cpu_us"), Unit::Micros),
        ],
        published: None,
    }],
    ..Figures::NONE
};

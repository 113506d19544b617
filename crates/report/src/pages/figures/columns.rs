//! The tables of the experiments: one row a trial, the columns that the source tabulates, and the source's own table
//! below where it printed one.
//!
//! To add a table, add a row to [`TABLES`].

use run::{Run, Trial};

use super::value::value;
use crate::number::{count, number, quantity};
use crate::pages::pick;
use crate::{Block, Cell, Col, Table, Unit};

/// One table of an experiment.
struct Columns {
    experiment: &'static str,
    caption: &'static str,
    columns: &'static [Column],
    /// The source's own table: its caption, and a CSV with a header.
    published: Option<(&'static str, &'static str)>,
}

/// One column.
struct Column {
    head: &'static str,
    /// Path of the value, see `value.rs`.
    of: &'static str,
    unit: Unit,
    show: Show,
}

/// What of a value is shown.
#[derive(Clone, Copy, PartialEq)]
enum Show {
    Value,
    /// By which share it grew since the row before.
    Growth,
    /// By how much it grew since the row before.
    Change,
    /// No value: the first word of the note that begins so.
    Note,
}

const fn c(head: &'static str, of: &'static str, unit: Unit) -> Column {
    Column { head, of, unit, show: Show::Value }
}

const TABLES: &[Columns] = &[
    Columns {
        experiment: "throughput-profile",
        caption: "Both ends at every record size. Interrupts are net of the rate at rest.",
        columns: &[
            c("reads/s", "completed_rate", Unit::Plain),
            c("throughput", "axis bytes_per_s", Unit::BytesPerSecond),
            c("response time", "response mean", Unit::Micros),
            c("client privileged", "client privileged", Unit::Share),
            c("server privileged", "server privileged", Unit::Share),
            c("client cpu a read", "client cost cpu_net_us", Unit::Micros),
            c("server cpu a read", "server cost cpu_net_us", Unit::Micros),
            c("segments in a read", "client cost segments_in", Unit::Plain),
            c("segments out a read", "client cost segments_out", Unit::Plain),
            c("client softirqs a read", "client cost softirqs_net_rx", Unit::Plain),
            c("frames a read", "axis frames_per_read", Unit::Plain),
            c("bytes a frame", "axis bytes_per_frame", Unit::Bytes),
            c("wire time a read", "axis wire_us_per_read", Unit::Micros),
            c("sum of the parts", "axis model_us_per_read", Unit::Micros),
            c("wire use", "axis wire_use", Unit::Share),
        ],
        published: None,
    },
    Columns {
        experiment: "adding-clients",
        caption: "Each step, and what it changed.",
        columns: &[
            c("reads/s", "completed_rate", Unit::Plain),
            Column { head: "growth", of: "completed_rate", unit: Unit::Share, show: Show::Growth },
            c("response time", "response mean", Unit::Micros),
            Column { head: "change", of: "response mean", unit: Unit::Micros, show: Show::Change },
            c("server cpu a read", "server cost cpu_us", Unit::Micros),
            Column { head: "change", of: "server cost cpu_us", unit: Unit::Micros, show: Show::Change },
            c("softirq time a read", "server cost cpu_softirq_us", Unit::Micros),
            c("interrupts a read", "server cost interrupts_net", Unit::Plain),
            c("server busy", "server busy mean", Unit::Share),
            c("wire use", "axis wire_use", Unit::Share),
        ],
        published: None,
    },
    Columns {
        experiment: "request-rate",
        caption: "Connection requests, counted three ways over each whole trial: by the generator, by the server's kernel, by a packet filter at its interface.",
        columns: &[
            c("by generator", "axis syns_generator", Unit::Plain),
            c("by kernel", "axis syns_kernel", Unit::Plain),
            c("by filter", "axis syns_filter", Unit::Plain),
            c("at server/s", "axis syn_rate", Unit::Plain),
            c("sent/s", "sent_rate", Unit::Plain),
            c("completed/s", "completed_rate", Unit::Plain),
            c("connect p99", "connect p99", Unit::Micros),
        ],
        published: None,
    },
    Columns {
        experiment: "overload",
        caption: "What is left of the capacity, and where the rest went.",
        columns: &[
            c("offered/s", "offered_rate", Unit::Plain),
            c("sent/s", "sent_rate", Unit::Plain),
            c("completed/s", "completed_rate", Unit::Plain),
            c("goodput/s", "goodput", Unit::Plain),
            c("a dropped SYN", "axis us_per_dropped_syn", Unit::Micros),
            c("overflows/s", "axis overflows_per_s", Unit::Plain),
            c("cookies/s", "axis cookies_sent_per_s", Unit::Plain),
            c("phantoms", "axis phantoms", Unit::Plain),
        ],
        published: None,
    },
    Columns {
        experiment: "bursty",
        caption: "Each arrival process at each mean rate.",
        columns: &[
            c("mean/s", "axis mean_rate", Unit::Plain),
            c("offered/s", "offered_rate", Unit::Plain),
            c("completed/s", "completed_rate", Unit::Plain),
            c("lost", "axis lost_share", Unit::Share),
            c("p99", "response p99", Unit::Micros),
        ],
        published: None,
    },
    Columns {
        experiment: "wan",
        caption: "Each line. The round trip is twice the delay.",
        columns: &[
            c("ms each way", "axis delay_ms", Unit::Plain),
            c("loss", "axis loss", Unit::Share),
            c("completed/s", "completed_rate", Unit::Plain),
            c("open", "axis open_connections", Unit::Plain),
            c("p50", "response p50", Unit::Micros),
            c("p99", "response p99", Unit::Micros),
        ],
        published: None,
    },
    Columns {
        experiment: "io-models",
        caption: "Every entry of every model, and what limited it. Processor time a message (cpu), bytes sent and busy are the server's.",
        columns: &[
            c("entry", "axis entry", Unit::Plain),
            c("held", "axis held", Unit::Plain),
            c("cpu", "server cost process_cpu_us", Unit::Micros),
            c("sends", "axis server_sends_bytes_per_s", Unit::BytesPerSecond),
            Column { head: "limited by", of: "what limited it: ", unit: Unit::Plain, show: Show::Note },
            c("busy", "server busy mean", Unit::Share),
            c("wire use", "axis wire_use", Unit::Share),
            c("attempted", "axis connections", Unit::Plain),
            c("connected", "tally connected", Unit::Plain),
            c("errors", "tally errors", Unit::Plain),
            c("busy least", "server busy min", Unit::Share),
            c("busy most", "server busy max", Unit::Share),
            c("user of cpu", "server cost process_user_us", Unit::Micros),
            c("system of cpu", "server cost process_system_us", Unit::Micros),
        ],
        published: None,
    },
    Columns {
        experiment: "io-models",
        caption: "Memory of the server, and growth in the kernel since before the load, both ends of every connection. Below the noise of its looks: < that.",
        columns: &[
            c("entry", "axis entry", Unit::Plain),
            c("user a connection", "axis memory_per_connection_bytes", Unit::Bytes),
            c("kernel a connection", "axis kernel_memory_per_connection_bytes", Unit::Bytes),
            c("TCP pages", "axis kernel_tcp_pages_bytes", Unit::Bytes),
            c("slab", "axis kernel_slab_bytes", Unit::Bytes),
            c("kernel stacks", "axis kernel_stacks_bytes", Unit::Bytes),
            c("page tables", "axis kernel_page_tables_bytes", Unit::Bytes),
            c("resident", "server counter process.rss", Unit::Bytes),
            c("proportional", "server counter process.pss", Unit::Bytes),
            c("pinned", "server counter process.pinned", Unit::Bytes),
        ],
        published: None,
    },
    Columns {
        experiment: "io-models",
        caption: "Threads, switches between them, and bytes each way as each end counts them.",
        columns: &[
            c("entry", "axis entry", Unit::Plain),
            c("threads", "axis threads", Unit::Plain),
            c("switches/s", "axis switches_per_s", Unit::Plain),
            c("client sends", "sent_bytes", Unit::BytesPerSecond),
            c("server receives", "axis server_receives_bytes_per_s", Unit::BytesPerSecond),
            c("client receives", "received_bytes", Unit::BytesPerSecond),
        ],
        published: Some((
            "Source 4, Table 6-3 (2002: Pentium 4 1.7 GHz, 100 Mbit/s hub). Its perspective is not stated; the best rows fill the hub, so they do not rank the models.",
            include_str!("../../../data/table_6_3.csv"),
        )),
    },
    Columns {
        experiment: "event-api",
        caption: "Every timing of get_next_event(). Rounds in which a call would have blocked are rejected; the timer's own cost is taken off.",
        columns: &[
            c("mean", "axis call_us", Unit::Micros),
            c("median", "axis median_us", Unit::Micros),
            c("p99", "axis p99_us", Unit::Micros),
            c("events a call", "axis returned", Unit::Plain),
            c("calls", "axis calls", Unit::Plain),
            c("rejected calls", "axis rejected", Unit::Plain),
            c("rejected rounds", "axis rejected_rounds", Unit::Plain),
            c("trimmed mean", "axis trimmed_us", Unit::Micros),
            c("whole event", "axis whole_us", Unit::Micros),
            c("declare", "axis declare_us", Unit::Micros),
            c("epoll_ctl add", "axis bare_add_us", Unit::Micros),
            c("revoke", "axis revoke_us", Unit::Micros),
            c("epoll_ctl delete", "axis bare_delete_us", Unit::Micros),
            c("declare with state", "axis declare_with_state_us", Unit::Micros),
            c("declare, small file", "axis small_declare_us", Unit::Micros),
            c("revoke, small file", "axis small_revoke_us", Unit::Micros),
        ],
        published: Some((
            "Source 2 in words; ours are the checks and what is shown above.",
            include_str!("../../../data/event_claims.csv"),
        )),
    },
    Columns {
        experiment: "proxy",
        caption: "Every back end at every number of cold connections.",
        columns: &[
            c("cold", "axis cold", Unit::Plain),
            c("completed/s", "completed_rate", Unit::Plain),
            c("p50", "response p50", Unit::Micros),
            c("p99", "response p99", Unit::Micros),
            c("proxy cpu a request", "server cost process_cpu_us", Unit::Micros),
            c("user", "server cost process_user_us", Unit::Micros),
            c("kernel", "server cost process_system_us", Unit::Micros),
            c("errors", "tally errors", Unit::Plain),
        ],
        published: None,
    },
];

/// The tables of an experiment.
pub(super) fn tables(name: &str, run: &Run) -> Vec<Block> {
    let mut blocks = Vec::new();
    for spec in TABLES.iter().filter(|t| t.experiment == name) {
        blocks.extend(ours(spec, &run.trials).map(Block::Table));
        blocks.extend(spec.published.map(|(caption, csv)| Block::Table(theirs(caption, csv))));
    }
    blocks
}

/// A row a trial; columns in which no trial has a value are left out.
fn ours(spec: &Columns, trials: &[Trial]) -> Option<Table> {
    let known = |c: &&Column| trials.iter().any(|t| value(t, c.of).is_some() || word(t, c).is_some());
    let shown: Vec<&Column> = spec.columns.iter().filter(known).collect();
    if shown.is_empty() {
        return None;
    }
    let mut columns = vec![Col::words("trial", 0)];
    columns.extend(shown.iter().map(|c| Col::figures(c.head, 1)));
    let row = |(i, trial): (usize, &Trial)| {
        let before = i.checked_sub(1).and_then(|i| trials.get(i));
        let mut cells = vec![Cell::new(pick::name(trial))];
        cells.extend(shown.iter().map(|c| cell(c, trial, before)));
        cells
    };
    let rows = trials.iter().enumerate().map(row).collect();
    Some(Table { caption: spec.caption.into(), columns, rows, ..Table::default() })
}

fn cell(column: &Column, trial: &Trial, before: Option<&Trial>) -> Cell {
    if let Some(word) = word(trial, column) {
        return Cell::new(word);
    }
    let Some(now) = value(trial, column.of) else { return below_noise(column, trial) };
    let last = before.and_then(|t| value(t, column.of));
    match (column.show, last) {
        (Show::Value, _) if column.unit == Unit::Plain && now.fract() == 0.0 && (0.0..1e15).contains(&now) => {
            count(now as u64).into()
        }
        (Show::Value | Show::Note, _) => quantity(now, column.unit).into(),
        (_, None) => Cell::default(),
        (Show::Growth, Some(last)) => signed(now / last - 1.0, column.unit),
        (Show::Change, Some(last)) => signed(now - last, column.unit),
    }
}

/// The first word of the note that a column names.
fn word<'a>(trial: &'a Trial, column: &Column) -> Option<&'a str> {
    let note = (column.show == Show::Note).then_some(column.of)?;
    trial.notes.iter().find_map(|n| n.strip_prefix(note))?.split_whitespace().next()
}

/// What a growth would have had to be above, where it was not told from noise.
fn below_noise(column: &Column, trial: &Trial) -> Cell {
    match value(trial, &format!("{}_noise", column.of)) {
        Some(noise) => Cell::new(format!("< {}", quantity(noise, column.unit))),
        None => Cell::absent("not measured in this trial"),
    }
}

fn signed(v: f64, unit: Unit) -> Cell {
    let sign = if v > 0.0 { "+" } else { "" };
    Cell::new(format!("{sign}{}", quantity(v, unit)))
}

/// A published table as it stands; figures to the right.
fn theirs(caption: &str, csv: &str) -> Table {
    let mut lines =
        csv.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| l.split(',').collect::<Vec<_>>());
    let heads = lines.next().unwrap_or_default();
    let rows: Vec<Vec<&str>> = lines.collect();
    let figures = |i: usize| rows.iter().all(|r| r.get(i).is_none_or(|v| v.is_empty() || v.parse::<f64>().is_ok()));
    let columns =
        heads.iter().enumerate().map(|(i, head)| if figures(i) { Col::figures(head, 0) } else { Col::words(head, 0) });
    let cell = |text: &str| match text.parse::<u64>() {
        Ok(n) => Cell::new(count(n)),
        Err(_) => text.parse::<f64>().map_or_else(|_| Cell::new(text), |v| Cell::new(number(v))),
    };
    let columns = columns.collect();
    let rows = rows.iter().map(|r| r.iter().map(|text| cell(text)).collect()).collect();
    Table { caption: caption.into(), columns, rows, brief: Some(0), ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_tables_have_every_cell() {
        for (caption, csv) in TABLES.iter().filter_map(|t| t.published) {
            let table = theirs(caption, csv);
            assert!(table.rows.len() > 2 && table.columns.len() > 2, "{caption}");
            assert!(table.rows.iter().all(|r| r.len() == table.columns.len()), "{caption}");
        }
    }

    #[test]
    fn the_blocking_model_stopped_at_2016_threads() {
        let csv = TABLES.iter().find_map(|t| t.published).unwrap().1;
        let table = theirs("", csv);
        let threads = table.columns.iter().position(|c| c.name == "threads").unwrap();
        assert_eq!(table.rows[0][threads].text, "2,016");
    }
}

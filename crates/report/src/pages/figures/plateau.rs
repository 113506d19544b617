//! The plateau of `throughput-profile` taken apart: what one read of 2048 bytes is at every level, from the client's
//! messages down to the wire, beside what source 3 printed (its redirector, its server, its network segment).
//!
//! To add a level, add a row to [`LEVELS`].

use run::{Run, Trial};

use super::value::value;
use crate::{Cell, Col, Table};

/// The record size that the source takes apart, bytes.
const RECORD: f64 = 2048.0;

/// One level; paths as in `value.rs`, empty where it has no such count.
struct Level {
    name: &'static str,
    bytes_out: &'static str,
    packets_out: &'static str,
    bytes_in: &'static str,
    packets_in: &'static str,
    /// What the source printed of it.
    source: &'static str,
}

const LEVELS: &[Level] = &[
    Level {
        name: "messages, client",
        bytes_out: "axis message_out_bytes",
        packets_out: "",
        bytes_in: "axis message_in_bytes",
        packets_in: "",
        source: "redirector: 60 out, 2108 in",
    },
    Level {
        name: "TCP segments, client",
        bytes_out: "",
        packets_out: "client cost segments_out",
        bytes_in: "",
        packets_in: "client cost segments_in",
        source: "",
    },
    Level {
        name: "IP, client",
        bytes_out: "client cost bytes_out",
        packets_out: "client cost packets_out",
        bytes_in: "client cost bytes_in",
        packets_in: "client cost packets_in",
        source: "frames: 60 out, 2107.7 in, in 1.997 packets",
    },
    Level {
        name: "IP, server",
        bytes_out: "server cost bytes_out",
        packets_out: "server cost packets_out",
        bytes_in: "server cost bytes_in",
        packets_in: "server cost packets_in",
        source: "server: 2108 a context block",
    },
    Level {
        name: "wire, both ways",
        bytes_out: "axis wire_bytes_per_read",
        packets_out: "axis frames_per_read",
        bytes_in: "",
        packets_in: "",
        source: "",
    },
];

/// The table, where there is a trial of that size.
pub(super) fn table(run: &Run) -> Option<Table> {
    let trial = run.trials.iter().find(|t| value(t, "axis record_bytes") == Some(RECORD))?;
    let columns = vec![
        Col::words("level", 0),
        Col::figures("bytes out", 0),
        Col::figures("packets out", 0),
        Col::figures("bytes in", 0),
        Col::figures("packets in", 0),
        Col::words("source 3 printed", 1),
    ];
    let rows: Vec<Vec<Cell>> = LEVELS.iter().filter_map(|level| row(level, trial)).collect();
    let caption =
        "One read of 2048 bytes at every level. The wire counts framing and acknowledgements of both directions.";
    (!rows.is_empty()).then(|| Table { caption: caption.into(), columns, rows, ..Table::default() })
}

/// A level of which at least one count is known.
fn row(level: &Level, trial: &Trial) -> Option<Vec<Cell>> {
    let paths = [level.bytes_out, level.packets_out, level.bytes_in, level.packets_in];
    let values = paths.map(|path| value(trial, path));
    values.iter().any(Option::is_some).then(|| {
        let figure = |v: Option<f64>| match v {
            Some(v) => Cell::new(exact(v)),
            None => Cell::absent("not counted at this level"),
        };
        let mut cells = vec![Cell::new(level.name)];
        cells.extend(values.map(figure));
        cells.push(Cell::new(level.source));
        cells
    })
}

/// 60 and 2108 must not be rounded away: packets to three decimals, bytes to one.
fn exact(v: f64) -> String {
    let text = if v < 10.0 { format!("{v:.3}") } else { format!("{v:.1}") };
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_levels_that_were_counted_have_a_row() {
        let axes = [("record_bytes", RECORD), ("message_out_bytes", 60.0), ("message_in_bytes", 2108.0)];
        let trial = Trial { axes: axes.map(|(name, v)| (name.to_string(), v)).into(), ..Trial::default() };
        let run = Run { trials: vec![Trial::default(), trial], ..Run::default() };
        let table = table(&run).unwrap();
        let text: Vec<&str> = table.rows[0].iter().map(|c| c.text.as_str()).collect();
        assert_eq!(table.rows.len(), 1);
        assert_eq!((text[1], text[3]), ("60", "2108"), "{text:?}");
        assert!(super::table(&Run::default()).is_none());
    }
}

//! Detailed table of `lab throughput-profile` for one read of 2048 bytes. The table shows the counts for one read at
//! every level, from the client's messages down to the wire. The table shows the published numbers (of redirector,
//! server and network segment) beside the measured numbers.
//!
//! To add a level, add a row to [`LEVELS`].

use run::{ResultColumn, ResultTable, Run, Trial};

use super::values::{FRAMES_PER_READ, MESSAGE_IN_BYTES, MESSAGE_OUT_BYTES, WIRE_BYTES_PER_READ};
use crate::figures::{Client, Of, Server, value};

/// Size of the records that the study analyses in detail, bytes.
const RECORD: u64 = 2048;

/// A level of the network stack at which the table counts a read, for example the client's messages. A count that does
/// not exist at a level is `None`.
struct Level {
    name: &'static str,
    bytes_out: Option<Of>,
    packets_out: Option<Of>,
    bytes_in: Option<Of>,
    packets_in: Option<Of>,
    /// Published figures for the level, as text; empty if there are none.
    source: &'static str,
}

const LEVELS: &[Level] = &[
    Level {
        name: "messages, client",
        bytes_out: Some(Of::Measured(MESSAGE_OUT_BYTES)),
        packets_out: None,
        bytes_in: Some(Of::Measured(MESSAGE_IN_BYTES)),
        packets_in: None,
        source: "redirector: 60 out, 2108 in",
    },
    Level {
        name: "TCP segments, client",
        bytes_out: None,
        packets_out: Some(Of::Cost(Client, "segments_out")),
        bytes_in: None,
        packets_in: Some(Of::Cost(Client, "segments_in")),
        source: "",
    },
    Level {
        name: "IP, client",
        bytes_out: Some(Of::Cost(Client, "bytes_out")),
        packets_out: Some(Of::Cost(Client, "packets_out")),
        bytes_in: Some(Of::Cost(Client, "bytes_in")),
        packets_in: Some(Of::Cost(Client, "packets_in")),
        source: "frames: 60 out, 2107.7 in, in 1.997 packets",
    },
    Level {
        name: "IP, server",
        bytes_out: Some(Of::Cost(Server, "bytes_out")),
        packets_out: Some(Of::Cost(Server, "packets_out")),
        bytes_in: Some(Of::Cost(Server, "bytes_in")),
        packets_in: Some(Of::Cost(Server, "packets_in")),
        source: "server: 2108 a context block",
    },
    Level {
        name: "wire, both ways",
        bytes_out: Some(Of::Measured(WIRE_BYTES_PER_READ)),
        packets_out: Some(Of::Measured(FRAMES_PER_READ)),
        bytes_in: None,
        packets_in: None,
        source: "",
    },
];

/// Returns the values that the table shows.
#[cfg(test)]
pub(crate) fn shown() -> impl Iterator<Item = Of> {
    LEVELS.iter().flat_map(|l| [l.bytes_out, l.packets_out, l.bytes_in, l.packets_in]).flatten()
}

/// Builds the detailed table of a read. Returns `None` if no trial has records of [`RECORD`] bytes.
pub(super) fn table(run: &Run) -> Option<ResultTable> {
    let trial = run.trials.iter().find(|t| t.key.record_bytes == Some(RECORD))?;
    let columns = vec![
        ResultColumn::words("level", 0),
        ResultColumn::numbers("bytes out", 0),
        ResultColumn::numbers("packets out", 0),
        ResultColumn::numbers("bytes in", 0),
        ResultColumn::numbers("packets in", 0),
        ResultColumn::words("source 3 printed", 1),
    ];
    let rows: Vec<Vec<Option<String>>> = LEVELS.iter().filter_map(|level| row(level, trial)).collect();
    let caption =
        "One read of 2048 bytes at every level. The wire counts framing and acknowledgements of both directions."
            .into();
    let absent = "not counted at this level".into();
    (!rows.is_empty()).then(|| ResultTable { caption, columns, rows, absent, ..ResultTable::default() })
}

/// Returns the row of a level; `None` if all its counts are unknown.
fn row(level: &Level, trial: &Trial) -> Option<Vec<Option<String>>> {
    let counts = [level.bytes_out, level.packets_out, level.bytes_in, level.packets_in];
    let values = counts.map(|of| value(trial, of?));
    values.iter().any(Option::is_some).then(|| {
        let mut cells = vec![Some(level.name.into())];
        cells.extend(values.map(|v| v.map(exact)));
        cells.push(Some(level.source.into()));
        cells
    })
}

/// Formats a number with one decimal, or with three if it is below 10. The format lets readers recognise the published
/// values 60 and 2108.
fn exact(v: f64) -> String {
    let text = if v < 10.0 { format!("{v:.3}") } else { format!("{v:.1}") };
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counted_levels_have_a_row() {
        let mut trial = Trial::default();
        trial.key.record_bytes = Some(RECORD);
        trial.results = run::Results::default().with(MESSAGE_OUT_BYTES, 60.0).with(MESSAGE_IN_BYTES, 2108.0);
        let run = Run { trials: vec![Trial::default(), trial], ..Run::default() };
        let table = table(&run).unwrap();
        let text: Vec<&str> = table.rows[0].iter().flatten().map(String::as_str).collect();
        assert_eq!(table.rows.len(), 1);
        assert_eq!((text[1], text[2]), ("60", "2108"), "{text:?}");
        assert!(super::table(&Run::default()).is_none());
    }
}

//! Result of a workload, as text: a heading with the conditions of the trial, then one row per thread.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::cycle::Recorded;
use super::{Access, Calibration, Mode, Spread, ThreadSpec};

/// Result of one thread of a workload. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the process.
    pub process: String,
    /// ID of the process.
    pub pid: u32,
    /// ID of the thread.
    pub tid: u32,
    /// Time from the first to the last measured cycle, including think times, milliseconds.
    pub total_ms: f64,
    /// Sum of the response times.
    pub response_ms: f64,
    /// Number of completed cycles, each with one response time. The response time of a cycle is its duration without
    /// its think time.
    pub responses: u64,
    /// Mean response time.
    pub mean_ms: f64,
    /// Standard deviation of the response times.
    pub deviation_ms: f64,
    /// Minimum response time.
    pub least_ms: f64,
    /// Maximum response time.
    pub most_ms: f64,
    /// Parameters of the thread.
    pub thread: ThreadSpec,
}

/// Result of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Version of this program.
    pub version: String,
    /// End of the trial, RFC 3339 in UTC.
    pub date: String,
    /// File name of the workload.
    pub script: String,
    /// Length of the trial in seconds.
    pub seconds: f64,
    /// Speed of this machine and overhead of this program.
    pub calibration: Calibration,
    /// Results of the trial, one row per thread.
    pub rows: Vec<Row>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Row {
    pub(super) fn new(process: &str, thread: &ThreadSpec, tid: u32, r: &Recorded) -> Self {
        let n = r.count.max(1) as f64;
        let mean = r.sum_ns / n;
        let variance = if r.count > 1 { (r.squares - n * mean * mean).max(0.0) / (n - 1.0) } else { 0.0 };
        Self {
            process: process.into(),
            pid: std::process::id(),
            tid,
            total_ms: r.total_ns / 1e6,
            response_ms: r.sum_ns / 1e6,
            responses: r.count,
            mean_ms: mean / 1e6,
            deviation_ms: variance.sqrt() / 1e6,
            least_ms: r.min_ns / 1e6,
            most_ms: r.max_ns / 1e6,
            thread: thread.clone(),
        }
    }

    /// Returns the access order and the mode as letters, for example `S U` for sequential and unbuffered access.
    pub fn file_mode(&self) -> &'static str {
        match (self.thread.access, self.thread.mode) {
            (Access::Random, Mode::Mapped) => "R M",
            (Access::Random, Mode::Buffered) => "R B",
            (Access::Random, Mode::Unbuffered) => "R U",
            (Access::Sequential, Mode::Mapped) => "S M",
            (Access::Sequential, Mode::Buffered) => "S B",
            (Access::Sequential, Mode::Unbuffered) => "S U",
        }
    }
}

const HEADS: [&str; 20] = [
    "PID",
    "TID",
    "FileMode",
    "RecSize",
    "TotalTime",
    "RespTime",
    "RespCount",
    "Mean",
    "SDev",
    "Min",
    "Max",
    "Think",
    "Reads",
    "Seek",
    "CPU",
    "Data",
    "Code",
    "Action",
    "Process",
    "File",
];

impl Outcome {
    /// Formats the result as a table with one row per thread. Times are in milliseconds, and parameters are written as
    /// `mean/deviation`. If a row is wider than `width` characters, the parameters follow in a second table.
    pub fn text(&self, width: usize) -> String {
        let mut text = format!(
            "loadline probe {}, {}\nscript {}, trial {} s, stable interval [50%..100%]; times in ms\n",
            self.version, self.date, self.script, self.seconds
        );
        let _ = writeln!(
            text,
            "relative CPU speed {:.0} loops/ms;\nown cost {:.0} ns an access and {:.0} ns a cycle, taken off\n",
            self.calibration.loops_per_ms, self.calibration.access_ns, self.calibration.cycle_ns
        );
        let table: Vec<Vec<String>> =
            std::iter::once(HEADS.map(String::from).to_vec()).chain(self.rows.iter().map(cells)).collect();
        let whole = lines(&table, &(0..HEADS.len()).collect::<Vec<_>>(), "  ");
        if whole.lines().map(str::len).max().unwrap_or(0) <= width {
            text += &whole;
        } else {
            text += &lines(&table, &RESULTS, "  ");
            text.push('\n');
            text += &lines(&table, &ASKED, " ");
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }
}

/// Columns of the first table, which contains the results. The thread's ID (column 1) is in both tables.
const RESULTS: [usize; 9] = [0, 1, 4, 5, 6, 7, 8, 9, 10];
/// Columns of the second table, which contains the parameters.
const ASKED: [usize; 12] = [1, 2, 3, 11, 12, 13, 14, 15, 16, 17, 18, 19];

/// Formats some columns of a table. The last column, which contains the file name, is not padded to a width.
fn lines(table: &[Vec<String>], columns: &[usize], gap: &str) -> String {
    let wide = |column: usize| table.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(|c| wide(*c)).collect();
    let line = |row: &Vec<String>| {
        let cells = columns.iter().zip(&widths).map(|(c, width)| match *c == HEADS.len() - 1 {
            true => row[*c].clone(),
            false => format!("{:>width$}", row[*c]),
        });
        cells.collect::<Vec<_>>().join(gap) + "\n"
    };
    table.iter().map(line).collect()
}

fn cells(row: &Row) -> Vec<String> {
    // A read of a record from memory takes less than a microsecond, which would be 0 ms with only three decimals.
    let ms = |v: f64| if v != 0.0 && v < 0.1 { format!("{v:.6}") } else { format!("{v:.3}") };
    let spread = |s: Spread| format!("{}/{}", s.mean, s.deviation);
    let t = &row.thread;
    vec![
        row.pid.to_string(),
        row.tid.to_string(),
        row.file_mode().into(),
        t.record_bytes.to_string(),
        ms(row.total_ms),
        ms(row.response_ms),
        row.responses.to_string(),
        ms(row.mean_ms),
        ms(row.deviation_ms),
        ms(row.least_ms),
        ms(row.most_ms),
        spread(t.think_ms),
        spread(t.cycle_reads),
        spread(t.seek_records),
        spread(t.cpu_ms),
        spread(t.data_page),
        spread(t.code_page),
        t.actions.clone(),
        row.process.clone(),
        t.file.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_are_computed_from_the_responses() {
        let recorded = Recorded { total_ns: 9e6, count: 3, sum_ns: 6e6, squares: 14e12, min_ns: 1e6, max_ns: 3e6 };
        let row = Row::new("x", &ThreadSpec::default(), 1, &recorded);
        assert_eq!((row.mean_ms, row.deviation_ms, row.file_mode()), (2.0, 1.0, "R B"));
        let outcome = Outcome {
            version: "1".into(),
            date: "now".into(),
            script: "a.toml".into(),
            seconds: 1.0,
            calibration: Calibration { loops_per_ms: 1.0, access_ns: 0.0, cycle_ns: 0.0 },
            rows: vec![row.clone()],
            notes: Vec::new(),
        };
        let (wide, narrow) = (outcome.text(usize::MAX), outcome.text(80));
        assert!(wide.lines().any(|l| HEADS.iter().all(|head| l.contains(head))), "{wide}");
        assert!(narrow.lines().all(|l| l.len() <= 80) && HEADS.iter().all(|head| narrow.contains(head)), "{narrow}");
        let none = Row::new("x", &ThreadSpec::default(), 1, &Recorded::default());
        assert_eq!((none.mean_ms, none.deviation_ms), (0.0, 0.0));
    }
}

//! Measures rows one after the other, and prints the estimated time that is left.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::options::Options;
use crate::row::{Effort, Row};
use crate::show;
use crate::stored::{RowResult, StoredBench, StoredRow};

/// Measures the chosen rows, and prints a table of the results. Returns false if a row misses its goal.
pub(crate) fn measure(options: &Options) -> Result<bool> {
    let chosen = options.chosen();
    anyhow::ensure!(!chosen.is_empty(), "no row has this name: --list lists all rows");
    let (begun, mut bench) = (Instant::now(), StoredBench::new(options.set_name()));
    // Writes the file once before the first row, so that a file that cannot be written is an error at once.
    store(&bench, options.save.as_deref())?;
    for (index, (group, row, effort)) in chosen.iter().enumerate() {
        announce(index, &chosen);
        bench.rows.push(measured(group, row, *effort));
        bench.took_s = begun.elapsed().as_secs_f64().round();
        store(&bench, options.save.as_deref())?;
    }
    println!("{}", show::table(&bench.rows));
    eprintln!("measured in {}", show::duration(begun.elapsed()));
    Ok(bench.rows.iter().all(|row| row.result != RowResult::Missed))
}

/// Prints the next row, and the planned time for this row and all rows after it.
fn announce(index: usize, chosen: &[(&str, &Row, Effort)]) {
    let left_s: u32 = chosen[index..].iter().map(|(_, _, effort)| effort.seconds).sum();
    let left = show::duration(Duration::from_secs(left_s.into()));
    let (_, row, _) = chosen[index];
    eprintln!("[row {} of {}, about {left} left] {}: {} …", index + 1, chosen.len(), row.id, row.what);
}

fn measured(group: &str, row: &Row, effort: Effort) -> StoredRow {
    let begun = Instant::now();
    let outcome = (row.measure)(effort.rounds);
    let stored = StoredRow::new(group, row, effort, &outcome, begun.elapsed().as_secs_f64());
    show::line(&stored);
    stored
}

/// Writes the benchmark to a file. `measure` calls this function after each row, so that an interrupted benchmark loses
/// only the current row.
fn store(bench: &StoredBench, file: Option<&Path>) -> Result<()> {
    file.map_or(Ok(()), |file| bench.write(file))
}

//! Table of all counters, with one row per counter. The crate `probe` reads the counters from the kernel, the crate
//! `judge` uses their values, and the documentation lists them.
//!
//! To add a counter, add a row to a file of this folder. Also add code that reads the counter to a file of
//! `probe/src/sources/`.

mod connections;
mod machine;
mod network;
mod resources;
mod row;

use crate::recording::counter_spec::CounterSpec;

/// Rows of the table, in the order in which the documentation lists them.
const ROWS: [&[CounterSpec]; 4] = [machine::ROWS, network::ROWS, connections::ROWS, resources::ROWS];
const COUNT: usize = ROWS[0].len() + ROWS[1].len() + ROWS[2].len() + ROWS[3].len();

/// All counters of loadline.
pub const COUNTERS: &[CounterSpec] = &joined();

/// Returns the rows of all files as one table.
const fn joined() -> [CounterSpec; COUNT] {
    let mut all = [ROWS[0][0]; COUNT];
    let (mut at, mut file, mut row) = (0, 0, 0);
    while at < COUNT {
        if row == ROWS[file].len() {
            (file, row) = (file + 1, 0);
        } else {
            all[at] = ROWS[file][row];
            (at, row) = (at + 1, row + 1);
        }
    }
    all
}

/// Kinds of instances that the crate `probe` does not read. The media of testbeds and loadline's reference servers
/// export these counters themselves.
pub const EXPORTED: &[&str] = &["Medium", "Records", "Server"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_dotted() {
        for (i, spec) in COUNTERS.iter().enumerate() {
            assert!(spec.id.contains('.') && spec.id.is_ascii(), "{}", spec.id);
            assert!(COUNTERS[i + 1..].iter().all(|other| other.id != spec.id), "{} twice", spec.id);
            assert!(!spec.help.is_empty());
        }
    }
}

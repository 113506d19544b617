//! Tables that rank: the trials of an experiment that belong together in one table each, the best first, so that a reader
//! compares what is comparable and need not sort.
//!
//! To rank another experiment, add a row to [`RANKED`].

use run::Trial;

use super::columns::{Column, Show, c, cell};
use super::value::value;
use crate::pages::pick;
use crate::{Cell, Col, Table, Unit};

/// One experiment's ranking.
struct Ranked {
    experiment: &'static str,
    /// Path of the value that trials of one table share, and a caption for each of its values.
    group: &'static str,
    captions: &'static [(f64, &'static str)],
    keys: &'static [Key],
    /// The terminal gives them up from behind.
    columns: &'static [Column],
}

/// What trials are ordered by.
struct Key {
    of: &'static str,
    most_first: bool,
    /// Values that are the same in so many digits are a tie, which the next key breaks; 0: as they are.
    digits: i32,
}

const RANKED: &[Ranked] = &[Ranked {
    experiment: "io-models",
    group: "axis entry",
    captions: &[
        (
            1.0,
            "Entry 1, as fast as they can: by connections held, then by throughput (what the client received), then by \
             processor time a message.",
        ),
        (
            2.0,
            "Entry 2, every block limited to its rate, ranked the same way. More than is offered is what had piled up.",
        ),
        (3.0, "Entry 3, as many as the model holds, limited the same way."),
    ],
    keys: &[
        Key { of: "axis held", most_first: true, digits: 0 },
        Key { of: "axis bytes_per_s", most_first: true, digits: 2 },
        Key { of: "server cost process_cpu_us", most_first: false, digits: 0 },
    ],
    columns: &[
        c("held", "axis held", Unit::Plain),
        c("throughput", "axis bytes_per_s", Unit::BytesPerSecond),
        c("cpu/message", "server cost process_cpu_us", Unit::Micros),
        Column { head: "limited by", of: "what limited it: ", unit: Unit::Plain, show: Show::Note },
        c("memory", "axis memory_per_connection_bytes", Unit::Bytes),
    ],
}];

/// Whether an experiment ranks its trials, each with what limited it: then a verdict on all of them together says nothing.
pub(super) fn ranks(name: &str) -> bool {
    RANKED.iter().any(|r| r.experiment == name)
}

/// The rankings of an experiment, a table for each group that has trials.
pub(super) fn tables(name: &str, trials: &[Trial]) -> Vec<Table> {
    let of = RANKED.iter().filter(|r| r.experiment == name);
    of.flat_map(|ranked| ranked.captions.iter().filter_map(|group| one(ranked, group, trials))).collect()
}

fn one(ranked: &Ranked, group: &(f64, &str), trials: &[Trial]) -> Option<Table> {
    let mut of: Vec<&Trial> = trials.iter().filter(|t| value(t, ranked.group) == Some(group.0)).collect();
    of.sort_by(|a, b| {
        let by = |key: &Key| place(key, a).total_cmp(&place(key, b));
        ranked.keys.iter().map(by).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    let row = |trial: &Trial| {
        let mut cells = vec![Cell::new(pick::name(trial))];
        cells.extend(ranked.columns.iter().map(|c| cell(c, trial, None)));
        cells
    };
    let rows: Vec<Vec<Cell>> = of.iter().map(|t| row(t)).collect();
    let mut columns = vec![Col::words("model", 0)];
    let head = |(i, c): (usize, &Column)| match c.show {
        Show::Note => Col::words(c.head, 1 + i as u8 / 2),
        _ => Col::figures(c.head, 1 + i as u8 / 2),
    };
    columns.extend(ranked.columns.iter().enumerate().map(head));
    (!rows.is_empty()).then(|| Table { caption: group.1.into(), columns, rows, ..Table::default() })
}

/// Where a trial stands by a key: the least first, what has no value last.
fn place(key: &Key, trial: &Trial) -> f64 {
    let Some(v) = value(trial, key.of) else { return f64::INFINITY };
    let v = if key.digits > 0 { rounded(v, key.digits) } else { v };
    if key.most_first { -v } else { v }
}

fn rounded(v: f64, digits: i32) -> f64 {
    let step = 10_f64.powf(v.abs().log10().floor() + 1.0 - f64::from(digits));
    if step.is_normal() { (v / step).round() * step } else { v }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(label: &str, entry: f64, held: f64, bytes_per_s: f64) -> Trial {
        let axes = [("entry", entry), ("held", held), ("bytes_per_s", bytes_per_s)];
        let axes = axes.map(|(name, v)| (name.to_string(), v)).into();
        Trial { label: label.into(), axes, ..Trial::default() }
    }

    #[test]
    fn more_connections_come_first_and_equal_throughputs_are_a_tie() {
        let trials = [
            trial("few", 1.0, 10.0, 9e6),
            trial("first of two", 1.0, 20.0, 2.41e6),
            trial("second of two", 1.0, 20.0, 2.42e6),
            trial("more through", 1.0, 20.0, 3e6),
            trial("another entry", 2.0, 99.0, 9e6),
        ];
        let tables = tables("io-models", &trials);
        let names = |t: &Table| t.rows.iter().map(|r| r[0].text.clone()).collect::<Vec<_>>();
        assert_eq!(tables.len(), 2);
        assert_eq!(names(&tables[0]), ["more through", "first of two", "second of two", "few"]);
        assert_eq!(names(&tables[1]), ["another entry"]);
    }

    #[test]
    fn what_was_not_measured_comes_last() {
        let trials = [
            Trial { axes: [("entry".to_string(), 1.0)].into(), ..trial("none", 1.0, 0.0, 0.0) },
            trial("some", 1.0, 1.0, 0.0),
        ];
        assert_eq!(tables("io-models", &trials)[0].rows[0][0].text, "some");
        assert_eq!((rounded(0.0, 2), rounded(2_449.0, 2)), (0.0, 2_400.0));
    }
}

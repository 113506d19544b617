//! Tables that rank: the trials of an experiment that belong together in one table each, the best first, so that a reader
//! compares what is comparable and need not sort.
//!
//! To rank another experiment, add a row to [`RANKED`].

use run::Trial;

use super::column::{Column, Show, c, cell, words};
use super::value::Who::Server;
use super::value::{Of, value};
use crate::pages::pick;
use crate::{Cell, Col, Table, Unit};

/// One experiment's ranking.
struct Ranked {
    experiment: &'static str,
    /// The value that trials of one table share, and a caption for each of its values.
    group: Of,
    captions: &'static [(f64, &'static str)],
    keys: &'static [Key],
    /// The terminal gives them up from behind.
    columns: &'static [Column],
}

/// What trials are ordered by.
struct Key {
    of: Of,
    most_first: bool,
    /// Values that are the same in so many digits are a tie, which the next key breaks; 0: as they are.
    digits: i32,
}

const RANKED: &[Ranked] = &[Ranked {
    experiment: "io-models",
    group: Of::Field(|t| t.key.entry.map(f64::from)),
    captions: &[
        (
            1.0,
            "Entry 1, as fast as they can: by connections held, then by throughput (what the client received), then by \
             CPU time per message.",
        ),
        (
            2.0,
            "Entry 2, every block limited to its rate, ranked the same way. More than is offered is what had piled up.",
        ),
        (3.0, "Entry 3, as many as the model holds, limited the same way."),
    ],
    keys: &[
        Key { of: Of::Field(|t| t.results.held), most_first: true, digits: 0 },
        Key { of: Of::Field(|t| t.results.bytes_per_s), most_first: true, digits: 2 },
        Key { of: Of::Cost(Server, "process_cpu_us"), most_first: false, digits: 0 },
    ],
    columns: &[
        c("held", Of::Field(|t| t.results.held), Unit::Plain),
        c("throughput", Of::Field(|t| t.results.bytes_per_s), Unit::BytesPerSecond),
        c("cpu/message", Of::Cost(Server, "process_cpu_us"), Unit::Micros),
        words("limited by", |t| t.results.limited_by.as_ref().map(ToString::to_string)),
        c("memory", Of::Field(|t| t.results.memory_per_connection_bytes), Unit::Bytes),
    ],
}];

/// Whether an experiment ranks its trials, each with what limited it: then a verdict on all of them together says nothing.
pub(super) fn ranks(name: &str) -> bool {
    RANKED.iter().any(|r| r.experiment == name)
}

/// What the rankings show and rank by.
#[cfg(test)]
pub(super) fn shown() -> impl Iterator<Item = Of> {
    RANKED.iter().flat_map(|r| r.columns.iter().map(|c| c.of).chain(r.keys.iter().map(|key| key.of)))
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
        Show::Words(_) => Col::words(c.head, 1 + i as u8 / 2),
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

    fn trial(label: &str, entry: u32, held: f64, bytes_per_s: f64) -> Trial {
        let key = run::Key { entry: Some(entry), ..run::Key::default() };
        let results = run::Results { held: Some(held), bytes_per_s: Some(bytes_per_s), ..run::Results::default() };
        Trial { label: label.into(), key, results, ..Trial::default() }
    }

    #[test]
    fn more_connections_come_first_and_equal_throughputs_are_a_tie() {
        let trials = [
            trial("few", 1, 10.0, 9e6),
            trial("first of two", 1, 20.0, 2.41e6),
            trial("second of two", 1, 20.0, 2.42e6),
            trial("more through", 1, 20.0, 3e6),
            trial("another entry", 2, 99.0, 9e6),
        ];
        let tables = tables("io-models", &trials);
        let names = |t: &Table| t.rows.iter().map(|r| r[0].text.clone()).collect::<Vec<_>>();
        assert_eq!(tables.len(), 2);
        assert_eq!(names(&tables[0]), ["more through", "first of two", "second of two", "few"]);
        assert_eq!(names(&tables[1]), ["another entry"]);
    }

    #[test]
    fn what_was_not_measured_comes_last() {
        let trials =
            [Trial { results: run::Results::default(), ..trial("none", 1, 0.0, 0.0) }, trial("some", 1, 1.0, 0.0)];
        assert_eq!(tables("io-models", &trials)[0].rows[0][0].text, "some");
        assert_eq!((rounded(0.0, 2), rounded(2_449.0, 2)), (0.0, 2_400.0));
    }
}

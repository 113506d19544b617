//! Section about a load whose rate changed: the highest rate at which the server met the objective, and each stage of
//! the load.

use run::{CourseFinding, CoursePart};

use crate::{AnswerLine, Cell, Col, Table, Tone, Unit};
use run::number::{number, quantity, span};

/// Maximum number of stages in a terminal.
const SHOWN: usize = 10;

/// Returns the beginning of the report's headline, which states the highest rate at which the server met the objective.
pub(super) fn headline(course: &CourseFinding) -> String {
    let rate = |rate: f64| quantity(rate, Unit::PerSecond);
    match (course.held_rate, limit(course)) {
        (Some(held), None) => format!("held to {}, the highest rate of this load", rate(held)),
        (Some(held), Some(limit)) => format!("held to {}{}; {limit}", bound(course), rate(held)),
        (None, Some(limit)) if course.failed.is_some() => format!("not held: {limit}"),
        (None, Some(limit)) => limit,
        (None, None) => "not measured".into(),
    }
}

/// Returns the text that precedes the highest rate that met the objective: `at least `, or nothing for an exact rate.
/// If the highest good rate comes from a stage with a constant rate, this rate is exact. If this rate comes from a
/// ramp, which loadline judges in parts, only a lower bound is known. The lower bound is the lowest rate of the highest
/// part that met the objective.
fn bound(course: &CourseFinding) -> &'static str {
    let is_step = |part: &CoursePart| part.from == part.to && Some(part.from) == course.held_rate;
    if limit(course).is_none() || course.parts.iter().any(is_step) { "" } else { "at least " }
}

/// Returns the lowest rate, or range of rates, at which the server failed, with the reason. If the server failed at no
/// rate, returns the lowest rate at which the result is unknown.
fn limit(course: &CourseFinding) -> Option<String> {
    if let Some(part) = course.failed.and_then(|at| course.parts.get(at)) {
        let why = course.failed_why.as_ref().map_or("it failed", String::as_str);
        return Some(format!("at {} {why}", offered(part)));
    }
    let part = course.parts.get(course.unknown?)?;
    Some(format!("at {} it is not known if the server held", offered(part)))
}

fn offered(part: &CoursePart) -> String {
    let [from, to] = [part.from, part.to].map(|rate| number(rate.round()));
    if from == to { format!("{from}/s") } else { format!("{from} to {to}/s") }
}

/// Returns the summary line of a load whose rate changed.
pub(super) fn line(course: &CourseFinding) -> AnswerLine {
    let held = |rate| format!("to {}{}:", bound(course), quantity(rate, Unit::PerSecond));
    let none = if course.failed.is_some() { "no rate:" } else { "not known:" };
    let value = course.held_rate.map_or(none.into(), held);
    let (detail, tone) = match limit(course) {
        Some(limit) => (limit, Tone::Warn),
        None => ("the highest rate of this load".into(), Tone::Good),
    };
    AnswerLine::new("Held", value, detail).toned(tone)
}

/// Returns three cells for the table of trials: the ranges of offered and of completed rates, and an empty cell for the
/// rate of good requests. The hint of the empty third cell explains why the cell is empty.
pub(super) fn rates(course: &CourseFinding) -> [Cell; 3] {
    let range = |rates: &mut dyn Iterator<Item = f64>| {
        let (least, most) = rates.fold((f64::INFINITY, 0.0), |(a, b), rate| (rate.min(a), rate.max(b)));
        Cell::new(format!("{} to {}", number(least.round()), number(most.round())))
    };
    let offered = range(&mut course.parts.iter().flat_map(|part| [part.from, part.to]));
    let completed = range(&mut course.parts.iter().map(|part| part.completed));
    [offered, completed, Cell::absent("the rate changed, so a mean would describe no stage")]
}

/// Returns the table with one row per constant stage or part of a ramp.
pub(super) fn table(course: &CourseFinding) -> Table {
    let columns = vec![
        Col::words("at", 1),
        Col::figures("offered", 0),
        Col::figures("completed", 0),
        Col::figures("p99 at most", 0),
        Col::figures("failed", 0),
        Col::words("held", 0),
    ];
    let rows: Vec<Vec<Cell>> = course.parts.iter().map(row).collect();
    let brief = (rows.len() > SHOWN).then_some(SHOWN);
    let mut table = Table { columns, rows, brief, ..Table::default() };
    // For some loads, the run contains no failures over time or no percentiles over time, so the columns with these
    // figures may be empty.
    let is_any = |has: fn(&CoursePart) -> bool| course.parts.iter().any(has);
    let columns = [(4, is_any(|part| part.failed_share.is_some())), (3, is_any(|part| p99(part).is_some()))];
    for (column, is_shown) in columns {
        if !is_shown {
            table.remove_column(column);
        }
    }
    table
}

/// Returns the cell with an upper bound of the 99th percentile. If some requests were never answered, only a lower
/// bound of the percentile is known.
fn p99(part: &CoursePart) -> Option<Cell> {
    let unknown = |text| Cell { hint: "requests of some seconds were not answered".into(), ..Cell::new(text) };
    Some(match (part.p99_us.map(|us| quantity(us, Unit::Micros)), part.p99_at_least) {
        (Some(time), true) => unknown(format!("unknown (≥{time})")),
        (None, true) => unknown("unknown".into()),
        (time, false) => Cell::new(time?),
    })
}

fn row(part: &CoursePart) -> Vec<Cell> {
    let absent = || Cell::absent("the readings of the load do not cover this part");
    let held = match (part.breach, part.is_unknown) {
        (Some(_), _) => Cell::new("no").toned(Tone::Bad),
        (None, true) => {
            let hint = "a figure with a limit was not measured, or requests failed at the edge of this part";
            Cell { hint: hint.into(), ..Cell::new("not known").toned(Tone::Warn) }
        }
        (None, false) => Cell::new("yes"),
    };
    vec![
        format!("{} to {}", span(part.from_s), span(part.to_s)).into(),
        offered(part).into(),
        quantity(part.completed, Unit::PerSecond).into(),
        p99(part).unwrap_or_else(absent),
        part.failed_share.map_or_else(absent, |share| quantity(share, Unit::Share).into()),
        held,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_with_unanswered_requests_has_no_upper_bound() {
        let text = |p99_us, p99_at_least| {
            let part = CoursePart { p99_us, p99_at_least, ..CoursePart::default() };
            p99(&part).map(|cell| cell.text)
        };
        assert_eq!(text(Some(1000.0), false).as_deref(), Some("1 ms"));
        assert_eq!(text(Some(1000.0), true).as_deref(), Some("unknown (≥1 ms)"));
        assert_eq!((text(None, true).as_deref(), text(None, false)), (Some("unknown"), None));
    }

    /// The part of the ramp from 660/s to 800/s met the objective, and the next part did not. In this test, the highest
    /// rate that met the objective is therefore at least 660/s.
    #[test]
    fn the_held_rate_of_a_ramp_is_a_lower_bound() {
        let breach = run::Breach { kind: run::BreachKind::P99, value: None, limit: None, at_least: false };
        let part = |from, to, breach| CoursePart { from, to, breach, ..CoursePart::default() };
        let parts = vec![part(660.0, 800.0, None), part(800.0, 940.0, Some(breach))];
        let mut course = CourseFinding { parts, held_rate: Some(660.0), failed: Some(1), ..CourseFinding::default() };
        assert!(headline(&course).starts_with("held to at least 660/s; at 800 to 940/s"), "{}", headline(&course));
        assert_eq!(line(&course).value, "to at least 660/s:");
        course.parts[0] = part(660.0, 660.0, None);
        assert_eq!(line(&course).value, "to 660/s:");
    }

    /// The first part of the load met the objective. The second part of the load has no percentile, although the user
    /// gave a limit on the percentile.
    #[test]
    fn a_stage_without_a_reading_is_neither_held_nor_failed() {
        let part = |from, to, is_unknown| CoursePart { from, to, is_unknown, ..CoursePart::default() };
        let parts = vec![part(100.0, 400.0, false), part(400.0, 700.0, true)];
        let mut course = CourseFinding { held_rate: Some(100.0), unknown: Some(1), parts, ..CourseFinding::default() };
        let words = "at 400 to 700/s it is not known if the server held";
        assert_eq!(headline(&course), format!("held to at least 100/s; {words}"));
        let held: Vec<String> = course.parts.iter().map(|part| row(part).pop().unwrap().text.to_string()).collect();
        assert_eq!(held, ["yes", "not known"]);
        course = CourseFinding { held_rate: None, ..course };
        assert_eq!((headline(&course), line(&course).value), (words.into(), "not known:".into()));
    }

    #[test]
    fn a_column_without_any_figure_is_left_out() {
        let part = CoursePart { to_s: 0.6, to: 100.0, ..CoursePart::default() };
        let names = |parts: Vec<CoursePart>| -> Vec<String> {
            let table = table(&CourseFinding { parts, ..CourseFinding::default() });
            assert!(table.rows.iter().all(|row| row.len() == table.columns.len()));
            table.columns.into_iter().map(|column| column.name.to_string()).collect()
        };
        assert_eq!(names(vec![part; 2]), ["at", "offered", "completed", "held"]);
        let long = CoursePart { p99_us: Some(7.0), ..part };
        assert_eq!(names(vec![part, long]), ["at", "offered", "completed", "p99 at most", "held"]);
    }
}

//! Table of the trials, with one row per trial. A terminal shows the main columns, and the HTML page shows all columns.

use run::{BreachKind, Device, Outcome, Run, SummaryFigure, Tally, Trial, TrialKind};

use super::{course, figures, pick, times};
use crate::{Block, Cell, Col, Section, Table, Tone, Unit, Weight};
use run::number::{count, number, prose::counted, quantity};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    // Two kinds of trials send no requests: trials that measure library calls, and trials that only watch a server. For
    // trials that measure library calls, the experiment has its own table.
    let timed_alone = figures::has_table(run) && run.trials.iter().all(|t| t.tally.attempted + t.tally.sent == 0);
    let only_watched = run.trials.iter().all(|t| t.kind == TrialKind::Watched);
    if run.trials.is_empty() || timed_alone || only_watched {
        return Vec::new();
    }
    let devices = run.findings.devices.iter().map(|of_trial| of_trial.first()).chain(std::iter::repeat(None));
    let rows = run.outcomes().zip(devices).map(|((t, outcome), busiest)| row(run, (t, outcome), busiest)).collect();
    let mut table = Table { columns: columns(), rows, ..Table::default() };
    leave_out_the_usual(&mut table);
    table.explain_absent();
    let title = if run.trials.len() == 1 { "Trial" } else { "Trials" };
    // If the experiment has its own table of trials, this general table of trials is less important.
    let weight = if figures::has_table(run) { Weight::Full } else { Weight::First };
    vec![Section::new("trials", title, weight, vec![Block::Table(table)])]
}

/// Removes columns without information. The function removes the goodput (rate of good answers) if it equals the
/// completed rate in every row, and [`SETTLED`] if no row says "no".
fn leave_out_the_usual(table: &mut Table) {
    let place = |table: &Table, name: &str| table.columns.iter().position(|column| column.name == name);
    let (goodput, completed) = (place(table, "goodput/s"), place(table, "completed/s"));
    if let Some((at, completed)) = goodput.zip(completed)
        && table.rows.iter().all(|row| row[at].text == row[completed].text)
    {
        table.remove_column(at);
    }
    if let Some(at) = place(table, SETTLED)
        && table.rows.iter().all(|row| row[at].text != "no")
    {
        table.remove_column(at);
    }
}

/// Name of the column that tells if the completed rate was stable before the measured window.
const SETTLED: &str = "rate settled";

fn columns() -> Vec<Col> {
    vec![
        Col::words("load", 0),
        Col::figures("in flight", 3),
        Col::figures("offered/s", 4),
        Col::figures("completed/s", 0),
        Col::figures("goodput/s", 5),
        Col::figures("p50", 1),
        Col::figures("p90", 5),
        Col::figures("p99", 0),
        Col::figures("p99.9", 5),
        Col::figures("max", 5),
        Col::figures("errors", 1),
        Col::words("busiest", 2),
        Col::figures("completed", 5),
        Col::words(SETTLED, 5),
    ]
}

fn row(run: &Run, (trial, outcome): (&Trial, Outcome), busiest: Option<&Device>) -> Vec<Cell> {
    let rates = &trial.rates;
    let response = &trial.latency_us;
    let why = if rates.completed_rate > 0.0 { "no response time was measured" } else { "nothing completed" };
    let [offered, completed, goodput] = match run.findings.course.as_ref().filter(|_| trial.kind == TrialKind::Fixed) {
        Some(course) => course::rates(course),
        None => [rates.offered_rate, rates.completed_rate, rates.goodput].map(|rate| number(rate).into()),
    };
    let time = |figure| if response.count == 0 { Cell::absent(why) } else { times::cell(response, figure) };
    vec![
        pick::name(trial).into(),
        number(rates.concurrency).into(),
        offered,
        completed,
        goodput,
        time(SummaryFigure::P50),
        time(SummaryFigure::P90),
        late(outcome, time(SummaryFigure::P99)),
        time(SummaryFigure::P999),
        time(SummaryFigure::Max),
        errors(trial, outcome),
        of_device(busiest),
        count(trial.tally.completed).into(),
        steady(trial),
    ]
}

/// Returns the table cell with the 99th percentile of a trial. Marks the cell if the percentile exceeds its limit, or
/// if the trial failed because too many requests were never answered. The hint of the returned cell gives the
/// probability that the trial meets the objective.
fn late(outcome: Outcome, cell: Cell) -> Cell {
    let broken = outcome.breach.is_some_and(|b| matches!(b.kind, BreachKind::P99 | BreachKind::Unanswered));
    let cell = if broken { cell.toned(Tone::Warn) } else { cell };
    match outcome.chance_held {
        Some(chance) if cell.hint.is_empty() => Cell {
            hint: format!("chance that the limits hold, by this trial alone: {}", quantity(chance, Unit::Share)),
            ..cell
        },
        _ => cell,
    }
}

/// Returns the cell with the share of failed requests. Failures are counted as the objective counts them. The hint of
/// the returned cell lists the failures of the trial.
fn errors(trial: &Trial, outcome: Outcome) -> Cell {
    let hint = failures(&trial.tally);
    match outcome.failed_share {
        None => Cell::absent("no request was made in the measured window"),
        Some(share) => Cell { text: quantity(share, Unit::Share), hint, ..Cell::default() }.toned(match share {
            s if s > 0.0 => Tone::Bad,
            _ => Tone::Plain,
        }),
    }
}

/// Lists the failures of a whole trial, with the number of each kind.
pub(super) fn failures(tally: &Tally) -> String {
    let kinds =
        tally.errors.0.iter().map(|(kind, n)| (*n, kind.words_for(*n))).chain([(tally.unanswered, "unanswered")]);
    let all = kinds.filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(n)));
    let mute =
        (tally.phantom > 0).then(|| format!("{} without any answer", counted(tally.phantom as f64, "connection")));
    super::statuses::each(tally).into_iter().chain(all).chain(mute).collect::<Vec<_>>().join(", ")
}

fn of_device(busiest: Option<&Device>) -> Cell {
    match busiest {
        Some(d) => {
            let share = quantity(d.busy, Unit::Share);
            Cell { text: format!("{} {share}", d.short()), hint: d.name(), ..Cell::default() }
        }
        None => Cell::absent("no device counter was recorded"),
    }
}

/// Returns the busiest device of a trial and its utilization, for example `server thread 97 %`. The argument `ranked`
/// begins with the busiest device.
pub fn busiest_device(ranked: &[Device]) -> Option<String> {
    ranked.first().map(|d| format!("{} {}", d.short(), quantity(d.busy, Unit::Share)))
}

fn steady(trial: &Trial) -> Cell {
    let found = &trial.steady;
    if found.too_short {
        return Cell { hint: "the warm-up was too short".into(), ..Cell::new("not tested") };
    }
    let word = if found.steady { "yes" } else { "no" };
    Cell { hint: found.reason.clone(), ..Cell::new(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failure_is_told_in_the_singular() {
        let told = |malformed, resets| {
            let errors = [(run::ErrorKind::Malformed, malformed), (run::ErrorKind::Reset, resets)];
            failures(&Tally { errors: run::Errors(errors.into()), ..Tally::default() })
        };
        assert!(told(1, 2).contains("1 malformed response") && !told(1, 2).contains("responses"), "{}", told(1, 2));
        assert!(told(2, 1).contains("2 malformed responses") && !told(2, 1).contains("resets"), "{}", told(2, 1));
    }

    #[test]
    fn only_a_window_whose_rate_had_not_settled_needs_the_column() {
        let trial = |steady, too_short| {
            let steady = run::Steady { steady, too_short, ..run::Steady::default() };
            Trial { steady, ..Trial::default() }
        };
        let last = |trials: Vec<Trial>| {
            let rows = trials.iter().map(|trial| row(&Run::default(), (trial, Outcome::default()), None)).collect();
            let mut table = Table { columns: columns(), rows, ..Table::default() };
            leave_out_the_usual(&mut table);
            let cells = table.rows.iter().filter_map(|row| row.last()).map(|cell| cell.text.clone()).collect();
            (table.columns.last().map_or("", |column| column.name.as_str()) == SETTLED, cells)
        };
        let (shown, cells): (bool, Vec<String>) = last(vec![trial(false, true), trial(false, false)]);
        assert!(shown && cells == ["not tested", "no"], "{cells:?}");
        assert!(!last(vec![trial(false, true), trial(true, false)]).0);
    }
}

//! Every operating point in one row: the terminal shows the columns that decide, the page all of them.

use run::{ErrorKind, Run, Trial};

use super::{devices, figures, pick};
use crate::number::{count, number, quantity};
use crate::{Block, Cell, Col, Section, Table, Tone, Unit, Weight};

pub(super) fn sections(run: &Run) -> Vec<Section> {
    // Timings of a library are trials without requests: their figures are in the experiment's own table.
    let timed_alone = figures::has_table(run) && run.trials.iter().all(|t| t.tally.attempted + t.tally.sent == 0);
    if run.trials.is_empty() || timed_alone {
        return Vec::new();
    }
    let rows = run.trials.iter().map(|t| row(run, t)).collect();
    let mut table = Table { columns: columns(), rows, ..Table::default() };
    table.explain_absent();
    let title = if run.trials.len() == 1 { "Trial" } else { "Trials" };
    // An experiment's own table says what matters there.
    let weight = if figures::has_table(run) { Weight::Full } else { Weight::Main };
    vec![Section::new("trials", title, weight, vec![Block::Table(table)])]
}

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
        Col::words("steady", 5),
    ]
}

fn row(run: &Run, trial: &Trial) -> Vec<Cell> {
    let rates = &trial.rates;
    let response = &trial.latency_us;
    let time = |us: f64| {
        if response.count == 0 { Cell::absent("nothing completed") } else { quantity(us, Unit::Micros).into() }
    };
    vec![
        pick::name(trial).into(),
        number(rates.concurrency).into(),
        number(rates.offered_rate).into(),
        number(rates.completed_rate).into(),
        number(rates.goodput).into(),
        time(response.p50),
        time(response.p90),
        objective(run, trial, time(response.p99)),
        time(response.p99_9),
        time(response.max),
        errors(trial),
        busiest(trial),
        count(trial.tally.completed).into(),
        steady(trial),
    ]
}

fn objective(run: &Run, trial: &Trial, cell: Cell) -> Cell {
    let broken =
        run.plan.objective.p99_us.is_some_and(|limit| trial.latency_us.count > 0 && trial.latency_us.p99 > limit);
    if broken { cell.toned(Tone::Warn) } else { cell }
}

/// Failures of any sort; which ones is said on demand.
fn errors(trial: &Trial) -> Cell {
    let tally = &trial.tally;
    let all = tally.error_count() + tally.unexpected_status + tally.unanswered;
    let kinds: Vec<String> = tally.errors.0.iter().map(|(k, n)| format!("{} {}", count(*n), words(*k))).collect();
    let cell = Cell { text: count(all), tone: Tone::Plain, hint: kinds.join(", ") };
    if all > 0 { cell.toned(Tone::Bad) } else { cell }
}

fn busiest(trial: &Trial) -> Cell {
    match devices::of(trial).first() {
        Some(d) => {
            let share = quantity(d.busy, Unit::Share);
            Cell { text: format!("{} {share}", d.short()), tone: Tone::Plain, hint: d.name() }
        }
        None => Cell::absent("no counter of a device was recorded"),
    }
}

/// The device of a trial that was busy for the largest share of its time, with that share: `server nginx:12 97 %`.
pub fn busiest_device(trial: &Trial) -> Option<String> {
    // A line of the terminal has no room for more.
    let name = |d: &devices::Device| d.short().replace("accept queue", "queue");
    devices::of(trial).first().map(|d| format!("{} {}", name(d), quantity(d.busy, Unit::Share)))
}

fn steady(trial: &Trial) -> Cell {
    let word = if trial.steady.steady { "yes" } else { "no" };
    Cell { text: word.into(), tone: Tone::Plain, hint: trial.steady.reason.clone() }
}

/// A kind of failure in words.
pub(super) const fn words(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectRefused => "connects refused",
        ErrorKind::ConnectTimeout => "connects timed out",
        ErrorKind::ConnectFailed => "connects failed",
        ErrorKind::ClientPorts => "without a local port",
        ErrorKind::ClientFds => "without a descriptor",
        ErrorKind::Reset => "resets",
        ErrorKind::ShortResponse => "short responses",
        ErrorKind::Malformed => "malformed responses",
        ErrorKind::WrongBody => "wrong bodies",
        ErrorKind::ResponseTimeout => "responses timed out",
        ErrorKind::Other => "other errors",
    }
}

//! CSV form: one row per trial. The order of columns is stable, and later versions add columns at the end. Each cost
//! per request has one column for each side (client or server) that has this cost in any trial. A missing figure is an
//! empty field.

use std::collections::BTreeSet;

use run::{ErrorKind, FigureUnit, Intensity, Run, Side, Summary, SummaryFigure, Trial, TrialKind};

use super::figures::{CLASS_COUNTS, FIGURES, Figure, Of, later_figures, sides, times};
use super::wrap::clean;
use crate::{Doc, ReportError, Style};
use run::number::machine;

pub(super) fn make(_: &Doc, run: &Run, _: &Style) -> Result<String, ReportError> {
    let axes: BTreeSet<&str> = run.trials.iter().flat_map(|t| t.axes().into_keys()).collect();
    let costs = costs(run);
    let mut out = String::new();
    let mut header: Vec<String> = COLUMNS.iter().map(|(name, _)| (*name).into()).collect();
    header.extend(FIGURES.iter().map(|figure| figure.column.into()));
    header.push("errors".into());
    header.extend(ErrorKind::ALL.iter().map(|k| format!("errors_{}", snake(&format!("{k:?}")))));
    header.extend(times(run).flat_map(|(name, ..)| PARTS.iter().map(move |(f, _)| format!("{name}_{f}_us"))));
    header.extend(axes.iter().map(|a| clean(&format!("axis_{a}"))));
    header.extend(costs.iter().map(|(side, id, unit)| cost_name(side, id, *unit)));
    let classes: BTreeSet<&str> = run.trials.iter().flat_map(|t| &t.classes).map(|c| c.name.as_str()).collect();
    header.extend(class_names(&classes).iter().flat_map(|class| class_columns(class)));
    header.extend(times(run).flat_map(|(name, ..)| BOUNDS.iter().map(move |(part, _)| format!("{name}_{part}"))));
    header.extend(later_figures(run).map(|figure| figure.column.into()));
    push(&mut out, header);
    for (i, trial) in run.trials.iter().enumerate() {
        let mut row: Vec<String> = COLUMNS.iter().map(|(_, get)| get(i, trial)).collect();
        row.extend(FIGURES.iter().map(|figure| value(figure, trial)));
        row.push(trial.tally.error_count().to_string());
        row.extend(ErrorKind::ALL.iter().map(|k| trial.tally.errors.count(*k).to_string()));
        row.extend(times(run).flat_map(|(_, _, of)| figures(of(trial))));
        let known = trial.axes();
        row.extend(axes.iter().map(|a| known.get(a).map_or_else(String::new, |v| machine(*v))));
        row.extend(costs.iter().map(|(side, id, _)| cost(trial, side, id)));
        row.extend(classes.iter().flat_map(|class| class_figures(trial, class)));
        row.extend(times(run).flat_map(|(_, _, of)| BOUNDS.iter().map(|(_, get)| get(of(trial)))));
        row.extend(later_figures(run).map(|figure| value(figure, trial)));
        push(&mut out, row);
    }
    Ok(out)
}

fn value(figure: &Figure, trial: &Trial) -> String {
    match figure.of {
        Of::Count(of) => of(trial).to_string(),
        Of::Level(of) => machine(of(trial)),
    }
}

/// Returns the names of the request classes as parts of column names, in which each special character is an underscore.
/// If two classes would have the same name, the name of the later one ends with a number.
fn class_names(classes: &BTreeSet<&str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for class in classes {
        let plain: String = class.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let numbered = (2..).map(|n| format!("{plain}_{n}"));
        names.extend(std::iter::once(plain.clone()).chain(numbered).find(|name| !names.contains(name)));
    }
    names
}

/// Returns the names of the columns of a request class.
fn class_columns(class: &str) -> Vec<String> {
    let counts = CLASS_COUNTS.iter().map(|(name, ..)| format!("class_{class}_{name}"));
    let rate = format!("class_{class}_completed_rate_per_s");
    counts.chain([rate]).chain(PARTS.iter().map(|(part, _)| format!("class_{class}_response_{part}_us"))).collect()
}

/// Returns the figures of one request class in a trial, or empty fields if the trial has no requests of this class.
fn class_figures(trial: &Trial, class: &str) -> Vec<String> {
    let Some(class) = trial.classes.iter().find(|c| c.name == class) else {
        return vec![String::new(); CLASS_COUNTS.len() + 1 + PARTS.len()];
    };
    let mut row: Vec<String> = CLASS_COUNTS.iter().map(|(.., count)| count(class).to_string()).collect();
    row.push(machine(class.completed_rate(trial.measured.length_s)));
    row.extend(figures(&class.summary()));
    row
}

type Column = (&'static str, fn(usize, &Trial) -> String);

/// First columns, which describe the trial. The columns with measured figures come after the columns in this list.
const COLUMNS: &[Column] = &[
    ("trial", |i, _| (i + 1).to_string()),
    ("label", |_, t| clean(&t.label)),
    ("kind", |_, t| kind(t.kind).into()),
    ("loop", |_, t| intensity(&t.intensity).0.into()),
    ("connections", |_, t| intensity(&t.intensity).1),
    ("begin_s", |_, t| machine(t.measured.window.begin_s)),
    ("measured_s", |_, t| machine(t.measured.length_s)),
    ("steady", |_, t| t.steady.steady.to_string()),
];

type Part = (&'static str, fn(&Summary) -> f64);

const PARTS: &[Part] = &[
    ("mean", |s| s.mean),
    ("min", |s| s.min),
    ("p50", |s| s.p50),
    ("p90", |s| s.p90),
    ("p99", |s| s.p99),
    ("p99_9", |s| s.p99_9),
    ("max", |s| s.max),
];

type Bound = (&'static str, fn(&Summary) -> String);

/// Columns about requests that were never answered. The first column is the number of unanswered requests. The second
/// column lists the figures that are only lower bounds because of unanswered requests.
const BOUNDS: &[Bound] = &[
    ("unanswered", |s| s.unanswered.to_string()),
    ("at_least", |s| s.at_least.iter().map(SummaryFigure::name).collect::<Vec<_>>().join(" ")),
];

/// Returns the figures of a distribution, or empty fields if it has no values.
fn figures(summary: &Summary) -> Vec<String> {
    let counted = summary.count > 0;
    PARTS.iter().map(|(_, get)| if counted { machine(get(summary)) } else { String::new() }).collect()
}

/// Returns the side (client or server), the ID and the unit of every cost per request that occurs in any trial.
fn costs(run: &Run) -> BTreeSet<(&'static str, String, FigureUnit)> {
    let of = |(name, side): (&'static str, &'_ Side)| {
        side.costs.iter().map(|(id, cost)| (name, id.clone(), cost.unit)).collect::<Vec<_>>()
    };
    run.trials.iter().flat_map(sides).flat_map(of).collect()
}

fn cost(trial: &Trial, side: &str, id: &str) -> String {
    let side = sides(trial).find(|(name, _)| *name == side);
    let value = side.and_then(|(_, s)| s.costs.get(id)).and_then(|c| c.per_request.value());
    value.map_or_else(String::new, machine)
}

/// Returns the column name of a cost per request, such as `server_cpu_user_us_per_request`. The name contains the unit,
/// because all values of a cost have one unit.
fn cost_name(side: &str, id: &str, unit: FigureUnit) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '_' };
    let unit = if unit == FigureUnit::Bytes { "bytes" } else { unit.symbol() };
    let told = unit.is_empty() || id.ends_with(&format!("_{unit}")) || id.contains(unit);
    let name = if told { format!("{side}_{id}_per_request") } else { format!("{side}_{id}_{unit}_per_request") };
    name.chars().map(plain).collect()
}

pub(super) const fn kind(kind: TrialKind) -> &'static str {
    match kind {
        TrialKind::Fixed => "fixed",
        TrialKind::Sweep => "sweep",
        TrialKind::Search => "search",
        TrialKind::Overload => "overload",
        TrialKind::Experiment => "experiment",
        TrialKind::Proof => "proof",
        TrialKind::Watched => "watched",
        TrialKind::Handshakes => "handshakes",
        TrialKind::Classes => "classes",
    }
}

fn intensity(intensity: &Intensity) -> (&'static str, String) {
    match intensity {
        Intensity::Closed { connections, .. } => ("closed", connections.to_string()),
        Intensity::Open { max_connections, .. } => ("open", max_connections.to_string()),
        Intensity::SClients { descriptors, .. } => ("s-clients", descriptors.to_string()),
    }
}

/// Converts `ConnectRefused` to `connect_refused`.
pub(super) fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

/// Appends a record as RFC 4180 requires, except that it ends with a line feed only. A field that looks like a formula
/// gets a leading apostrophe, so spreadsheets do not evaluate it.
fn push(out: &mut String, fields: Vec<String>) {
    let field = |f: String| {
        let risky = f.starts_with(['=', '@', '\t']) || (f.starts_with(['+', '-']) && f.parse::<f64>().is_err());
        let f = if risky { format!("'{f}") } else { f };
        if f.contains([',', '"', '\n', '\r']) { format!("\"{}\"", f.replace('"', "\"\"")) } else { f }
    };
    let line: Vec<String> = fields.into_iter().map(field).collect();
    out.push_str(&line.join(","));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_may_contain_commas_quotes_and_formulas() {
        let mut out = String::new();
        push(&mut out, vec!["a,b".into(), "say \"x\"".into(), "=cmd()".into(), "-1.5".into()]);
        assert_eq!(out, "\"a,b\",\"say \"\"x\"\"\",'=cmd(),-1.5\n");
    }

    #[test]
    fn classes_of_similar_names_have_columns_of_their_own() {
        assert_eq!(class_names(&["a b", "a_b", "a-b", "c"].into()), ["a_b", "a_b_2", "a_b_3", "c"]);
    }

    #[test]
    fn names_of_errors_are_those_of_run_json() {
        for kind in ErrorKind::ALL {
            let told = serde_json::to_value(kind).unwrap();
            assert_eq!(told.as_str().unwrap(), snake(&format!("{kind:?}")));
        }
    }
}

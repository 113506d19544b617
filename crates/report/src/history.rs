//! Document of a series of runs (`loadline history`): the verdict, the changes of each figure, and a chart of each
//! figure over time.

use run::{FigureUnit, History, HistoryChange, HistoryFigure, HistorySeries, HistoryValue};

use crate::plot::{Axis, Hue, Look, Mark, Plot, Scale, Series, Spot};
use crate::{Block, Cell, Col, Doc, Note, ReportError, Section, Style, Table, Tone, Unit, Weight};
use run::number::{quantity, significant};

/// Maximum number of changes that the title names.
const MAX_NAMED: usize = 3;
/// Maximum number of skipped files that the report names; also the maximum number of series with too few runs that the
/// report names.
const MAX_LISTED: usize = 5;
/// Maximum number of runs in a chart. If a history has more runs than this, the chart leaves out the earliest runs.
const MAX_DRAWN: usize = 1000;
/// Maximum number of runs in the table of runs. If a history has more runs than this, the table leaves out the earliest
/// runs.
const MAX_ROWS: usize = 200;
/// Maximum length of a label in the title, in the table of changes and in a chart, characters.
const MAX_LABEL: usize = 24;
/// Free space above and below the values in a chart, as a share of their range.
const AXIS_MARGIN: f64 = 0.1;
/// Lengths of two beginnings of a time such as `2026-11-22T03:09:53Z`, in characters: the date, and the date with hours
/// and minutes.
const TIME_LENGTHS: [usize; 2] = [10, 16];

/// Renders the history of several stored runs. `form` is `text`, `markdown`, `html` or `json`.
pub fn render_history(form: &str, history: &History, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, history, &document(history, form == "html"), style)
}

/// Returns the document of a history. Only the HTML page lists all runs, because the list would make a comment on a
/// pull request too long.
fn document(history: &History, list_runs: bool) -> Doc {
    let notes = first(history);
    let mut sections = Vec::new();
    if !notes.is_empty() {
        sections.push(Section::new("notes", "", Weight::First, notes));
    }
    for (index, series) in history.series.iter().enumerate() {
        let id = format!("series-{index}");
        sections.push(Section::new(&id, &title_of(series), Weight::Main, body(history, index, series)));
    }
    for (index, series) in history.series.iter().enumerate().filter(|_| list_runs) {
        let id = format!("runs-{index}");
        let table = Block::Table(runs(series));
        sections.push(Section::new(&id, &format!("Runs: {}", series.name), Weight::Detail, vec![table]));
    }
    Doc { title: title(history), subtitle: subtitle(history), sections, ..Doc::default() }
}

/// Returns the title: the changes for the worse that fail the check, each with the first run after the change. If no
/// change fails the check, or if the history has too few runs, the title states this result.
fn title(history: &History) -> String {
    let failing: Vec<&HistoryChange> = history.changes.iter().filter(|change| change.fails).collect();
    if history.series.is_empty() {
        return "Too few runs for a change: one needs six runs of the same plan".into();
    }
    if failing.is_empty() {
        return "No new change for the worse".into();
    }
    let named = failing
        .iter()
        .take(MAX_NAMED)
        .map(|change| format!("{} {} since {}", change.figure, size(change, change.change), place(change)));
    let more = failing.len().saturating_sub(MAX_NAMED);
    let more = (more > 0).then(|| format!("{more} more"));
    format!("Worse: {}", named.chain(more).collect::<Vec<_>>().join("; "))
}

fn subtitle(history: &History) -> String {
    let all = || history.series.iter().flat_map(|series| &series.runs);
    let times = || all().map(|run| run.started.as_str());
    let span = times().min().zip(times().max()).map(|(first, last)| {
        let [first, last] = [first, last].map(|time| cut(time, TIME_LENGTHS[0]));
        format!(" · {} · {first} to {last}", counted(all().count(), "run"))
    });
    format!("{}{}", history.directory, span.unwrap_or_default())
}

fn first(history: &History) -> Vec<Block> {
    let mut blocks: Vec<Block> = history.notes.iter().map(|note| Note::block(Tone::Warn, note.clone())).collect();
    if !history.small.is_empty() {
        let named = history
            .small
            .iter()
            .take(MAX_LISTED)
            .map(|small| format!("{} ({})", small.name, counted(small.runs, "run")));
        let named = listed(named, history.small.len());
        blocks.push(Note::block(Tone::Quiet, format!("Plans with too few runs: {named}.")));
    }
    if !history.skipped.is_empty() {
        let named =
            history.skipped.iter().take(MAX_LISTED).map(|skipped| format!("{}: {}", skipped.file, skipped.reason));
        let count = history.skipped.len();
        blocks.push(Note::block(Tone::Warn, format!("Skipped {}. {}.", counted(count, "file"), listed(named, count))));
    }
    blocks
}

fn listed(named: impl Iterator<Item = String>, all: usize) -> String {
    let more = (all > MAX_LISTED).then(|| format!("{} more", all - MAX_LISTED));
    named.chain(more).collect::<Vec<_>>().join("; ")
}

fn counted(count: usize, noun: &str) -> String {
    run::number::prose::counted(count as f64, noun)
}

fn title_of(series: &HistorySeries) -> String {
    format!("{} · {}", series.name, counted(series.runs.len(), "run"))
}

fn body(history: &History, index: usize, series: &HistorySeries) -> Vec<Block> {
    let changes: Vec<&HistoryChange> = history.changes.iter().filter(|change| change.series == index).collect();
    let table = match changes.is_empty() {
        true => Note::block(Tone::Plain, format!("No change of {}.", figure_names(series))),
        false => Block::Table(table(&changes, history)),
    };
    let plots = series.figures.iter().map(|figure| Block::Plot(Box::new(plot(series, figure, &changes))));
    std::iter::once(table).chain(std::iter::once(Block::Table(levels(series, &changes)))).chain(plots).collect()
}

fn figure_names(series: &HistorySeries) -> String {
    series.figures.iter().map(|figure| figure.figure.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the label of the first run after a change, or the start time of this run if it has no label.
fn place(change: &HistoryChange) -> String {
    if change.label.is_empty() {
        cut(&change.started, TIME_LENGTHS[1]).replace('T', " ")
    } else {
        shortened(&change.label)
    }
}

/// Returns a label with at most [`MAX_LABEL`] characters. Leaves out the middle, because labels often differ only at
/// their ends.
fn shortened(label: &str) -> String {
    let length = label.chars().count();
    if length <= MAX_LABEL {
        return label.into();
    }
    let end: String = label.chars().skip(length + 1 + MAX_LABEL / 2 - MAX_LABEL).collect();
    format!("{}…{end}", cut(label, MAX_LABEL / 2))
}

fn cut(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// Formats a change, or an end of its interval. A change of a share is in percentage points, and a change of any other
/// figure is in percent.
fn size(change: &HistoryChange, value: f64) -> String {
    format!("{}{}", signed(value), if is_share(change) { " points" } else { " %" })
}

/// Formats a share as a percentage with its sign, but without the `%`.
fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "-" } else { "+" };
    format!("{sign}{}", significant(100.0 * share.abs()))
}

/// Returns true for a figure that is itself a share. For a figure that is a share, a change is the difference in
/// percentage points.
fn is_share(change: &HistoryChange) -> bool {
    change.unit == FigureUnit::Share
}

fn table(changes: &[&HistoryChange], history: &History) -> Table {
    let columns = vec![
        Col::words("changed figure", 0),
        Col::words("since", 0),
        Col::figures("change (95 %)", 0),
        Col::figures("p", 1),
        Col::words("result", 0),
    ];
    let new = format!(
        "new: the series without its last {} does not show the change; each p is below 0.0001 (t test)",
        counted(history.recent, "run")
    );
    Table { columns, rows: changes.iter().map(|change| row(change)).collect(), notes: vec![new], ..Table::default() }
}

fn row(change: &HistoryChange) -> Vec<Cell> {
    let interval = format!("{} to {}", signed(change.low), signed(change.high));
    let p = if change.p < 1e-4 { "<0.0001".into() } else { significant(change.p) };
    let tone = match (change.fails, change.worse) {
        (true, _) => Tone::Bad,
        (false, true) => Tone::Warn,
        (false, false) => Tone::Good,
    };
    let words = [
        Some(if change.worse { "worse" } else { "better" }),
        change.new.then_some("new"),
        change.undone.then_some("undone"),
    ];
    let result = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
    vec![
        Cell::new(change.figure.clone()),
        Cell { hint: change.run.clone(), ..Cell::new(place(change)) },
        Cell::new(format!("{} ({interval})", size(change, change.change))),
        Cell::new(p),
        Cell::new(result).toned(tone),
    ]
}

/// Returns a table with one row per figure: number of runs, first value, last value, and number of changes.
fn levels(series: &HistorySeries, changes: &[&HistoryChange]) -> Table {
    let row = |figure: &HistoryFigure| {
        let known: Vec<f64> = figure.values.iter().flatten().map(|value| value.value).collect();
        let shown = |value: Option<&f64>| Cell::new(value.map_or("–".into(), |value| quantity(*value, figure.unit)));
        let count = changes.iter().filter(|change| change.figure == figure.figure).count();
        vec![
            Cell::new(figure.figure.clone()),
            Cell::new(known.len().to_string()),
            shown(known.first()),
            shown(known.last()),
            Cell::new(count.to_string()),
        ]
    };
    let figures = ["runs with it", "first run", "last run", "changes"].map(|name| Col::figures(name, 0));
    let columns = std::iter::once(Col::words("figure", 0)).chain(figures).collect();
    Table { columns, rows: series.figures.iter().map(row).collect(), ..Table::default() }
}

/// Returns the chart of one figure: its values with their intervals, the means between its changes, and a mark at each
/// change.
fn plot(series: &HistorySeries, figure: &HistoryFigure, changes: &[&HistoryChange]) -> Plot {
    let begin = series.runs.len().saturating_sub(MAX_DRAWN);
    let drawn = || figure.values.iter().enumerate().skip(begin);
    let points = |of: fn(&HistoryValue) -> Option<f64>| -> Vec<(f64, f64)> {
        drawn().filter_map(|(at, value)| Some((at as f64, of(value.as_ref()?)?))).collect()
    };
    let changes: Vec<&HistoryChange> =
        changes.iter().filter(|change| change.figure == figure.figure).copied().collect();
    let [values, low, high] = [points(|v| Some(v.value)), points(|v| v.low), points(|v| v.high)];
    let (y, x) = (axis(figure, &values), Axis::new("run", Unit::Plain, Scale::Linear));
    let end = |label: &str, points| Series::new(label, Look::Dashed, Hue::Quiet, points);
    let curves = vec![
        Series::new("measured", Look::LineDots, Hue::Main, values),
        end("95 % interval", low),
        end("", high),
        Series::new("mean", Look::Line, Hue::Second, means(&changes, begin, series.runs.len())),
    ];
    let mark = |change: &&HistoryChange| {
        let hue = if change.worse { Hue::Alarm } else { Hue::Third };
        Mark::new(Spot::X(change.at as f64), format!("{} {}", place(change), size(change, change.change)), hue)
    };
    let marks = changes.iter().filter(|change| change.at >= begin).map(mark).collect();
    let left_out = if begin > 0 { format!(" The last {MAX_DRAWN} runs.") } else { String::new() };
    Plot {
        title: format!("{}: {}", crate::words::capital(&figure.figure), changes_words(changes.len())),
        caption: format!("Runs in order of time; the first run has the number 0.{left_out}"),
        x: Axis { from: Some(begin as f64), ..x },
        y,
        series: curves.into_iter().filter(|curve| !curve.points.is_empty()).collect(),
        marks,
        wide: true,
        ..Plot::default()
    }
}

fn changes_words(count: usize) -> String {
    if count == 0 { "no change found".into() } else { counted(count, "change") }
}

/// Returns the vertical axis of a figure's chart. The axis does not begin at 0, because readers must see a change of 1
/// %.
fn axis(figure: &HistoryFigure, values: &[(f64, f64)]) -> Axis {
    let ends = values.iter().fold(None, |ends: Option<(f64, f64)>, (_, value)| {
        Some(ends.map_or((*value, *value), |(low, high)| (low.min(*value), high.max(*value))))
    });
    let axis = Axis::new(figure.figure.clone(), figure.unit.into(), Scale::Linear);
    let Some((low, high)) = ends else { return axis };
    let margin = if high > low { AXIS_MARGIN * (high - low) } else { AXIS_MARGIN * high.abs() };
    Axis { from: Some((low - margin).max(0.0)), to: Some(high + margin), ..axis }
}

/// Returns the mean of each period between two changes, as a line that is interrupted at each change. Returns no points
/// for a figure without changes.
fn means(changes: &[&HistoryChange], begin: usize, end: usize) -> Vec<(f64, f64)> {
    let Some(first) = changes.first() else { return Vec::new() };
    let levels = std::iter::once((0, first.before)).chain(changes.iter().map(|change| (change.at, change.after)));
    let ends = changes.iter().map(|change| change.at).chain([end]);
    let parts = levels.zip(ends).filter(|(_, end)| *end > begin);
    parts
        .flat_map(|((from, mean), end)| {
            let (from, end) = (from.max(begin) as f64, end as f64 - 1.0);
            [(from, mean), (end, mean), (end, f64::NAN)]
        })
        .collect()
}

/// Returns the table of the latest runs, the newest first.
fn runs(series: &HistorySeries) -> Table {
    let columns =
        [Col::figures("run", 0), Col::words("start (UTC)", 0), Col::words("label", 0), Col::words("directory", 2)];
    let figures = series.figures.iter().map(|figure| Col::figures(&figure.figure, 1));
    let row = |(at, run): (usize, &run::HistoryRun)| {
        let value = |figure: &HistoryFigure| match figure.values.get(at).copied().flatten() {
            Some(value) => Cell::new(quantity(value.value, figure.unit)),
            None => Cell::absent("the run does not have this figure"),
        };
        let started = cut(&run.started, TIME_LENGTHS[1]).replace('T', " ");
        let words = [at.to_string(), started, run.label.clone(), run.run.clone()].map(Cell::new);
        words.into_iter().chain(series.figures.iter().map(value)).collect()
    };
    let rows = series.runs.iter().enumerate().rev().take(MAX_ROWS).map(row).collect();
    let more = series.runs.len().saturating_sub(MAX_ROWS);
    let notes = (more > 0).then(|| format!("left out: {}", counted(more, "earlier run"))).into_iter().collect();
    Table { columns: columns.into_iter().chain(figures).collect(), rows, notes, ..Table::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_labels_stay_apart_and_show_that_they_are_cut() {
        let [a, b] = ["release-2026-11-29-candidate-01", "release-2026-11-29-candidate-02"].map(shortened);
        assert_eq!((a.as_str(), b.as_str()), ("release-2026…andidate-01", "release-2026…andidate-02"));
        assert_eq!(a.chars().count(), MAX_LABEL);
        assert_eq!(shortened("v1.2"), "v1.2");
    }
}

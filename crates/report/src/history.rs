//! Document of a series of runs (`loadline history`): the verdict, the changes of each figure, and a chart of each
//! figure over time.

mod chart;
mod tables;
mod words;

use run::{History, HistoryChange, HistorySeries};

use self::chart::plot;
use self::tables::{levels, runs, table};
use self::words::{counted, date, place, size};
use crate::{Block, Doc, Note, ReportError, Section, Style, Tone, Weight};

/// Maximum number of changes that the title names.
const MAX_NAMED: usize = 3;
/// Maximum number of skipped files that the report names; also the maximum number of series with too few runs that the
/// report names.
const MAX_LISTED: usize = 5;

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
        let [first, last] = [first, last].map(date);
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

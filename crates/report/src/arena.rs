//! Document that compares many servers. The title names the best servers under each load. Each load has a table and a
//! chart.

use run::{ArenaCell, ArenaNoise, ArenaProfileResult, ArenaRefusalKind, ArenaResult, Estimate};

use crate::estimate_cell::{capacity_cell, estimate_cell};
use crate::plot::{Axis, Hue, Look, Plot, Scale, Series};
use crate::{Block, Cell, Col, Doc, Item, List, Note, ReportError, Section, Style, Table, Tone, Unit, Weight};
use run::number::{number, prose::counted, quantity};

/// Maximum number of servers that the title names for one load.
const MAX_NAMED: usize = 3;

/// Free space to the left of the dots in the chart, as a share of their range.
const AXIS_MARGIN: f64 = 0.1;

/// Renders a comparison of many servers. `form` is `text`, `markdown`, `html` or `json`.
pub fn render_arena(form: &str, result: &ArenaResult, style: &Style) -> Result<String, ReportError> {
    crate::answer::render(form, result, &document(result), style)
}

fn document(result: &ArenaResult) -> Doc {
    let mut first: Vec<Block> = Vec::new();
    if result.interrupted {
        first.push(Note::block(Tone::Warn, "Interrupted: not everything was measured."));
    }
    first.extend(result.notes.iter().map(|note| Note::block(Tone::Warn, crate::words::capital(note))));
    let mut sections = vec![Section::new("arena", "", Weight::First, first)];
    sections.extend(result.profiles.iter().enumerate().map(|(at, profile)| section(result, at, profile)));
    Doc { title: title(result), subtitle: subtitle(result), sections, ..Doc::default() }
}

fn subtitle(result: &ArenaResult) -> String {
    let used = quantity(result.used_s, Unit::Seconds);
    format!("{} · {} · {used} of measuring · seed {}", result.file, crate::words::minute(&result.started), result.seed)
}

/// Returns the title, which names the best servers of each load.
fn title(result: &ArenaResult) -> String {
    let each: Vec<String> = result.profiles.iter().filter_map(|profile| best(result, profile)).collect();
    if each.is_empty() { "No server got a rank".into() } else { each.join("; ") }
}

fn best(result: &ArenaResult, profile: &ArenaProfileResult) -> Option<String> {
    let best: Vec<&ArenaCell> = cells(result, profile).filter(|cell| cell.group == Some(1)).collect();
    let cpu = best.first()?.cpu_us_per_request.map(|cpu| quantity(cpu.value, Unit::Micros))?;
    let mut names: Vec<&str> = best.iter().take(MAX_NAMED).map(|cell| cell.entry.as_str()).collect();
    let more = best.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!("{more} more") } else { String::new() };
    names.extend(Some(more.as_str()).filter(|more| !more.is_empty()));
    let ranked = cells(result, profile).filter(|cell| cell.group.is_some()).count();
    let shared = match (names.len(), ranked) {
        (1, 1) => "is the only one with a rank,",
        (1, _) => "is best",
        _ => "share the first group",
    };
    Some(format!("{}: {} {shared} with {cpu} of CPU per request", profile.profile, list(&names)))
}

/// Joins names, for example to `a, b and c`.
fn list(names: &[&str]) -> String {
    match names {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => names.concat(),
    }
}

fn cells<'a>(result: &'a ArenaResult, profile: &'a ArenaProfileResult) -> impl Iterator<Item = &'a ArenaCell> {
    result.cells.iter().filter(|cell| cell.profile == profile.profile)
}

fn section(result: &ArenaResult, at: usize, profile: &ArenaProfileResult) -> Section {
    let cells: Vec<&ArenaCell> = cells(result, profile).collect();
    let mut blocks = vec![Block::Paragraph(load(profile))];
    let noise = result.noise.iter().find(|noise| noise.profile == profile.profile);
    blocks
        .extend(noise.map(|noise| Note::block(if noise.tied { Tone::Plain } else { Tone::Warn }, noise_words(noise))));
    blocks.push(Block::Table(table(&cells)));
    let refused: Vec<Item> =
        cells.iter().filter_map(|cell| Some(Item::new(cell.entry.clone(), cell.refused.clone()?))).collect();
    if !refused.is_empty() {
        blocks.push(Block::List(List { title: "No rank".into(), brief: refused.len(), items: refused }));
    }
    blocks.extend(chart(&cells));
    Section::new(&format!("profile-{at}"), &profile.profile, Weight::First, blocks)
}

fn load(profile: &ArenaProfileResult) -> String {
    let rate = profile.common_rate.map_or("no common rate".into(), |rate| {
        format!(
            "CPU time, memory and response times at {}, in {} of turns",
            quantity(rate, Unit::PerSecond),
            counted(f64::from(profile.rounds), "round")
        )
    });
    format!("Load: {}; {rate}.", profile.load)
}

fn noise_words(noise: &ArenaNoise) -> String {
    let Some(ratio) = noise.ratio else {
        return format!("The noise is not known: {} had too few pairs of turns.", noise.entry);
    };
    let percent = |ratio: f64| format!("{:+.1} %", 100.0 * (ratio - 1.0));
    let tied = if noise.tied { "a tie, as it should be" } else { "no tie, so differences of this size are noise" };
    format!(
        "Noise: a second start of {} took {} CPU time per request ({} to {}): {tied}.",
        noise.entry,
        percent(ratio.value),
        percent(ratio.low),
        percent(ratio.high)
    )
}

fn table(cells: &[&ArenaCell]) -> Table {
    let columns = vec![
        Col::words("server", 0),
        Col::figures("group", 0),
        Col::figures("CPU per request", 0),
        Col::figures("capacity", 0),
        Col::figures("p50", 3),
        Col::figures("p99", 1),
        Col::figures("memory", 2),
        Col::words("bottleneck", 1),
    ];
    let row = |cell: &&ArenaCell| {
        vec![
            Cell { link: report_of(cell), ..Cell::new(cell.entry.clone()) },
            group(cell),
            cell.cpu_us_per_request.map_or_else(|| absent(cell), |cpu| estimate_cell(cpu, Unit::Micros)),
            capacity(cell),
            value(cell, cell.p50_us, Unit::Micros),
            value(cell, cell.p99_us, Unit::Micros),
            value(cell, cell.pss_bytes.or(cell.rss_bytes), Unit::Bytes),
            Cell::new(cell.bottleneck.clone().unwrap_or_else(|| "–".into())),
        ]
    };
    let notes = vec![
        "servers of one group cannot be told apart by their CPU time per request; servers of different groups differ \
         with 95 % certainty for all pairs together"
            .to_owned(),
    ];
    let apart = cells.iter().enumerate().filter_map(|(at, cell)| apart(cell, &cells[..at]));
    let rows = cells.iter().map(row).collect();
    Table { columns, rows, notes: notes.into_iter().chain(apart).collect(), sortable: true, ..Table::default() }
}

/// Returns a note that names the servers of this row's group whose CPU time per request differs from the CPU time of
/// this row's server. Two servers whose CPU time differs can share a group if, sorted by CPU time, no server of the
/// group differs from the next server. Leaves out servers in earlier rows (`before`), because the note on the earlier
/// row already names this pair of servers.
fn apart(cell: &ArenaCell, before: &[&ArenaCell]) -> Option<String> {
    let is_new = |other: &&String| before.iter().all(|cell| cell.entry != **other);
    let others: Vec<&str> = cell.differs_from.iter().filter(is_new).map(String::as_str).collect();
    (!others.is_empty()).then(|| format!("{} differs from {} of its group", cell.entry, list(&others)))
}

/// Returns the path of the report on the search for this cell's capacity, relative to the page. The path is empty if
/// the cell has no report, or if the path would contain unusual characters.
fn report_of(cell: &ArenaCell) -> String {
    let plain = |run: &&String| run.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+/".contains(c));
    cell.run.as_ref().filter(plain).map_or(String::new(), |run| format!("{run}/report.html"))
}

fn absent(cell: &ArenaCell) -> Cell {
    Cell::absent(cell.refused.clone().unwrap_or_default())
}

fn group(cell: &ArenaCell) -> Cell {
    cell.group
        .map_or_else(|| absent(cell), |group| Cell { sort: Some(f64::from(group)), ..Cell::new(group.to_string()) })
}

/// Returns the table cell with a server's capacity under one load, with the capacity's interval. If the search found no
/// load that was too high for the server, the capacity is only a lower bound.
fn capacity(cell: &ArenaCell) -> Cell {
    let Some(capacity) = cell.capacity else { return absent(cell) };
    let is_lower_bound = cell.refused_kind.is_some_and(ArenaRefusalKind::is_lower_bound);
    capacity_cell(capacity, is_lower_bound)
}

fn value(cell: &ArenaCell, figure: Option<Estimate>, unit: Unit) -> Cell {
    let Some(Estimate { value, low, high }) = figure else { return absent(cell) };
    let hint = format!("{} to {}", quantity(low, unit), quantity(high, unit));
    Cell { sort: Some(value), hint, ..Cell::new(quantity(value, unit)) }
}

fn chart(cells: &[&ArenaCell]) -> Option<Block> {
    let point = |cell: &&ArenaCell| Some((cell.entry.clone(), cell.cpu_us_per_request?.value, cell.p99_us?.value));
    let points: Vec<(String, f64, f64)> = cells.iter().filter_map(point).collect();
    let series = points
        .iter()
        .enumerate()
        .map(|(at, (name, cpu, p99))| Series::new(name.clone(), Look::Dots, Hue::nth(at), vec![(*cpu, *p99)]));
    let ends = points.iter().map(|(_, cpu, _)| *cpu);
    let (least, most) = ends.fold((f64::INFINITY, 0.0_f64), |(least, most), cpu| (least.min(cpu), most.max(cpu)));
    let from = (most > least).then(|| AXIS_MARGIN.mul_add(least - most, least).max(0.0));
    (points.len() > 1).then(|| {
        Block::Plot(Box::new(Plot {
            title: "CPU time per request against latency".into(),
            caption: format!(
                "{} servers at the common rate; the best are at the lower left.",
                number(points.len() as f64)
            ),
            // Dots need no axis from 0, and readers must see a difference of a few percent.
            x: Axis { from, ..Axis::new("CPU time per request", Unit::Micros, Scale::Linear) },
            y: Axis::new("99th percentile", Unit::Micros, Scale::Log),
            series: series.collect(),
            wide: true,
            ..Plot::default()
        }))
    })
}

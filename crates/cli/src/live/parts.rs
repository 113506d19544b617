//! Lines of the full-screen view. Each part of the view has its own function.

use ratatui_core::style::{Color, Stylize as _};
use ratatui_core::text::{Line, Span};
use report::{AnswerLine, Unit, count, quantity};
use run::Device;
use run::number::prose::counted;

use super::fit::{LABEL, filled};
use super::model::Model;
use super::sides::{CpuKinds, SideNow};
use super::spread::{MAX_RANGES, Range, name, ranges, strip};

/// Minimum width of a bar in columns.
const MIN_BAR: usize = 24;
/// Width of the longest text to the right of a bar, columns. The text shows the four kinds of CPU time with their
/// shares.
const BESIDE_BAR: usize = 60;
/// Maximum number of client hosts that the view names.
const HOSTS: usize = 5;
/// Maximum number of busy devices that the view names.
const DEVICES: usize = 3;

/// Returns the width of the bars in a view that is `width` columns wide.
fn bar_width(width: u16) -> usize {
    usize::from(width).saturating_sub(LABEL + BESIDE_BAR).max(MIN_BAR)
}

/// Formats the label of a part of the view, padded to the width of the label column.
fn label(text: &str) -> Span<'static> {
    Span::from(format!("{text:<LABEL$}"))
}

/// Draws the title of the view: the command with its target, the elapsed time, and the remaining time if it is known.
pub(super) fn title(model: &Model, width: u16) -> Line<'static> {
    let gone = model.start.elapsed().as_secs_f64();
    let time = match model.budget_s {
        budget if budget > 0.0 => {
            format!("{} gone, {} left at most", seconds(gone), seconds((budget - gone).max(0.0)))
        }
        _ => seconds(gone),
    };
    let room = usize::from(width).saturating_sub(time.chars().count() + 2);
    let mut name: String = model.title.chars().take(room).collect();
    if name.chars().count() < model.title.chars().count() {
        name = format!("{}…", name.chars().take(room.saturating_sub(1)).collect::<String>());
    }
    Line::from(vec![Span::from(format!("{name:<room$}  ")).bold(), Span::from(time)])
}

/// Draws the capacity and the suspected bottleneck according to the trials so far. The capacity and the bottleneck each
/// take a fixed number of lines.
pub(super) fn so_far(model: &Model, width: u16, lines_each: usize) -> Vec<Line<'static>> {
    let parts = if model.searches { &["so far", "suspect"][..] } else { &[] };
    let width = usize::from(width).saturating_sub(LABEL);
    let part = |(i, name): (usize, &&'static str)| match model.so_far.get(i) {
        Some(line) => answer(name, line, width, lines_each),
        None => filled(vec![Line::from(vec![label(name), Span::from("not known yet")]).dim()], lines_each),
    };
    parts.iter().enumerate().flat_map(part).collect()
}

/// Fits the capacity or the bottleneck into a fixed number of lines. A text that is too long loses whole clauses.
fn answer(name: &str, line: &AnswerLine, width: usize, lines_each: usize) -> Vec<Line<'static>> {
    let line = AnswerLine::new(name, run::visible(&line.value), run::visible(&line.detail));
    let rows = report::fitted(&line, width, lines_each);
    let of_row = |(i, row): (usize, String)| {
        let value = if i == 0 { line.value.chars().count() } else { 0 };
        let (bold, plain): (String, String) = (row.chars().take(value).collect(), row.chars().skip(value).collect());
        Line::from(vec![label(if i == 0 { name } else { "" }), Span::from(bold).bold(), Span::from(plain)])
    };
    filled(rows.into_iter().enumerate().map(of_row).collect(), lines_each)
}

/// Draws the distribution of the current trial's response times, with one line for each range of times, and one for
/// requests without an answer.
pub(super) fn spread(model: &Model, width: u16) -> Vec<Line<'static>> {
    let ranges = ranges(&model.now.detail);
    let bar = bar_width(width);
    let most = ranges.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let line = |(i, (range, share)): (usize, &(Range, f64))| {
        let columns = (share / most.max(1e-9) * bar as f64).round() as usize;
        let color = if *range == Range::NoAnswer { Color::Red } else { Color::Yellow };
        Line::from(vec![
            label(if i == 0 { "latency" } else { "" }),
            Span::from("█".repeat(columns)).fg(color),
            Span::from("·".repeat(bar - columns.min(bar))).dim(),
            Span::from(format!(" {:>6} {}", quantity(*share, Unit::Share), name(*range))),
        ])
    };
    let lines: Vec<Line<'static>> = ranges.iter().enumerate().map(line).collect();
    filled(if lines.is_empty() { vec![no_answers()] } else { lines }, MAX_RANGES)
}

/// Draws the distribution of the current trial's response times in one line.
pub(super) fn short_spread(model: &Model, width: u16) -> Vec<Line<'static>> {
    let strip = strip(&model.now.detail, usize::from(width).saturating_sub(LABEL));
    let line = |(blocks, ends): (String, String)| match blocks.is_empty() {
        true => Line::from(vec![label("latency"), Span::from(ends).fg(Color::Red)]),
        false => {
            Line::from(vec![label("latency"), Span::from(blocks).fg(Color::Yellow), Span::from(format!(" {ends}"))])
        }
    };
    vec![strip.map_or_else(no_answers, line)]
}

fn no_answers() -> Line<'static> {
    Line::from(vec![label("latency"), Span::from("no answers in this step yet")]).dim()
}

/// Draws the number and name of the current step, its phase (such as warm-up), its time and its expected length.
pub(super) fn step(model: &Model) -> Line<'static> {
    let (name, began, expected_s) = &model.step;
    let gone = began.elapsed().as_secs_f64();
    let phase = match model.now.tick.phase {
        _ if model.now.tick.t_s <= 0.0 => ", starting",
        run::Phase::WarmUp => ", warming up",
        run::Phase::Measure => ", measuring",
        run::Phase::Drain => ", awaiting answers",
    };
    let of = if *expected_s > 0.0 { format!(" of about {}", seconds(*expected_s)) } else { String::new() };
    Line::from(format!("step {}: {name}{phase}, {}{of}", model.trials + 1, seconds(gone)))
}

/// Formats a time: in seconds, in minutes and seconds, or in hours and minutes.
pub(super) fn seconds(s: f64) -> String {
    match s {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s / 60.0 % 60.0).floor()),
    }
}

/// Draws the current rate, response times and counts.
pub(super) fn now(model: &Model) -> Vec<Line<'static>> {
    if model.watches {
        return Vec::new();
    }
    let known = |v: f64, unit| if v.is_finite() { quantity(v, unit) } else { "n/a".into() };
    let moment = model.moment.as_ref();
    let rate = moment.map_or(f64::NAN, |m| m.completed);
    let [p50, p99] = model.percentiles.map(report::short_time);
    let tick = &model.now.tick;
    if moment.is_none() {
        return vec![Line::from(format!("{:<LABEL$}no figures of this step yet", "now")).dim()];
    }
    vec![Line::from(format!(
        "{:<LABEL$}{}, p50 {p50}, p99 {p99}, {} in flight, {}",
        "now",
        known(rate, Unit::PerSecond),
        count(tick.in_flight),
        counted(tick.open as f64, "connection")
    ))]
}

/// Draws two things for client and server: the CPU time of the busiest host (divided into kinds such as user time), and
/// the resources that its processes use. If client and server are on the same host, its CPU time is drawn once.
pub(super) fn cpu(model: &Model, width: u16) -> Vec<Line<'static>> {
    if model.sides.is_empty() {
        return filled(vec![Line::from(format!("{:<LABEL$}no counters yet", "CPU")).dim()], 2);
    }
    let mut lines = Vec::new();
    let hosts = if model.one_host { &model.sides[..1] } else { &model.sides[..] };
    for side in hosts {
        let whose = if model.one_host { "host" } else { side.role };
        lines.extend(side.cpu.as_ref().map(|cpu| kinds(&format!("{whose} CPU"), cpu, bar_width(width))));
    }
    lines.extend(client_hosts(model));
    let uses: Vec<String> = model.sides.iter().map(uses).collect();
    lines.push(Line::from(format!("{:<LABEL$}{}", "processes", uses.join("; "))));
    lines
}

/// Draws the CPU utilization of each client host, the busiest first. The line above shows only the busiest client host.
fn client_hosts(model: &Model) -> Option<Line<'static>> {
    let mut hosts: Vec<&(String, f64)> = model.client_hosts.iter().collect();
    hosts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told: Vec<String> = hosts.iter().take(HOSTS).map(|(name, busy)| format!("{name} {}", percent(*busy))).collect();
    let more = hosts.len().saturating_sub(HOSTS);
    let more = if more > 0 { format!(", {more} less busy") } else { String::new() };
    (!told.is_empty()).then(|| Line::from(format!("{:<LABEL$}{}{more}", "clients", told.join(", "))))
}

fn kinds(name: &str, cpu: &CpuKinds, bar: usize) -> Line<'static> {
    let kinds = [
        (cpu.user, '█', "user", Color::Green),
        (cpu.system, '▓', "system", Color::Yellow),
        (cpu.interrupts, '▒', "interrupts", Color::Magenta),
        (cpu.stolen, '░', "stolen", Color::Red),
    ];
    let mut spans = vec![label(name)];
    let mut used = 0;
    for (share, symbol, _, color) in kinds {
        let columns = ((share * bar as f64).round() as usize).min(bar - used);
        used += columns;
        spans.push(Span::from(symbol.to_string().repeat(columns)).fg(color));
    }
    spans.push(Span::from("·".repeat(bar - used)).dim());
    let told = kinds.map(|(share, symbol, name, _)| (format!("{symbol} {name} {}", percent(share)), share));
    let told: Vec<String> = told.into_iter().filter(|(_, share)| *share >= 0.005).map(|(text, _)| text).collect();
    spans.push(Span::from(format!(" {}", told.join(" "))));
    Line::from(spans)
}

fn uses(side: &SideNow) -> String {
    let uses = &side.uses;
    let cpus = uses.cpus.map(|cpus| format!("{cpus:.2} CPUs"));
    let memory = uses.memory.map(|bytes| quantity(bytes, Unit::Bytes));
    // The texts about both sides must together fit into a line of 80 columns.
    let descriptors = uses.descriptors.filter(|_| side.role == "server").map(|n| format!("{n:.0} open files"));
    let all: Vec<String> = cpus.into_iter().chain(memory).chain(descriptors).collect();
    format!("{} {}", side.role, if all.is_empty() { "unknown".into() } else { all.join(", ") })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Draws the busiest devices and their utilization.
pub(super) fn devices(model: &Model, width: u16) -> Vec<Line<'static>> {
    let bar = bar_width(width);
    let line = |(i, device): (usize, &Device)| {
        let columns = ((device.busy * bar as f64).round() as usize).min(bar);
        let color = if device.full { Color::Red } else { Color::Blue };
        Line::from(vec![
            label(if i == 0 { "busiest" } else { "" }),
            Span::from("█".repeat(columns)).fg(color),
            Span::from("·".repeat(bar - columns)).dim(),
            Span::from(format!(" {:>5} {}", percent(device.busy), run::visible(&device.name()))),
        ])
    };
    filled(model.busiest.iter().take(DEVICES).enumerate().map(line).collect(), DEVICES)
}

/// Draws the failed requests and unexpected responses of the whole run, by kind.
pub(super) fn errors(model: &Model) -> Line<'static> {
    if model.watches {
        return Line::from(format!("{:<LABEL$}unknown: only the load generator counts them", "errors")).dim();
    }
    let kinds = model.errors().into_iter().map(|(kind, n)| format!("{} {}", count(n), kind.words_for(n)));
    let statuses = model.unexpected().into_iter().map(|(status, n)| format!("{} × {status}", count(n)));
    let told: Vec<String> = kinds.chain(statuses).collect();
    if told.is_empty() {
        return Line::from(format!("{:<LABEL$}none", "errors")).dim();
    }
    Line::from(format!("{:<LABEL$}{}", "errors", told.join(", "))).fg(Color::Red)
}

/// Draws the newest lines of the list of steps, with its heading. `most` is the maximum number of lines.
pub(super) fn steps(model: &Model, most: usize) -> Vec<Line<'static>> {
    if model.steps.is_empty() || most < 2 {
        return Vec::new();
    }
    let from = model.steps.len().saturating_sub(most - 1);
    let head = Line::from(model.steps_head.clone()).bold();
    std::iter::once(head).chain(model.steps.range(from..).map(|line| Line::from(line.clone()))).collect()
}

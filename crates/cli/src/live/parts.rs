//! Lines of the view, one function per part.

use ratatui_core::style::{Color, Stylize as _};
use ratatui_core::text::{Line, Span};
use report::{AnswerLine, Unit, count, quantity};
use run::Device;

use super::model::Model;
use super::sides::{CpuKinds, SideNow};
use super::spread::{name, ranges, strip};

/// Width of a bar in columns.
const BAR: usize = 30;
/// Maximum number of client hosts that are named.
const HOSTS: usize = 5;
/// Maximum number of busy devices that are named.
const DEVICES: usize = 3;

/// Draws the command, the elapsed time and the remaining time.
pub(super) fn title(model: &Model, width: u16) -> Line<'static> {
    let gone = model.start.elapsed().as_secs_f64();
    let time = match model.budget_s {
        budget if budget > 0.0 => {
            format!("{} of {}, {} left", seconds(gone), seconds(budget), seconds((budget - gone).max(0.0)))
        }
        _ => seconds(gone),
    };
    let room = usize::from(width).saturating_sub(time.chars().count() + 2);
    let name: String = model.title.chars().take(room).collect();
    Line::from(vec![Span::from(format!("{name:<room$}  ")).bold(), Span::from(time)])
}

/// Draws the capacity and the suspected bottleneck according to the trials so far.
pub(super) fn so_far(model: &Model) -> Vec<Line<'static>> {
    let line = |(i, line): (usize, &AnswerLine)| {
        let name = if i == 0 { "so far" } else { "suspect" };
        let value = Span::from(run::visible(&line.value).into_owned()).bold();
        Line::from(vec![
            Span::from(format!("{name:<9}")),
            value,
            Span::from(format!(" {}", run::visible(&line.detail))),
        ])
    };
    model.so_far.iter().enumerate().map(line).collect()
}

/// Draws the distribution of the current trial's response times.
pub(super) fn spread(model: &Model) -> Vec<Line<'static>> {
    let ranges = ranges(&model.now.detail.responses);
    let most = ranges.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    let line = |(i, (end_us, share)): (usize, &(Option<f64>, f64))| {
        let columns = (share / most.max(1e-9) * BAR as f64).round() as usize;
        let head = if i == 0 { "latency" } else { "" };
        Line::from(vec![
            Span::from(format!("{head:<9}{:<11}", name(*end_us))),
            Span::from("█".repeat(columns)).fg(Color::Yellow),
            Span::from(format!(" {}", quantity(*share, Unit::Share))),
        ])
    };
    ranges.iter().enumerate().map(line).collect()
}

/// Draws the distribution of the current trial's response times in one line.
pub(super) fn short_spread(model: &Model, width: u16) -> Vec<Line<'static>> {
    let head = "latency  ";
    let strip = strip(&model.now.detail.responses, usize::from(width).saturating_sub(head.len()));
    strip.into_iter().map(|strip| Line::from(vec![Span::from(head), Span::from(strip).fg(Color::Yellow)])).collect()
}

/// Draws the current step and its phase.
pub(super) fn step(model: &Model) -> Line<'static> {
    let (name, began, expected_s) = &model.step;
    let gone = began.elapsed().as_secs_f64();
    let phase = match model.now.tick.phase {
        _ if model.now.tick.t_s <= 0.0 => "",
        run::Phase::WarmUp => ", warming up",
        run::Phase::Measure => ", measuring",
        run::Phase::Drain => ", awaiting the last answers",
    };
    let of = if *expected_s > 0.0 { format!(" of at most {}", seconds(*expected_s)) } else { String::new() };
    Line::from(format!("step {}: {name}{phase}, {}{of}", model.trials + 1, seconds(gone)))
}

/// Formats whole seconds, or minutes and seconds.
pub(super) fn seconds(s: f64) -> String {
    match s {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s / 60.0 % 60.0).floor()),
    }
}

/// Draws the figures of the newest moment.
pub(super) fn now(model: &Model) -> Vec<Line<'static>> {
    if model.watches {
        return Vec::new();
    }
    let known = |v: f64, unit| if v.is_finite() { quantity(v, unit) } else { "n/a".into() };
    let moment = model.moment.as_ref();
    let [rate, p50, p99] = [
        moment.map_or(f64::NAN, |m| m.completed),
        moment.map_or(f64::NAN, |m| m.p50_us),
        moment.map_or(f64::NAN, |m| m.p99_us),
    ];
    let tick = &model.now.tick;
    vec![Line::from(format!(
        "now      {} completed, p50 {}, p99 {}, {} in flight, {} open",
        known(rate, Unit::PerSecond),
        known(p50, Unit::Micros),
        known(p99, Unit::Micros),
        count(tick.in_flight),
        count(tick.open)
    ))]
}

/// Draws the CPU time by kind (once if both sides share a host) and the CPU use of each side's processes.
pub(super) fn cpu(model: &Model) -> Vec<Line<'static>> {
    if model.sides.is_empty() {
        return vec![Line::from("CPU      no counters yet").dim()];
    }
    let mut lines = Vec::new();
    let hosts = if model.one_host { &model.sides[..1] } else { &model.sides[..] };
    for side in hosts {
        let name = if model.one_host { "both" } else { side.role };
        lines.extend(side.cpu.as_ref().map(|cpu| kinds(name, cpu)));
    }
    lines.extend(client_hosts(model));
    let uses: Vec<String> = model.sides.iter().map(uses).collect();
    lines.push(Line::from(format!("use      {}", uses.join("; "))));
    lines
}

/// Draws the utilisation of each client host, busiest first. The CPU bar above this line describes the first of these
/// hosts.
fn client_hosts(model: &Model) -> Option<Line<'static>> {
    let mut hosts: Vec<&(String, f64)> = model.client_hosts.iter().collect();
    hosts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let told: Vec<String> = hosts.iter().take(HOSTS).map(|(name, busy)| format!("{name} {}", percent(*busy))).collect();
    let more = hosts.len().saturating_sub(HOSTS);
    let more = if more > 0 { format!(", {more} less busy") } else { String::new() };
    (!told.is_empty()).then(|| Line::from(format!("clients  {}{more}", told.join(", "))))
}

fn kinds(name: &str, cpu: &CpuKinds) -> Line<'static> {
    let kinds = [
        (cpu.user, '█', "user", Color::Green),
        (cpu.system, '▓', "system", Color::Yellow),
        (cpu.interrupts, '▒', "interrupts", Color::Magenta),
        (cpu.stolen, '░', "stolen", Color::Red),
    ];
    let mut spans = vec![Span::from(format!("{name:<6} "))];
    let mut used = 0;
    for (share, symbol, _, color) in kinds {
        let columns = ((share * BAR as f64).round() as usize).min(BAR - used);
        used += columns;
        spans.push(Span::from(symbol.to_string().repeat(columns)).fg(color));
    }
    spans.push(Span::from("·".repeat(BAR - used)).dim());
    let told = kinds.map(|(share, symbol, name, _)| (format!("{symbol} {name} {}", percent(share)), share));
    let told: Vec<String> = told.into_iter().filter(|(_, share)| *share >= 0.005).map(|(text, _)| text).collect();
    spans.push(Span::from(format!(" {}", told.join(" "))));
    Line::from(spans)
}

fn uses(side: &SideNow) -> String {
    let uses = &side.uses;
    let cpus = uses.cpus.map(|cpus| format!("{cpus:.2} CPUs"));
    let memory = uses.memory.map(|bytes| quantity(bytes, Unit::Bytes));
    // The texts of both sides must fit into one line of 80 columns.
    let descriptors = uses.descriptors.filter(|_| side.role == "server").map(|n| format!("{n:.0} descriptors"));
    let all: Vec<String> = cpus.into_iter().chain(memory).chain(descriptors).collect();
    format!("{} {}", side.role, if all.is_empty() { "unknown".into() } else { all.join(", ") })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Draws the busiest devices and their utilisation.
pub(super) fn devices(model: &Model) -> Vec<Line<'static>> {
    let line = |(i, device): (usize, &Device)| {
        let columns = ((device.busy * BAR as f64).round() as usize).min(BAR);
        let color = if device.full { Color::Red } else { Color::Blue };
        Line::from(vec![
            Span::from(if i == 0 { "busiest " } else { "        " }),
            Span::from("█".repeat(columns)).fg(color),
            Span::from("·".repeat(BAR - columns)).dim(),
            Span::from(format!(" {:>5} {}", percent(device.busy), run::visible(&device.name()))),
        ])
    };
    model.busiest.iter().take(DEVICES).enumerate().map(line).collect()
}

/// Draws the failures of the whole run by kind.
pub(super) fn errors(model: &Model) -> Line<'static> {
    if model.watches {
        return Line::from("errors   unknown: only the load generator counts them").dim();
    }
    let kinds = model.errors().into_iter().map(|(kind, n)| format!("{} {}", count(n), kind.words()));
    let statuses = model.unexpected().into_iter().map(|(status, n)| format!("{} × {status}", count(n)));
    let told: Vec<String> = kinds.chain(statuses).collect();
    if told.is_empty() {
        return Line::from("errors   none").dim();
    }
    Line::from(format!("errors   {}", told.join(", "))).fg(Color::Red)
}

/// Draws the newest steps with their heading.
pub(super) fn steps(model: &Model, most: usize) -> Vec<Line<'static>> {
    if model.steps.is_empty() || most < 2 {
        return Vec::new();
    }
    let from = model.steps.len().saturating_sub(most - 1);
    let head = Line::from(model.steps_head.clone()).bold();
    std::iter::once(head).chain(model.steps.range(from..).map(|line| Line::from(line.clone()))).collect()
}

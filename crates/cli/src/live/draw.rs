//! Draws the view in as many lines as the terminal has. The view is complete at 80 x 24, and smaller terminals show
//! less.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Stylize as _};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span, Text};
use report::{Unit, count, quantity};
use run::Device;

use super::history::Moment;
use super::model::Model;
use super::sides::{CpuKinds, SideNow};

/// Width of a bar in columns.
const BAR: usize = 30;
/// Minimum and maximum number of lines of a chart with its title.
const CHART: (usize, usize) = (3, 12);
/// Maximum number of client hosts that are named.
const HOSTS: usize = 5;
/// Maximum number of busy devices that are named.
const DEVICES: usize = 3;

/// Draws the view. `keys` is the line that explains the keys.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, keys: &str) {
    let area = frame.area();
    let mut page = Page { frame, area, y: 0 };
    let parts = Parts::of(model, usize::from(area.height));
    page.lines(vec![title(model, area.width), step(model)]);
    for (title, of) in charts(model) {
        page.chart(title, parts.chart, model, of);
    }
    page.lines(now(model));
    page.lines(parts.cpu);
    page.lines(parts.devices);
    page.lines(parts.errors);
    page.lines(parts.notes);
    page.lines(parts.steps);
    page.foot(keys);
}

/// Number of lines for each part.
struct Parts {
    chart: usize,
    cpu: Vec<Line<'static>>,
    devices: Vec<Line<'static>>,
    errors: Vec<Line<'static>>,
    notes: Vec<Line<'static>>,
    steps: Vec<Line<'static>>,
}

impl Parts {
    /// Divides the lines. Head, current figures and keys come first, then the other parts by importance.
    fn of(model: &Model, height: usize) -> Self {
        let mut room = height.saturating_sub(2 + now(model).len() + 1);
        let mut take = |mut lines: Vec<Line<'static>>| {
            lines.truncate(room);
            room -= lines.len();
            lines
        };
        let (cpu, errors, devices) = (take(cpu(model)), take(vec![errors(model)]), take(devices(model)));
        let charts = charts(model).len().max(1);
        let least = if room / charts >= CHART.0 { charts * CHART.0 } else { 0 };
        let mut room = room - least;
        let note = model.notes.back().map(|note| Line::from(format!("note     {note}")).dim());
        let notes: Vec<Line<'static>> = note.into_iter().take(room.min(1)).collect();
        room -= notes.len();
        // Charts get half of the remaining lines, and the steps the rest.
        let steps = steps(model, room.min(3 + room / 3));
        room -= steps.len();
        let chart = if least == 0 { 0 } else { (CHART.0 + room / charts).min(CHART.1) };
        Self { chart, cpu, devices, errors, notes, steps }
    }
}

/// Position of the next line.
struct Page<'p, 'f> {
    frame: &'p mut Frame<'f>,
    area: Rect,
    y: u16,
}

impl Page<'_, '_> {
    fn rect(&mut self, height: usize) -> Option<Rect> {
        let left = self.area.height.saturating_sub(self.y);
        let height = u16::try_from(height).unwrap_or(u16::MAX).min(left);
        let rect = Rect { x: self.area.x, y: self.area.y + self.y, width: self.area.width, height };
        self.y += height;
        (height > 0 && rect.width > 0).then_some(rect)
    }

    fn lines(&mut self, lines: Vec<Line<'static>>) {
        if let Some(rect) = self.rect(lines.len()) {
            self.frame.render_widget(Text::from(lines), rect);
        }
    }

    /// Draws a chart of the whole run: a title with the largest value, and bars.
    fn chart(&mut self, title: &str, height: usize, model: &Model, of: Of) {
        let Some(rect) = self.rect(height).filter(|rect| rect.height > 1) else { return };
        let values: Vec<f64> = model.history.in_columns(usize::from(rect.width)).iter().map(of.value).collect();
        let most = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
        let head = Line::from(vec![
            Span::from(title.to_string()).bold(),
            Span::from(format!("  most {}", quantity(most, of.unit))).dim(),
        ]);
        self.frame.render_widget(head, Rect { height: 1, ..rect });
        let lines =
            bars(&values, most, usize::from(rect.height - 1)).into_iter().map(|line| Line::from(line).fg(of.color));
        self.frame.render_widget(Text::from_iter(lines), Rect { y: rect.y + 1, height: rect.height - 1, ..rect });
    }

    fn foot(&mut self, keys: &str) {
        let Some(y) = self.area.height.checked_sub(1).filter(|y| *y >= self.y) else { return };
        let rect = Rect { y: self.area.y + y, height: 1, ..self.area };
        self.frame.render_widget(Line::from(keys.to_string()).dim(), rect);
    }
}

/// Returns one bar per value as lines from the top, in eighths of a block.
fn bars(values: &[f64], most: f64, height: usize) -> Vec<String> {
    const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let eighths = |v: f64| if most > 0.0 && v.is_finite() { (v / most * (height * 8) as f64) as usize } else { 0 };
    let line = |below: usize| values.iter().map(|v| EIGHTHS[eighths(*v).saturating_sub(below * 8).min(8)]).collect();
    (0..height).rev().map(line).collect()
}

/// A figure of each moment in a chart.
#[derive(Clone, Copy)]
struct Of {
    value: fn(&Moment) -> f64,
    unit: Unit,
    color: Color,
}

fn charts(model: &Model) -> Vec<(&'static str, Of)> {
    let of = |value, unit, color| Of { value, unit, color };
    if model.watches {
        return vec![("CPU busy", of(|m| m.cpu, Unit::Share, Color::Green))];
    }
    vec![
        ("completed", of(|m| m.completed, Unit::PerSecond, Color::Green)),
        ("p99", of(|m| m.p99_us, Unit::Micros, Color::Yellow)),
    ]
}

fn title(model: &Model, width: u16) -> Line<'static> {
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

fn step(model: &Model) -> Line<'static> {
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
fn seconds(s: f64) -> String {
    match s {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min {:02.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{:.0} h {:02.0} min", (s / 3600.0).floor(), (s / 60.0 % 60.0).floor()),
    }
}

/// Draws the figures of the newest moment.
fn now(model: &Model) -> Vec<Line<'static>> {
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

/// Draws the CPU time by kind (once for a shared host) and the use of each side's processes.
fn cpu(model: &Model) -> Vec<Line<'static>> {
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

/// Draws the utilisation of each client host, busiest first. The bar above belongs to the first.
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
    // Both sides share one line of 80 columns.
    let descriptors = uses.descriptors.filter(|_| side.role == "server").map(|n| format!("{n:.0} descriptors"));
    let all: Vec<String> = cpus.into_iter().chain(memory).chain(descriptors).collect();
    format!("{} {}", side.role, if all.is_empty() { "unknown".into() } else { all.join(", ") })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Draws the busiest devices and their utilisation.
fn devices(model: &Model) -> Vec<Line<'static>> {
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

fn errors(model: &Model) -> Line<'static> {
    if model.watches {
        return Line::from("errors   unknown: only the load generator counts them").dim();
    }
    let kinds = model.errors().into_iter().map(|(kind, n)| format!("{} {}", count(n), report::error_words(kind)));
    let statuses = model.unexpected().into_iter().map(|(status, n)| format!("{} × {status}", count(n)));
    let told: Vec<String> = kinds.chain(statuses).collect();
    if told.is_empty() {
        return Line::from("errors   none").dim();
    }
    Line::from(format!("errors   {}", told.join(", "))).fg(Color::Red)
}

/// Draws the newest steps with their heading.
fn steps(model: &Model, most: usize) -> Vec<Line<'static>> {
    if model.steps.is_empty() || most < 2 {
        return Vec::new();
    }
    let from = model.steps.len().saturating_sub(most - 1);
    let head = Line::from(model.steps_head.clone()).bold();
    std::iter::once(head).chain(model.steps.range(from..).map(|line| Line::from(line.clone()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;
    use run::{ErrorKind, Trial};

    fn drawn(model: &Model, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, model, "q ends")).unwrap();
        terminal.backend().to_string()
    }

    fn model() -> Model {
        let mut model = Model::new("loadline find http://127.0.0.1:8080/".into(), "step      completed".into(), 30.0);
        model.phase("16 connections", 1.5);
        for i in 0..300 {
            let p99_us = 100.0 + f64::from(i);
            let moment = Moment { seconds: 0.2, completed: 1000.0, p50_us: 90.0, p99_us, cpu: f64::NAN };
            (model.moment, model.now.tick.t_s) = (Some(moment), 0.5);
            model.history.push(moment);
        }
        let cpu = CpuKinds { user: 0.4, system: 0.3, interrupts: 0.1, ..CpuKinds::default() };
        model.sides = ["client", "server"].map(|role| SideNow { role, cpu: Some(cpu), ..SideNow::default() }).into();
        let device =
            |side, kind, instance: &str, busy, full| Device { side, kind, instance: instance.into(), busy, full };
        model.busiest = vec![device("server", "thread", "nginx:7", 0.97, true), device("host", "CPUs", "", 0.8, false)];
        let mut trial = Trial::default();
        trial.tally.errors.0.insert(ErrorKind::Reset, 7);
        model.trial(&trial, "8 connections");
        model.note("the sweep ended");
        model
    }

    #[test]
    fn at_80_by_24_all_parts_are_shown() {
        let text = drawn(&model(), 80, 24);
        for part in [
            "loadline find",
            "of 30 s",
            "step 2: 16 connections, warming up",
            "completed",
            "p99",
            "most 399",
            "now      1",
            "client █",
            "server █",
            "user 40 %",
            "busiest █",
            " 97 % server thread nginx:7",
            "7 resets",
            "8 connections",
            "the sweep ended",
            "q ends",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
    }

    #[test]
    fn a_bar_is_proportional_to_its_value() {
        assert_eq!(bars(&[0.0, 1.0, 8.5, 12.0, 16.0, f64::NAN], 16.0, 2), ["   ▄█ ", " ▁███ "]);
        assert_eq!(bars(&[0.0, f64::NAN], 0.0, 1), ["  "]);
    }

    #[test]
    fn the_busiest_client_hosts_are_named_first() {
        let mut model = model();
        model.client_hosts = (0..7).map(|i| (format!("gen{i}"), f64::from(i) / 10.0)).collect();
        let text = drawn(&model, 80, 24);
        assert!(text.contains("clients  gen6 60 %, gen5 50 %, gen4 40 %, gen3 30 %, gen2 20 %, 2 less busy"), "{text}");
    }

    #[test]
    fn every_size_is_drawn_and_the_least_important_parts_are_left_out_first() {
        let model = model();
        for (width, height) in [(1, 1), (10, 3), (40, 10), (80, 8), (200, 60), (300, 2)] {
            drawn(&model, width, height);
        }
        let small = drawn(&model, 80, 10);
        assert!(small.contains("now ") && small.contains("7 resets") && !small.contains("the sweep ended"), "{small}");
        drawn(&Model::new(String::new(), String::new(), 0.0), 80, 24);
    }
}

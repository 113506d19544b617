//! Draws the view with as many lines as the terminal has. The view is complete at 80 x 24; smaller terminals show less.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Stylize as _};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span, Text};
use report::{Unit, quantity};

use super::history::Moment;
use super::model::Model;
use super::parts::{cpu, devices, errors, now, seconds, short_spread, so_far, spread, step, steps, title};
use super::spread::{EIGHTHS, scale, stretched};

/// Minimum and maximum number of lines of a chart with its title.
const CHART: (usize, usize) = (3, 20);
/// Minimum number of lines of a terminal on which the distribution of response times has one line per range.
const TALL: usize = 36;

/// Draws the view. The last line shows `keys`; `explained` has one line per key if the user asked for an explanation.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, keys: &str, explained: Vec<String>) {
    let area = frame.area();
    let mut page = Page { frame, area, y: 0 };
    page.lines(vec![title(model, area.width), step(model)]);
    page.lines(explained.iter().map(|line| Line::from(line.clone())).collect());
    let parts = Parts::of(model, area.width, usize::from(area.height).saturating_sub(explained.len()));
    page.lines(parts.so_far);
    for (title, of) in charts(model) {
        page.chart(title, parts.chart, model, of);
    }
    page.lines(now(model));
    page.lines(parts.spread);
    page.lines(parts.cpu);
    page.lines(parts.devices);
    page.lines(parts.errors);
    page.lines(parts.notes);
    page.lines(parts.steps);
    page.foot(keys);
}

/// Number of lines for each part of the view.
struct Parts {
    chart: usize,
    so_far: Vec<Line<'static>>,
    spread: Vec<Line<'static>>,
    cpu: Vec<Line<'static>>,
    devices: Vec<Line<'static>>,
    errors: Vec<Line<'static>>,
    notes: Vec<Line<'static>>,
    steps: Vec<Line<'static>>,
}

impl Parts {
    /// Divides the terminal's lines among the parts. Head, current figures and keys come first; other parts follow by
    /// importance.
    fn of(model: &Model, width: u16, height: usize) -> Self {
        let mut room = height.saturating_sub(2 + now(model).len() + 1);
        let mut take = |mut lines: Vec<Line<'static>>| {
            lines.truncate(room);
            room -= lines.len();
            lines
        };
        let so_far = take(so_far(model));
        let (cpu, errors, devices) = (take(cpu(model)), take(vec![errors(model)]), take(devices(model)));
        let spread = take(if height >= TALL { spread(model) } else { short_spread(model, width) });
        let charts = charts(model).len().max(1);
        let least = if room / charts >= CHART.0 { charts * CHART.0 } else { 0 };
        let mut room = room - least;
        let note = model.notes.back().map(|note| Line::from(format!("note     {note}")).dim());
        let notes: Vec<Line<'static>> = note.into_iter().take(room.min(1)).collect();
        room -= notes.len();
        // Charts get half of the remaining lines, and the list of steps gets the rest.
        let steps = steps(model, room.min(3 + room / 3));
        room -= steps.len();
        let chart = if least == 0 { 0 } else { (CHART.0 + room / charts).min(CHART.1) };
        Self { chart, so_far, spread, cpu, devices, errors, notes, steps }
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
        let width = usize::from(rect.width);
        let kept: Vec<f64> = model.history.in_columns(width).iter().map(of.value).collect();
        let (gone_s, whole_s) = (model.start.elapsed().as_secs_f64(), model.budget_s);
        let share = if whole_s > 0.0 { (gone_s / whole_s).min(1.0) } else { 1.0 };
        let values = stretched(&kept, (width as f64 * share) as usize);
        let (full, most) = (scale(&values), values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max));
        let cut = if full < most { format!(", cut at {}", quantity(full, of.unit)) } else { String::new() };
        let axis = format!("  0 to {}{cut}, over {}", quantity(most, of.unit), seconds(whole_s.max(gone_s)));
        let head = Line::from(vec![Span::from(title.to_string()).bold(), Span::from(axis).dim()]);
        self.frame.render_widget(head, Rect { height: 1, ..rect });
        let lines =
            bars(&values, full, usize::from(rect.height - 1)).into_iter().map(|line| Line::from(line).fg(of.color));
        self.frame.render_widget(Text::from_iter(lines), Rect { y: rect.y + 1, height: rect.height - 1, ..rect });
    }

    fn foot(&mut self, keys: &str) {
        let Some(y) = self.area.height.checked_sub(1).filter(|y| *y >= self.y) else { return };
        let rect = Rect { y: self.area.y + y, height: 1, ..self.area };
        self.frame.render_widget(Line::from(keys.to_string()).dim(), rect);
    }
}

/// Returns the bars of all values as lines of text, top line first, with a resolution of an eighth of a block.
fn bars(values: &[f64], most: f64, height: usize) -> Vec<String> {
    let eighths = |v: f64| if most > 0.0 && v.is_finite() { (v / most * (height * 8) as f64) as usize } else { 0 };
    let line = |below: usize| values.iter().map(|v| EIGHTHS[eighths(*v).saturating_sub(below * 8).min(8)]).collect();
    (0..height).rev().map(line).collect()
}

/// Function that returns the charted figure of a moment.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::backend::TestBackend;
    use ratatui_core::terminal::Terminal;
    use report::AnswerLine;
    use run::{CoarseHist, Device, ErrorKind, Trial};

    use super::super::sides::{CpuKinds, SideNow};

    fn drawn(model: &Model, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, model, "q ends", Vec::new())).unwrap();
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
        let mut counts = vec![0; CoarseHist::BUCKETS];
        (1..400_u64).for_each(|i| counts[CoarseHist::bucket(i * 10_000)] += 1);
        model.now.detail.responses = CoarseHist::of(counts);
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
            "0 to 399",
            "now      1",
            "latency  ",
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
    fn the_capacity_and_the_suspect_so_far_come_first_and_keys_are_explained() {
        let mut model = model();
        let line = |name, value, detail| AnswerLine::new(name, value, detail);
        model.so_far =
            vec![line("Rate", "810 requests/s (790 to 830)", "with p99"), line("", "server-cpu (likely):", "full")];
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &model, "q ends", super::super::keys::lines(true))).unwrap();
        let text = terminal.backend().to_string();
        for part in [
            "so far   810 requests/s (790 to 830) with p99",
            "suspect  server-cpu (likely): full",
            "raise or lower",
            "q ends",
        ] {
            assert!(text.contains(part), "{part:?} is missing:\n{text}");
        }
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

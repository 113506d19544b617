//! Draws the full-screen view, with as many lines as the terminal has. 80 columns and 24 lines suffice for the complete
//! view. On a smaller terminal, parts of the view are missing.

use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Stylize as _};
use ratatui_core::terminal::Frame;
use ratatui_core::text::{Line, Span, Text};
use report::{Unit, quantity};

use super::axis::Axis;
use super::fit::{LABEL, filled, fit};
use super::history::Moment;
use super::model::Model;
use super::parts::{cpu, devices, errors, now, seconds, short_spread, so_far, spread, step, steps, title};
use super::spread::stretched;

/// Minimum height of a chart including its title, lines.
const MIN_CHART: usize = 3;
/// Minimum width of a terminal that shows the list of steps beside the current figures, columns. On a narrower
/// terminal, the list of steps is below the figures.
const WIDE: u16 = 160;
/// Width of the list of steps beside the current figures, columns. A line about a step has at most 80 characters.
const STEPS_WIDTH: u16 = 82;
/// Minimum height of a terminal on which each range of response times has its own line, lines. On a terminal with fewer
/// lines, the whole distribution of response times takes one line.
const TALL: usize = 36;

/// Draws the full-screen view of a run. The last line of the view shows `keys`. `explained` explains the keys, with one
/// line per key, if the user asked for this; otherwise, it is empty.
pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, keys: &str, explained: Vec<String>) {
    let area = frame.area();
    let mut page = Page { frame, area, y: 0 };
    page.lines(vec![title(model, area.width), step(model)]);
    let parts = Parts::of(model, area.width, usize::from(area.height));
    page.lines(parts.so_far);
    for (title, of) in charts(model) {
        page.chart(title, parts.chart, model, of);
    }
    page.lines(parts.time);
    page.side_by_side(parts.figures, parts.beside, STEPS_WIDTH);
    page.lines(parts.below);
    page.foot(keys);
    page.over(explained);
}

/// Contents of each part of the view, and the number of lines of each chart.
struct Parts {
    chart: usize,
    time: Vec<Line<'static>>,
    so_far: Vec<Line<'static>>,
    /// Current figures: rates and times, their distribution, CPUs, devices, errors and the newest note.
    figures: Vec<Line<'static>>,
    /// List of steps to the right of the current figures; empty on a narrow terminal.
    beside: Vec<Line<'static>>,
    /// List of steps below the current figures; empty on a wide terminal.
    below: Vec<Line<'static>>,
}

impl Parts {
    /// Divides the lines of the terminal among the parts. The head, the current figures and the keys get their lines
    /// first. All other parts get the remaining lines, in order of their importance.
    fn of(model: &Model, width: u16, height: usize) -> Self {
        let is_wide = width >= WIDE;
        let narrowed = if is_wide { width - STEPS_WIDTH } else { width };
        let now = now(model);
        let mut room = height.saturating_sub(2 + now.len() + 1);
        let mut take = |mut lines: Vec<Line<'static>>| {
            lines.truncate(room);
            room -= lines.len();
            lines
        };
        // On a wide terminal, the capacity and its limits fit into one line.
        let so_far = take(so_far(model, width, if height >= TALL && !is_wide { 2 } else { 1 }));
        let (cpu, errors, devices) =
            (take(cpu(model, narrowed)), take(vec![errors(model)]), take(devices(model, narrowed)));
        let spread = take(if height >= TALL { spread(model, narrowed) } else { short_spread(model, narrowed) });
        let charts = charts(model).len().max(1);
        let least = if room > charts * MIN_CHART { charts * MIN_CHART + 1 } else { 0 };
        let time: Vec<Line<'static>> = time_axis(model, width).into_iter().take(least).collect();
        let mut room = room - least;
        let note =
            model.notes.back().map_or_else(Line::default, |note| Line::from(format!("{:<LABEL$}{note}", "note")));
        let notes: Vec<Line<'static>> = std::iter::once(note.dim()).take(room.min(1)).collect();
        room -= notes.len();
        let figures = [now, spread, cpu, devices, errors, notes].concat();
        // The list of steps grows during a run. The list of steps always gets the same number of lines, so that the
        // charts keep their height.
        let most_steps = if is_wide { figures.len() } else { room.min(3 + room / 3) };
        let steps = filled(steps(model, most_steps), most_steps);
        let (beside, below) = if is_wide { (steps, Vec::new()) } else { (Vec::new(), steps) };
        room -= below.len();
        let chart = if least == 0 { 0 } else { MIN_CHART + room / charts };
        Self { chart, time, so_far, figures, beside, below }
    }
}

/// The screen area that is being drawn, and the row for the next line.
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
            let width = usize::from(rect.width);
            self.frame.render_widget(Text::from_iter(lines.into_iter().map(|line| fit(line, width))), rect);
        }
    }

    /// Draws two lists of lines side by side. The second list is at the right edge and has `right_width` columns. If
    /// the second list is empty, the first list gets the whole width.
    fn side_by_side(&mut self, left: Vec<Line<'static>>, right: Vec<Line<'static>>, right_width: u16) {
        let y = self.y;
        let whole = self.area;
        if !right.is_empty() {
            self.area.width = whole.width.saturating_sub(right_width);
        }
        self.lines(left);
        if !right.is_empty() {
            let end = std::mem::replace(&mut self.y, y);
            self.area = Rect { x: whole.x + self.area.width, width: right_width.min(whole.width), ..whole };
            self.lines(right);
            self.y = self.y.max(end);
        }
        self.area = whole;
    }

    /// Draws a chart of the whole run: a title, bars, and the labels of the vertical axis.
    fn chart(&mut self, title: &str, height: usize, model: &Model, of: Of) {
        let Some(rect) = self.rect(height).filter(|rect| rect.height > 1) else { return };
        let width = usize::from(rect.width).saturating_sub(LABEL);
        let kept: Vec<f64> = model.history.in_columns(width).iter().map(of.value).collect();
        let gone_s = model.start.elapsed().as_secs_f64();
        let values = stretched(&kept, (width as f64 * (gone_s / whole_s(model)).min(1.0)) as usize);
        let limit = model.limit_us.filter(|_| of.is_log);
        let axis = if of.is_log { Axis::log(&values, limit) } else { Axis::linear(&values) };
        let head =
            Line::from(vec![Span::from(title.to_string()).bold(), Span::from(about(axis, &values, limit, of)).dim()]);
        self.frame.render_widget(fit(head, usize::from(rect.width)), Rect { height: 1, ..rect });
        let height = usize::from(rect.height - 1);
        let rows = axis.labels(height, of.unit, limit).into_iter().zip(axis.bars(&values, height, width, limit));
        let lines = rows.map(|(label, bars)| {
            let label = format!("{label:>room$} ", room = LABEL - 1);
            Line::from(vec![Span::from(label).dim(), Span::from(bars).fg(of.color)])
        });
        self.frame.render_widget(Text::from_iter(lines), Rect { y: rect.y + 1, height: rect.height - 1, ..rect });
    }

    /// Draws lines on top of the lower part of the view. The last line of the view stays visible.
    fn over(&mut self, lines: Vec<String>) {
        let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(self.area.height.saturating_sub(1));
        let (width, y) = (usize::from(self.area.width), self.area.y + self.area.height.saturating_sub(height + 1));
        let lines = lines.into_iter().map(|line| Line::from(format!("{line:<width$}")));
        if height > 0 {
            self.frame.render_widget(Text::from_iter(lines), Rect { y, height, ..self.area });
        }
    }

    fn foot(&mut self, keys: &str) {
        let Some(y) = self.area.height.checked_sub(1).filter(|y| *y >= self.y) else { return };
        let rect = Rect { y: self.area.y + y, height: 1, ..self.area };
        self.frame.render_widget(Line::from(keys.to_string()).dim(), rect);
    }
}

/// Describes a chart: its scale, its limit, and the largest value if this value does not fit on the axis.
fn about(axis: Axis, values: &[f64], limit: Option<f64>, of: Of) -> String {
    let most = values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let cut = axis.cut(most).map(|_| format!("cut, the largest value is {}", quantity(most, of.unit)));
    let log = of.is_log.then(|| "logarithmic".to_string());
    let limit = limit.map(|limit| format!("╌ limit {}", quantity(limit, of.unit)));
    let all: Vec<String> = [log, limit, cut].into_iter().flatten().collect();
    if all.is_empty() { String::new() } else { format!("  {}", all.join(", ")) }
}

/// Returns the length of the horizontal axis, seconds: the planned or the elapsed time, whichever is longer.
fn whole_s(model: &Model) -> f64 {
    model.budget_s.max(model.start.elapsed().as_secs_f64()).max(1e-3)
}

/// Returns the labels of the horizontal axis, which all charts share: the times at its start, middle and end.
fn time_axis(model: &Model, width: u16) -> Option<Line<'static>> {
    let [middle, end] = [0.5, 1.0].map(|share| seconds(whole_s(model) * share));
    let room = usize::from(width).checked_sub(LABEL)?;
    let before = (room / 2).checked_sub(3 + middle.chars().count() / 2)?;
    let after = room.checked_sub(3 + before + middle.chars().count() + end.chars().count())?;
    Some(Line::from(format!("{:<LABEL$}0 s{:before$}{middle}{:after$}{end}", "time", "", "")).dim())
}

/// Description of a chart: the figure that it shows, and the way in which this figure is drawn.
#[derive(Clone, Copy)]
struct Of {
    value: fn(&Moment) -> f64,
    unit: Unit,
    color: Color,
    is_log: bool,
}

fn charts(model: &Model) -> Vec<(&'static str, Of)> {
    let linear = |value, unit, color| Of { value, unit, color, is_log: false };
    if model.watches {
        return vec![("CPU busy", linear(|m| m.cpu, Unit::Share, Color::Green))];
    }
    vec![
        ("completed requests per second", linear(|m| m.completed, Unit::PerSecond, Color::Green)),
        ("p99 of the response time", Of { is_log: true, ..linear(|m| m.p99_us, Unit::Micros, Color::Yellow) }),
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
            "30 s left at most",
            "step 2: 16 connections, warming up",
            "completed",
            "p99",
            " 1 ms ",
            "logarithmic",
            "now        1",
            "latency    ▁",
            "client CPU █",
            "server CPU █",
            "user 40 %",
            "busiest    █",
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
    fn the_capacity_and_the_suspect_so_far_come_first_and_keys_are_explained() {
        let mut model = model();
        model.searches = true;
        let line = |name, value, detail| AnswerLine::new(name, value, detail);
        model.so_far =
            vec![line("Rate", "810 requests/s (790 to 830)", "with p99"), line("", "server-cpu (likely):", "full")];
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &model, "q ends", super::super::keys::lines(true))).unwrap();
        let text = terminal.backend().to_string();
        for part in [
            "so far     810 requests/s (790 to 830) with p99",
            "suspect    server-cpu (likely): full",
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
        assert!(
            text.contains("clients    gen6 60 %, gen5 50 %, gen4 40 %, gen3 30 %, gen2 20 %, 2 less busy"),
            "{text}"
        );
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

    /// The number of lines of each part must stay the same, also before the first measurement and when a new step
    /// begins.
    #[test]
    fn no_row_jumps_while_figures_come_and_go() {
        let mut full = model();
        (full.searches, full.limit_us, full.one_host) = (true, Some(20_000.0), true);
        let mut begins = full.clone();
        begins.phase("32 connections", 1.5);
        let mut fresh = Model::new(full.title.clone(), full.steps_head.clone(), 30.0);
        fresh.searches = true;
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let rows = |model: &Model| {
                let text = drawn(model, width, height);
                let at = |label: &str| text.lines().position(|line| line.trim_start_matches('"').starts_with(label));
                ["p99 of", "time", "now", "latency", "busiest", "errors", "q ends"].map(at)
            };
            let [full, begins, fresh] = [&full, &begins, &fresh].map(rows);
            assert_eq!(full, begins, "{width} x {height}");
            assert_eq!([full[0], full[3], full[5]], [fresh[0], fresh[3], fresh[5]], "{width} x {height}");
        }
        let text = drawn(&full, 80, 24);
        assert!(text.contains("╌ limit 20 ms") && text.contains("     20 ms ╌"), "{text}");
        assert!(text.contains("host CPU   █") && text.contains("time       0 s"), "{text}");
    }

    /// Returns a model with the capacity and the suspected bottleneck of a real search.
    fn searching() -> Model {
        let limits =
            "with median under 2.53 ms (default: 10 × unloaded; set --p50), p99 under 100 ms and errors at most 0.1 %";
        let suspect = "one thread of the server is full (loadline:31768/31772): more CPUs will not help";
        let mut model = model();
        model.searches = true;
        model.so_far = vec![
            AnswerLine::new("Rate", "4,600 requests/s (4,400 to 4,900)", limits),
            AnswerLine::new("Limited by", "server-single-thread (sure, 95 %):", suspect),
        ];
        model
    }

    #[test]
    fn no_answer_so_far_is_cut_in_the_middle_of_a_sentence() {
        let model = searching();
        for (width, height) in [(80, 24), (120, 40), (200, 60)] {
            let text = drawn(&model, width, height);
            assert!(!text.contains('…'), "{text}");
            assert!(text.contains("4,600 requests/s (4,400 to 4,900)"), "{text}");
            assert!(text.contains("server-single-thread (sure, 95 %): one thread of the server is full"), "{text}");
        }
        assert!(drawn(&model, 200, 60).contains("more CPUs will not help"));
    }

    #[test]
    fn the_longest_line_about_a_step_fits_into_80_columns() {
        let mut model = model();
        model.phase("offered 12,500/s", 1.4);
        (model.now.tick.t_s, model.now.tick.phase) = (1.9, run::Phase::Drain);
        let text = drawn(&model, 80, 24);
        assert!(text.contains("offered 12,500/s, awaiting answers, 0.0 s of about 1.4 s"), "{text}");
    }

    #[test]
    fn a_line_that_is_too_long_ends_with_an_ellipsis() {
        let mut model = model();
        model.note("a note of many words ".repeat(9).as_str());
        let text = drawn(&model, 80, 24);
        assert!(text.lines().any(|line| line.contains("note ") && line.contains('…')), "{text}");
    }

    /// On a wide terminal, the list of steps is beside the current figures. The charts then get the lines that the list
    /// would otherwise take.
    #[test]
    fn a_large_terminal_is_filled_from_the_first_step_on() {
        let text = drawn(&searching(), 200, 60);
        let lines: Vec<&str> = text.lines().map(|line| line.trim_matches('"')).collect();
        let below = lines.iter().skip_while(|line| !line.starts_with("time "));
        let blank = below.filter(|line| line.trim().is_empty()).count();
        // At most four lines are blank: three lines are reserved for a seventh range of times, for requests without an
        // answer and for a third device. Dividing the other lines among the charts may leave one line.
        assert!(lines.len() == 60 && blank <= 4, "{blank} blank\n{text}");
        let bars = lines.iter().find(|line| line.contains("client CPU")).unwrap();
        assert!(bars.matches(['█', '▓', '▒', '·']).count() > 40, "{bars}");
        let row = lines.iter().find(|line| line.contains("8 connections")).unwrap();
        let before = row.split("8 connections").next().unwrap();
        assert!(before.chars().count() >= 110, "{row}");
    }
}

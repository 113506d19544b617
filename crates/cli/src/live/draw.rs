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

/// Draws the full-screen view of a run. The last line of the view shows `keys`. If the user asked for an explanation of
/// the keys, `explained` has one line per key. Otherwise, `explained` is empty.
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
mod tests;

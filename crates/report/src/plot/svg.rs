//! Renders each chart as an SVG element with a title and a description.

use std::fmt::Write as _;

use super::labels::escape;
use super::{Bars, Chain, Flame, Frame, Intervals, Plot, bars, chain_drawn, flame_drawn, intervals, lines};

/// Maximum number of functions that the description of a flame graph names.
const DESCRIBED_FUNCTIONS: usize = 5;

/// Renders a chart of curves as one SVG element. The colours and fonts of the chart come from the page's style sheet.
pub fn plot_svg(plot: &Plot, frame: Frame) -> String {
    let (height, body) = lines::body(plot, frame);
    wrap(frame.width, height, &plot.title, &describe(plot), &body)
}

/// Renders a chart of bars as one SVG element.
pub fn bars_svg(bars: &Bars, frame: Frame) -> String {
    let (height, body) = bars::body(bars, frame);
    let told: Vec<String> =
        bars.rows.iter().map(|row| format!("{} {}", row.label, run::number::quantity(row.sum(), bars.unit))).collect();
    wrap(frame.width, height, &bars.title, &told.join("; "), &body)
}

/// Renders a chart of estimates with intervals as one SVG element.
pub fn intervals_svg(chart: &Intervals, frame: Frame) -> String {
    let (height, body) = intervals::body(chart, frame);
    let told = chart.rows.iter().map(|row| format!("{} {}", row.label, intervals::between(row, chart.unit)));
    wrap(frame.width, height, &chart.title, &told.collect::<Vec<_>>().join("; "), &body)
}

/// Renders a chain of services as one SVG element.
pub fn chain_svg(drawn: &Chain, frame: Frame) -> String {
    let (height, body) = chain_drawn::body(drawn, frame);
    let told: Vec<String> = drawn.order().iter().map(|(i, _)| drawn.links[*i].told()).collect();
    wrap(frame.width, height, &drawn.title, &told.join("; "), &body)
}

/// Renders a flame graph as one SVG element.
pub fn flame_svg(flame: &Flame, frame: Frame) -> String {
    let (height, body) = flame_drawn::body(flame, frame);
    let told =
        flame.hottest(DESCRIBED_FUNCTIONS).into_iter().map(|(name, share)| format!("{name} {:.0} %", 100.0 * share));
    wrap(frame.width, height, &flame.title, &told.collect::<Vec<_>>().join("; "), &body)
}

/// Styles of a picture that is used without loadline's pages. The picture always has the colours of the report's light
/// mode. The picture may be on a light page even if the reader's system uses dark mode. The picture uses no CSS
/// variables, because several picture viewers do not support them and would draw black.
const PICTURE_STYLE: &str = "text{font:12px system-ui,sans-serif;fill:#1d2127}.title{font-size:15px;font-weight:600}\
    .card{fill:#fff;stroke:#e3e5e2}.fl{stroke:#fff;stroke-width:.6}.h1{fill:#1d62b0}.h2{fill:#c8560b}\
    .s0{fill-opacity:.2}.s1{fill-opacity:.28}.s2{fill-opacity:.36}.s3{fill-opacity:.44}";
/// Margin around a picture, pixels.
const PICTURE_MARGIN: f64 = 14.0;
/// Height of a title with the gaps above and below it, pixels.
const PICTURE_TITLE: f64 = 30.0;

/// Renders flame graphs, one below the other, as one SVG picture with its own styles.
pub(crate) fn flame_picture(flames: &[&Flame]) -> String {
    let (frame, mut y, mut graphs) = (Frame::WIDE, 0.0, String::new());
    for flame in flames {
        let (height, body) = flame_drawn::body(flame, frame);
        let _ = write!(
            graphs,
            "<text class=\"title\" y=\"{:.0}\">{}</text><g transform=\"translate(0 {:.0})\">{body}</g>",
            y + PICTURE_TITLE / 2.0,
            escape(&flame.title),
            y + PICTURE_TITLE,
        );
        y += PICTURE_TITLE + height + PICTURE_MARGIN;
    }
    let (width, height) = (frame.width + 2.0 * PICTURE_MARGIN, y + PICTURE_MARGIN);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         style=\"max-width:100%;height:auto\"><style>{PICTURE_STYLE}</style>\
         <rect class=\"card\" x=\".5\" y=\".5\" width=\"{}\" height=\"{}\" rx=\"8\"/><g transform=\"translate({PICTURE_MARGIN} {PICTURE_MARGIN})\">{graphs}</g></svg>\n",
        width - 1.0,
        height - 1.0,
    )
}

fn wrap(width: f64, height: f64, title: &str, told: &str, body: &str) -> String {
    format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"{t}\">\
         <title>{t}</title><desc>{}</desc>{body}</svg>",
        escape(told),
        t = escape(title),
    )
}

/// Describes a chart for screen readers: the first, last and highest point of each named series.
fn describe(plot: &Plot) -> String {
    let mut out = format!("{} against {}.", plot.y.label, plot.x.label);
    for series in plot.series.iter().filter(|s| !s.label.is_empty()) {
        let finite = || series.points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        let (Some(first), Some(last)) = (finite().next(), finite().next_back()) else { continue };
        let at = |p: &(f64, f64)| {
            let (y, x) = (run::number::quantity(p.1, plot.y.unit), run::number::quantity(p.0, plot.x.unit));
            format!("{y} at {x}")
        };
        let highest = finite().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(last);
        let _ = write!(out, " {}: {} to {}, highest {}.", series.label, at(first), at(last), at(highest));
    }
    out
}

//! Draws one box of a chain: name, process, utilization, and the share of throughput that the service explains.

use std::fmt::Write as _;

use super::chain::Link;
use super::labels::{cut, escape};
use run::Estimate;
use run::number::{Unit, quantity};

const LINE: f64 = 17.0;
/// Height of a line with a gauge (horizontal bar) below it, pixels.
const GAUGED: f64 = 29.0;
/// Distance between the edge of a box and its contents, pixels.
const INSIDE: f64 = 10.0;
const GAUGE: f64 = 5.0;
/// Maximum share of a line's width that a text fills, according to the estimate of the text's width. The rest of the
/// line's width is a reserve, because fonts may be wider than estimated.
const FONTS: f64 = 0.84;

/// Returns the height of a box, pixels.
pub(super) fn height(link: &Link) -> f64 {
    let lines = [!link.who.is_empty(), !link.full.is_empty()].into_iter().filter(|said| *said).count() as f64;
    let gauges = f64::from(u8::from(link.busy.is_some()) + u8::from(link.follows.is_some()));
    INSIDE + LINE * (1.0 + lines) + GAUGED * gauges + LINE * (2.0 - gauges) + 6.0
}

/// Draws the box with its upper left corner at (`x`, `y`).
pub(super) fn link_box(link: &Link, (x, y): (f64, f64), wide: f64) -> String {
    let kind = match (&link.busy, link.full.as_str()) {
        (_, full) if !full.is_empty() => " full",
        (None, _) => " unseen",
        _ => "",
    };
    let high = height(link);
    let mut out = format!(
        "<rect class=\"box{kind}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" rx=\"8\"/>"
    );
    let mut page = Inside { x: x + INSIDE, y: y + INSIDE - 4.0, wide: wide - 2.0 * INSIDE, out: &mut out };
    page.text(&link.name, "t strong");
    if !link.who.is_empty() {
        page.text(&link.who, "t q");
    }
    let full = !link.full.is_empty();
    page.busy(link.busy.as_ref(), if full { "ha" } else { "h1" });
    page.follows(link.follows.as_ref());
    if full {
        page.text(&link.full_told(), "t strong ha");
    }
    out
}

/// Position of the next line of a box that is being drawn.
struct Inside<'a> {
    x: f64,
    y: f64,
    wide: f64,
    out: &'a mut String,
}

impl Inside<'_> {
    fn text(&mut self, text: &str, class: &str) {
        self.y += LINE;
        let text = escape(&cut(text, self.wide * FONTS));
        let _ = write!(self.out, "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>", self.x, self.y - 4.0);
    }

    /// Draws a name on the left, a figure on the right, and an empty gauge (horizontal bar) below them. Returns the
    /// vertical position of the gauge.
    fn gauge(&mut self, name: &str, figure: &str) -> f64 {
        self.text(name, "t q");
        let (right, base) = (self.x + self.wide, self.y - 4.0);
        let _ = write!(
            self.out,
            "<text class=\"t\" x=\"{right:.1}\" y=\"{base:.1}\" text-anchor=\"end\">{}</text>",
            escape(figure)
        );
        let at = self.y + 1.0;
        self.y += GAUGED - LINE;
        self.bar("track", (at, GAUGE), (0.0, 1.0));
        at
    }

    /// Draws a part of a gauge; `from` and `to` are shares of the gauge's width.
    fn bar(&mut self, class: &str, (y, high): (f64, f64), (from, to): (f64, f64)) {
        let (x, wide) = (self.x + from * self.wide, ((to - from) * self.wide).max(0.6));
        let _ = write!(
            self.out,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{wide:.1}\" height=\"{high}\" rx=\"2\"/>"
        );
    }

    fn busy(&mut self, busy: Option<&(String, f64)>, hue: &str) {
        let Some((what, share)) = busy else { return self.text("not watched", "t q") };
        let at = self.gauge(what, &quantity(*share, Unit::Share));
        self.bar(&format!("{hue} seg"), (at, GAUGE), (0.0, of_one(*share)));
    }

    fn follows(&mut self, follows: Option<&(&'static str, Estimate)>) {
        let Some((what, e)) = follows else { return self.text("elasticity not measured", "t q") };
        let at = self.gauge(what, &format!("{:.2} ({:.2}–{:.2})", e.value, e.low, e.high));
        self.bar("h2 seg between", (at, GAUGE), (of_one(e.low), of_one(e.high).max(of_one(e.low))));
        let (x, y) = (self.x + of_one(e.value) * self.wide, at + GAUGE / 2.0);
        let _ = write!(self.out, "<circle class=\"h2 dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>");
    }
}

/// Limits a share to the range from 0 to 1.
fn of_one(share: f64) -> f64 {
    if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_boxes_are_marked_and_unobserved_ones_look_different() {
        let full = Link { busy: Some(("CPUs".into(), 0.99)), full: "its CPUs".into(), ..Link::default() };
        let drawn = link_box(&full, (0.0, 0.0), 200.0);
        assert!(drawn.contains("box full") && drawn.contains("FULL: its CPUs") && drawn.contains("ha seg"), "{drawn}");
        let drawn = link_box(&Link::default(), (0.0, 0.0), 200.0);
        assert!(drawn.contains("box unseen") && drawn.contains("not watched") && !drawn.contains("FULL"), "{drawn}");
        assert!(height(&full) > height(&Link::default()));
    }

    #[test]
    fn every_bar_stays_within_its_gauge() {
        for value in [f64::NAN, f64::INFINITY, -3.0, 7.0] {
            let estimate = Estimate { value, low: -9.0, high: f64::NAN };
            let link = Link { busy: Some(("a".into(), value)), follows: Some(("b", estimate)), ..Link::default() };
            let drawn = link_box(&link, (0.0, 0.0), 200.0);
            let shapes = drawn.split('<').filter(|e| e.starts_with("rect") || e.starts_with("circle"));
            let shapes: Vec<&str> = shapes.collect();
            assert!(
                shapes.iter().all(|e| !e.contains("NaN") && !e.contains("inf") && !e.contains("\"-")),
                "{shapes:?}"
            );
        }
    }
}

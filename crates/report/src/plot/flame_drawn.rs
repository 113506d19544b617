//! Draws a flame graph as SVG: one box per function, below the box of its caller. The width of a box is proportional to
//! the total weight of the stacks that contain the function of the box.

use std::fmt::Write as _;

use run::number::quantity;

use super::Frame;
use super::flame::{Flame, Node};
use super::labels::{cut, escape, width};

/// Height of a row of boxes, including the gap to the next row, pixels.
const ROW: f64 = 19.0;
/// Minimum width of a box, pixels. The graph contains neither narrower boxes nor the boxes of their callees.
const MIN_WIDTH: f64 = 1.5;
/// Minimum width of a box that shows its function's name, pixels.
const MIN_LABEL_WIDTH: f64 = 30.0;
/// Distance between a name and the left edge of its box, pixels.
const INSET: f64 = 4.0;
/// Number of shades of the colour. Neighbouring boxes mostly have different shades, so that readers can tell them
/// apart.
const SHADES: u32 = 4;

/// Returns the chart's height in pixels, and its SVG elements.
pub(super) fn body(flame: &Flame, frame: Frame) -> (f64, String) {
    let root = flame.tree();
    let mut drawn =
        Drawn { flame, scale: frame.width / root.weight.max(f64::MIN_POSITIVE), rows: 0, out: String::new() };
    let mut x = 0.0;
    for process in &root.callees {
        drawn.node(process, x, 0, root.weight);
        x += process.weight * drawn.scale;
    }
    (f64::from(drawn.rows.max(1)) * ROW, drawn.out)
}

struct Drawn<'a> {
    flame: &'a Flame,
    scale: f64,
    rows: u32,
    out: String,
}

impl Drawn<'_> {
    fn node(&mut self, node: &Node<'_>, x: f64, row: u32, total: f64) {
        let wide = node.weight * self.scale;
        if wide < MIN_WIDTH {
            return;
        }
        self.rows = self.rows.max(row + 1);
        let (y, shade) = (f64::from(row) * ROW, shade(node.name));
        let told = self.told(node, total);
        let hue = self.flame.hue.class();
        let _ = write!(
            self.out,
            "<rect class=\"seg fl {hue} s{shade}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
             <title>{}</title></rect>",
            (wide - 1.0).max(0.5),
            ROW - 1.0,
            escape(&told),
        );
        if wide >= MIN_LABEL_WIDTH {
            let name = label(node.name, wide - 2.0 * INSET);
            let _ = write!(self.out, "<text x=\"{:.1}\" y=\"{:.1}\">{}</text>", x + INSET, y + 13.5, escape(&name));
        }
        let mut at = x;
        for callee in &node.callees {
            self.node(callee, at, row + 1, total);
            at += callee.weight * self.scale;
        }
    }

    fn told(&self, node: &Node<'_>, total: f64) -> String {
        let share = |weight: f64| format!("{:.1} %", 100.0 * weight / total);
        let amount = quantity(node.weight, self.flame.unit);
        let own = if node.own > 0.0 { format!(", {} in its own code", share(node.own)) } else { String::new() };
        format!("{}: {} ({amount}){own}", node.name, share(node.weight))
    }
}

/// Shortens a function name to `room` pixels. First removes the arguments of the function, then all but the last part
/// of its path. If the shortened name is still too long, cuts its end.
fn label(name: &str, room: f64) -> String {
    let bare = name.split('(').next().filter(|bare| !bare.is_empty()).unwrap_or(name);
    if width(name) <= room {
        return name.to_owned();
    }
    if width(bare) <= room {
        return bare.to_owned();
    }
    cut(bare.rsplit("::").next().filter(|last| !last.is_empty()).unwrap_or(bare), room)
}

/// Computes the shade of a function from its name, so that the function has the same shade in all charts.
fn shade(name: &str) -> u32 {
    name.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte))) % SHADES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_as_wide_as_their_share_and_names_are_escaped() {
        let stacks = vec![("p;a;<b>".to_owned(), 3.0), ("p;c".to_owned(), 1.0)];
        let flame = Flame { stacks, ..Flame::default() };
        let (height, svg) = body(&flame, Frame { width: 400.0, height: 0.0, small: false });
        assert_eq!(height, 3.0 * ROW);
        assert!(svg.contains("&lt;b&gt;: 75.0 %") && svg.contains("width=\"299.0\""), "{svg}");
        assert!(!svg.contains("<b>"));
    }

    #[test]
    fn an_empty_graph_has_no_boxes() {
        assert_eq!(body(&Flame::default(), Frame::NARROW), (ROW, String::new()));
    }

    #[test]
    fn long_names_lose_their_arguments_first() {
        assert_eq!(label("a::b::run(int, char)", 60.0), "a::b::run");
        assert_eq!(label("aaaaaaaa::bbbbbbbb::run(int)", 40.0), "run");
    }
}

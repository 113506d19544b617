//! Draws a chain of services as SVG. If there is enough space, boxes of equal depth form a column, and the columns are
//! side by side. If there is too little space, the boxes are one below the other, indented by their depth.

use super::Frame;
use super::chain::{Chain, Link};
use super::chain_box::{height, link_box};
use super::labels::{cut, escape};

/// Minimum width of a box, pixels; a narrower box has no space for its figures.
const MIN_BOX_WIDTH: f64 = 195.0;
/// Maximum width of a box in a column, pixels.
const MAX_BOX_WIDTH: f64 = 300.0;
/// Gap between two columns, pixels. The gap between two columns of boxes contains an arrow with two texts.
const ACROSS: f64 = 86.0;
/// Gap between two boxes of a column, pixels.
const BETWEEN: f64 = 28.0;
/// Indentation per level of depth if boxes are one below the other, pixels.
const IN: f64 = 18.0;
/// Distance from the top of a box to the point where arrows end, pixels.
const MEETS: f64 = 24.0;
/// Length of an arrowhead, pixels.
const HEAD: f64 = 7.0;

/// Position and width of a box.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    wide: f64,
}

/// Returns the chart's height in pixels, and its SVG elements.
pub(super) fn body(chain: &Chain, frame: Frame) -> (f64, String) {
    let order = chain.order();
    let steps = order.iter().map(|(_, step)| *step).max().unwrap_or(0) as f64;
    let wide = (frame.width - steps * ACROSS) / (steps + 1.0);
    let beside = wide >= MIN_BOX_WIDTH;
    let (places, high) =
        if beside { columns(chain, &order, wide.min(MAX_BOX_WIDTH)) } else { rows(chain, &order, frame.width) };
    let mut out = String::new();
    for (i, link) in chain.links.iter().enumerate() {
        if let Some(from) = link.from.filter(|from| *from < i) {
            out.push_str(&if beside {
                arrow(across(places[from], places[i])) + &above_and_below(link, places[i])
            } else {
                arrow(down(places[from], height(&chain.links[from]), places[i])) + &over(link, places[i])
            });
        }
        let Place { x, y, wide } = places[i];
        out.push_str(&link_box(link, (x, y), wide));
    }
    (high, out)
}

/// Draws a path with an arrowhead.
fn arrow((path, (x, y)): (String, (f64, f64))) -> String {
    format!("<path class=\"base\" d=\"{path}\"/><path class=\"tip\" d=\"M{x:.1} {y:.1}l-{HEAD} -4v8Z\"/>")
}

/// Places the boxes in one column per depth. If a box leads to several boxes, the first of the several boxes is in the
/// same row, and the others are below the first.
fn columns(chain: &Chain, order: &[(usize, usize)], wide: f64) -> (Vec<Place>, f64) {
    let mut places = vec![Place { x: 0.0, y: 1.0, wide }; chain.links.len()];
    let (mut top, mut bottom, mut last) = (1.0_f64, 0.0_f64, None);
    for (i, step) in order {
        // A box that is not deeper than the previous box begins a new row, below all boxes placed so far.
        if last.is_some_and(|last| *step <= last) {
            top = bottom + BETWEEN;
        }
        places[*i] = Place { x: *step as f64 * (wide + ACROSS) + 1.0, y: top, wide: wide - 2.0 };
        bottom = bottom.max(top + height(&chain.links[*i]));
        last = Some(*step);
    }
    (places, bottom + 2.0)
}

/// Places the boxes one below the other.
fn rows(chain: &Chain, order: &[(usize, usize)], width: f64) -> (Vec<Place>, f64) {
    let mut places = vec![Place { x: 0.0, y: 1.0, wide: width }; chain.links.len()];
    let deepest = order.iter().map(|(_, step)| *step).max().unwrap_or(0).max(1) as f64;
    let inwards = IN.min((width - MIN_BOX_WIDTH).max(0.0) / deepest);
    let mut y = 1.0;
    for (i, step) in order {
        let x = *step as f64 * inwards + 1.0;
        places[*i] = Place { x, y, wide: (width - x - 1.0).min(MAX_BOX_WIDTH * 1.4) };
        y += height(&chain.links[*i]) + BETWEEN;
    }
    (places, y - BETWEEN + 2.0)
}

/// Returns the path of an arrow between two columns, and the position of its tip.
fn across(from: Place, to: Place) -> (String, (f64, f64)) {
    let (right, y) = (from.x + from.wide, to.y + MEETS);
    let trunk = right + 8.0;
    let path = format!("M{right:.1} {:.1}H{trunk:.1}V{y:.1}H{:.1}", from.y + MEETS, to.x - HEAD);
    (path, (to.x, y))
}

/// Returns the path of an arrow to a box below, and the position of its tip.
fn down(from: Place, high: f64, to: Place) -> (String, (f64, f64)) {
    let (x, y) = ((from.x + to.x) / 2.0, to.y + MEETS);
    (format!("M{x:.1} {:.1}V{y:.1}H{:.1}", from.y + high, to.x - HEAD), (to.x, y))
}

/// Draws the number of connections above the arrow, and its unit below the arrow.
fn above_and_below(link: &Link, to: Place) -> String {
    let middle = to.x - (ACROSS - 8.0) / 2.0;
    let text = |y: f64, text: &str| {
        let text = escape(&cut(text, ACROSS - 14.0));
        format!("<text class=\"t q\" x=\"{middle:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>")
    };
    let [count, of] = &link.joined;
    text(to.y + MEETS - 6.0, count) + &text(to.y + MEETS + 15.0, of)
}

/// Draws the number of connections with its unit above the box.
fn over(link: &Link, to: Place) -> String {
    let text = escape(&cut(&link.joined.join(" "), to.wide));
    format!("<text class=\"t q\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>", to.x + 2.0, to.y - 8.0)
}

#[cfg(test)]
mod tests {
    use super::super::chain::tests::chain;
    use super::*;

    #[test]
    fn boxes_are_side_by_side_if_there_is_room_and_never_leave_the_frame() {
        for frame in [Frame::WIDE, Frame::HALF, Frame::NARROW] {
            let (chain, order) = (chain(), chain().order());
            let (wide_enough, (high, out)) = (frame == Frame::WIDE, body(&chain, frame));
            assert_eq!(out.matches("class=\"tip\"").count(), 4, "an arrow to each but the first: {out}");
            let (places, _) =
                if wide_enough { columns(&chain, &order, 195.0) } else { rows(&chain, &order, frame.width) };
            assert_eq!(places[0].y == places[1].y, wide_enough);
            for (place, link) in places.iter().zip(&chain.links) {
                assert!(place.x >= 0.0 && place.x + place.wide <= frame.width, "{} {}", place.x, place.wide);
                assert!(place.wide >= MIN_BOX_WIDTH - 2.0 && place.y + height(link) <= high, "{} of {high}", place.y);
            }
            let tops: Vec<f64> = [2, 3].map(|i| places[i].y).to_vec();
            assert!(tops[1] >= tops[0] + height(&chain.links[2]), "the cache stands below the application: {tops:?}");
        }
    }

    #[test]
    fn hostile_names_are_cut_and_stay_text() {
        let mut chain = chain();
        chain.links[2].name = "x".repeat(4000);
        let (_, out) = body(&chain, Frame::NARROW);
        assert!(out.contains("&lt;db&gt;") && !out.contains("<db>") && out.len() < 8000, "{}", out.len());
    }
}

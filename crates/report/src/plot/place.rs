//! Places labels inside the frame of a chart. Of several candidate positions, a label gets the position at which it
//! covers the fewest lines and other labels.

use super::labels::width;

/// Height of a line of text, pixels.
const LINE: f64 = 14.0;

/// A position at which a text may be placed in a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    /// Horizontal position of the text's beginning or end, pixels.
    pub(super) x: f64,
    /// Vertical position of the text's baseline, pixels.
    pub(super) y: f64,
    /// True if the text ends at `x`; false if it begins at `x`.
    pub(super) end: bool,
}

impl Place {
    fn rect(self, wide: f64) -> [f64; 4] {
        let x = if self.end { self.x - wide } else { self.x };
        [x, self.y - LINE + 3.0, x + wide, self.y + 3.0]
    }

    /// Returns the value of the SVG attribute `text-anchor`.
    pub(super) const fn anchor(self) -> &'static str {
        if self.end { "end" } else { "start" }
    }
}

/// Parts of the frame that lines and labels already occupy.
pub(super) struct Taken {
    /// Area for labels: its left, top, right and bottom edges, pixels.
    room: [f64; 4],
    points: Vec<(f64, f64)>,
    rects: Vec<[f64; 4]>,
}

impl Taken {
    /// Creates the state for an empty frame.
    pub(super) const fn new(room: [f64; 4]) -> Self {
        Self { room, points: Vec::new(), rects: Vec::new() }
    }

    /// Adds a line that labels should not cover.
    pub(super) fn line(&mut self, points: &[(f64, f64)]) {
        const STEP: f64 = 5.0;
        for pair in points.windows(2) {
            let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
            let steps = (dx.hypot(dy) / STEP).clamp(1.0, 400.0) as usize;
            let at = |i: usize| i as f64 / steps as f64;
            self.points.extend((0..=steps).map(|i| (pair[0].0 + dx * at(i), pair[0].1 + dy * at(i))));
        }
    }

    /// Chooses the best of several positions for a text, and marks this position as occupied. If several positions are
    /// equally good, chooses the first.
    pub(super) fn best(&mut self, text: &str, places: &[Place]) -> Option<Place> {
        let wide = width(text);
        let costs = places.iter().map(|p| self.cost(p.rect(wide)));
        let best = costs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| places[i])?;
        self.occupy(text, best);
        Some(best)
    }

    /// Marks the position of a text as occupied.
    pub(super) fn occupy(&mut self, text: &str, at: Place) {
        self.rects.push(at.rect(width(text)));
    }

    fn cost(&self, [x0, y0, x1, y1]: [f64; 4]) -> f64 {
        let [left, top, right, bottom] = self.room;
        let outside = (left - x0).max(0.0) + (x1 - right).max(0.0) + (top - y0).max(0.0) + (y1 - bottom).max(0.0);
        let hits = self.points.iter().filter(|(x, y)| *x >= x0 && *x <= x1 && *y >= y0 && *y <= y1).count();
        let meets = |r: &&[f64; 4]| r[0] < x1 && r[2] > x0 && r[1] < y1 && r[3] > y0;
        let crossed = self.rects.iter().filter(meets).count();
        outside * 3.0 + hits as f64 * 4.0 + crossed as f64 * 60.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_avoids_lines_other_labels_and_the_edge() {
        let mut taken = Taken::new([0.0, 0.0, 200.0, 100.0]);
        taken.line(&[(0.0, 10.0), (200.0, 10.0)]);
        let places = [10.0, 50.0, 90.0].map(|y| Place { x: 5.0, y, end: false });
        assert_eq!(taken.best("label", &places), Some(places[1]));
        assert_eq!(taken.best("label", &places), Some(places[2]));
        let edge = [Place { x: 195.0, y: 70.0, end: false }, Place { x: 195.0, y: 70.0, end: true }];
        assert_eq!(taken.best("label", &edge), Some(edge[1]));
    }
}

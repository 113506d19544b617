//! Area of a chart with curves.

use super::scale::View;

/// Distance between two lines of text, pixels.
pub(super) const LINE: f64 = 15.0;

/// Inner rectangle of the chart, in pixels, and its two axes.
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    pub(super) x: View,
    pub(super) y: View,
}

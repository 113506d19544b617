//! The size of a chart on the page.

/// Size of a chart. A chart is laid out separately for each size, so that its text has a constant size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels. Bars and long legends may need more.
    pub height: f64,
    /// True to leave out names and axis labels, which the caption contains.
    pub small: bool,
}

impl Frame {
    /// Size of the whole page.
    pub const WIDE: Self = Self { width: 1126.0, height: 360.0, small: false };
    /// Size of one of two charts over the whole page that share a screen.
    pub const LOW: Self = Self { width: 1126.0, height: 190.0, small: false };
    /// Size of half the page.
    pub const HALF: Self = Self { width: 538.0, height: 320.0, small: false };
    /// Size of a phone.
    pub const NARROW: Self = Self { width: 350.0, height: 290.0, small: false };
    /// Size of one of many small charts.
    pub const SMALL: Self = Self { width: 244.0, height: 110.0, small: true };

    /// Returns true if labels at the ends of lines would take too much of the width.
    pub(super) fn narrow(self) -> bool {
        self.width < 400.0
    }
}

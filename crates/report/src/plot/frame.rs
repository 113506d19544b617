//! Sizes of charts on a page.

/// Size of a chart. loadline draws a chart again for each size instead of scaling it, so the text always has the same
/// size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels. Charts of bars choose their own height, and a long legend makes a chart higher.
    pub height: f64,
    /// True if the chart leaves out the names of lines and axes.
    pub small: bool,
}

impl Frame {
    /// Size of a chart that takes the whole width of the page.
    pub const WIDE: Self = Self { width: 1126.0, height: 360.0, small: false };
    /// Size of a low chart as wide as the page. Two low charts, one below the other, fit on one screen.
    pub const LOW: Self = Self { width: 1126.0, height: 190.0, small: false };
    /// Size of a chart that takes half the width of the page.
    pub const HALF: Self = Self { width: 538.0, height: 320.0, small: false };
    /// Size of a chart on a phone.
    pub const NARROW: Self = Self { width: 350.0, height: 290.0, small: false };
    /// Size of a small chart, for many charts side by side.
    pub const SMALL: Self = Self { width: 244.0, height: 110.0, small: true };

    /// Returns true if the frame is too narrow for names at the ends of curves.
    pub(super) fn narrow(self) -> bool {
        self.width < 400.0
    }
}

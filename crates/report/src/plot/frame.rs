//! The size of a chart on the page.

/// Size of a chart. Each chart is laid out separately for each size, so that text keeps its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels; bars and long legends may need more.
    pub height: f64,
    /// Leave out names and axis labels, which the caption has.
    pub small: bool,
}

impl Frame {
    /// Size of the whole page.
    pub const WIDE: Self = Self { width: 1040.0, height: 400.0, small: false };
    /// Size of half the page.
    pub const HALF: Self = Self { width: 504.0, height: 320.0, small: false };
    /// Size of a phone.
    pub const NARROW: Self = Self { width: 350.0, height: 290.0, small: false };
    /// Size of one of many small charts.
    pub const SMALL: Self = Self { width: 244.0, height: 110.0, small: true };

    /// Returns true if labels at line ends would take too much of the width.
    pub(super) fn narrow(self) -> bool {
        self.width < 400.0
    }
}

//! The size of a chart on the page.

/// How much room a chart has. Each chart is laid out anew for each room, so that text keeps its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame {
    /// Width in CSS pixels.
    pub width: f64,
    /// Height in CSS pixels; bars and long keys take what they need.
    pub height: f64,
    /// Names and axis labels are left out: the caption says them.
    pub small: bool,
}

impl Frame {
    /// The whole page.
    pub const WIDE: Self = Self { width: 1040.0, height: 400.0, small: false };
    /// Half the page.
    pub const HALF: Self = Self { width: 504.0, height: 320.0, small: false };
    /// A phone.
    pub const NARROW: Self = Self { width: 350.0, height: 290.0, small: false };
    /// One of many.
    pub const SMALL: Self = Self { width: 244.0, height: 110.0, small: true };

    /// Whether labels at the ends of lines would take too much of the width.
    pub(super) fn narrow(self) -> bool {
        self.width < 400.0
    }
}

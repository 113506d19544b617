//! Contents of charts, independent of their output form.

use run::number::Unit;

/// Chart of curves and points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Title: the result as a sentence.
    pub title: String,
    /// Caption, which describes the measurement of the figures and the meaning of the lines.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves and points of the chart.
    pub series: Vec<Series>,
    /// Positions in the chart that are marked with a text.
    pub marks: Vec<Mark>,
    /// Shaded ranges of x.
    pub bands: Vec<Band>,
    /// True if the chart takes the whole width of the page.
    pub wide: bool,
    /// True for a chart of low height. Two charts of low height fit on one screen.
    pub low: bool,
}

/// One axis of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Quantity that the axis shows.
    pub label: String,
    /// Unit of the ticks.
    pub unit: Unit,
    /// Scale of the axis.
    pub scale: Scale,
    /// Value at the beginning of the axis; `None` to use the smallest value of the data. With `None`, a linear axis
    /// begins at 0, or below 0 if there are negative values.
    pub from: Option<f64>,
    /// Value at the end of the axis; `None` to use the largest value of the data.
    pub to: Option<f64>,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// A linear scale.
    #[default]
    Linear,
    /// Logarithmic scale with ticks at 1, 2, 5, 10, and so on.
    Log,
    /// Logarithmic scale with ticks at powers of two.
    Log2,
    /// Scale for shares near 1: the distance from 90 % to 99 % equals the distance from 99 % to 99.9 %.
    Nines,
}

/// A curve, or a set of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name of the series, written at the end of the curve or in a legend.
    pub label: String,
    /// Points (x, y) in ascending order of x. A point with NaN interrupts the line.
    pub points: Vec<(f64, f64)>,
    /// Style in which the series is drawn.
    pub look: Look,
    /// Colour in the chart.
    pub hue: Hue,
}

/// Style in which a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Measured points joined by a line.
    #[default]
    LineDots,
    /// Measured points as squares, joined by a line of long dashes. A chart has only six colours, so the seventh to the
    /// twelfth line have this style.
    LineSquares,
    /// Line without dots, for many points.
    Line,
    /// Points without a line.
    Dots,
    /// Line of thin dashes, for a bound or a fit.
    Dashed,
    /// Points drawn as rings, for published values.
    Hollow,
}

/// Colours of series, named by their role in the chart. The page's style sheet defines each colour for light and dark
/// mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hue {
    /// Main series of a chart.
    #[default]
    Main,
    /// Second series of a chart.
    Second,
    /// Third series of a chart.
    Third,
    /// Fourth series of a chart.
    Fourth,
    /// Fifth series of a chart.
    Fifth,
    /// Sixth series of a chart.
    Sixth,
    /// Colour of bounds, fits and published figures.
    Quiet,
    /// Colour of a limit or a failure.
    Alarm,
}

impl Hue {
    /// Returns the colour of series number `n`, counted from 0. The colours repeat after six series.
    pub const fn nth(n: usize) -> Self {
        match n % 6 {
            0 => Self::Main,
            1 => Self::Second,
            2 => Self::Third,
            3 => Self::Fourth,
            4 => Self::Fifth,
            _ => Self::Sixth,
        }
    }

    /// Returns the CSS class of the colour.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Main => "h1",
            Self::Second => "h2",
            Self::Third => "h3",
            Self::Fourth => "h4",
            Self::Fifth => "h5",
            Self::Sixth => "h6",
            Self::Quiet => "hq",
            Self::Alarm => "ha",
        }
    }
}

/// A marked position in a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Position of the mark.
    pub at: Spot,
    /// Text at the mark.
    pub label: String,
    /// Colour in the chart.
    pub hue: Hue,
}

/// Position of a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spot {
    /// Vertical line at x.
    X(f64),
    /// Horizontal line at y.
    Y(f64),
    /// Ring around a point (x, y).
    Point(f64, f64),
}

/// Shaded range of x.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Lowest x of the shaded range.
    pub from: f64,
    /// Highest x of the shaded range.
    pub to: f64,
    /// Text inside the shaded range.
    pub label: String,
    /// Colour in the chart.
    pub hue: Hue,
}

/// Chart of horizontal bars with stacked segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Title: the result as a sentence.
    pub title: String,
    /// Caption, which describes the measurement of the figures.
    pub caption: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Bars from top to bottom.
    pub rows: Vec<BarRow>,
    /// Value of a bar of full length, such as a limit; `None` if the longest bar has full length.
    pub full: Option<f64>,
    /// True if the chart takes the whole width of the page.
    pub wide: bool,
    /// True if only the terminal shows the bars, because other output forms show these figures as a chart or a table.
    pub terminal_only: bool,
}

/// One bar of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarRow {
    /// Name of the bar, written on the left.
    pub label: String,
    /// Segments of the bar. The sum of the segments is written at the end of the bar.
    pub segments: Vec<Segment>,
    /// True if the bar is emphasised.
    pub strong: bool,
}

/// Segment of a bar, such as the part of CPU time in user code.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Name of the segment. One legend above all bars shows each segment's name with its colour.
    pub label: String,
    /// Length of the segment, in the chart's unit.
    pub value: f64,
    /// Colour in the chart.
    pub hue: Hue,
}

impl BarRow {
    /// Returns the sum of the bar's finite segments.
    pub fn sum(&self) -> f64 {
        self.segments.iter().map(|s| s.value).filter(|v| v.is_finite()).sum()
    }
}

impl Look {
    /// Returns the style of line number `n` of measured values, counted from 0. Together with the colours of
    /// [`Hue::nth`], the returned styles make the first twelve lines look different.
    pub const fn nth(n: usize) -> Self {
        if n % 12 < 6 { Self::LineDots } else { Self::LineSquares }
    }
}

impl Series {
    /// Creates a series (curve or points) of a chart.
    pub fn new(label: impl Into<String>, look: Look, hue: Hue, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), points, look, hue }
    }
}

impl Axis {
    /// Creates an axis whose range covers the data.
    pub fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, from: None, to: None }
    }
}

impl Mark {
    /// Creates a mark at a position in a chart.
    pub fn new(at: Spot, label: impl Into<String>, hue: Hue) -> Self {
        Self { at, label: label.into(), hue }
    }
}

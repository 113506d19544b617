//! The contents of charts, independent of their form.

use run::number::Unit;

/// Chart of curves and points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// Title: the result in a sentence.
    pub title: String,
    /// Caption: the measurement and the meaning of the lines.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves and points.
    pub series: Vec<Series>,
    /// Marked places.
    pub marks: Vec<Mark>,
    /// Shaded ranges of x.
    pub bands: Vec<Band>,
    /// Takes the whole width of the page.
    pub wide: bool,
}

/// Axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Quantity.
    pub label: String,
    /// Unit of the ticks.
    pub unit: Unit,
    /// Scale.
    pub scale: Scale,
    /// First value; `None`: from the data (linear axes start at 0).
    pub from: Option<f64>,
    /// Last value; `None`: from the data.
    pub to: Option<f64>,
}

/// Scale.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic, with ticks at 1, 2, 5, 10, ….
    Log,
    /// Logarithmic, with ticks at powers of two.
    Log2,
    /// For shares near 1: 90 %, 99 %, 99.9 % are equally far apart.
    Nines,
}

/// Curve or cloud of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name, written at the end of the curve.
    pub label: String,
    /// Points in order of x. NaN interrupts the line.
    pub points: Vec<(f64, f64)>,
    /// Look.
    pub look: Look,
    /// Colour.
    pub hue: Hue,
}

/// Look of a series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Measured points joined by a line.
    #[default]
    LineDots,
    /// Measured points as squares joined by long dashes, for lines beyond the sixth, which reuse a colour.
    LineSquares,
    /// Line without points, for many samples.
    Line,
    /// Points without a line.
    Dots,
    /// Thin dashes, for a bound or a fit.
    Dashed,
    /// Hollow points, for published figures.
    Hollow,
}

/// Colours by role. The page's style sheet defines them for light and dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hue {
    /// Main series.
    #[default]
    Main,
    /// Second series.
    Second,
    /// Further series.
    Third,
    /// Further series.
    Fourth,
    /// Further series.
    Fifth,
    /// Further series.
    Sixth,
    /// Bounds, fits and published figures.
    Quiet,
    /// Limit or failure.
    Alarm,
}

impl Hue {
    /// Returns the colour of the n-th series of equals.
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

    /// Returns the class of the style sheet.
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

/// Marked place.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Position.
    pub at: Spot,
    /// Label.
    pub label: String,
    /// Colour.
    pub hue: Hue,
}

/// Position of a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spot {
    /// Vertical line at x.
    X(f64),
    /// Horizontal line at y.
    Y(f64),
    /// Ringed point.
    Point(f64, f64),
}

/// Shaded range of x.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Begin.
    pub from: f64,
    /// End.
    pub to: f64,
    /// Label.
    pub label: String,
}

/// Chart of horizontal bars with stacked segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Title: the result in a sentence.
    pub title: String,
    /// Caption: the measurement.
    pub caption: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Bars from top to bottom.
    pub rows: Vec<BarRow>,
    /// Length of a full bar; `None`: that of the longest.
    pub full: Option<f64>,
    /// Takes the whole width of the page.
    pub wide: bool,
}

/// Bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarRow {
    /// Name, written in front.
    pub label: String,
    /// Segments; their sum is written at the end.
    pub segments: Vec<Segment>,
    /// Emphasize the bar.
    pub strong: bool,
}

/// Segment of a bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Name; one legend above all bars explains the names.
    pub label: String,
    /// Length.
    pub value: f64,
    /// Colour.
    pub hue: Hue,
}

impl BarRow {
    /// Returns the sum of its finite segments.
    pub fn sum(&self) -> f64 {
        self.segments.iter().map(|s| s.value).filter(|v| v.is_finite()).sum()
    }
}

impl Look {
    /// Returns the look of the n-th measured line; with [`Hue::nth`], twelve lines differ.
    pub const fn nth(n: usize) -> Self {
        if n % 12 < 6 { Self::LineDots } else { Self::LineSquares }
    }
}

impl Series {
    /// Makes a series; other fields are set with struct update.
    pub fn new(label: impl Into<String>, look: Look, hue: Hue, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), points, look, hue }
    }
}

impl Axis {
    /// Makes an axis with the range of its data.
    pub fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, from: None, to: None }
    }
}

impl Mark {
    /// Makes a mark.
    pub fn new(at: Spot, label: impl Into<String>, hue: Hue) -> Self {
        Self { at, label: label.into(), hue }
    }
}

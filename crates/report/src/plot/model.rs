//! What a chart shows, without any form.

use run::number::Unit;

/// Curves and points in one frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plot {
    /// What is to be seen, in a sentence.
    pub title: String,
    /// What was measured, and how the lines were made.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves and points.
    pub series: Vec<Series>,
    /// Places to notice.
    pub marks: Vec<Mark>,
    /// Shaded ranges of x.
    pub bands: Vec<Band>,
    /// Takes the whole width of the page.
    pub wide: bool,
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// What it measures.
    pub label: String,
    /// How its ticks are written.
    pub unit: Unit,
    /// How values become distances.
    pub scale: Scale,
    /// First value; absent: from the data (linear axes start at 0).
    pub from: Option<f64>,
    /// Last value; absent: from the data.
    pub to: Option<f64>,
}

/// How values become distances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Equal differences, equal distances.
    #[default]
    Linear,
    /// Equal ratios, equal distances; ticks at 1, 2, 5, 10, ….
    Log,
    /// The same with ticks at powers of two.
    Log2,
    /// For shares near 1: 90 %, 99 %, 99.9 % are equally far apart.
    Nines,
}

/// One curve or cloud of points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name, written at its end.
    pub label: String,
    /// Points in order of x. Values that are no numbers interrupt the line.
    pub points: Vec<(f64, f64)>,
    /// How it is drawn.
    pub look: Look,
    /// Its colour.
    pub hue: Hue,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Look {
    /// Measured points joined by a line.
    #[default]
    LineDots,
    /// The same with squares and long dashes: the lines beyond the sixth, which share a colour with an earlier one.
    LineSquares,
    /// A line alone: many samples.
    Line,
    /// Points alone.
    Dots,
    /// A bound or a fit: thin dashes.
    Dashed,
    /// Published figures: hollow points.
    Hollow,
}

/// The colours, by role. The page's style sheet says what they look like in light and dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hue {
    /// What the chart is about.
    #[default]
    Main,
    /// The next series.
    Second,
    /// And so on.
    Third,
    /// And so on.
    Fourth,
    /// And so on.
    Fifth,
    /// And so on.
    Sixth,
    /// Bounds, fits, published figures.
    Quiet,
    /// A limit or a failure.
    Alarm,
}

impl Hue {
    /// The colour of the n-th series of equals.
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

    /// The class of the style sheet.
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

/// A place to notice.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Where.
    pub at: Spot,
    /// What is there.
    pub label: String,
    /// Its colour.
    pub hue: Hue,
}

/// Where a mark is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spot {
    /// A vertical line.
    X(f64),
    /// A horizontal line.
    Y(f64),
    /// A ringed point.
    Point(f64, f64),
}

/// A shaded range of x.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Begin.
    pub from: f64,
    /// End.
    pub to: f64,
    /// What it means.
    pub label: String,
}

/// Horizontal bars, each of one or more stacked segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// What is to be seen, in a sentence.
    pub title: String,
    /// What was measured.
    pub caption: String,
    /// How values are written.
    pub unit: Unit,
    /// The bars, from top to bottom.
    pub rows: Vec<BarRow>,
    /// Length of a full bar; absent: the longest.
    pub full: Option<f64>,
    /// Takes the whole width of the page.
    pub wide: bool,
}

/// One bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BarRow {
    /// Its name, written in front.
    pub label: String,
    /// Its parts; the sum is written behind.
    pub segments: Vec<Segment>,
    /// Whether it stands out.
    pub strong: bool,
}

/// Part of a bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    /// Its name; one key above all bars explains the names.
    pub label: String,
    /// Its length.
    pub value: f64,
    /// Its colour.
    pub hue: Hue,
}

impl BarRow {
    /// The sum of its parts that are numbers.
    pub fn sum(&self) -> f64 {
        self.segments.iter().map(|s| s.value).filter(|v| v.is_finite()).sum()
    }
}

impl Look {
    /// The look of the n-th measured line of equals; with [`Hue::nth`], twelve lines can be told apart.
    pub const fn nth(n: usize) -> Self {
        if n % 12 < 6 { Self::LineDots } else { Self::LineSquares }
    }
}

impl Series {
    /// A series; the rest is set with struct update.
    pub fn new(label: impl Into<String>, look: Look, hue: Hue, points: Vec<(f64, f64)>) -> Self {
        Self { label: label.into(), points, look, hue }
    }
}

impl Axis {
    /// An axis that takes its range from the data.
    pub fn new(label: impl Into<String>, unit: Unit, scale: Scale) -> Self {
        Self { label: label.into(), unit, scale, from: None, to: None }
    }
}

impl Mark {
    /// A mark.
    pub fn new(at: Spot, label: impl Into<String>, hue: Hue) -> Self {
        Self { at, label: label.into(), hue }
    }
}

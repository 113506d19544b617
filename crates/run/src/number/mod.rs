//! Formatting of numbers. Numbers in tables, charts and headlines get three significant digits and SI units. The
//! function [`count`] keeps every digit of an exact count. The module [`prose`] formats numbers for sentences.
//!
//! A missing value is written as `n/a`, never as 0. Infinity is written as `∞`.

pub mod prose;

use crate::FigureUnit;

/// Unit of a number, which decides its scale and suffix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    #[default]
    Plain,
    /// Events per second.
    PerSecond,
    /// A duration; the value is in microseconds.
    Micros,
    /// A duration; the value is in seconds.
    Seconds,
    /// Number of bytes.
    Bytes,
    /// A size in bytes, written with binary prefixes: 512 B, 4 KiB.
    Size,
    /// Bytes per second.
    BytesPerSecond,
    /// A share from 0 to 1, written in percent.
    Share,
    /// Number of CPUs.
    Cpus,
    /// A plain number with a custom suffix.
    Named(&'static str),
}

impl From<FigureUnit> for Unit {
    fn from(unit: FigureUnit) -> Self {
        match unit {
            FigureUnit::Micros => Self::Micros,
            FigureUnit::PerSecond => Self::PerSecond,
            FigureUnit::Bytes => Self::Bytes,
            FigureUnit::BytesPerSecond => Self::BytesPerSecond,
            FigureUnit::Size => Self::Size,
            FigureUnit::Share => Self::Share,
            FigureUnit::Cpus => Self::Cpus,
            FigureUnit::Requests
            | FigureUnit::PerRequest
            | FigureUnit::BytesPerRequest
            | FigureUnit::HandshakesPerRequest => Self::Named(unit.symbol()),
            FigureUnit::Plain => Self::Plain,
        }
    }
}

impl From<crate::Unit> for Unit {
    fn from(unit: crate::Unit) -> Self {
        match unit {
            crate::Unit::Count | crate::Unit::Share => Self::Plain,
            crate::Unit::Bytes => Self::Bytes,
            crate::Unit::Microseconds => Self::Micros,
            crate::Unit::Pages => Self::Named(unit.symbol()),
            crate::Unit::BytesPerSecond => Self::BytesPerSecond,
            crate::Unit::Cpus => Self::Cpus,
        }
    }
}

/// Formats a number with its unit in three significant digits: `48,300/s`, `1.23 ms`, `2.5 MB/s`, `97.1 %`.
pub fn quantity(value: f64, unit: impl Into<Unit>) -> String {
    Digits(DIGITS).quantity(value, unit.into())
}

/// Formats both ends of an interval with their unit: `4,400/s to 4,900/s`. If both ends would look equal after
/// rounding, they are shown with more digits: `19.98 µs to 20.02 µs`.
pub fn interval(low: f64, high: f64, unit: impl Into<Unit>) -> String {
    let unit = unit.into();
    let ends = |digits| [low, high].map(|end| Digits(digits).quantity(end, unit));
    let differ = (DIGITS..=MAX_DIGITS).map(ends).find(|[low, high]| low != high);
    differ.unwrap_or_else(|| ends(DIGITS)).join(" to ")
}

/// Formats a plain number in three significant digits. A number of a million or more gets an SI prefix.
pub fn number(value: f64) -> String {
    Digits(DIGITS).number(value)
}

/// Formats an exact count with separated thousands.
pub fn count(value: u64) -> String {
    separated(&value.to_string())
}

/// Shortest duration, in seconds, that is written in minutes or hours.
const MIN_LONG_S: f64 = 600.0;
const HOUR_S: f64 = 3600.0;

/// Shortest duration, in seconds, that is written in days: longer than any usual load, and longer than the axis of any
/// chart.
const MIN_DAYS_S: f64 = 30.0 * 24.0 * HOUR_S;
/// Shortest duration, in seconds, that is written in years.
const MIN_YEARS_S: f64 = 2.0 * YEAR_S;
const YEAR_S: f64 = 365.25 * 24.0 * HOUR_S;

/// Formats a duration in seconds, minutes, hours, days or years: `12.5 s`, `45 min`, `12 h`, `30 days`, `12 years`.
pub fn span(seconds: f64) -> String {
    Digits(DIGITS).span(seconds)
}

/// Formats a number with three significant digits, with separated thousands and no trailing zeros.
pub fn significant(value: f64) -> String {
    Digits(DIGITS).significant(value)
}

/// Factor just above 1. Numbers are multiplied by this factor before they are formatted, so that halves are rounded up,
/// as readers expect. Without the factor, the formatter would round halves to even.
const HALVES_UP: f64 = 1.0 + 1e-12;

/// Number of significant digits in tables, charts and headlines.
const DIGITS: usize = 3;
/// Maximum number of significant digits of an interval whose ends are close together.
const MAX_DIGITS: usize = 6;

/// Formatter of numbers with the given number of significant digits.
#[derive(Clone, Copy)]
struct Digits(usize);

impl Digits {
    fn quantity(self, value: f64, unit: Unit) -> String {
        if value.is_nan() {
            return "n/a".into();
        }
        match unit {
            Unit::Plain => self.number(value),
            Unit::PerSecond => self.with_suffix(value, "/s"),
            Unit::Micros => self.duration(value),
            Unit::Seconds if value.abs() >= MIN_LONG_S && value.is_finite() => self.span(value),
            Unit::Seconds => self.duration(value * 1e6),
            Unit::Bytes => self.prefixed(value, "B"),
            Unit::Size => self.size(value),
            Unit::BytesPerSecond => self.prefixed(value, "B/s"),
            Unit::Share => format!("{} %", self.significant(value * 100.0)),
            Unit::Cpus => format!("{} CPU{}", self.significant(value), if value == 1.0 { "" } else { "s" }),
            Unit::Named(word) => format!("{} {word}", self.number(value)),
        }
    }

    fn number(self, value: f64) -> String {
        match value.abs() {
            magnitude if magnitude >= 1e6 && magnitude.is_finite() => self.prefixed(value, "").replace(' ', ""),
            _ => self.significant(value),
        }
    }

    fn span(self, seconds: f64) -> String {
        match seconds.abs() {
            s if s >= MIN_YEARS_S && s.is_finite() => format!("{} years", self.significant(seconds / YEAR_S)),
            s if s >= MIN_DAYS_S && s.is_finite() => format!("{} days", self.significant(seconds / (24.0 * HOUR_S))),
            s if s >= HOUR_S && s.is_finite() => format!("{} h", self.significant(seconds / HOUR_S)),
            s if s >= MIN_LONG_S && s.is_finite() => format!("{} min", self.significant(seconds / 60.0)),
            _ => format!("{} s", self.significant(seconds)),
        }
    }

    fn with_suffix(self, value: f64, suffix: &str) -> String {
        let magnitude = value.abs();
        if magnitude >= 1e6 && magnitude.is_finite() {
            self.prefixed(value, suffix)
        } else {
            format!("{}{suffix}", self.significant(value))
        }
    }

    fn prefixed(self, value: f64, unit: &str) -> String {
        const STEPS: [(f64, &str); 5] = [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
        if !value.is_finite() || value.abs() >= 1e18 {
            return format!("{} {unit}", self.significant(value)).trim_end().into();
        }
        // The prefix (k, M) is chosen after rounding. If it were chosen before rounding, 999.6 kB would be written as
        // 1,000 kB instead of 1 MB.
        let rounded = self.round_significant(value);
        let step = STEPS.iter().find(|(size, _)| rounded.abs() >= *size);
        let (size, prefix) = step.copied().unwrap_or((1.0, ""));
        format!("{} {prefix}{unit}", self.significant(value / size)).trim_end().into()
    }

    fn size(self, bytes: f64) -> String {
        const STEPS: [(f64, &str); 4] = [(1_073_741_824.0, "GiB"), (1_048_576.0, "MiB"), (1024.0, "KiB"), (1.0, "B")];
        let step = STEPS.iter().find(|(size, _)| bytes.abs() >= *size);
        let (size, unit) = step.copied().unwrap_or((1.0, "B"));
        format!("{} {unit}", self.significant(bytes / size))
    }

    fn duration(self, us: f64) -> String {
        const STEPS: [(f64, &str); 4] = [(1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns")];
        if us == 0.0 || !us.is_finite() {
            return format!("{} s", self.significant(us));
        }
        let rounded = self.round_significant(us);
        let step = STEPS.iter().find(|(size, _)| rounded.abs() >= *size);
        let (size, unit) = step.copied().unwrap_or((1e-3, "ns"));
        format!("{} {unit}", self.significant(us / size))
    }

    fn significant(self, value: f64) -> String {
        if value.is_nan() {
            return "n/a".into();
        }
        if value.is_infinite() {
            return if value > 0.0 { "∞".into() } else { "−∞".into() };
        }
        let rounded = self.round_significant(value);
        let magnitude = rounded.abs();
        if rounded == 0.0 {
            return "0".into();
        }
        if !(1e-4..1e15).contains(&magnitude) {
            return format!("{rounded:.*e}", self.0 - 1);
        }
        let digits = (self.0 as i32 - 1 - magnitude.log10().floor() as i32).max(0) as usize;
        let text = format!("{magnitude:.digits$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        let (whole, fraction) = text.split_once('.').map_or((text, String::new()), |(w, f)| (w, format!(".{f}")));
        let sign = if rounded < 0.0 { "−" } else { "" };
        format!("{sign}{}{fraction}", separated(whole))
    }

    fn round_significant(self, value: f64) -> f64 {
        if value == 0.0 || !value.is_finite() {
            return value;
        }
        // Formats the number as text and parses the text, because dividing by powers of ten adds rounding errors.
        format!("{:.*e}", self.0 - 1, value * HALVES_UP).parse().unwrap_or(value)
    }
}

fn separated(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// Formats a value for other programs: the shortest text that parses as exactly this value, or an empty text for a
/// missing or infinite value.
pub fn machine(value: f64) -> String {
    if value.is_finite() { format!("{value}") } else { String::new() }
}

#[cfg(test)]
mod tests;

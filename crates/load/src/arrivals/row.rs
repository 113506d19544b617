//! Row type of the arrival process table, and the trait that generates gaps.

use fastrand::Rng;

/// A row of [`ARRIVALS`](super::ARRIVALS).
#[derive(Clone, Copy, Debug)]
pub struct ArrivalSpec {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// Description of the process for help texts, in one line.
    pub help: &'static str,
    /// Parameters besides the mean rate, in command-line order.
    pub parameters: &'static [Parameter],
}

/// A parameter of an arrival process.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in plans.
    pub name: &'static str,
    /// Description of the parameter for help texts, in one line.
    pub help: &'static str,
    /// Unit of the value on the command line.
    pub unit: Unit,
    /// Default value, written as on the command line.
    pub default: &'static str,
    /// Returns true for a valid value. Never called with a value that is not finite.
    pub valid: fn(f64) -> bool,
    /// Advice shown for an invalid value.
    pub advice: &'static str,
}

/// Unit of a [`Parameter`] on the command line. Plans contain a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Number,
    /// A share from 0 to 1, or a percentage.
    Share,
    /// A time: plain seconds in plans, and a duration with a unit on the command line.
    Time,
}

/// Source of the gaps of an arrival process.
pub(super) trait Gaps {
    /// Returns the start of the process, in nanoseconds from the start of the shard. The first arrival is then at
    /// `phase` (0 to 1) of a gap. Only processes with equal gaps use the phase.
    fn begin_ns(&self, _phase: f64) -> f64 {
        0.0
    }

    /// Returns the gap from the arrival at `at_ns` to the next one, in nanoseconds.
    fn gap_ns(&mut self, at_ns: f64, rng: &mut Rng) -> f64;
}

/// Draws an exponentially distributed gap of mean 1.
#[inline]
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    // 1 - f64() lies in (0, 1], so the logarithm is finite.
    -(1.0 - rng.f64()).ln()
}

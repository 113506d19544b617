//! Row type of the table of arrival processes, and the trait that yields the gaps between arrivals.

use fastrand::Rng;

/// A row of [`ARRIVALS`](super::ARRIVALS).
#[derive(Clone, Copy, Debug)]
pub struct ArrivalSpec {
    /// Name of the arrival process in plans and on the command line.
    pub name: &'static str,
    /// Description of the arrival process for help texts, one line.
    pub help: &'static str,
    /// Parameters in addition to the mean rate, in the order of the command line.
    pub parameters: &'static [Parameter],
}

/// A parameter of an arrival process.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name of the parameter in plans.
    pub name: &'static str,
    /// Description of the parameter for help texts, one line.
    pub help: &'static str,
    /// Unit of the value on the command line.
    pub unit: Unit,
    /// Default value, as a user writes it on the command line.
    pub default: &'static str,
    /// Function that returns true for a valid value. Only finite values are passed to this function.
    pub valid: fn(f64) -> bool,
    /// Advice that the error for an invalid value gives.
    pub advice: &'static str,
}

/// Unit of a [`Parameter`] on the command line. In a load plan, the value is always a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The parameter is a number without a unit.
    Number,
    /// The parameter is a share: a number from 0 to 1, or a percentage.
    Share,
    /// The parameter is a time with a unit. In a load plan, the time is a number of seconds.
    Time,
}

/// Source of the gaps of an arrival process.
pub(super) trait Gaps {
    /// Returns the time at which the first gap begins, nanoseconds since the start of the shard (generator thread). The
    /// returned time is 0 or negative, because the first gap may begin before the start of the shard. `phase` (0 to 1)
    /// is the position of the first arrival within a gap. Only processes with equal gaps use the phase.
    fn begin_ns(&self, _phase: f64) -> f64 {
        0.0
    }

    /// Returns the gap between the arrival at `at_ns` and the next arrival, nanoseconds.
    fn gap_ns(&mut self, at_ns: f64, rng: &mut Rng) -> f64;
}

/// Draws an exponentially distributed random number with the mean 1.
#[inline]
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    // 1 - f64() lies in (0, 1], so the logarithm is finite.
    -(1.0 - rng.f64()).ln()
}

//! What the table of arrival processes says of one, and how a process tells its gaps.

use fastrand::Rng;

/// One row of [`ARRIVALS`](super::ARRIVALS).
#[derive(Clone, Copy, Debug)]
pub struct ArrivalSpec {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// What it is made from besides the mean rate, in the order of the command line.
    pub parameters: &'static [Parameter],
}

/// One parameter of an arrival process.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in plans.
    pub name: &'static str,
    /// What it means, in one line.
    pub help: &'static str,
    /// How its value is written on the command line.
    pub unit: Unit,
    /// The value where the command line leaves it out, as it is written there.
    pub default: &'static str,
    /// Whether a value is possible; never given what is not finite.
    pub valid: fn(f64) -> bool,
    /// What to give instead of a value that is not.
    pub advice: &'static str,
}

/// How the value of a [`Parameter`] is written; in plans it is a plain number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Number,
    /// A share from 0 to 1, or in percent.
    Share,
    /// Seconds in plans, a time with its unit on the command line.
    Time,
}

/// How a process tells its gaps.
pub(super) trait Gaps {
    /// When the process begins, nanoseconds from the start of the shard, if its first arrival is to stand at `phase` (0 to
    /// 1) of a gap. Only equal gaps have a place to keep.
    fn begin_ns(&self, _phase: f64) -> f64 {
        0.0
    }

    /// From the arrival at `at_ns` to the next one, nanoseconds.
    fn gap_ns(&mut self, at_ns: f64, rng: &mut Rng) -> f64;
}

/// An exponentially distributed gap of mean 1.
#[inline]
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    // 1 - f64() lies in (0, 1], so the logarithm is finite.
    -(1.0 - rng.f64()).ln()
}

//! Statistics and queueing theory for the judgement of runs. Pure functions of numbers: no clock, no file, and no knowledge of what a
//! run is. Random draws take their generator from the caller, so the same input gives the same output.
//!
//! Each module names the source of its method and the range in which it holds. Intervals hold 95 % unless a module says otherwise.

pub mod bootstrap;
pub mod fieller;
pub mod fit;
pub mod moments;
pub mod number;
pub mod posterior;
pub mod queueing;
pub mod ranks;
pub mod shares;
pub mod student;
pub mod trend;
pub mod two_means;

pub use moments::{NORMAL_95, Sample, average, ln_sd, normal, normal_tail};

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

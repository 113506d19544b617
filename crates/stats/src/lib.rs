//! Statistics and queueing theory for judging runs. All functions are pure: they use no clock, no files and no data
//! types of runs. The caller passes the random number generator as an argument, so equal inputs give equal results.
//!
//! Each module names the source of its method and its range of validity. Intervals are 95 % intervals unless a module
//! states another level.

pub mod bootstrap;
pub mod change_points;
pub mod fieller;
pub mod fit;
pub mod moments;
pub mod number;
pub mod pairwise;
pub mod posterior;
pub mod queueing;
pub mod sequential;
pub mod shares;
pub mod student;
pub mod trend;
pub mod two_means;

pub use moments::{NORMAL_95, Sample, average, ln_sd, normal, normal_tail};

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

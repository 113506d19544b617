//! Distributions of durations: histograms ([`Hist`]), and times of which only a lower bound is known for some requests
//! ([`CensoredTimes`]). The crate knows nothing of runs.
//!
//! The functions of this crate go through thousands of counts for each figure. The crate `run`, which uses these
//! functions, has so many types to read and write that its optimization would take longer than the rest of the build.
//! Because the functions are in a crate of their own, only they are optimized in the builds of tests.

mod censored;
mod hist;

pub use censored::{CensoredTimes, TimeFigure};
pub use hist::{Hist, HistError, short};

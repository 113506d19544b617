//! Distributions of durations: histograms ([`Hist`]), and times of which only a lower bound is known for some requests
//! ([`CensoredTimes`]). The crate does not use the data types of runs.
//!
//! The functions of this crate go through thousands of counts for each figure. The crate `run`, which uses these
//! functions, has so many types to read and write that its optimization would take longer than the rest of the build.
//! These functions are in a separate crate, so that builds of tests can optimize only this crate.

mod censored;
mod hist;

pub use censored::{CensoredTimes, TimeFigure};
pub use hist::{Hist, HistError, short};

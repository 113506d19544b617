//! Distributions of durations: histograms ([`Hist`]), and distributions that include requests without an answer
//! ([`CensoredTimes`]). For a request without an answer, only a lower bound of its time is known. The crate does not
//! use the data types of runs.
//!
//! The functions of this crate go through thousands of counts for each figure. The crate `run` uses these functions.
//! The crate `run` has so many types to read and write that its optimization would take longer than the rest of the
//! build. These functions are in a separate crate, so that test builds can optimize only this crate.

mod censored;
mod hist;

pub use censored::{CensoredTimes, TimeFigure};
pub use hist::{Hist, HistError, short};

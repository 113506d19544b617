//! Distributions of durations: histograms ([`Hist`]), and distributions that include requests without an answer
//! ([`CensoredTimes`]). For a request without an answer, only a lower bound of its time is known. The crate does not
//! use the data types of runs.
//!
//! For each figure, the functions of this crate read thousands of counts, so they are slow without optimization. The
//! crate `run`, which uses these functions, has many types, and its optimization would take longer than the rest of the
//! build. The functions are therefore in a separate crate, which test builds optimize.

mod censored;
mod hist;

pub use censored::{CensoredTimes, TimeFigure};
pub use hist::{Hist, HistError, short};

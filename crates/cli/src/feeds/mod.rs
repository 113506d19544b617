//! Figures of a run for other programs, sent while the run is in progress. Each receiver has its own thread, so that a
//! slow one delays neither the run nor another receiver.

mod every;
pub(crate) mod interval;
pub(crate) mod json_lines;
pub(crate) mod otlp;

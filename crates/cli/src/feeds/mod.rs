//! Figures of a run for other programs, sent during the run. Each receiver has its own thread, so a slow receiver
//! delays neither the run nor another receiver.

mod every;
pub(crate) mod interval;
pub(crate) mod json_lines;
pub(crate) mod otlp;

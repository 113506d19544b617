//! Simulated networks ("worlds"): servers with clients, link and upstream, and a known limit, recorded as `find`
//! records a run.
//!
//! The threads, locks, queues and CPUs of each world are simulated, because no formula covers a worker that waits for a
//! lock on a shared CPU. For worlds that have an exact solution, the simulation agrees with mean value analysis
//! (`agrees.rs`). Experiments on a world run in the same simulation. `docs/reference/calibration.md` compares the
//! verdicts with the truth.

mod agrees;
mod calibration;
mod calibration_page;
mod cpu;
mod draw;
mod experiment;
mod flow;
mod limit;
mod recording;
mod sim;
mod tally;
mod trials;
mod truth;
mod window;
mod world;

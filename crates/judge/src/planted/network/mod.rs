//! Simulated queueing networks ("worlds") with a known limit. Each world has a server, clients, a link, and sometimes
//! an upstream service. The run of a world is recorded as `loadline find` would record it.
//!
//! The threads, locks, queues and CPUs of each world are simulated. The simulation is needed because no formula covers,
//! for example, a worker that waits for a lock on a shared CPU. For worlds with an exact solution, the simulation
//! agrees with mean value analysis (`agrees.rs`). Experiments on a world run in the same simulation.
//! `docs/reference/calibration.md` compares the verdicts with the true limits.

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

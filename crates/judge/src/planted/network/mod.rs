//! Simulated queueing networks ("worlds") with a known limit. Each simulated network has a server, clients, a link, and
//! sometimes an upstream service. The run of a simulated network is recorded as `loadline find` would record it.
//!
//! The threads, locks, queues and CPUs of each network are simulated. The simulation is needed because no formula
//! covers, for example, a worker that waits for a lock on a shared CPU. For worlds with an exact solution, the
//! simulation agrees with mean value analysis (`agrees.rs`). Experiments on a simulated network run in the same
//! simulation as its load. `docs/reference/calibration.md` compares the verdicts with the true limits.

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

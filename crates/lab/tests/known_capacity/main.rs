//! Tests of the search with servers whose capacity can be computed exactly, in virtual time. Over many random seeds,
//! the estimate must have almost no bias, and about 95 % of its intervals must contain the exact capacity.
//!
//! `cargo test` makes a dozen runs of each model (`exact`, `disturbed`, `budgets`, `limits`). Hundreds of runs, and the
//! table in `docs/explanation/capacity.md`, need `cargo test -p loadline-lab --test known_capacity -- --ignored
//! --nocapture`.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

mod budgets;
mod disturbances;
mod disturbed;
mod exact;
mod known;
mod limits;
mod models;
mod short;
mod tables;
mod two_peaks;

//! Tests of the search against servers whose capacity for the objective is known in closed form, in virtual time. Over
//! many seeds, the estimate must be nearly unbiased, and about 95 % of its intervals must contain the exact capacity.
//!
//! `cargo test` makes a dozen runs of each model (`exact`, `disturbed`, `budgets`, `limits`). Hundreds of runs, and the
//! table of `docs/explanation/capacity.md`, come from `cargo test -p loadline-lab --test known_capacity -- --ignored
//! --nocapture`.

#![allow(clippy::unwrap_used, reason = "helpers of tests, too")]

mod budgets;
mod disturbances;
mod disturbed;
mod exact;
mod known;
mod limits;
mod models;
mod tables;

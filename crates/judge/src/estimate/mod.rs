//! Estimates from the trials of a run: users, classes of requests and their costs, growth over time, functions and
//! spans with the largest shares.

pub(crate) mod class_costs;
pub(crate) mod classes;
pub(crate) mod collection;
pub(crate) mod cost_drift;
pub(crate) mod drift;
pub mod fit;
pub(crate) mod hot;
pub(crate) mod objective;
mod runtime_frames;
pub(crate) mod spans;
pub(crate) mod users;

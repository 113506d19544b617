//! Tests that measure, but whose checks hold even if a few other tests of this module run at the same time. These tests
//! run after the tests that measure nothing.

mod ci_job;
mod class_costs;
mod hosts_lab;
mod hosts_watch;
mod http3_load;
mod planted_limits;
mod postgres;
mod protocols;
mod streams;

//! Tests that measure, but whose checks hold if a few others of them run at the same time. They run after the tests that
//! measure nothing.

mod ci_job;
mod class_costs;
mod hosts_lab;
mod hosts_watch;
mod http3_load;
mod postgres;
mod protocols;
mod streams;

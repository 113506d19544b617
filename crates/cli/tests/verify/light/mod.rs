//! Tests that measure, but leave the CPUs mostly idle. They run after the tests that measure nothing, and only a few of
//! them run at the same time.

mod hosts_lab;
mod hosts_watch;
mod http3_load;
mod postgres;
mod protocols;
mod streams;

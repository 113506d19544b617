//! Tests of the proxy in front of test servers and of nginx, with every backend of the event API.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;
mod faults;
mod forward;
mod leaks;
mod leaving;
mod live;
mod pressure;

//! Code that all tests and `make bench` share. The released program does not use this crate.
//!
//! - [`skip`] reports that the machine lacks a requirement of a test. `skip` prints a `SKIP` line, or fails the test if
//!   the environment has `LOADLINE_REQUIRE=all`.
//! - [`VirtualServer`] is a server with a known capacity in virtual (simulated) time, for tests of the search. The
//!   virtual server runs the generator's own worker, arrivals and sessions against a queueing model. [`queueing`]
//!   contains formulas for the capacity of queues, with which tests compare results.
//! - Other servers are real programs on free ports. A server ends when the value that represents it is dropped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod alone;
mod certificate;
mod containers;
mod control_group;
mod disturbance;
mod echoing;
mod go;
mod loadline;
mod lock;
mod log;
mod login;
mod namespaces;
mod need;
pub mod nginx_hosts;
mod pip;
mod postgres;
mod process;
#[cfg(feature = "virtual-server")]
pub mod queueing;
mod remote;
pub mod s_clients;
mod served_over_udp;
mod servers;
mod slurm;
mod two_hosts;
#[cfg(feature = "virtual-server")]
mod virtual_server;

pub use alone::alone;
pub use certificate::self_signed;
pub use containers::{Container, PodmanImage, podman_configuration, static_program};
pub use control_group::ControlGroup;
pub use disturbance::{OtherPrograms, TEST_RUN_PID};
pub use echoing::{echoing, reporting};
pub use go::go_peers;
pub use loadline::{
    Watched, bottleneck, json, json_of, loadline, num, recording, refused, release_binary, serve, served, status,
    total, verdict, watched,
};
pub use lock::lock_file;
pub use log::{logged, logged_by_nginx};
pub use login::{assert_logged_in, completed_by_class, login_sequence};
pub use namespaces::{in_namespaces, no_namespaces};
pub use need::{
    SetupError, has, has_testbed, installed, is_root, or_skip, program, python_with, required, skip, two_processors,
};
pub use pip::{pip_packages, python_with_packages};
pub use postgres::{NOBODY, Postgres, postgres_program};
pub use process::{
    ChildProcess, Hog, Running, children, eventually, eventually_within, first_line, free_port, kill, one_loop,
    peak_kib, python_server, refusing, script_server, signal, signalled,
};
pub use remote::SshHosts;
pub use served_over_udp::ServedOverUdp;
pub use servers::{apache, apache_with_log, nginx, nginx_workers, python};
pub use slurm::Slurm;
pub use two_hosts::{Server, TwoHosts};
#[cfg(feature = "virtual-server")]
pub use virtual_server::{Drift, Neighbour, Pauses, VirtualServer};

/// Returns the path of the loadline program that cargo built for the running test. Works only in tests of the `cli`
/// crate.
#[macro_export]
macro_rules! binary {
    () => {
        ::std::path::Path::new(env!("CARGO_BIN_EXE_loadline"))
    };
}

/// Checks the requirements of a speed test, and returns a lock and the path of the release build. Skips the test if the
/// machine has fewer than two CPUs, or if the release build is missing.
#[macro_export]
macro_rules! alone_with_release {
    ($name:expr) => {{
        let Some(binary) = $crate::release_binary($name, $crate::binary!()) else { return };
        if !$crate::two_processors($name) {
            return;
        }
        ($crate::alone(), binary)
    }};
}

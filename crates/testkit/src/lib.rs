//! What the tests of all crates share, and some of it with `make bench`: nothing that a user runs knows it.
//!
//! - What a machine lacks is said by [`skip`], in one way: a `SKIP` line, and a failure where `LOADLINE_REQUIRE=all`.
//! - A search for a capacity is held against servers whose capacity is known, in virtual time: [`VirtualServer`] runs the
//!   generator's own worker, arrivals and sessions against a queueing model, [`queueing`] has the closed forms.
//! - Servers are real programs on free ports, ended with the value that holds them and by their process id alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod alone;
mod certificate;
mod containers;
mod control_group;
mod disturbance;
mod echoing;
mod go;
mod loadline;
mod log;
mod login;
mod need;
mod process;
#[cfg(feature = "virtual-server")]
pub mod queueing;
mod remote;
pub mod s_clients;
mod servers;
mod slurm;
pub mod stage;
#[cfg(feature = "virtual-server")]
mod virtual_server;
mod way;

pub use alone::alone;
pub use certificate::self_signed;
pub use containers::{Container, static_program};
pub use control_group::ControlGroup;
pub use disturbance::OtherPrograms;
pub use echoing::echoing;
pub use go::go_peers;
pub use loadline::{
    Watched, bottleneck, json, json_of, loadline, num, refused, release_binary, serve, served, status, total, verdict,
    watched,
};
pub use log::{logged, logged_by_nginx};
pub use login::{assert_logged_in, completed_by_class, login_sequence};
pub use need::{
    Without, has, has_testbed, installed, is_root, or_skip, program, python_with, required, skip, two_processors,
};
pub use process::{
    Held, Hog, Running, children, eventually, eventually_within, first_line, free_port, kill, one_loop, peak_kib,
    python_server, refusing, script_server, signal, signalled,
};
pub use remote::SshHosts;
pub use servers::{apache, apache_with_log, nginx, nginx_workers, python};
pub use slurm::Slurm;
#[cfg(feature = "virtual-server")]
pub use virtual_server::{Drift, Pauses, VirtualServer};
pub use way::{Server, Way};

/// The program of the crate under test; only in the tests of the crate that makes it.
#[macro_export]
macro_rules! binary {
    () => {
        ::std::path::Path::new(env!("CARGO_BIN_EXE_loadline"))
    };
}

/// What a test of speed relations needs: `(guard, binary)`, alone on a machine of two CPUs and with the release build; where
/// that is lacking it says so and the test returns.
#[macro_export]
macro_rules! alone_with_release {
    ($name:literal) => {{
        let Some(binary) = $crate::release_binary($name, $crate::binary!()) else { return };
        if !$crate::two_processors($name) {
            return;
        }
        ($crate::alone(), binary)
    }};
}

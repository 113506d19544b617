//! Testbeds: hosts and networks that are simulated on one machine, without root. Each host is a network namespace. A
//! medium joins the hosts: a shared wire, a switch or a long line. Only the medium is simulated: the hosts run real
//! programs on the kernel's real network stack.
//!
//! ```no_run
//! use loadline_testbed::{Spec, Testbed};
//! let bed = Testbed::build(&Spec::server_and_clients(1, "ethernet10"))?;
//! let mut server = bed.command("server", "nginx")?;
//! println!("{} serves at {}", server.status()?, bed.address("server")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod error;
mod forward;
mod holder;
mod media;
pub mod named;
mod net;
mod steer;
mod testbed;
mod tools;

pub use error::{Result, TestbedError};
pub use media::{MEDIA, Medium, MediumSpec, leads_from_switch};
pub use steer::Steered;
pub use testbed::{MediumGauge, MediumSpeed, Spec, Testbed};

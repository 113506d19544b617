//! Test hosts and media on one machine, without root. The hosts are network namespaces. A shared wire, a switch or a
//! long line joins them. The hosts run real programs on the real network stack, so only the medium is simulated.
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
pub use media::{MEDIA, Medium, MediumSpec};
pub use steer::Steered;
pub use testbed::{MediumGauge, MediumSpeed, Spec, Testbed};

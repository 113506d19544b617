//! Testbeds that other programs can use by name. Each testbed has a keeper process, which keeps the testbed alive and
//! listens on a Unix socket. Clients can request the testbed's status, slow its medium while their connection lasts, or
//! end the testbed. If the keeper is killed, its socket file remains until the next command for the testbed removes the
//! file.

mod joining;
mod keeper;
mod slowing;
mod socket;
mod status;
mod use_of;

pub use joining::{Joining, joining};
pub use keeper::keep;
pub use slowing::MediumSlowdown;
pub use socket::names;
pub use status::{HostStatus, Status, status};
pub use use_of::{command, down, up};

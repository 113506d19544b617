//! Testbeds that other programs can use by name. A keeper process keeps the testbed alive and listens on a unix socket.
//! A client can request the status, slow the medium while its connection lasts, or end the testbed. If the keeper is
//! killed, only the file of its socket remains. The next command with this testbed's name removes the file.

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

//! Testbeds that other programs can use by name. A keeper process keeps the testbed alive, and listens on a Unix
//! socket. Clients can request the status, slow the medium while their connection lasts, or end the testbed. If the
//! keeper is killed, its socket file remains. The next command for this testbed removes the file.

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

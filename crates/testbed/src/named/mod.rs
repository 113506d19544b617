//! Testbeds kept under a name for other programs. A keeper process holds the testbed and listens on a unix socket.
//! Clients of the socket can request its status, slow the medium while they hold a connection, or end the testbed. When
//! the keeper dies, everything but the socket's file goes with it. The next command on that name removes the file.

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

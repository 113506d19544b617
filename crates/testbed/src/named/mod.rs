//! Testbeds that are kept under a name for other programs. A keeper process holds the testbed and listens on a Unix
//! socket; whoever can reach the socket can ask what there is, slow the medium for as long as it holds a connection, or end
//! it all. When the keeper dies, all but the socket's file goes with it, and the next command on that name removes the file.

mod joining;
mod keeper;
mod slowing;
mod socket;
mod status;
mod use_of;

pub use joining::{Joining, joining};
pub use keeper::keep;
pub use slowing::Slowing;
pub use socket::names;
pub use status::{HostStatus, Status, status};
pub use use_of::{command, down, up};

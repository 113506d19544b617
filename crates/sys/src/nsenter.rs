//! Moving a single thread into another network namespace. Source: setns(2).

use std::os::fd::AsFd;

use crate::Result;

/// Moves the calling thread, and only it, into the network namespace that `ns` (an open `/proc/PID/ns/net`) names.
/// There is no way back for lack of rights, so do this on a thread that ends soon. Needs CAP_SYS_ADMIN here and there.
pub fn enter_net(ns: impl AsFd) -> Result<()> {
    let net = rustix::thread::LinkNameSpaceType::Network;
    rustix::thread::move_into_link_name_space(ns.as_fd(), Some(net))
}

//! Moving a single thread into another network namespace. Source: setns(2).

use std::os::fd::AsFd;

use crate::Result;

/// Moves the calling thread alone into the network namespace of `ns` (an open `/proc/PID/ns/net`). A lack of rights may
/// prevent the way back, so use a thread that ends soon. Needs CAP_SYS_ADMIN in both namespaces.
pub fn enter_net(ns: impl AsFd) -> Result<()> {
    let net = rustix::thread::LinkNameSpaceType::Network;
    rustix::thread::move_into_link_name_space(ns.as_fd(), Some(net))
}

//! Moves a single thread into another network namespace. Source: setns(2).

use std::os::fd::AsFd;

use crate::Result;

/// Moves only the calling thread into the network namespace of `ns` (an open `/proc/PID/ns/net`). The thread may lack
/// the rights to return to its namespace, so call this function on a thread that ends soon. Requires CAP_SYS_ADMIN in
/// the thread's present network namespace and in `ns`.
pub fn enter_net(ns: impl AsFd) -> Result<()> {
    let net = rustix::thread::LinkNameSpaceType::Network;
    rustix::thread::move_into_link_name_space(ns.as_fd(), Some(net))
}

//! Nodes of a Redis cluster, and the node to which each command belongs.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use run::{CLUSTER_SLOTS, ClusterSlots};

use super::slots::slot_of;
use crate::Fault;
use crate::commands::Commands;

/// Nodes of a cluster and the hash slots that they own. All connections share the table of routes.
#[derive(Debug)]
pub(super) struct Routes {
    nodes: Box<[SocketAddr]>,
    /// Index of the node that owns each hash slot.
    node_of_slot: Box<[AtomicU16]>,
    /// Hash slot of each command; `None` for a command without a key, which every node accepts.
    slots: Box<[Option<u16>]>,
    /// Commands redirected by ASK: the index of the node that accepts the command, and the index of the command.
    asks: Mutex<VecDeque<(u16, usize)>>,
    waiting_asks: AtomicUsize,
}

impl Routes {
    /// Creates the routes of a cluster; `None` if the server is not in cluster mode.
    pub(super) fn new(cluster: &[ClusterSlots], commands: &Commands) -> Option<Arc<Self>> {
        let mut nodes: Vec<SocketAddr> = Vec::new();
        let node_of_slot: Box<[AtomicU16]> = (0..CLUSTER_SLOTS).map(|_| AtomicU16::new(0)).collect();
        for range in cluster {
            let known = nodes.iter().position(|node| *node == range.node);
            let node = known.unwrap_or_else(|| {
                nodes.push(range.node);
                nodes.len() - 1
            });
            let slots = node_of_slot.iter().take(usize::from(range.last) + 1).skip(usize::from(range.first));
            slots.for_each(|slot| slot.store(node as u16, Ordering::Relaxed));
        }
        let slots = commands.encoded().iter().map(|command| slot_of(command)).collect();
        let (asks, waiting_asks) = (Mutex::default(), AtomicUsize::new(0));
        let routes = Self { nodes: nodes.into(), node_of_slot, slots, asks, waiting_asks };
        (!cluster.is_empty()).then(|| Arc::new(routes))
    }

    /// Returns true if a node owns the hash slot of a command, or if the command has no hash slot.
    pub(super) fn takes(&self, node: u16, command: usize) -> bool {
        let slot = self.slots.get(command).copied().flatten();
        let holder = slot.and_then(|slot| self.node_of_slot.get(usize::from(slot)));
        holder.is_none_or(|holder| holder.load(Ordering::Relaxed) == node)
    }

    /// Returns, for each node, the number of commands whose slots it owns. A command without a slot counts for all
    /// nodes in equal parts.
    pub(super) fn weights(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.nodes.len()];
        for slot in &self.slots {
            let holder = slot.and_then(|slot| self.node_of_slot.get(usize::from(slot)));
            match holder.and_then(|holder| weights.get_mut(usize::from(holder.load(Ordering::Relaxed)))) {
                Some(weight) => *weight += 1.0,
                None => weights.iter_mut().for_each(|weight| *weight += 1.0 / self.nodes.len() as f64),
            }
        }
        weights
    }

    fn asks(&self) -> MutexGuard<'_, VecDeque<(u16, usize)>> {
        self.asks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a command that was redirected to `node` by ASK, unless this command already waits for `node`. Because no
    /// command is added twice, the number of waiting commands is limited.
    fn add_ask(&self, node: u16, command: usize) {
        let mut asks = self.asks();
        if !asks.contains(&(node, command)) {
            asks.push_back((node, command));
            self.waiting_asks.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Removes and returns a command that was redirected to `node` by ASK.
    pub(super) fn take_ask(&self, node: u16) -> Option<usize> {
        if self.waiting_asks.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut asks = self.asks();
        let at = asks.iter().position(|(to, _)| *to == node)?;
        self.waiting_asks.fetch_sub(1, Ordering::Relaxed);
        asks.remove(at).map(|(_, command)| command)
    }

    /// Follows a redirection, and returns [`Fault::Moved`] or [`Fault::Asked`] for the redirected request. Returns
    /// `None` for other errors, and for a redirection to an unknown node, which is not followed.
    pub(super) fn follow(&self, words: &[u8], command: usize) -> Option<Fault> {
        let mut parts = std::str::from_utf8(words).ok()?.split_ascii_whitespace();
        let (kind, slot, node) = (parts.next()?, parts.next()?.parse::<u16>().ok()?, parts.next()?);
        let node = node_address(node)?;
        let node = self.nodes.iter().position(|known| *known == node)? as u16;
        match kind {
            "MOVED" => {
                self.node_of_slot.get(usize::from(slot))?.store(node, Ordering::Relaxed);
                Some(Fault::Moved)
            }
            "ASK" => {
                self.add_ask(node, command);
                Some(Fault::Asked)
            }
            _ => None,
        }
    }
}

/// Reads the address of a node, `HOST:PORT`. Redis writes an IPv6 address without brackets, so the port follows the
/// last colon. Returns `None` if the host is no IP address.
fn node_address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some(SocketAddr::new(host.parse().ok()?, port.parse().ok()?))
}

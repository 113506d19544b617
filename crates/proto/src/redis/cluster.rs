//! Routing of commands in a Redis cluster. Each key belongs to a hash slot, and each slot belongs to a node. A
//! connection sends the commands for its node, one after another. A node without the key's hash slot redirects the
//! command. The redirection MOVED applies to all later commands for the hash slot, and ASK applies only to the
//! redirected command. Source: the Redis cluster specification.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use run::{CLUSTER_SLOTS, ClusterSlots};

use super::slots::slot_of;
use crate::Fault;
use crate::commands::{Commands, copy_rest};

/// Command that must precede a command redirected by ASK, in RESP.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

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
    fn takes(&self, node: u16, command: usize) -> bool {
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
    fn take_ask(&self, node: u16) -> Option<usize> {
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
    fn follow(&self, words: &[u8], command: usize) -> Option<Fault> {
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

/// Commands of one connection in a cluster.
#[derive(Debug)]
pub(super) struct NodeQueue {
    routes: Arc<Routes>,
    node: u16,
    to_send: u32,
    /// Index of the command to try next.
    next: usize,
    /// Bytes of the current command.
    bytes: Vec<u8>,
    /// Number of bytes of the current command that were sent.
    sent: usize,
    /// Sent commands that wait for their replies. The flag is true if the reply to a preceding ASKING has not arrived.
    in_flight: VecDeque<(usize, bool)>,
}

impl NodeQueue {
    pub(super) fn new(routes: Arc<Routes>) -> Self {
        let (bytes, in_flight) = (Vec::new(), VecDeque::new());
        Self { routes, node: 0, to_send: 0, next: 0, bytes, sent: 0, in_flight }
    }

    /// Sets the node to which the connection is opened, by index.
    pub(super) fn aim(&mut self, node: u16) {
        self.node = node;
    }

    pub(super) fn add(&mut self) {
        self.to_send += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.to_send == 0 && self.sent == self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        (self.to_send, self.sent) = (0, 0);
        self.bytes.clear();
        self.in_flight.clear();
    }

    /// Copies bytes of the next commands into `out` and returns their number.
    pub(super) fn transmit(&mut self, commands: &Commands, out: &mut [u8]) -> usize {
        let mut done = 0;
        while done < out.len() && !self.is_empty() {
            if self.sent == self.bytes.len() {
                self.choose(commands);
            }
            done += copy_rest(&self.bytes, &mut self.sent, &mut out[done..]);
        }
        done
    }

    /// Chooses the next command that the connection sends. Commands that were redirected to this node come first. After
    /// the redirected commands, the connection sends commands whose hash slots belong to this node. If no command
    /// belongs to this node, the connection sends another node's command, and this node redirects it.
    fn choose(&mut self, commands: &Commands) {
        self.to_send -= 1;
        (self.sent, self.next) = (0, self.next % commands.encoded().len());
        self.bytes.clear();
        let asked = self.routes.take_ask(self.node);
        if asked.is_some() {
            self.bytes.extend_from_slice(ASKING);
        }
        let count = commands.encoded().len();
        let in_turn = || (0..count).map(|at| (self.next + at) % count).find(|at| self.routes.takes(self.node, *at));
        let command = asked.or_else(in_turn).unwrap_or(self.next);
        if asked.is_none() {
            self.next = command + 1;
        }
        self.bytes.extend_from_slice(&commands.encoded()[command]);
        self.in_flight.push_back((command, asked.is_some()));
    }

    /// Handles a complete reply. `error` is the reply's text if it is an error.
    pub(super) fn replied(&mut self, error: Option<&[u8]>) -> Reply {
        if let Some((_, asking)) = self.in_flight.front_mut().filter(|(_, asking)| *asking) {
            *asking = false;
            return Reply::Asking;
        }
        let command = self.in_flight.pop_front();
        Reply::Command(error.zip(command).and_then(|(words, (command, _))| self.routes.follow(words, command)))
    }
}

/// Meaning of a reply from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The reply to ASKING, which completes no request.
    Asking,
    /// The reply to a command. The fault ([`Fault::Moved`] or [`Fault::Asked`]) is present if the node redirected the
    /// command to a known node.
    Command(Option<Fault>),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redis::ClientPlan;
    use crate::{Client as _, Done, Outcome, Request, Requester as _};
    use run::Protocol;

    /// The keys a, b and c have the hash slots 15495, 3300 and 7365.
    fn plan() -> ClientPlan {
        plan_of("GET a\nGET b\nGET c", [(0, 5460, 1), (5461, 10_922, 2), (10_923, 16_383, 3)])
    }

    /// Makes a plan for a cluster with three nodes. Each item of `nodes` is a node's first hash slot, its last hash
    /// slot, and its port.
    fn plan_of(commands: &str, nodes: [(u16, u16, u16); 3]) -> ClientPlan {
        let node = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let cluster = nodes.map(|(first, last, port)| ClusterSlots { first, last, node: node(port) }).into();
        let command = commands.to_owned();
        let plan =
            Protocol::Redis { command, commands_file: None, auth_file: None, database: 0, resp3: false, cluster };
        ClientPlan::new(&plan).unwrap()
    }

    fn sent(session: &mut crate::redis::ClientSession) -> String {
        let (mut all, mut piece) = (Vec::new(), [0; 5]);
        while let n @ 1.. = session.transmit(&mut piece) {
            all.extend_from_slice(&piece[..n]);
        }
        String::from_utf8(all).unwrap().replace("\r\n", " ")
    }

    #[test]
    fn each_connection_sends_the_commands_of_its_node_and_redirections_are_followed() {
        let plan = plan();
        let [mut first, mut third] = [0, 2].map(|node| {
            let mut session = plan.session();
            session.aim(node);
            session
        });
        (0..2).for_each(|_| first.begin(Request::default()));
        assert_eq!(sent(&mut first).matches("GET $1 b").count(), 2);
        // The hash slot of b has moved to the third node, and the slot of a is moving to the first node.
        let mut ended = Vec::new();
        let mut told = |done: Done| ended.push(done.outcome);
        first.receive(b"-MOVED 3300 127.0.0.1:3\r\n$-1\r\n", &mut told).unwrap();
        third.begin(Request::default());
        assert_eq!(sent(&mut third), "*2 $3 GET $1 a ");
        third.receive(b"-ASK 15495 127.0.0.1:1\r\n", &mut told).unwrap();
        first.begin(Request::default());
        assert_eq!(sent(&mut first), "*1 $6 ASKING *2 $3 GET $1 a ");
        first.receive(b"+OK\r\n$1\r\nv\r\n", &mut told).unwrap();
        (0..2).for_each(|_| third.begin(Request::default()));
        let both = sent(&mut third);
        assert!(both.contains("$1 b") && both.contains("$1 a"), "{both}");
        third.receive(b"-MOVED 3300 10.0.0.9:1\r\n", &mut told).unwrap();
        let failed = |fault| Outcome::Failed(fault);
        let good = Outcome::Expected;
        assert_eq!(ended, [failed(Fault::Moved), good, failed(Fault::Asked), good, Outcome::Unexpected]);
    }

    /// Of four commands, two belong to the second node and one to the third node. The last command has no key.
    #[test]
    fn a_node_has_the_weight_of_its_commands() {
        let nodes = [(5461, 10_922, 1), (0, 5460, 2), (10_923, 16_383, 3)];
        let weights = plan_of("GET b\nGET {b}1\nGET a\nPING", nodes).address_weights();
        assert_eq!(weights.iter().map(|weight| (3.0 * weight).round()).collect::<Vec<_>>(), [1.0, 7.0, 4.0]);
    }

    #[test]
    fn a_node_without_commands_sends_those_of_others() {
        let mut session = plan().session();
        session.aim(7);
        session.begin(Request::default());
        assert!(sent(&mut session).contains("GET"));
        session.reset();
        assert!(!session.wants_transmit());
    }

    /// Redis writes an IPv6 address without brackets.
    #[test]
    fn a_redirection_to_an_ipv6_node_is_followed() {
        let node = SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, 7001));
        let cluster = [ClusterSlots { first: 0, last: 16_383, node }];
        let command = |_: &str| Ok(b"*2\r\n$3\r\nGET\r\n$1\r\nb\r\n".to_vec());
        let commands = Commands::read("GET b", None, "", &[], command).unwrap();
        let routes = Routes::new(&cluster, &commands).unwrap();
        for words in ["MOVED 3300 ::1:7001", "MOVED 3300 [::1]:7001"] {
            assert_eq!(routes.follow(words.as_bytes(), 0), Some(Fault::Moved), "{words}");
        }
        for words in ["MOVED 3300 ::1:7002", "MOVED 3300 7001", "MOVED 3300 ::1", "MOVED 3300 :7001"] {
            assert_eq!(routes.follow(words.as_bytes(), 0), None, "{words}");
        }
    }
}

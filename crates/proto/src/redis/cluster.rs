//! Routing of commands in a Redis cluster. Each key belongs to a hash slot, and each slot belongs to a node. A
//! connection sends the commands for its node, one after another. A node without the key's hash slot redirects the
//! command. The redirection MOVED applies to all later commands for the hash slot, and ASK applies only to the
//! redirected command. Source: the Redis cluster specification.

use std::collections::VecDeque;
use std::sync::Arc;

use super::routes::Routes;
use crate::Fault;
use crate::commands::{Commands, copy_rest};

/// Command that must precede a command redirected by ASK, in RESP.
const ASKING: &[u8] = b"*1\r\n$6\r\nASKING\r\n";

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
mod tests;

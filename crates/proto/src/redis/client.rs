//! Redis client: sends the user's commands in order, again and again. Replies arrive in the order of the commands.

use std::sync::Arc;

use run::Protocol;

use super::advice::advice;
use super::cluster::{NodeQueue, Reply};
use super::command::{array, encode};
use super::reads::READS;
use super::reply::{Kind, Reader};
use super::routes::Routes;
use super::slots::slot_of;
use crate::client::read_text;
use crate::commands::{CommandQueue, Commands, copy_rest};
use crate::{Client, Done, Fault, Outcome, Progress, ProtoError, Request, Requester, Which};

/// Settings that all clients of a load share, checked and prepared.
#[derive(Clone)]
pub struct ClientPlan {
    commands: Commands,
    /// Routes of a Redis cluster; `None` if the server is not in cluster mode.
    routes: Option<Arc<Routes>>,
    /// First bytes on a connection: the commands AUTH, HELLO and SELECT, as far as they are needed.
    greeting: Arc<[u8]>,
    /// Number of replies to the commands in `greeting`.
    greeting_replies: u32,
}

impl ClientPlan {
    /// Reads the user's commands and encodes them.
    pub fn new(plan: &Protocol) -> Result<Self, ProtoError> {
        let Protocol::Redis { command, commands_file, auth_file, database, resp3, cluster } = plan else {
            return Err(ProtoError::Unknown(plan.name()));
        };
        let advice = "give a command a line, such as GET key";
        let commands = Commands::read(command, commands_file.as_deref(), advice, READS, encode)?;
        let mut greeting = Vec::new();
        let mut greeting_replies = 0;
        let mut say = |words: &[&str]| {
            greeting.extend(array(words));
            greeting_replies += 1;
        };
        if let Some(file) = auth_file {
            let secret = read_text("the credentials", file)?;
            let secret = secret.trim();
            match secret.split_once(':') {
                Some((user, password)) => say(&["AUTH", user, password]),
                None => say(&["AUTH", secret]),
            }
        }
        if *resp3 {
            say(&["HELLO", "3"]);
        }
        if *database > 0 {
            say(&["SELECT", &database.to_string()]);
        }
        let routes = Routes::new(cluster, &commands);
        Ok(Self { commands, routes, greeting: greeting.into(), greeting_replies })
    }

    /// Returns the cluster hash slot of each command; `None` for a command without a key.
    pub fn slots(&self) -> Vec<Option<u16>> {
        self.commands.encoded().iter().map(|command| slot_of(command)).collect()
    }
}

impl Client for ClientPlan {
    type Session = ClientSession;

    /// Each connection sends the commands one after another. If a request is sent again on another connection, that
    /// connection may send a different command. The requests of this client are idempotent only if none of its commands
    /// changes data.
    fn is_idempotent(&self, _: u16) -> bool {
        self.commands.only_read
    }

    /// In a cluster, requests are not fixed, because connections to different nodes send different commands.
    fn fixed(&self) -> bool {
        self.routes.is_none()
    }

    /// In a cluster, each node gets connections in proportion to the commands that it answers.
    fn address_weights(&self) -> Vec<f64> {
        self.routes.as_ref().map(|routes| routes.weights()).unwrap_or_default()
    }

    fn session(&self) -> ClientSession {
        ClientSession {
            plan: self.clone(),
            queue: CommandQueue::default(),
            node: self.routes.clone().map(|routes| Box::new(NodeQueue::new(routes))),
            greeted: 0,
            greeting_replies: self.greeting_replies,
            outstanding: 0,
            bytes: 0,
            reader: Reader::default(),
        }
    }
}

/// Client side of one connection.
pub struct ClientSession {
    plan: ClientPlan,
    queue: CommandQueue,
    /// Commands of a connection to a node of a cluster. Present only in a cluster, where `node` is used instead of
    /// `queue`.
    node: Option<Box<NodeQueue>>,
    /// Number of bytes of the first commands (AUTH, HELLO, SELECT) that were sent.
    greeted: usize,
    /// Number of replies to the first commands that are still to come.
    greeting_replies: u32,
    outstanding: u32,
    /// Number of bytes so far of the current reply, if it is incomplete.
    bytes: u64,
    reader: Reader,
}

impl Requester for ClientSession {
    fn matches_answers_by_order(&self) -> bool {
        true
    }

    fn ready(&self) -> bool {
        self.greeting_replies == 0
    }

    fn refusal_words(&self) -> Option<String> {
        let words = self.words();
        (!words.is_empty()).then(|| format!("{:?}", format!("-{words}")))
    }

    fn explain(&self) -> Option<String> {
        let words = self.words();
        match (words.is_empty(), self.greeting_replies) {
            (true, _) => None,
            (false, 0) => {
                let advice = advice(&words, "correct --command, or the line of --commands");
                self.refusal_words().map(|quoted| format!("it answered {quoted}; {advice}"))
            }
            (false, _) => {
                let advice = advice(&words, "correct --auth-file, --database or --resp");
                Some(format!("it refuses HELLO, AUTH or SELECT with {words:?}; {advice}"))
            }
        }
    }

    fn is_answering(&self) -> Option<bool> {
        Some(self.bytes > 0 || self.reader.is_inside())
    }

    fn aim(&mut self, address: u16) {
        self.node.iter_mut().for_each(|node| node.aim(address));
    }

    fn begin(&mut self, _: Request) {
        match &mut self.node {
            Some(node) => node.add(),
            None => self.queue.add(),
        }
        self.outstanding += 1;
    }

    fn transmit(&mut self, out: &mut [u8]) -> usize {
        let done = copy_rest(&self.plan.greeting, &mut self.greeted, out);
        let rest = &mut out[done..];
        done + match &mut self.node {
            Some(node) => node.transmit(&self.plan.commands, rest),
            None => self.queue.transmit(&self.plan.commands, rest),
        }
    }

    fn wants_transmit(&self) -> bool {
        let has_commands = self.node.as_ref().map_or(!self.queue.is_empty(), |node| !node.is_empty());
        has_commands || self.greeted < self.plan.greeting.len()
    }

    fn receive(&mut self, input: &[u8], done: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let (mut progress, mut rest) = (Progress::default(), input);
        let mut counted = input.len();
        while let Some(kind) = self.reader.next(&mut rest)? {
            let bytes = self.bytes + (counted - rest.len()) as u64;
            (self.bytes, counted) = (0, rest.len());
            match kind {
                Kind::Push => progress.unasked += 1,
                Kind::Error if self.greeting_replies > 0 => {
                    return Err(Fault::Malformed("the server refuses the connection's begin"));
                }
                Kind::Good if self.greeting_replies > 0 => self.greeting_replies -= 1,
                _ if self.outstanding == 0 => return Err(Fault::Unasked("a reply that no command asked for")),
                kind => {
                    let error = (kind == Kind::Error).then(|| self.reader.error());
                    let reply = self.node.as_mut().map_or(Reply::Command(None), |node| node.replied(error));
                    let Reply::Command(redirected) = reply else { continue };
                    self.outstanding -= 1;
                    progress.completed += 1;
                    let outcome = match (redirected, kind) {
                        (Some(fault), _) => Outcome::Failed(fault),
                        (None, Kind::Error) => Outcome::Unexpected,
                        (None, _) => Outcome::Expected,
                    };
                    done(Done { which: Which::Oldest, status: 0, outcome, bytes, events: 0 });
                }
            }
        }
        self.bytes += counted as u64;
        Ok(progress)
    }

    fn peer_closed(&mut self, _: &mut dyn FnMut(Done)) -> Result<Progress, Fault> {
        let inside = self.outstanding > 0 || self.greeting_replies > 0 || self.reader.is_inside();
        if inside { Err(Fault::Short) } else { Ok(Progress::CLOSE) }
    }

    fn reset(&mut self) {
        (self.queue, self.greeted) = (CommandQueue::default(), 0);
        self.node.iter_mut().for_each(|node| node.clear());
        (self.greeting_replies, self.outstanding, self.bytes) = (self.plan.greeting_replies, 0, 0);
        self.reader.reset();
    }
}

impl ClientSession {
    /// Returns the text of the last error reply; empty if there was none.
    fn words(&self) -> String {
        run::visible(String::from_utf8_lossy(self.reader.error()).trim_end()).into_owned()
    }
}

#[cfg(test)]
mod tests;

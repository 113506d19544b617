//! What an agent is told: written at once as far as its pipe takes it, the rest when there is room. A host that reads
//! nothing holds nobody up.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::process::ChildStdin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most that waits for one agent, bytes: several times a program that is copied to its host.
const MOST: usize = 512 << 20;

#[derive(Debug)]
struct Out {
    stdin: Option<ChildStdin>,
    waiting: VecDeque<u8>,
    /// The task is handed over: what follows are commands.
    tasked: bool,
}

/// See the head of this file.
#[derive(Debug)]
pub(super) struct Outbox(Mutex<Out>);

impl Outbox {
    pub(super) fn new(stdin: Option<ChildStdin>) -> Self {
        Self(Mutex::new(Out { stdin, waiting: VecDeque::new(), tasked: false }))
    }

    fn lock(&self) -> MutexGuard<'_, Out> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends bytes; those that find no room wait. A pipe that is broken is heard of by its other half.
    pub(super) fn send(&self, bytes: &[u8]) {
        self.lock().send(bytes);
    }

    /// The agent's task; commands may follow from now on.
    pub(super) fn send_task(&self, task: &[u8]) {
        let mut out = self.lock();
        out.tasked = true;
        out.send(task);
    }

    /// A command that is of no use later, or before the task.
    pub(super) fn send_now(&self, bytes: &[u8]) {
        let mut out = self.lock();
        if out.tasked && out.waiting.is_empty() {
            out.send(bytes);
        }
    }

    /// Goes on with what waits.
    pub(super) fn flush(&self) {
        self.lock().flush();
    }

    /// The descriptor in which something waits for room.
    pub(super) fn waits_for(&self) -> Option<RawFd> {
        let out = self.lock();
        out.stdin.as_ref().filter(|_| !out.waiting.is_empty()).map(AsRawFd::as_raw_fd)
    }

    /// Ends it: the agent's standard input ends.
    pub(super) fn close(&self) {
        self.lock().close();
    }
}

impl Out {
    fn send(&mut self, bytes: &[u8]) {
        if self.stdin.is_none() {
            return;
        }
        self.waiting.extend(bytes);
        self.flush();
        if self.waiting.len() > MOST {
            self.close();
        }
    }

    fn flush(&mut self) {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !self.waiting.is_empty()) {
            match stdin.write(self.waiting.as_slices().0) {
                Ok(n) => drop(self.waiting.drain(..n)),
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => self.close(),
            }
        }
    }

    fn close(&mut self) {
        self.stdin = None;
        self.waiting = VecDeque::new();
    }
}

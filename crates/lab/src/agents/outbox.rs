//! Queue of bytes that wait to be sent to one agent. The pipe takes as many bytes as it can, and the queue keeps the
//! remaining bytes. An agent that stops reading therefore does not block the conductor.

use std::collections::VecDeque;
use std::io::Write;
use std::os::fd::{AsRawFd, RawFd};
use std::process::ChildStdin;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of bytes queued for one agent: several times the size of loadline's program, which may be copied to
/// the agent's host. If more bytes are queued, the agent's standard input is closed.
const MAX_BYTES: usize = 512 << 20;

#[derive(Debug)]
struct Queue {
    stdin: Option<ChildStdin>,
    waiting: VecDeque<u8>,
    /// True once the task was sent. Bytes that are sent after the task are commands.
    tasked: bool,
}

/// Queue of bytes that wait to be sent to one agent.
#[derive(Debug)]
pub(super) struct Outbox(Mutex<Queue>);

impl Outbox {
    pub(super) fn new(stdin: Option<ChildStdin>) -> Self {
        Self(Mutex::new(Queue { stdin, waiting: VecDeque::new(), tasked: false }))
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends bytes, and queues the bytes that the pipe does not accept. Ignores errors, because the thread that reads
    /// the agent's output notices its end.
    pub(super) fn send(&self, bytes: &[u8]) {
        self.lock().send(bytes);
    }

    /// Queues the agent's task for sending. Commands may follow once the task was sent.
    pub(super) fn send_task(&self, task: &[u8]) {
        let mut out = self.lock();
        out.tasked = true;
        out.send(task);
    }

    /// Sends a command now. Drops the command if the task was not sent or if other bytes are waiting. A command that
    /// arrives before the task, or late, would be useless.
    pub(super) fn send_now(&self, bytes: &[u8]) {
        let mut out = self.lock();
        if out.tasked && out.waiting.is_empty() {
            out.send(bytes);
        }
    }

    /// Writes queued bytes to the agent.
    pub(super) fn flush(&self) {
        self.lock().flush();
    }

    /// Returns the descriptor to poll while bytes are queued; `None` if no bytes are queued.
    pub(super) fn waits_for(&self) -> Option<RawFd> {
        let out = self.lock();
        out.stdin.as_ref().filter(|_| !out.waiting.is_empty()).map(AsRawFd::as_raw_fd)
    }

    /// Closes the agent's standard input.
    pub(super) fn close(&self) {
        self.lock().close();
    }
}

impl Queue {
    fn send(&mut self, bytes: &[u8]) {
        if self.stdin.is_none() {
            return;
        }
        self.waiting.extend(bytes);
        self.flush();
        if self.waiting.len() > MAX_BYTES {
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

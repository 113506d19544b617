//! Queue of answers between the two threads of a connection.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::control::lock;

/// Maximum number of pieces in the queue. While the queue is full, the receiving thread waits.
const MAX_PIECES: usize = 4;

/// Queue of answers between the two threads of a connection.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    pieces: VecDeque<Vec<u8>>,
    /// True if no more pieces of answers will be added to the queue.
    ended: bool,
    /// True if the connection is broken and no more pieces will be taken.
    broken: bool,
}

impl Queue {
    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, piece: Vec<u8>) -> Result<(), Broken> {
        let mut state = lock(&self.state);
        while state.pieces.len() >= MAX_PIECES && !state.broken {
            state = self.wait(state);
        }
        if state.broken {
            return Err(Broken);
        }
        state.pieces.push_back(piece);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for the next piece of output in the queue, and returns it. The piece counts as queued until
    /// [`Queue::sent`] is called. Returns `None` if no more pieces will come.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(piece) = state.pieces.front_mut() {
                return Some(std::mem::take(piece));
            }
            if state.ended {
                return None;
            }
            state = self.wait(state);
        }
    }

    pub(super) fn sent(&self) {
        lock(&self.state).pieces.pop_front();
        self.changed.notify_all();
    }

    pub(super) fn end(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    pub(super) fn give_up(&self) {
        let mut state = lock(&self.state);
        state.broken = true;
        state.pieces.clear();
        self.changed.notify_all();
    }

    pub(super) fn wait_empty(&self) {
        let mut state = lock(&self.state);
        while !state.pieces.is_empty() && !state.broken {
            state = self.wait(state);
        }
    }
}

/// Error for a broken connection: no more pieces will be taken from the queue.
#[derive(Debug)]
pub(super) struct Broken;

//! What a piece of input brought, and who is told of it.

use crate::{Done, Fault, Outcome, Progress, Which};

/// The progress that grows while frames are read.
pub(super) struct Heard<'a> {
    pub(super) progress: Progress,
    done: &'a mut dyn FnMut(Done),
}

impl<'a> Heard<'a> {
    pub(super) fn new(done: &'a mut dyn FnMut(Done)) -> Self {
        Self { progress: Progress::default(), done }
    }

    /// A response is complete.
    pub(super) fn complete(&mut self, id: u16, status: u16, outcome: Outcome, bytes: u64) {
        self.progress.completed += 1;
        (self.done)(Done { which: Which::Id(id), status, outcome, bytes });
    }

    /// A request ended without one.
    pub(super) fn fail(&mut self, id: u16, fault: Fault) {
        self.complete(id, 0, Outcome::Failed(fault), 0);
    }
}

//! Reports requests that end in a piece of input to the caller.

use crate::{Done, Fault, Outcome, Progress, Which};

/// Results of reading a piece of input: the progress so far, and the function that gets each completed request.
pub(crate) struct Completions<'a> {
    pub(crate) progress: Progress,
    done: &'a mut dyn FnMut(Done),
}

impl<'a> Completions<'a> {
    pub(crate) fn new(done: &'a mut dyn FnMut(Done)) -> Self {
        Self { progress: Progress::default(), done }
    }

    /// Reports a request whose response is complete. `bytes` is the length of the response, and `events` the number of
    /// events that were not reported yet.
    pub(crate) fn complete(&mut self, id: u16, status: u16, outcome: Outcome, (bytes, events): (u64, u32)) {
        self.progress.completed += 1;
        (self.done)(Done { which: Which::Id(id), status, outcome, bytes, events });
    }

    /// Reports a request that ended without a response.
    pub(crate) fn fail(&mut self, id: u16, fault: Fault) {
        self.complete(id, 0, Outcome::Failed(fault), (0, 0));
    }
}

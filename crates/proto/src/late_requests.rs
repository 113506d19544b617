//! Requests of one connection that waited for a free stream (HTTP/2, HTTP/3).

/// Keeps the IDs of requests that waited for a free stream until the caller asks for them.
#[derive(Debug, Default)]
pub(crate) struct LateRequests {
    /// Number of waiting requests that had already been waiting at the end of the last send; these are the oldest ones.
    waiting: usize,
    /// IDs of requests that waited and have got a stream since the last send.
    opened: Vec<u16>,
}

impl LateRequests {
    /// Records that the oldest waiting request, whose ID is `id`, has got a stream.
    pub(crate) fn opened(&mut self, id: u16) {
        if self.waiting > 0 {
            self.waiting -= 1;
            self.opened.push(id);
        }
    }

    /// Calls `sent` for each request that waited and has got a stream. `waiting` is the number of requests that still
    /// wait.
    pub(crate) fn take(&mut self, waiting: usize, sent: &mut dyn FnMut(u16)) {
        self.opened.drain(..).for_each(sent);
        self.waiting = waiting;
    }

    /// Forgets all requests, without freeing the memory.
    pub(crate) fn clear(&mut self) {
        self.waiting = 0;
        self.opened.clear();
    }
}

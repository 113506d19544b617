//! A running server.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::Service;
use crate::control::{Control, lock};
use crate::stats::Stats;

/// A server that runs in threads of this process. Dropping the value stops the server.
pub struct Server {
    local_addr: SocketAddr,
    model: &'static str,
    control: Arc<Control>,
    notes: Vec<String>,
    service: Option<Arc<dyn Service>>,
}

impl Server {
    /// Creates the [`Server`] for the running threads of an I/O model or of a standalone service.
    pub(crate) fn new(local_addr: SocketAddr, model: &'static str, control: Arc<Control>) -> Self {
        let notes = std::mem::take(&mut *lock(&control.notes));
        Self { local_addr, model, control, notes, service: None }
    }

    /// Adds the service's own counters to the server's counters.
    pub(crate) fn add_counts_of(&mut self, service: Arc<dyn Service>) {
        self.service = Some(service);
    }

    /// Adds a note for the user.
    pub(crate) fn note(&mut self, text: String) {
        self.notes.push(text);
    }

    /// Returns the address on which the server listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Returns the I/O model in use. If another model was requested, [`Server::notes`] gives the reason.
    pub fn model(&self) -> &'static str {
        self.model
    }

    /// Returns notes for the user, such as a fallback to another model.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Tells all threads to stop. The threads close their connections immediately.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Waits until all threads have ended. Returns the final counts of the server.
    pub fn join(self) -> Stats {
        self.control.join();
        self.stats()
    }

    /// Returns the counts from the start of the server until now.
    pub fn stats(&self) -> Stats {
        let mut stats = self.control.stats();
        if let Some(service) = &self.service {
            service.add_to(&mut stats);
        }
        stats
    }

    /// Returns the errors of threads that ended before the server was stopped.
    pub fn failures(&self) -> Vec<String> {
        lock(&self.control.failed).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.control.stop();
        self.control.join();
    }
}

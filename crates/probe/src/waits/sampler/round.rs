//! One round of the sampling thread: reads the threads, and does those of the rarer tasks that are due.

use sys::clock::{monotonic_ns, thread_cpu_ns};

use super::super::paced;
use super::super::round::{ConnectionSample, Round};
use super::work::Work;

impl Work {
    /// Samples the threads once. Returns the CPU time of this round, without tasks that have their own CPU share (such
    /// as reading connections).
    pub(super) fn round(&mut self) -> u64 {
        if self.search.is_due(monotonic_ns()) {
            self.find_processes();
        } else if self.children.is_due(monotonic_ns()) {
            self.find_children();
        }
        let mut connections = self.read_connections();
        let clients = if connections.is_none() { self.read_clients() } else { None };
        // A round that counts the requests to new upstreams must also read the upstreams' threads.
        if self.reader.has_new_upstreams() {
            self.find_processes();
            // All connections are read seldom, perhaps only once in a short measurement. The processes of an upstream
            // that this reading found are known only now.
            connections.iter_mut().for_each(|connections| self.reader.name_peers(&mut connections.peers));
        }
        let before = thread_cpu_ns();
        let mut round = self.reader.round();
        round.connections = connections.or_else(|| self.reader.read_peers(clients));
        if !self.reader.is_empty() {
            self.sums.add(&round);
            self.names.count(&round);
        }
        let cost_ns = thread_cpu_ns() - before;
        self.add_stacks(&round);
        cost_ns
    }

    /// Reads all connections, if this is due.
    fn read_connections(&mut self) -> Option<ConnectionSample> {
        if !self.connections.is_due(monotonic_ns()) {
            return None;
        }
        let before = thread_cpu_ns();
        let connections = self.reader.read_connections();
        self.connections.done(monotonic_ns(), thread_cpu_ns() - before, paced::CONNECTIONS, 1.0);
        self.clients.done(monotonic_ns(), 0, paced::CLIENTS, 1.0);
        connections
    }

    /// Counts the clients' connections, if this is due. The connections are counted often, because a load may grow even
    /// during a short measurement.
    fn read_clients(&mut self) -> Option<[f64; 5]> {
        if !self.clients.is_due(monotonic_ns()) {
            return None;
        }
        let before = thread_cpu_ns();
        let clients = self.reader.read_clients();
        self.clients.done(monotonic_ns(), thread_cpu_ns() - before, paced::CLIENTS, 1.0);
        clients
    }

    fn find_processes(&mut self) {
        let before = thread_cpu_ns();
        self.reader.find_processes();
        self.search.done(monotonic_ns(), thread_cpu_ns() - before, paced::SEARCH, 1.0);
    }

    /// Finds the processes that were started since the last search.
    fn find_children(&mut self) {
        let before = thread_cpu_ns();
        self.reader.find_children();
        self.children.done(monotonic_ns(), thread_cpu_ns() - before, paced::CHILDREN, 1.0);
    }

    /// Reads three things if they are due: the stacks of threads that hold a lock, the names of one futex, and the
    /// stacks of the round's waiting threads. Threads that hold a lock are read first, because the lock may soon have
    /// another holder.
    fn add_stacks(&mut self, round: &Round) {
        if self.stacks.is_none() {
            return;
        }
        self.names.read_holders(monotonic_ns(), &self.sums.holders(round), round);
        let before = self.cpu_ns();
        if self.naming.is_due(monotonic_ns()) {
            self.names.look(round);
            self.naming.done(monotonic_ns(), self.cpu_ns().saturating_sub(before), paced::NAMING, 1.0);
        }
        let before = self.cpu_ns();
        if self.stack_round.is_due(monotonic_ns())
            && let Some(stacks) = &mut self.stacks
        {
            stacks.follow(&round.processes, &mut self.names.processes);
            stacks.add(round, &mut self.names.processes);
            self.stack_round.done(monotonic_ns(), self.cpu_ns().saturating_sub(before), paced::STACKS, 1.0);
        }
    }

    /// Returns a random number from 0 to 1 (xorshift64). With random pauses, the rounds do not fall into step with a
    /// server that works periodically.
    pub(super) fn random(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

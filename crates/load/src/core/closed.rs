//! The closed loop: a fixed number of clients; each waits for its answer before it asks again. With `new_connections`
//! they are the simple clients of source 1: connect, one request, answer, close, again.
//!
//! Who closes: where the server announced it (HTTP `Connection: close`, which simple clients ask for), its FIN is awaited
//! for up to 100 ms, so TIME_WAIT stays at the server. Otherwise the client closes first with a normal FIN and keeps
//! TIME_WAIT; when its ports run out, that is counted as `client_ports`.

use proto::{Client, Requester as _};

use super::{Core, Mode, State};
use crate::driver::Ops;

impl<C: Client> Core<C> {
    /// All clients connect at once; those that think come while they would have thought, so that they are as far apart
    /// from the first moment on as they stay.
    pub(super) fn closed_start<O: Ops>(&mut self, ops: &mut O) {
        self.free.clear();
        if let Some(turns) = self.task.blocks {
            return self.blocks_start(ops, turns);
        }
        for conn in 0..self.conns.len() as u32 {
            match self.first_pause() {
                0 => self.connect(ops, conn),
                pause => self.wait(ops, conn, pause),
            }
        }
    }

    fn first_pause(&mut self) -> u64 {
        match &self.mode {
            Mode::Closed { think } => think.rest(&mut self.rng),
            _ => 0,
        }
    }

    /// A connection is up: fill its pipeline.
    pub(super) fn closed_ready<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match self.task.blocks {
            _ if self.draining => self.ask_again(ops, conn, self.depth as u32),
            Some(turns) => self.block_ready(ops, conn, turns),
            None => self.ask(ops, conn, self.depth as u32),
        }
    }

    /// Answers came: as many further requests, after a pause if there is one.
    #[inline]
    pub(super) fn closed_answered<O: Ops>(&mut self, ops: &mut O, conn: u32, answers: u32) {
        if self.task.new_connections {
            return self.ended(ops, conn);
        }
        if self.draining {
            return self.ask_again(ops, conn, answers);
        }
        if let Some(turns) = self.task.blocks {
            return self.block_answered(ops, conn, answers, turns);
        }
        match self.pause() {
            // A server that leaves finishes what it has; a new connection takes over.
            0 if !self.sessions[conn as usize].takes_more() => {}
            0 => self.ask(ops, conn, answers.min(self.depth as u32)),
            pause if self.conns[conn as usize].in_flight == 0 => {
                self.conns[conn as usize].state = State::Thinking;
                self.arm(conn, ops.now().saturating_add(pause));
            }
            // With a pipeline the pause comes when it has run empty.
            _ => {}
        }
    }

    /// A connection ended: the next one, after a pause if there is one.
    pub(super) fn closed_again<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        match self.pause() {
            0 => self.connect(ops, conn),
            pause => self.wait(ops, conn, pause),
        }
    }

    /// A pause is over.
    pub(super) fn think_over<O: Ops>(&mut self, ops: &mut O, conn: u32) {
        self.conns[conn as usize].state = State::Idle;
        match &self.mode {
            Mode::Open(_) => self.open_think_over(ops, conn),
            _ => self.closed_ready(ops, conn),
        }
    }

    #[inline]
    pub(super) fn ask<O: Ops>(&mut self, ops: &mut O, conn: u32, requests: u32) {
        let now = ops.now();
        for _ in 0..requests {
            if !self.begin_again(now, conn) {
                self.record.counts.due += 1;
                self.begin(now, conn, now);
            }
        }
        self.flush(ops, conn);
    }

    #[inline]
    fn pause(&mut self) -> u64 {
        match &self.mode {
            Mode::Closed { think } => think.draw(&mut self.rng),
            _ => 0,
        }
    }
}

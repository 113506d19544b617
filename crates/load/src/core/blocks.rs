//! Blocks of connections in the closed loop (A. Jones, A. Deshpande, *Windows Sockets 2.0*, 2000). This file sets the
//! times at which each connection is opened, sends and is closed. The client sends on one connection of a block,
//! pauses, then sends on the next connection of the block. Each connection therefore sends once per period. The period
//! is the pause, multiplied by the number of connections in a full block, even for a smaller last block. If an answer
//! is late, its connection misses a period, as in the article of Jones and Deshpande.
//!
//! A connection that fails is not replaced, but the counts show how many connections stayed open. The number of
//! messages per connection is 1 + x, where x is `sends_per_connection`; 0 stands for no limit. Once all messages are
//! answered, the client closes the connection with a FIN. At this moment, no message is in flight, so no half-close is
//! needed. If `compat` is set, the client closes as in the article of Jones and Deshpande. The client then ends its own
//! side first, and closes when the server has ended the other side.

use super::{BlockTurns, Core, State};
use crate::driver::Ops;

impl Core {
    /// Schedules the connects of all connections. The connects of a block of connections are evenly spaced.
    pub(super) fn blocks_start<O: Ops>(&mut self, ops: &O, turns: BlockTurns) {
        let origin = ops.now().max(self.task.origin_ns);
        for conn in 0..self.conns.len() as u32 {
            self.conns[conn as usize].left = turns.messages;
            self.conns[conn as usize].state = State::Waiting;
            self.arm(conn, origin + turns.connect_at(conn));
        }
    }

    /// Sends on a connection that was just established, or that is due to send.
    pub(super) fn block_ready<O: Ops>(&mut self, ops: &mut O, conn: u32, turns: BlockTurns) {
        let depth = if turns.pause_ns > 0 { 1 } else { self.depth as u32 };
        self.block_ask(ops, conn, depth);
    }

    /// Handles answers on a connection.
    pub(super) fn block_answered<O: Ops>(&mut self, ops: &mut O, conn: u32, answers: u32, turns: BlockTurns) {
        let c = self.conns[conn as usize];
        if c.left == 0 {
            if c.in_flight == 0 {
                self.block_done(ops, conn, turns);
            }
        } else if turns.pause_ns == 0 {
            self.block_ask(ops, conn, answers.min(self.depth as u32));
        } else if c.in_flight == 0 {
            self.conns[conn as usize].state = State::Thinking;
            let (now, origin) = (ops.now(), self.task.origin_ns);
            self.arm(conn, origin + turns.next_turn(conn, now.saturating_sub(origin)));
        }
    }

    /// Ends a connection whose messages have all been answered.
    fn block_done<O: Ops>(&mut self, ops: &mut O, conn: u32, turns: BlockTurns) {
        if !(turns.compat && ops.half_close(conn)) {
            return self.ended(ops, conn);
        }
        self.conns[conn as usize].state = State::Closing;
        self.arm(conn, ops.now().saturating_add(self.task.timeout_ns));
    }

    fn block_ask<O: Ops>(&mut self, ops: &mut O, conn: u32, wanted: u32) {
        let c = &mut self.conns[conn as usize];
        let requests = wanted.min(c.left);
        if c.left != u32::MAX {
            c.left -= requests;
        }
        self.ask(ops, conn, requests);
    }
}

#[cfg(test)]
mod tests {
    use run::{Blocks, Intensity, LoadPlan, Protocol, ThinkTime};

    use super::*;
    use crate::{Service, SimServer, simulate};

    fn plan(connections: u32, pipeline: u32, blocks: Blocks, duration_s: f64) -> LoadPlan {
        LoadPlan {
            protocol: Protocol::Echo { message_bytes: 4096 },
            intensity: Intensity::Closed { connections, pipeline, think: ThinkTime::default() },
            blocks: Some(blocks),
            duration_s,
            warmup_s: 0.0,
            drain_s: 60.0,
            ..LoadPlan::default()
        }
    }

    fn server() -> SimServer {
        SimServer { service: Service::Constant, ..SimServer::default() }
    }

    #[test]
    fn a_connection_sends_its_first_message_and_x_further_ones() {
        let blocks = Blocks { block: 10, sends_per_connection: 4, ..Blocks::default() };
        let (part, _) = simulate(&plan(20, 3, blocks, 10.0), &server()).unwrap();
        assert_eq!((part.total.attempted, part.total.connected, part.total.completed), (20, 20, 100));
    }

    #[test]
    fn a_block_keeps_to_its_rate() {
        // The load has two blocks of 10 connections. Each block has a rate of 40,960 B/s, so it sends 10 messages per
        // second. Each of the 10 connections of a block thus sends once per second.
        let blocks = Blocks { block: 10, block_rate_bytes_per_s: 40_960.0, ..Blocks::default() };
        let (part, _) = simulate(&plan(20, 1, blocks, 20.0), &server()).unwrap();
        assert!((part.total.completed as i64 - 420).abs() <= 20, "{}", part.total.completed);
    }

    #[test]
    fn turns_are_periodic() {
        let turns = BlockTurns { block: 4, pause_ns: 10, connect_ns: 1, messages: 1, compat: false };
        assert_eq!([0, 39, 40, 41].map(|t| turns.next_turn(0, t)), [40, 40, 80, 80]);
        assert_eq!([0, 30, 69, 70].map(|t| turns.next_turn(7, t)), [30, 70, 70, 110]);
    }
}

//! Blocks of connections. Each connection is opened once and sends messages of one size, either directly after each
//! response or at a fixed rate. This load copies the client program in the book *Network Programming for Microsoft
//! Windows* by A. Jones and J. Ohlund (second edition, 2002, chapter 6).

use serde::{Deserialize, Serialize};

/// Time between connects of a block without `compat`, nanoseconds. If the pause between the sends of a block is shorter
/// than this constant, but not 0, connects are as far apart as the sends.
const CONNECT_NS: u64 = 500_000;

/// Division of a closed loop into blocks. All blocks together have as many connections as the closed loop. The pipeline
/// of the closed loop is the number of messages in flight on each connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Blocks {
    /// Number of connections per block. Connections that do not fill a whole block form a smaller block, which sends
    /// with the same period.
    pub block: u32,
    /// Maximum bytes per second of a whole block; 0 to send right after each response.
    pub block_rate_bytes_per_s: f64,
    /// Number x in the original client program (A. Jones, J. Ohlund, 2002). The client sends 1 + x messages on each
    /// connection, closes it, and does not open it again. With x = 0, the client sends until the trial ends.
    pub sends_per_connection: u32,
    /// True to copy three details of the client by A. Jones and J. Ohlund (2002). With `compat`, the pause between
    /// sends is computed with integer arithmetic, connects are spaced by this pause, and the client closes first.
    pub compat: bool,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { block: 1000, block_rate_bytes_per_s: 0.0, sends_per_connection: 0, compat: false }
    }
}

impl Blocks {
    /// Returns the nanoseconds between two sends of a block; 0 without a limit on the rate. With `compat`, for c
    /// connections per block, b bytes per message and r bytes per second, the pause is `((c*b)/r)*1000/c` milliseconds
    /// in integer arithmetic. With `compat` and a limit r of 1,000,000 bytes per second or more, the pause is half as
    /// long. With `compat`, the pause is 0 (no limit) if `c*b` is below r, because integer division rounds down.
    pub fn pause_ns(&self, message_bytes: u64) -> u64 {
        let rate = self.block_rate_bytes_per_s;
        if rate <= 0.0 {
            return 0;
        }
        if !self.compat {
            return (message_bytes as f64 / rate * 1e9) as u64;
        }
        let (c, r) = (u64::from(self.block.max(1)), (rate as u64).max(1));
        let ms = (c.saturating_mul(message_bytes) / r).saturating_mul(1000) / c;
        let ms = if r >= 1_000_000 { ms / 2 } else { ms };
        ms.saturating_mul(1_000_000)
    }

    /// Returns the time between two connects of a block, nanoseconds.
    pub fn connect_ns(&self, message_bytes: u64) -> u64 {
        match self.pause_ns(message_bytes) {
            0 => CONNECT_NS,
            pause if self.compat => pause,
            pause => pause.min(CONNECT_NS),
        }
    }

    /// Returns the time from the first connect to the last, seconds.
    pub fn connects_s(&self, connections: u32, message_bytes: u64) -> f64 {
        self.connect_ns(message_bytes) as f64 / 1e9 * f64::from(connections.min(self.block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(block: u32, rate: f64, compat: bool) -> Blocks {
        Blocks { block, block_rate_bytes_per_s: rate, compat, ..Blocks::default() }
    }

    #[test]
    fn the_pause_follows_the_arithmetic_of_the_source() {
        // The options `-c 1000 -b 4096 -r 200000` give a pause of 20 ms, with which a block sends 204,800 B/s. For a
        // limit of 200,000 B/s, the exact pause would be 20.48 ms.
        assert_eq!(blocks(1000, 200_000.0, true).pause_ns(4096), 20_000_000);
        assert_eq!(blocks(4000, 200_000.0, true).pause_ns(4096), 20_000_000);
        assert_eq!(blocks(1000, 200_000.0, false).pause_ns(4096), 20_480_000);
        // With `compat`, there is no limit if one message on each connection of a block, all together, has fewer bytes
        // than the limit allows per second. With `compat` and a limit of 1,000,000 B/s or more, the pause is half as
        // long.
        assert_eq!(blocks(10, 200_000.0, true).pause_ns(4096), 0);
        assert_eq!(blocks(1000, 1_000_000.0, true).pause_ns(4096), 2_000_000);
    }

    #[test]
    fn connects_are_spaced_by_the_pause_only_where_asked() {
        assert_eq!(blocks(1000, 200_000.0, true).connect_ns(4096), 20_000_000);
        assert_eq!(blocks(1000, 200_000.0, false).connect_ns(4096), CONNECT_NS);
        assert!((blocks(1000, 0.0, false).connects_s(7000, 4096) - 0.5).abs() < 1e-9);
    }
}

//! Blocks of connections (source 4): each connection is made once and sends messages of one size, as fast as answers come
//! or so that a block together keeps to a rate. After A. Jones, J. Ohlund, *Network Programming for Microsoft Windows*,
//! 2nd ed. (2002), chapter 6, its client.

use serde::{Deserialize, Serialize};

/// Without `compat` a block makes one connect in this time, nanoseconds, or faster if its sends are.
const CONNECT_NS: u64 = 500_000;

/// How a closed loop is put into blocks. The number of connections is the closed loop's, the posted depth its pipeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Blocks {
    /// Connections in a block; what is left makes a smaller block with the same period.
    pub block: u32,
    /// Bytes a second that a whole block sends at most; 0 sends as fast as answers come.
    pub block_rate_bytes_per_s: f64,
    /// x: a connection sends 1 + x messages, then closes, and is not made again; 0 goes on until the trial ends.
    pub sends_per_connection: u32,
    /// The source's integer arithmetic for the pause between two sends, its spacing of connects by that pause, and its
    /// end of a connection: its own side first.
    pub compat: bool,
}

impl Default for Blocks {
    fn default() -> Self {
        Self { block: 1000, block_rate_bytes_per_s: 0.0, sends_per_connection: 0, compat: false }
    }
}

impl Blocks {
    /// Nanoseconds between two sends of a block; 0 where nothing limits it. With `compat` this is
    /// `((c*b)/r)*1000/c` milliseconds in whole numbers, halved from 1,000,000 B/s on: 0 (no limit) when c*b < r.
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

    /// Nanoseconds between two connects of a block.
    pub fn connect_ns(&self, message_bytes: u64) -> u64 {
        match self.pause_ns(message_bytes) {
            0 => CONNECT_NS,
            pause if self.compat => pause,
            pause => pause.min(CONNECT_NS),
        }
    }

    /// Seconds until the last connect has begun.
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
    fn the_sources_own_arithmetic() {
        // -c 1000 -b 4096 -r 200000: 20 ms, that is 204,800 B/s; exactly it would be 20.48 ms.
        assert_eq!(blocks(1000, 200_000.0, true).pause_ns(4096), 20_000_000);
        assert_eq!(blocks(4000, 200_000.0, true).pause_ns(4096), 20_000_000);
        assert_eq!(blocks(1000, 200_000.0, false).pause_ns(4096), 20_480_000);
        // c*b < r: no limit. From 1,000,000 B/s on: halved.
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

//! The task of a shard (generator thread): its part of the load plan, as numbers for the main loop.

use fastrand::Rng;
use run::ThinkTime;

use super::block_turns::BlockTurns;
use crate::addresses::AddressTurns;
use crate::arrivals::{Arrivals, exponential};

/// The task of a shard (generator thread): its part of the load plan.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) intensity: Shape,
    /// Number of additional connection indexes, for connections that wait for an announced FIN.
    pub(crate) spares: u32,
    /// True if each request has its own connection.
    pub(crate) new_connections: bool,
    /// Time between the connects of a closed loop, nanoseconds; 0 to connect all clients at once.
    pub(crate) connect_gap_ns: f64,
    /// Send times of the blocks of connections in a closed loop; `None` without blocks.
    pub(crate) blocks: Option<BlockTurns>,
    pub(crate) timeout_ns: u64,
    pub(crate) connect_timeout_ns: u64,
    pub(crate) drain_ns: u64,
    pub(crate) seed: u64,
    /// Start time of the load on the driver's clock, nanoseconds.
    pub(crate) origin_ns: u64,
    /// True if the measured window begins together with the load.
    pub(crate) measured_from_begin: bool,
    /// True if an experiment reads the counts for each of its slots (short periods). For an experiment with slots, the
    /// generator threads publish their counts more often.
    pub(crate) slots: bool,
    /// Response times in each slot (short period) of an experiment; used by open loops.
    pub(crate) slot_times: crate::slot_times::SlotTimes,
    /// Gap between two events of a stream, seconds, above which the stream counts as stalled. `None` if the answers are
    /// not streams.
    pub(crate) stall_s: Option<f64>,
    /// Counts in each tenth of a second of the measured window.
    pub(crate) tenths: crate::tenths::TenthCounter,
    /// True if requests may be sent as early data (0-RTT).
    pub(crate) early_data: bool,
    /// Share of the requests with a trace context.
    pub(crate) trace_share: f64,
    /// Order in which connections use the server's addresses.
    pub(crate) turns: AddressTurns,
    /// Order of the requests in a recording, as indexes. If empty, the request set determines the order.
    pub(crate) items: Box<[u16]>,
}

/// The shard's part of the load plan's intensity.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Closed loop: number of clients, requests in flight per client, and think time.
    Closed { connections: u32, pipeline: u32, think: Think },
    /// Open loop: due times, mean rate per second, maximum number of connections, and requests in flight per
    /// connection.
    Open { arrivals: Arrivals, rate: f64, max_connections: u32, pipeline: u32 },
    /// The process that handles the connections of two-process S-Clients (sockets that connect again and again). The
    /// process that establishes connections passes them to the handling process.
    Handling { connections: u32, paced: bool },
    /// S-Clients ([`super::sclients`]): number of descriptors D, connect timeout T, and maximum number of established
    /// connections in addition to the D descriptors. `phase` (0 to below 1) delays the first connects of this shard by
    /// this share of T/D. Connects of different shards then do not coincide.
    SClients { descriptors: u32, timeout_ns: u64, think: Think, established: u32, phase: f64, pace: Option<Paced> },
}

/// An arrival process and its mean rate per second.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    pub(crate) arrivals: Arrivals,
    pub(crate) rate: f64,
}

/// Distribution of the clients' think times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Think {
    pub(super) mean_ns: f64,
    exponential: bool,
}

impl From<&ThinkTime> for Think {
    fn from(t: &ThinkTime) -> Self {
        Self { mean_ns: t.mean_ms.max(0.0) * 1e6, exponential: t.exponential }
    }
}

impl Think {
    /// Returns true if there is no pause at all.
    pub(crate) fn is_none(self) -> bool {
        self.mean_ns <= 0.0
    }

    /// Returns the random time from a moment within a pause to the end of the pause. For an exponential pause, the rest
    /// is also exponentially distributed. For a constant pause, the rest is uniformly distributed.
    pub(crate) fn rest(self, rng: &mut Rng) -> u64 {
        if self.exponential { self.draw(rng) } else { (rng.f64() * self.mean_ns) as u64 }
    }

    /// Draws the length of a pause, nanoseconds; 0 for no pause.
    pub(crate) fn draw(self, rng: &mut Rng) -> u64 {
        let mean = self.mean_ns;
        if self.exponential { (exponential(rng) * mean) as u64 } else { mean as u64 }
    }
}

impl Task {
    /// Returns the number of connection indexes: the maximum number in use, plus the additional indexes for connections
    /// that wait for a FIN.
    pub(crate) fn capacity(&self) -> u32 {
        match self.connections() {
            0 => 0,
            connections => connections + self.spares,
        }
    }

    /// Returns the maximum number of connections in use at the same time.
    pub(crate) fn connections(&self) -> u32 {
        match &self.intensity {
            Shape::Closed { connections, .. } | Shape::Handling { connections, .. } => *connections,
            Shape::Open { max_connections, .. } => *max_connections,
            Shape::SClients { descriptors, established, .. } => descriptors + established,
        }
    }

    /// Returns the maximum time from the send of a request to the end of its answer, nanoseconds. A stream of events
    /// has no such maximum, because its timeout is the longest wait for the next event.
    #[inline]
    pub(crate) fn answer_timeout_ns(&self) -> u64 {
        if self.stall_s.is_some() { u64::MAX } else { self.timeout_ns }
    }

    /// Returns the maximum number of requests in flight on one connection.
    pub(crate) fn depth(&self) -> usize {
        match &self.intensity {
            Shape::Closed { pipeline, .. } | Shape::Open { pipeline, .. } if !self.new_connections => {
                (*pipeline as usize).clamp(1, super::in_flight::MAX_IN_FLIGHT)
            }
            _ => 1,
        }
    }
}

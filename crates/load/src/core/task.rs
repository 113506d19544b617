//! The task of a shard: its share of the plan, as numbers for the main loop.

use fastrand::Rng;
use run::ThinkTime;

use super::block_turns::BlockTurns;
use crate::addresses::AddressTurns;
use crate::arrivals::{Arrivals, exponential};

/// The task of a shard: its share of the plan.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) intensity: Shape,
    /// Number of additional connections, for those that wait for an announced FIN.
    pub(crate) spares: u32,
    /// True for one connection per request.
    pub(crate) new_connections: bool,
    /// Time between the connects of a closed loop; 0 to start all at once.
    pub(crate) connect_gap_ns: f64,
    /// Schedule of the closed loop's blocks, if it has any.
    pub(crate) blocks: Option<BlockTurns>,
    pub(crate) timeout_ns: u64,
    pub(crate) connect_timeout_ns: u64,
    pub(crate) drain_ns: u64,
    pub(crate) seed: u64,
    /// Start of the load on the driver's clock.
    pub(crate) origin_ns: u64,
    /// True if the measured window begins with the load.
    pub(crate) measured_from_begin: bool,
    /// True if counts are read for each slot, and must therefore be published more often.
    pub(crate) slots: bool,
    /// Response times by slot, for an open loop.
    pub(crate) slot_times: crate::slot_times::SlotTimes,
    /// Longest time between two events of a stream, seconds; `None` if answers are no streams.
    pub(crate) stall_s: Option<f64>,
    /// Counts of the window by tenths of a second.
    pub(crate) tenths: crate::tenths::TenthCounter,
    /// Share of the requests with a trace context.
    pub(crate) trace_share: f64,
    /// Order in which connections use the server's addresses.
    pub(crate) turns: AddressTurns,
    /// Recorded order of the requests, as indexes. Without a recorded order, the requests follow the order of the
    /// request set.
    pub(crate) items: Box<[u16]>,
}

/// The shard's share of the intensity.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Clients in a closed loop.
    Closed { connections: u32, pipeline: u32, think: Think },
    /// Due times, mean rate per second, maximum number of connections, and maximum number of requests in flight per
    /// connection.
    Open { arrivals: Arrivals, rate: f64, max_connections: u32, pipeline: u32 },
    /// The handling process of two-process S-Clients. The other process of two-process S-Clients establishes the
    /// connections.
    Handling { connections: u32, paced: bool },
    /// S-Clients: D, T, maximum number of established connections in addition to D, and position of the first connects
    /// within a gap.
    SClients { descriptors: u32, timeout_ns: u64, think: Think, established: u32, phase: f64, pace: Option<Paced> },
}

/// An arrival process and its mean rate per second.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    pub(crate) arrivals: Arrivals,
    pub(crate) rate: f64,
}

/// Distribution of a pause.
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

    /// Draws the rest of a pause, as seen at a random moment within it. The rest of an exponential pause is
    /// exponential, too; that of a constant pause is uniform.
    pub(crate) fn rest(self, rng: &mut Rng) -> u64 {
        if self.exponential { self.draw(rng) } else { (rng.f64() * self.mean_ns) as u64 }
    }

    /// Draws one pause in nanoseconds; 0 for none.
    pub(crate) fn draw(self, rng: &mut Rng) -> u64 {
        let mean = self.mean_ns;
        if self.exponential { (exponential(rng) * mean) as u64 } else { mean as u64 }
    }
}

impl Task {
    /// Returns the number of connection slots: the maximum number of connections in use, plus the spares that wait for
    /// a FIN.
    pub(crate) fn capacity(&self) -> u32 {
        match self.connections() {
            0 => 0,
            connections => connections + self.spares,
        }
    }

    /// Returns the maximum number of connections in use.
    pub(crate) fn connections(&self) -> u32 {
        match &self.intensity {
            Shape::Closed { connections, .. } | Shape::Handling { connections, .. } => *connections,
            Shape::Open { max_connections, .. } => *max_connections,
            Shape::SClients { descriptors, established, .. } => descriptors + established,
        }
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

//! What a shard is to do: its share of the plan, in numbers that the hot loop uses as they are.

use fastrand::Rng;
use run::ThinkTime;

use super::turns::Turns;
use crate::arrivals::{Arrivals, exponential};

/// What a shard is to do; its share of the plan.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub(crate) intensity: Shape,
    /// One connection a request.
    pub(crate) new_connections: bool,
    /// The closed loop connects one after the other, so far apart; 0 where it does not.
    pub(crate) connect_gap_ns: f64,
    /// The closed loop is put into blocks.
    pub(crate) blocks: Option<Turns>,
    pub(crate) timeout_ns: u64,
    pub(crate) connect_timeout_ns: u64,
    pub(crate) drain_ns: u64,
    pub(crate) seed: u64,
    /// Start of the load on the driver's clock.
    pub(crate) origin_ns: u64,
    /// Counts are read in slots, so they are shown more often.
    pub(crate) slots: bool,
    /// Response times by those slots, of an open loop.
    pub(crate) slot_times: crate::slot_times::SlotTimes,
    /// Counts of the window by tenths of a second.
    pub(crate) tenths: crate::tenths::TenthCounter,
    /// Which requests are made, in this order; empty where the client's own order counts.
    pub(crate) items: Box<[u16]>,
}

/// The share of the intensity.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// Clients in a closed loop.
    Closed { connections: u32, pipeline: u32, think: Think },
    /// Due times, and the most connections.
    Open { arrivals: Arrivals, rate: f64, max_connections: u32 },
    /// The handling half of two-process S-Clients: established connections come from the other process.
    Handling { connections: u32, paced: bool },
    /// D, T, the most connections that may be established besides, and where in a gap the first connects begin.
    SClients { descriptors: u32, timeout_ns: u64, think: Think, established: u32, phase: f64, pace: Option<Paced> },
}

/// An arrival process and its mean rate per second.
#[derive(Clone, Debug)]
pub(crate) struct Paced {
    pub(crate) arrivals: Arrivals,
    pub(crate) rate: f64,
}

/// A pause.
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
    /// Whether there is no pause at all.
    pub(crate) fn is_none(self) -> bool {
        self.mean_ns <= 0.0
    }

    /// What is left of a pause at a random moment of it: of an exponential one, one like it; of a constant one, any part.
    pub(crate) fn rest(self, rng: &mut Rng) -> u64 {
        if self.exponential { self.draw(rng) } else { (rng.f64() * self.mean_ns) as u64 }
    }

    /// One pause; 0 for none.
    pub(crate) fn draw(self, rng: &mut Rng) -> u64 {
        let mean = self.mean_ns;
        if self.exponential { (exponential(rng) * mean) as u64 } else { mean as u64 }
    }
}

impl Task {
    /// How many connection numbers are needed.
    pub(crate) fn capacity(&self) -> u32 {
        match &self.intensity {
            Shape::Closed { connections, .. } | Shape::Handling { connections, .. } => *connections,
            Shape::Open { max_connections, .. } => *max_connections,
            Shape::SClients { descriptors, established, .. } => descriptors + established,
        }
    }

    /// Requests in flight on one connection.
    pub(crate) fn depth(&self) -> usize {
        match &self.intensity {
            Shape::Closed { pipeline, .. } if !self.new_connections => {
                (*pipeline as usize).clamp(1, super::in_flight::MOST)
            }
            _ => 1,
        }
    }
}

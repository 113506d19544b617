//! Kinds of load, which differ in when requests and connects start.

use super::descriptors::{Descriptors, Spread};
use super::due_clock::DueClock;
use super::pool::Pool;
use super::pool_demand::PoolDemand;
use super::task::{Shape, Task, Think};

/// Kind of load, with the state that it needs.
pub(super) enum Mode {
    Closed { think: Think },
    Open(Pool),
    SClients(Descriptors),
    Handling,
}

impl Mode {
    /// Creates the state for a task with `capacity` connection indexes.
    pub(super) fn new(task: &Task, capacity: usize) -> Self {
        match &task.intensity {
            Shape::Handling { .. } => Self::Handling,
            Shape::Closed { think, .. } => Self::Closed { think: *think },
            Shape::Open { arrivals, rate, .. } => {
                let need = PoolDemand::new(*rate * arrivals.peak(), task.depth(), task.origin_ns);
                Self::Open(Pool::new(DueClock::new(arrivals, *rate, task.origin_ns), need, capacity))
            }
            Shape::SClients { descriptors, timeout_ns, think, phase, pace, .. } => {
                let spread = Spread { timeout_ns: *timeout_ns, phase: *phase };
                let dues = pace.as_ref().map(|p| DueClock::new(&p.arrivals, p.rate, task.origin_ns));
                Self::SClients(Descriptors::new(*descriptors, spread, *think, dues))
            }
        }
    }

    /// Returns the default maximum number of connections that may wait for a FIN: 0 for closed and open loops, and half
    /// of `capacity` for other modes.
    pub(super) fn max_closing(&self, capacity: usize) -> usize {
        match self {
            Self::SClients(_) | Self::Handling => capacity / 2,
            Self::Closed { .. } | Self::Open(_) => 0,
        }
    }
}

/// Returns true if each request has a due time. A request may be sent later than it is due.
pub(super) fn has_due_times(intensity: &Shape) -> bool {
    match intensity {
        Shape::Open { .. } | Shape::SClients { pace: Some(_), .. } => true,
        Shape::Handling { paced, .. } => *paced,
        _ => false,
    }
}

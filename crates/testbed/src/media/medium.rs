//! What the table of media says of one, and what a medium does.

use crate::arguments::Arguments;
use crate::error::Result;
use crate::forward::Counts;
use crate::net::Net;

/// One row of [`MEDIA`](super::MEDIA).
pub struct MediumSpec {
    /// Its name.
    pub name: &'static str,
    /// What may follow the name.
    pub arguments: &'static str,
    /// What it is, in one sentence.
    pub help: &'static str,
    /// Whether it is one wire for all hosts and both directions.
    pub shared_wire: bool,
    /// Reads the arguments.
    pub(super) plan: fn(&mut Arguments) -> Result<Box<dyn MediumPlan>, String>,
}

impl std::fmt::Debug for MediumSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MediumSpec").field("name", &self.name).field("help", &self.help).finish_non_exhaustive()
    }
}

/// A medium that was read and not yet built.
pub(super) trait MediumPlan: std::fmt::Debug + Send + Sync {
    /// Whether every host has a namespace of its own.
    fn hosts_apart(&self) -> bool {
        true
    }

    /// Joins the hosts.
    fn join(&self, net: &Net) -> Result<Box<dyn Joined>>;
}

/// Why a medium cannot be slowed.
pub(super) const NO_RATE: &str = "it is as fast as the CPUs: it has no rate that could be changed";

/// A medium in use.
pub(crate) trait Joined: Send + Sync {
    /// What each of its wires did so far.
    fn wires(&self) -> Vec<Wire>;

    /// What it is made of, for notes: `kernel: …`, `user space: …`.
    fn made_of(&self) -> String;

    /// Gives its wires this share of their rates from now on, above 0 to 1; the error says why it has none to give.
    fn set_speed(&self, _share: f64) -> Result<(), String> {
        Err(NO_RATE.into())
    }

    /// Time on the wire that passes at once after a pause, microseconds; 0 where every frame takes its own.
    fn catches_up_us(&self) -> u64 {
        0
    }
}

/// One wire, or one direction of one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wire {
    /// `ethernet10`, `switch to client1`, …
    pub(crate) name: String,
    /// Bits per second at this moment; `None` is without bound.
    pub(crate) bits_per_s: Option<u64>,
    /// Counts, or why there are none.
    pub(crate) counts: Result<Counts, String>,
}

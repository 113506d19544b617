//! Row type of the media table, and the traits of a medium.

use crate::arguments::Arguments;
use crate::error::Result;
use crate::forward::Counts;
use crate::net::Net;

/// A row of [`MEDIA`](super::MEDIA).
pub struct MediumSpec {
    /// Name.
    pub name: &'static str,
    /// Arguments after the name.
    pub arguments: &'static str,
    /// One-sentence description.
    pub help: &'static str,
    /// True if it is one wire for all hosts and both directions.
    pub shared_wire: bool,
    /// Parses the arguments.
    pub(super) plan: fn(&mut Arguments) -> Result<Box<dyn MediumPlan>, String>,
}

impl std::fmt::Debug for MediumSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MediumSpec").field("name", &self.name).field("help", &self.help).finish_non_exhaustive()
    }
}

/// A parsed medium, not built yet.
pub(super) trait MediumPlan: std::fmt::Debug + Send + Sync {
    /// Returns true if every host has its own namespace.
    fn hosts_apart(&self) -> bool {
        true
    }

    /// Joins the hosts.
    fn join(&self, net: &Net) -> Result<Box<dyn BuiltMedium>>;
}

/// Reason why a medium cannot be slowed.
pub(super) const NO_RATE: &str = "it is as fast as the CPUs: it has no rate that could be changed";

/// A medium in use.
pub(crate) trait BuiltMedium: Send + Sync {
    /// Returns the counts of each wire so far.
    fn wires(&self) -> Vec<Wire>;

    /// Describes its implementation for notes: `kernel: …`, `user space: …`.
    fn made_of(&self) -> String;

    /// Sets the wires to this share of their rates from now on (above 0, at most 1). The error says why the medium has
    /// no rate.
    fn set_speed(&self, _share: f64) -> Result<(), String> {
        Err(NO_RATE.into())
    }

    /// Returns the wire time that may pass at once after a pause, in microseconds; 0 if every frame takes its own time.
    fn catches_up_us(&self) -> u64 {
        0
    }
}

/// One wire, or one direction of a wire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wire {
    /// `ethernet10`, `switch to client1`, …
    pub(crate) name: String,
    /// Current rate in bits per second; `None` means no limit.
    pub(crate) bits_per_s: Option<u64>,
    /// Counts, or the reason for their absence.
    pub(crate) counts: Result<Counts, String>,
}

//! Type of a row in the table of media, and the traits of a medium.

use crate::arguments::Arguments;
use crate::error::Result;
use crate::forward::Counts;
use crate::net::Net;

/// A row of [`MEDIA`](super::MEDIA).
pub struct MediumSpec {
    /// Name of the medium.
    pub name: &'static str,
    /// Description of the arguments after the name.
    pub arguments: &'static str,
    /// Description of the medium for help texts, in one sentence.
    pub help: &'static str,
    /// True if all hosts and both directions share one wire.
    pub shared_wire: bool,
    /// Parses the arguments.
    pub(super) plan: fn(&mut Arguments) -> Result<Box<dyn MediumPlan>, String>,
}

impl std::fmt::Debug for MediumSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MediumSpec").field("name", &self.name).field("help", &self.help).finish_non_exhaustive()
    }
}

/// A medium that was parsed but not built yet.
pub(super) trait MediumPlan: std::fmt::Debug + Send + Sync {
    /// Returns true if every host has its own namespace.
    fn hosts_apart(&self) -> bool {
        true
    }

    /// Joins the hosts with the medium.
    fn join(&self, net: &Net) -> Result<Box<dyn BuiltMedium>>;
}

/// Reason why a medium without a rate cannot be slowed.
pub(super) const NO_RATE: &str = "it is as fast as the CPUs: it has no rate that could be changed";

/// A medium that joins the hosts of a testbed.
pub(crate) trait BuiltMedium: Send + Sync {
    /// Returns the counts of each wire so far.
    fn wires(&self) -> Vec<Wire>;

    /// Describes how the medium is implemented, for notes: `kernel: …`, `user space: …`.
    fn made_of(&self) -> String;

    /// Sets all wires to this share of their rates from now on (above 0, at most 1). Returns an error text if the
    /// medium has no rate.
    fn set_speed(&self, _share: f64) -> Result<(), String> {
        Err(NO_RATE.into())
    }

    /// Returns the amount of traffic that may pass without delay after a pause, as microseconds of wire time. Returns 0
    /// if every frame takes the full time that its rate requires.
    fn catches_up_us(&self) -> u64 {
        0
    }
}

/// One wire, or one direction of a wire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wire {
    /// Name of the wire: `ethernet10`, `switch to client1`, …
    pub(crate) name: String,
    /// Current rate in bits per second; `None` means no limit.
    pub(crate) bits_per_s: Option<u64>,
    /// Counts of the wire, or the reason why they cannot be read.
    pub(crate) counts: Result<Counts, String>,
}

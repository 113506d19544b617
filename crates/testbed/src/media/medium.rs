//! A row of the table of media, and the traits that each medium (simulated network) must implement.

use crate::arguments::Arguments;
use crate::error::Result;
use crate::forward::Counts;
use crate::net::Net;

/// A medium that testbeds can use: a row of [`MEDIA`](super::MEDIA).
pub struct MediumSpec {
    /// Name of the medium.
    pub name: &'static str,
    /// Syntax of the arguments that follow the name.
    pub arguments: &'static str,
    /// Description of the medium for help texts, as a phrase without a verb.
    pub help: &'static str,
    /// True if all hosts and both directions share one wire.
    pub shared_wire: bool,
    /// Function that parses the arguments.
    pub(super) plan: fn(&mut Arguments) -> Result<Box<dyn MediumPlan>, String>,
}

impl std::fmt::Debug for MediumSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MediumSpec").field("name", &self.name).field("help", &self.help).finish_non_exhaustive()
    }
}

/// A medium whose description was parsed, but which was not built yet.
pub(super) trait MediumPlan: std::fmt::Debug + Send + Sync {
    /// Returns true if each host has its own network namespace.
    fn hosts_apart(&self) -> bool {
        true
    }

    /// Joins the hosts by building the medium.
    fn join(&self, net: &Net) -> Result<Box<dyn BuiltMedium>>;
}

/// Explains why a medium without a rate limit cannot be slowed.
pub(super) const NO_RATE: &str = "it is as fast as the CPUs: it has no rate that could be changed";

/// A medium that joins the hosts of a testbed.
pub(crate) trait BuiltMedium: Send + Sync {
    /// Returns each wire of the medium, with its counts.
    fn wires(&self) -> Vec<Wire>;

    /// Describes the implementation of the medium, for notes. The text begins with `kernel:` or `user space:`.
    fn made_of(&self) -> String;

    /// Sets all wires to a share of their full rates (above 0, at most 1), from now on. Returns an error text if the
    /// medium has no rate limit.
    fn set_speed(&self, _share: f64) -> Result<(), String> {
        Err(NO_RATE.into())
    }

    /// Returns the amount of traffic that may pass without delay after a pause. The amount is given as the time that
    /// the wire normally needs for this traffic, microseconds. Returns 0 if every frame takes its full time on the
    /// wire, even after a pause.
    fn catches_up_us(&self) -> u64 {
        0
    }
}

/// Beginning of the names of the wires from a switch to its hosts. The name of the host follows.
pub(super) const FROM_SWITCH: &str = "switch to ";

/// Returns true if a wire leads from a switch to a host. A frame crosses another wire before it reaches such a wire.
pub fn leads_from_switch(wire: &str) -> bool {
    wire.starts_with(FROM_SWITCH)
}

/// One wire, or one direction of a wire.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wire {
    /// Name of the wire, such as `ethernet10`, `wan from client1` or `switch to client1`.
    pub(crate) name: String,
    /// Current rate of the wire, bits per second; `None` for no limit.
    pub(crate) bits_per_s: Option<u64>,
    /// Counts of the wire, or the reason why they cannot be read.
    pub(crate) counts: Result<Counts, String>,
}

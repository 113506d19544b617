//! Row type of the driver table.

use run::{AgentReport, Io, LoadPart, LoadPlan};
use sys::Errno;

use crate::LoadError;

/// A row of [`DRIVERS`](super::DRIVERS).
#[derive(Clone, Copy, Debug)]
pub struct DriverSpec {
    /// Value that selects this driver in a plan; plans write it as `name`.
    pub io: Io,
    /// Name in plans and flags.
    pub name: &'static str,
    /// Description of the driver for help texts, in one line.
    pub help: &'static str,
    /// Kernel facility that the driver needs, by its usual name; empty for none.
    pub system: &'static str,
    /// Checks that the driver is usable on this host.
    pub usable: fn() -> Result<(), Errno>,
    /// True if `auto` may choose the driver. Only drivers that send requests to the plan's server may be chosen.
    pub auto: bool,
    /// True if sockets are ordinary descriptors, or if there are no sockets. S-Clients need ordinary descriptors,
    /// because they pass sockets to another process and connect sockets again.
    pub(crate) plain_descriptors: bool,
    /// Function that runs a whole plan without threads and commands, for a driver with its own clock.
    pub(crate) whole: Option<RunWhole>,
}

/// Runs a whole plan and reports when it is ready.
pub(crate) type RunWhole = fn(&LoadPlan, &mut dyn FnMut(AgentReport)) -> Result<LoadPart, LoadError>;

impl DriverSpec {
    /// Values that most rows have.
    pub(super) const DEFAULT: Self = Self {
        io: Io::Auto,
        name: "",
        help: "",
        system: "",
        usable: || Ok(()),
        auto: false,
        plain_descriptors: true,
        whole: None,
    };
}

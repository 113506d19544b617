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
    /// True if `auto` may choose the driver. Only drivers that load the server of the plan may be chosen.
    pub auto: bool,
    /// True if sockets are plain descriptors or absent. S-Clients need plain descriptors to pass sockets to another
    /// process and to connect them again.
    pub(crate) plain_descriptors: bool,
    /// Function that runs a whole plan without threads and commands, for a driver with a clock of its own.
    pub(crate) whole: Option<RunWhole>,
}

/// Runs a whole plan and reports when it is ready.
pub(crate) type RunWhole = fn(&LoadPlan, &mut dyn FnMut(AgentReport)) -> Result<LoadPart, LoadError>;

impl DriverSpec {
    /// Defaults for most rows.
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

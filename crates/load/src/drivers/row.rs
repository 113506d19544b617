//! What the table of drivers says of one.

use run::{AgentReport, Io, LoadPart, LoadPlan};
use sys::Errno;

use crate::LoadError;

/// One row of [`DRIVERS`](super::DRIVERS).
#[derive(Clone, Copy, Debug)]
pub struct DriverSpec {
    /// What plans ask for it with; they write it as `name`.
    pub io: Io,
    /// Name in plans and flags.
    pub name: &'static str,
    /// What it is, in one line.
    pub help: &'static str,
    /// What of the kernel it stands on, by its own name; empty for nothing.
    pub system: &'static str,
    /// Whether it can be used here, tried out.
    pub usable: fn() -> Result<(), Errno>,
    /// Whether `auto` may choose it: it loads the server that the plan names.
    pub auto: bool,
    /// Whether sockets are plain descriptors (or there are none): they can be passed to another process, and taken back and
    /// connected again, which S-Clients live from.
    pub(crate) plain_descriptors: bool,
    /// Carries out a whole plan by itself, on a clock of its own, without threads and commands.
    pub(crate) whole: Option<Whole>,
}

/// What carries out a plan by itself and reports that it is ready.
pub(crate) type Whole = fn(&LoadPlan, &mut dyn FnMut(AgentReport)) -> Result<LoadPart, LoadError>;

impl DriverSpec {
    /// What most rows leave as it is.
    pub(super) const BASE: Self = Self {
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

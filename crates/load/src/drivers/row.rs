//! Row type of the driver table.

use run::{AgentReport, Io, LoadPart, LoadPlan};
use sys::Errno;

use crate::LoadError;

/// A row of [`DRIVERS`](super::DRIVERS).
#[derive(Clone, Copy, Debug)]
pub struct DriverSpec {
    /// Value that selects this driver in a load plan. A plan file contains the driver's `name` instead.
    pub io: Io,
    /// Name of the driver in plans and flags.
    pub name: &'static str,
    /// Description of the driver for help texts, one line.
    pub help: &'static str,
    /// Kernel facility that the driver needs, by its usual name; empty for none.
    pub system: &'static str,
    /// Function that checks whether the driver works on this host.
    pub usable: fn() -> Result<(), Errno>,
    /// True if `auto` may choose the driver. Only drivers that send requests over a network may be chosen.
    pub auto: bool,
    /// True if the driver's sockets are ordinary descriptors, or if it has no sockets. S-Clients need ordinary
    /// descriptors, because they use a socket for several connects, and may pass it to another process.
    pub(crate) plain_descriptors: bool,
    /// True if one receive returns several datagrams (GRO). For a protocol over UDP, `auto` chooses a driver with GRO.
    /// For HTTP/3 on 10 connections with 10 streams each, the generator needed 3.7 µs of CPU time per request with GRO.
    /// Without GRO, the generator needed 8.7 µs (medians of three alternating runs).
    pub(crate) joins_datagrams: bool,
    /// Function that runs a whole load plan on one thread. After the start, this function needs no command from a
    /// conductor (controlling process). Only the simulating driver has this function, because its clock is virtual.
    pub(crate) whole: Option<RunWhole>,
}

/// Function that runs a whole load plan, and sends reports such as `Ready`. After `Ready`, this function calls the last
/// argument, which waits for the start of the load. If the last argument returns false, the load was stopped before its
/// start.
pub(crate) type RunWhole = fn(&LoadPlan, &mut dyn FnMut(AgentReport), &dyn Fn() -> bool) -> Result<LoadPart, LoadError>;

impl DriverSpec {
    /// Values that apply to most rows.
    pub(super) const DEFAULT: Self = Self {
        io: Io::Auto,
        name: "",
        help: "",
        system: "",
        usable: || Ok(()),
        auto: false,
        plain_descriptors: true,
        joins_datagrams: true,
        whole: None,
    };
}

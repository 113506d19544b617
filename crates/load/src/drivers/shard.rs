//! The part of a load that one generator thread runs (shard).

use std::sync::mpsc::Sender;

use proto::AnyClient;
use run::{LoadPart, LoadPlan};
use sys::Errno;

use super::setup::Setup;
use crate::LoadError;
use crate::core::{Core, Task};
use crate::driver::Driver;
use crate::partner::Partner;
use crate::shard::{self, LiveCounts, Orders};
use crate::start_moment::StartMoment;

/// Type without values, for channels that are only closed and never carry a value. The channel closes once each thread
/// has allocated its memory or has failed.
#[derive(Debug)]
pub(crate) enum Never {}

/// The part of a load that one generator thread runs, before its driver exists.
pub(crate) struct Shard<'a> {
    pub(crate) client: &'a dyn AnyClient,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) task: Task,
    pub(crate) setup: Setup,
    pub(crate) begin: &'a StartMoment,
    /// Sender that is dropped when the thread has allocated all memory that its loop needs.
    pub(crate) warm: Sender<Never>,
    pub(crate) orders: &'a Orders,
    pub(crate) show: &'a LiveCounts,
    /// The process that handles established connections, and the counts to which its progress is added; two-process
    /// S-Clients (sockets that connect again and again) only.
    pub(crate) partner: Option<(Partner, &'a LiveCounts)>,
}

impl Shard<'_> {
    /// Allocates all memory, waits for the start of the load, and runs the load to its end.
    pub(super) fn drive<D: Driver>(self, driver: &mut D) -> Result<LoadPart, LoadError> {
        let slots = self.task.slots;
        let mut core = Core::new(self.task, self.client);
        drop(self.warm);
        let Some(origin_ns) = self.begin.wait() else { return Ok(LoadPart::default()) };
        core.begin_at(origin_ns);
        let order = |now, phase| self.orders.read(now, phase);
        shard::run_with(driver, core, slots, self.show, &order).map_err(failed)
    }
}

pub(super) fn failed(errno: Errno) -> LoadError {
    LoadError::System {
        what: "driving the connections",
        errno,
        advice: "see the limits of descriptors and locked memory (ulimit -n, ulimit -l), or use --io epoll",
    }
}

//! One generator thread's share of a load.

use std::sync::mpsc::Sender;

use proto::AnyClient;
use run::{LoadPart, LoadPlan};
use sys::Errno;

use super::setup::Setup;
use crate::LoadError;
use crate::begin::Begin;
use crate::core::{Core, Task};
use crate::driver::Driver;
use crate::partner::Partner;
use crate::shard::{self, Orders, Show};

/// What is never sent: a thread that is warm is seen by the end of its channel.
#[derive(Debug)]
pub(crate) enum Never {}

/// One generator thread's share of a load, before it has its driver.
pub(crate) struct Shard<'a> {
    pub(crate) client: &'a dyn AnyClient,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) task: Task,
    pub(crate) setup: Setup,
    pub(crate) begin: &'a Begin,
    /// Dropped once all memory is there that the loop needs.
    pub(crate) warm: Sender<Never>,
    pub(crate) orders: &'a Orders,
    pub(crate) show: &'a Show,
    /// The process that handles what is established, and where it shows its counts.
    pub(crate) partner: Option<(Partner, &'a Show)>,
}

impl Shard<'_> {
    /// Takes all memory, waits for the begin, and makes the load from its start to its end.
    pub(super) fn drive<D: Driver>(self, driver: &mut D) -> Result<LoadPart, LoadError> {
        let slots = self.task.slots;
        let mut core = Core::new(self.task, self.client);
        drop(self.warm);
        let Some(origin_ns) = self.begin.wait() else { return Ok(LoadPart::default()) };
        core.begin_at(origin_ns);
        let order = |now, phase| self.orders.read(now, phase);
        shard::go(driver, core, slots, self.show, &order).map_err(failed)
    }
}

pub(super) fn failed(errno: Errno) -> LoadError {
    LoadError::System {
        what: "driving the connections",
        errno,
        advice: "see the limits of descriptors and locked memory (ulimit -n, ulimit -l), or use --io epoll",
    }
}

//! One generator thread's share of a load.

use proto::Client;
use run::{LoadPart, LoadPlan};
use sys::{Errno, clock};

use super::setup::Setup;
use crate::LoadError;
use crate::core::Task;
use crate::driver::Driver;
use crate::partner::Partner;
use crate::shard::{self, Orders, Show};

/// One generator thread's share of a load, before it has its driver.
#[derive(Debug)]
pub(crate) struct Shard<'a, C> {
    pub(crate) client: &'a C,
    pub(crate) plan: &'a LoadPlan,
    pub(crate) task: Task,
    pub(crate) setup: Setup,
    pub(crate) origin_ns: u64,
    pub(crate) orders: &'a Orders,
    pub(crate) show: &'a Show,
    /// The process that handles what is established, and where it shows its counts.
    pub(crate) partner: Option<(Partner, &'a Show)>,
}

impl<C: Client> Shard<'_, C> {
    /// Makes the load from its start to its end.
    pub(super) fn drive<D: Driver>(self, driver: &mut D) -> Result<LoadPart, LoadError> {
        clock::sleep_until_ns(self.origin_ns);
        let order = |now, phase| self.orders.read(now, phase);
        shard::run(driver, self.client, self.task, self.show, order).map_err(failed)
    }
}

pub(super) fn failed(errno: Errno) -> LoadError {
    LoadError::System {
        what: "driving the connections",
        errno,
        advice: "see the limits of descriptors and locked memory (ulimit -n, ulimit -l), or use --io epoll",
    }
}

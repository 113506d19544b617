//! Entry of the table of I/O models, and the data for starting a model.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use run::ServePlan;

use crate::acceptor::Pace;
use crate::control::Control;
use crate::listener;
use crate::ready::{Readiness, Worker};
use crate::shard::{Inbox, ShardSetup};
use crate::strategies::Policy;
use crate::{Options, ServeError, Service};

/// Entry of [`MODELS`](super::MODELS).
#[derive(Clone, Copy)]
pub struct ModelSpec {
    /// Name, as in `--model NAME`.
    pub name: &'static str,
    /// Name of the corresponding server in the Windows study (Jones and Deshpande, 2000); begins with `none in the
    /// source` if there is none.
    pub original: &'static str,
    /// Cost of handling an event (such as system calls, scans and thread switches), in words.
    pub cost: &'static str,
    /// Strategies that the model supports.
    pub strategies: &'static [&'static str],
    /// Reason why this I/O model does not support the server strategies that are missing from `strategies`.
    pub cannot: &'static str,
    pub(super) start: fn(&Launch<'_>) -> Result<SocketAddr, ServeError>,
}

/// All data that is needed to start an I/O model.
pub(crate) struct Launch<'a> {
    pub(crate) plan: &'a ServePlan,
    pub(crate) options: &'a Options<'a>,
    pub(crate) control: Arc<Control>,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) policy: Policy,
}

impl Launch<'_> {
    /// Opens listening sockets for `shards` serving threads: one socket for all threads, or with `own` one per thread.
    pub(crate) fn listen(&self, shards: u32, own: bool) -> Result<(Vec<Arc<OwnedFd>>, SocketAddr), ServeError> {
        let opened =
            listener::open(&self.plan.listen, self.plan.backlog, shards, own, self.service.nagle(), &self.control)?;
        listener::tune(&opened.0, self.options)?;
        Ok(opened)
    }

    /// Returns all data that one serving thread needs.
    pub(crate) fn shard(&self, listener: Option<Arc<OwnedFd>>) -> Result<ShardSetup, ServeError> {
        Ok(ShardSetup {
            control: self.control.clone(),
            service: self.service.clone(),
            policy: self.policy,
            listener,
            pace: Pace::from(self.options)?,
            inbox: Inbox::new(self.control.waker()?),
            cell: self.control.cell(),
            on_close: None,
        })
    }

    /// Starts the thread of a single-threaded model. The user's number of threads is ignored.
    pub(crate) fn one_thread<R: Readiness>(
        &self,
        name: &str,
        poller: impl FnOnce() -> R + Send + 'static,
    ) -> Result<SocketAddr, ServeError> {
        let (mut listeners, addr) = self.listen(1, false)?;
        let shard = self.shard(Some(listeners.remove(0)))?;
        self.control.spawn(name, || Worker::new(shard, poller()).run())?;
        Ok(addr)
    }

    /// Refuses the option `accept_every_ms` if the model cannot accept connections by a timer.
    pub(crate) fn refuse_pace(&self, model: &str) -> Result<(), ServeError> {
        match Pace::from(self.options)? {
            Some(_) => Err(ServeError::Combination(format!(
                "model {model} cannot accept on a timer: use accept_every_ms with a model that waits for readiness, such as epoll"
            ))),
            None => Ok(()),
        }
    }
}

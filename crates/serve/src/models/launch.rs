//! What the table of models says of one, and what a model is started with.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use run::ServePlan;

use crate::listener::{self, Pace};
use crate::ready::{Readiness, Worker};
use crate::server::Control;
use crate::shard::{Inbox, Shard};
use crate::strategies::Policy;
use crate::{Options, ServeError, Service};

/// One row of [`MODELS`](super::MODELS).
#[derive(Clone, Copy)]
pub struct ModelSpec {
    /// Name, as in `--model NAME`.
    pub name: &'static str,
    /// What the source calls its relative; `not in the source` where it has none.
    pub original: &'static str,
    /// What an event costs, in words.
    pub cost: &'static str,
    /// Strategies it can honour.
    pub strategies: &'static [&'static str],
    /// Why it cannot honour the others.
    pub cannot: &'static str,
    pub(super) start: fn(&Launch<'_>) -> Result<SocketAddr, ServeError>,
}

/// What a model is started with.
pub(crate) struct Launch<'a> {
    pub(crate) plan: &'a ServePlan,
    pub(crate) options: &'a Options<'a>,
    pub(crate) control: Arc<Control>,
    pub(crate) service: Arc<dyn Service>,
    pub(crate) policy: Policy,
}

impl Launch<'_> {
    /// Listening sockets for `shards` threads, one for all or one each.
    pub(crate) fn listen(&self, shards: u32, own: bool) -> Result<(Vec<Arc<OwnedFd>>, SocketAddr), ServeError> {
        let opened =
            listener::open(&self.plan.listen, self.plan.backlog, shards, own, self.service.nagle(), &self.control)?;
        listener::tune(&opened.0, self.options)?;
        Ok(opened)
    }

    /// What a thread of a readiness model needs.
    pub(crate) fn shard(&self, listener: Option<Arc<OwnedFd>>) -> Result<Shard, ServeError> {
        Ok(Shard {
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

    /// Starts the one thread of a model that has one; more that were asked for are not made.
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

    /// An error for an option that only readiness models with a listener of their own can honour.
    pub(crate) fn no_pace(&self, model: &str) -> Result<(), ServeError> {
        match Pace::from(self.options)? {
            Some(_) => Err(ServeError::Combination(format!(
                "model {model} cannot accept on a timer: use accept_every_ms with a model that waits for readiness, such as epoll"
            ))),
            None => Ok(()),
        }
    }
}

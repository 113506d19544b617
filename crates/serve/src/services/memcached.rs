//! memcached: the commands that load generators usually send, on a store in memory.

use std::sync::Arc;

use proto::Store;
use proto::memcached::ServerSession;
use run::ServePlan;

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

#[derive(Default)]
struct Memcached {
    store: Arc<Store>,
}

impl Service for Memcached {
    fn session(&self) -> BoxedSession {
        Box::new(ServerSession::new(self.store.clone()))
    }

    fn busy_reply(&self) -> &[u8] {
        b"SERVER_ERROR too many open connections\r\n"
    }
}

pub(super) fn open(_plan: &ServePlan, _options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Memcached::default()))
}

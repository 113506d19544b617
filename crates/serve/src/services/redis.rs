//! Redis: the commands that load generators usually send, on a store in memory.

use std::sync::Arc;

use proto::Store;
use proto::redis::ServerSession;
use run::ServePlan;

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

#[derive(Default)]
struct Redis {
    store: Arc<Store>,
}

impl Service for Redis {
    fn session(&self) -> BoxedSession {
        Box::new(ServerSession::new(self.store.clone()))
    }

    fn busy_reply(&self) -> &[u8] {
        b"-ERR max number of clients reached\r\n"
    }
}

pub(super) fn open(_plan: &ServePlan, _options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Redis::default()))
}

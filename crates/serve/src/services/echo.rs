//! Echo (RFC 862): sends back all bytes that arrive.

use std::sync::Arc;

use run::ServePlan;

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

struct Echo;

impl Service for Echo {
    fn session(&self) -> BoxedSession {
        Box::new(proto::echo::ServerSession::default())
    }

    fn busy_reply(&self) -> &[u8] {
        b"busy\n"
    }
}

pub(super) fn open(_plan: &ServePlan, _options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Echo))
}

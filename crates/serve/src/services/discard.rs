//! Discard (RFC 863): counts and drops all bytes that arrive.

use std::sync::Arc;

use run::ServePlan;

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

struct Discard;

impl Service for Discard {
    fn session(&self) -> BoxedSession {
        Box::new(proto::discard::ServerSession)
    }
}

pub(super) fn open(_plan: &ServePlan, _options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Discard))
}

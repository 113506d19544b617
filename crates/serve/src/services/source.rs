//! Source: sends bytes without end, or `source_bytes` bytes on each connection.

use std::sync::Arc;

use proto::source::ServerPlan;
use run::ServePlan;

use crate::Service;
use crate::connection::BoxedSession;
use crate::{Options, ServeError};

struct Source(ServerPlan);

impl Service for Source {
    fn session(&self) -> BoxedSession {
        Box::new(self.0.session())
    }
}

pub(super) fn open(_plan: &ServePlan, options: &Options<'_>) -> Result<Arc<dyn Service>, ServeError> {
    Ok(Arc::new(Source(ServerPlan::new(options.get("source_bytes")?))))
}

//! What behaviours do to requests.

use std::sync::Arc;

/// What a request has to go through.
pub(crate) type Delay = Arc<dyn Fn() + Send + Sync>;

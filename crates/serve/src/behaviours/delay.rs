//! The delay that a behaviour adds to each request.

use std::sync::Arc;

/// Function that delays one request: it returns when the request may be answered.
pub(crate) type Delay = Arc<dyn Fn() + Send + Sync>;

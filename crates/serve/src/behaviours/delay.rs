//! The delay that a behaviour adds to each request.

use std::sync::Arc;

/// Delays one request: the call returns when the request may be answered.
pub(crate) type Delay = Arc<dyn Fn() + Send + Sync>;

//! Delay that a behaviour adds to each request.

use std::sync::Arc;

/// Delay of one request: returns when the request may be answered.
pub(crate) type Delay = Arc<dyn Fn() + Send + Sync>;

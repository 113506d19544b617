//! Delay that a behaviour (a planted weakness of the server) adds to each request.

use std::sync::Arc;

/// Function that delays one request. The function returns only when the request may be answered.
pub(crate) type Delay = Arc<dyn Fn() + Send + Sync>;

//! Requests and connections that failed, and their causes: refused, reset or never answered requests, full accept
//! queues, upstreams that do not answer.

pub(crate) mod connects;
pub(crate) mod failed_stretch;
pub(crate) mod failed_upstream;
pub(crate) mod failures;
pub(crate) mod overflow;
pub(crate) mod period_limit;
pub(crate) mod phantoms;
pub(crate) mod refusals;
pub(crate) mod refused_connects;
pub(crate) mod refused_handshakes;
pub(crate) mod silence;
pub(crate) mod standstill;
pub(crate) mod step;
pub(crate) mod unanswered;
pub(crate) mod unopened;

//! Comparison of many servers: the file that a user writes, the state that a resumed comparison continues, and the
//! result.

pub(crate) mod check;
pub(crate) mod plan;
pub(crate) mod refusal;
pub(crate) mod result;
pub(crate) mod state;

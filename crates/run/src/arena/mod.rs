//! Data types for `loadline arena`, which compares many servers: the user's file, the stored state of an unfinished
//! comparison, and the result.

pub(crate) mod check;
pub(crate) mod plan;
pub(crate) mod refusal;
pub(crate) mod result;
pub(crate) mod state;

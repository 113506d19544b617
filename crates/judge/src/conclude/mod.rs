//! Conclusions from the results of the rules: the verdict, its confidence and margins, the decisions that other
//! programs read, and the argument in words.

pub(crate) mod argument;
pub(crate) mod choose;
pub(crate) mod confidence;
pub(crate) mod decide;
pub(crate) mod growing_pool;
pub(crate) mod margins;
pub(crate) mod principles;
mod processes;
pub(crate) mod restarts;
pub(crate) mod verdict;

//! Flags that several commands share, and the plan they become.

mod load;
mod target;
pub(crate) mod units;

pub(crate) use load::{LoadArgs, arrival};
pub(crate) use target::TargetArgs;

//! Flags that several commands share, and the plan they become.

mod blocks;
mod load;
mod target;
pub(crate) mod units;

pub(crate) use blocks::BlockArgs;
pub(crate) use load::{LoadArgs, arrival};
pub(crate) use target::TargetArgs;

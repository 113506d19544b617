//! Comparison of many servers under the same loads. Each server is started without the others, and its first answer is
//! checked. First, a short search finds the capacity of each server. After all searches, the servers take turns at one
//! common rate per load, in rounds. One round has a random order, and the next round has the reverse of that order.
//! Each turn starts its server again, so that the measured noise includes the differences between two starts.

mod build;
mod conduct;
mod conductor;
mod container;
mod first_answer;
mod live;
mod times;

pub use conduct::conduct;
pub use conductor::{ArenaConductor, TurnPlan};
pub use live::{LiveArena, LiveArenaSetup};
pub use times::least_budget_s;

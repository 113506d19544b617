//! Comparison of many servers under the same loads. Each server is started alone, and its first answer is checked.
//! First, a short search finds the capacity of each server. After all searches, the servers take turns at one common
//! rate per load, in rounds. One round has a random order, and the next round has the reverse of that order. Each turn
//! starts its server again, so that the differences between two starts of a server are part of the measured noise.

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

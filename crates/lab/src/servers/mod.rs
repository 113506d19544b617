//! Servers that a shell command starts for a measurement, in a control group of their own if possible.

mod control_group;
mod grouped;
mod quiet;
mod quote;
mod shell;

pub(crate) use control_group::Limits;
pub(crate) use control_group::remove_left as remove_left_groups;
pub(crate) use grouped::{GroupedServer, Launch, can_make_groups};
pub(crate) use quiet::Quiet;
pub(crate) use quote::quoted;
pub(crate) use shell::shell_command;

/// Expected time that a server needs to start, seconds.
pub(crate) const START_S: f64 = 0.2;

//! Data of a run that the rules need, prepared once: trials, both sides of a trial, counters, devices, and other
//! programs on the hosts.

pub(crate) mod client_hosts;
pub(crate) mod cost_table;
pub(crate) mod costs;
pub(crate) mod cpu_users;
pub(crate) mod demand;
pub(crate) mod devices;
pub(crate) mod disks;
pub(crate) mod evidence;
pub(crate) mod facts;
pub(crate) mod knee;
pub(crate) mod laws;
pub(crate) mod lighter;
pub(crate) mod other_programs;
pub(crate) mod own_rate;
pub(crate) mod quota;
pub(crate) mod rare_slow;
pub(crate) mod recurring_stops;
pub(crate) mod repeats;
pub(crate) mod sides;
pub(crate) mod single;
pub(crate) mod steady;
pub(crate) mod sweep;
pub(crate) mod ticks;
pub(crate) mod view;

//! Reads the operating system counters of `run::COUNTERS` for one side of a load test (the server or the load
//! generator).
//!
//! A [`Probe`] reads the sources of [`SOURCES`] into a recording. A [`Sampler`] runs a probe on its own thread. The
//! sampler takes samples at a fixed interval, and at the start and end of each phase of the test (such as the
//! measurement). An [`Observer`] starts samplers for one host and watches whether the server's or generator's processes
//! still run. [`find_server`] finds the processes of a listener. Recordings contain raw values, without division or
//! judgement. A counter that cannot be read is absent with a reason, and never 0.

mod awaits_reply;
mod bound_address;
mod column_writer;
mod cpu_use;
mod family;
mod find;
mod half_open;
mod host;
mod new_children;
mod observer;
mod probe;
mod process_set;
mod process_tree;
mod process_watch;
mod processors;
mod reread_file;
mod rights;
mod sampler;
mod samples;
mod sched_times;
mod scope;
mod socket_holders;
mod source;
mod sources;
#[cfg(test)]
mod testing;
mod text;
mod tree;
mod tree_cpu;
mod udp_sockets;
mod units;
mod waits;

pub use column_writer::{ColumnWriter, Slots};
pub use find::{FindError, Found, find_server, named_server};
pub use half_open::half_open;
pub use host::host_info;
pub use observer::{Observer, Watching, listen};
pub use probe::Probe;
pub use process_set::ProcessSet;
pub use process_tree::{all_with_descendants, descendants_of, is_stopped, parent_of, started_ticks, with_descendants};
pub use process_watch::ProcessWatch;
pub use processors::{MAX_CPUS, boot_id, core_of, cpus_of};
pub use sampler::{Ended, Glance, Sampler};
pub use sched_times::{SchedReading, SchedTimes};
pub use scope::Scope;
pub use socket_holders::holds_sockets;
pub use source::{Effort, Round, Source, SourceSpec};
pub use sources::{CpuQuota, Exporter, MIN_QUOTA_US, SOURCES, descriptor_limits};
pub use stacks::threads_of;
pub use tree::Tree;
pub use waits::WaitSampler;

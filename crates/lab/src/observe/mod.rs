//! Observers that read counters during a load test, one on each client host and one on the server's host. A reference
//! server also reports counters of its own.

mod host_observer;
pub(crate) mod host_watch;
pub(crate) mod hosts;
mod observation;
mod observed_server;
mod other_programs;
mod remote_observer;
pub(crate) mod samplers;
mod server_counters;

pub use observation::Observation;
pub use observed_server::ObservedServer;
pub use remote_observer::RemoteObserver;
pub(crate) use remote_observer::RemoteSampling;
pub use server_counters::ServerCounters;

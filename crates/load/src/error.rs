//! Errors of a load.

use sys::Errno;

/// Reason why a load could not run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The load plan is invalid.
    #[error(transparent)]
    Plan(#[from] run::PlanError),
    /// The part of the load plan for the protocol cannot be prepared.
    #[error(transparent)]
    Protocol(#[from] proto::ProtoError),
    /// The requested driver cannot be used on this host.
    #[error("{system} was asked for (--io {name}) but the kernel or the container refuses it ({errno}); use --io auto")]
    Unusable {
        /// Kernel facility that the driver needs.
        system: &'static str,
        /// Name of the driver.
        name: &'static str,
        /// Error that the kernel returned.
        errno: Errno,
    },
    /// The driver can run only a whole load plan. The driver cannot divide a plan among generator threads.
    #[error("the driver {0} has no network to make this load on; use --io epoll")]
    NoShards(&'static str),
    /// A system call that the generator needs has failed.
    #[error("{what} failed: {errno}; {advice}")]
    System {
        /// Action for which the system call was needed.
        what: &'static str,
        /// Error that the kernel returned.
        errno: Errno,
        /// Advice to the user.
        advice: &'static str,
    },
    /// A thread or process could not be started.
    #[error("{what} failed: {why}")]
    NoThread {
        /// Action for which the thread or process was needed.
        what: &'static str,
        /// Reason for the failure. If a limit was reached, the reason contains the limit's value and the command that
        /// raises the limit.
        why: String,
    },
    /// The load plan cannot use one of the given local addresses.
    #[error("source address {source_addr} cannot reach {target}: {why}")]
    Source {
        /// Local address that cannot be used.
        source_addr: std::net::IpAddr,
        /// Address of the server.
        target: String,
        /// Reason why the local address cannot be used.
        why: &'static str,
    },
    /// The process that handles the connections of two-process S-Clients (sockets that connect again and again) ended
    /// without a result.
    #[error(
        "the handling process of a two-process S-Client ended without a result; see `dmesg` for a killed process, or run \
         in one process"
    )]
    PartnerLost,
    /// A generator thread ended without a result.
    #[error("a generator thread ended without a result; what it measured is lost, please report this")]
    ThreadLost,
}

impl LoadError {
    /// Describes the failed start of a thread or process.
    pub(crate) fn no_thread(what: &'static str, error: &std::io::Error) -> Self {
        Self::NoThread { what, why: sys::exhausted::why_not_started(error) }
    }
}

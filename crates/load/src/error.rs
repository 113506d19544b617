//! Why a load could not be made.

use sys::Errno;

/// Why a load could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The plan is out of range.
    #[error(transparent)]
    Plan(#[from] run::PlanError),
    /// The protocol part cannot be prepared.
    #[error(transparent)]
    Protocol(#[from] proto::ProtoError),
    /// A driver was asked for and cannot be had.
    #[error("{system} was asked for (--io {name}) but the kernel or the container refuses it ({errno}); use --io auto")]
    Unusable {
        /// What of the kernel it stands on.
        system: &'static str,
        /// The driver.
        name: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// A driver cannot drive connections thread by thread.
    #[error("the driver {0} has no network to make this load on; use --io epoll")]
    NoShards(&'static str),
    /// A system call that the generator cannot do without failed.
    #[error("{what} failed: {errno}; {advice}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        errno: Errno,
        /// What to do.
        advice: &'static str,
    },
    /// The plan cannot be made from the local addresses given.
    #[error("source address {source_addr} cannot reach {target}: {why}")]
    Source {
        /// Local address.
        source_addr: std::net::IpAddr,
        /// Server.
        target: String,
        /// What is wrong.
        why: &'static str,
    },
    /// The handling process of a two-process S-Client ended without a result.
    #[error(
        "the handling process of a two-process S-Client ended without a result; see `dmesg` for a killed process, or run \
         in one process"
    )]
    PartnerLost,
    /// A generator thread ended without a result.
    #[error("a generator thread ended without a result; what it measured is lost, please report this")]
    ThreadLost,
}

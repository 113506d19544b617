//! True limits of a simulated network: the parts with the lowest limits, and the IDs of the verdicts that name these
//! parts.

use super::limit::Cause;
use super::world::{SERVER, Threads, World};

/// Maximum ratio of the limits of two parts at which a verdict that names either of the two parts is right.
const TIE: f64 = 1.1;
/// Maximum ratio that replaces [`TIE`] if the lower limit is a number of workers or connections.
const TIE_OF_FEW: f64 = 1.3;
/// Share of the lowest limit that the sweep must reach. If the sweep stays below this share, the load itself was the
/// limit, because no part of the network was full.
const NOT_REACHED: f64 = 0.85;
/// Share of the lowest limit that the sweep must reach so that a verdict that names the load is wrong.
const REACHED: f64 = 0.97;

impl Cause {
    /// Returns the name of the cause in the table of the page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ServerHost { .. } => "CPUs of the server's host",
            Self::ServerLoops => "event loops",
            Self::Serial => "lock around CPU work",
            Self::Workers => "workers that wait",
            Self::Connections => "connections to a backend",
            Self::Backend => "backend",
            Self::Generator => "generator",
            Self::ServerQuota => "server's CPU quota",
            Self::GeneratorQuota => "generator's CPU quota",
            Self::RateLimit => "rate limit",
            Self::AcceptQueue => "accept queue",
            Self::Load => "the load itself",
        }
    }

    /// Returns the IDs of all verdicts that name the cause.
    fn ids(self, world: &World) -> Vec<&'static str> {
        match self {
            Self::ServerHost { client, backend } => {
                let mut ids = vec!["server-cpu"];
                ids.extend(client.then_some("client-cpu"));
                ids.extend(backend.then_some("server-concurrency"));
                // On a host with one CPU, the server's thread is as busy as the CPU. With one event loop per CPU, each
                // loop is as busy as its CPU.
                ids.extend(world.a_thread_for_each_cpu().then_some("server-single-thread"));
                ids
            }
            Self::ServerLoops => {
                if world.a_thread_for_each_cpu() {
                    vec!["server-single-thread", "server-cpu"]
                } else {
                    vec!["server-single-thread"]
                }
            }
            Self::Serial if world.server_cpus() == 1 => vec!["server-cpu", "server-single-thread", "server-lock"],
            Self::Serial => vec!["server-single-thread", "server-concurrency", "server-lock"],
            // A single worker that hardly ever waits is also a thread that is busy all the time.
            Self::Workers if world.programs[SERVER].threads == Threads::Pool(1) => {
                vec!["server-concurrency", "server-pool", "server-single-thread"]
            }
            Self::Workers | Self::Connections => vec!["server-concurrency", "server-pool"],
            Self::Backend => vec!["server-concurrency"],
            Self::Generator | Self::GeneratorQuota => vec!["client-cpu"],
            Self::ServerQuota => vec!["server-cpu-quota"],
            Self::RateLimit => vec!["server-rate-limit"],
            Self::AcceptQueue => vec!["accept-queue"],
            Self::Load => vec!["not-saturated"],
        }
    }
}

/// Parts of a simulated network with the lowest limits, and the IDs of the right verdicts.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    pub(super) cause: Cause,
    pub(super) ids: Vec<&'static str>,
    /// True if a right verdict may name the server's upstream service.
    pub(super) backend: bool,
}

impl World {
    /// Returns the number of CPUs of the server's host.
    pub(super) fn server_cpus(&self) -> usize {
        self.hosts[self.programs[SERVER].host].cpus as usize
    }

    /// Returns true if a server thread is full whenever the host's CPUs are full. Full CPUs imply a full server thread
    /// if the host has one CPU, or if the server has at least one event loop per CPU.
    fn a_thread_for_each_cpu(&self) -> bool {
        let loops = matches!(self.programs[SERVER].threads, Threads::Loops(n) if n >= self.server_cpus());
        self.server_cpus() == 1 || loops
    }

    /// Returns the true limits of the simulated network. `reached` is the highest rate of the sweep on the simulated
    /// network. If `reached` is too low, the load itself was the limit.
    pub(super) fn truth(&self, reached: f64) -> Truth {
        let all = self.limits.iter();
        let least = all.clone().min_by(|a, b| a.rate.total_cmp(&b.rate)).expect("every world has a generator");
        let tie = if matches!(least.cause, Cause::Workers | Cause::Connections) { TIE_OF_FEW } else { TIE };
        let mut causes: Vec<Cause> = all.filter(|limit| limit.rate <= tie * least.rate).map(|l| l.cause).collect();
        causes.sort_by_key(|cause| *cause != least.cause);
        let (low, high) = (NOT_REACHED * least.rate, REACHED * least.rate);
        // Clients whose SYN was dropped wait for seconds, so the sweep stays below the rate that the accept queue
        // allows.
        let by_drops = least.cause == Cause::AcceptQueue;
        if reached < low && !by_drops {
            causes = vec![Cause::Load];
        } else if reached < high && !by_drops {
            causes.push(Cause::Load);
        }
        let of_backend = |cause: &Cause| matches!(cause, Cause::Backend | Cause::ServerHost { backend: true, .. });
        Truth {
            cause: causes[0],
            ids: causes.iter().flat_map(|cause| cause.ids(self)).collect(),
            backend: causes.iter().any(of_backend),
        }
    }
}

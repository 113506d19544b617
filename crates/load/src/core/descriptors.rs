//! The D descriptors of S-Clients (D sockets that connect again and again), and the optional arrival process that their
//! connects follow.

use super::due_clock::DueClock;
use super::task::Think;

/// Schedule that spreads the first connects evenly over the connect timeout T.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) timeout_ns: u64,
    /// Delay of this shard's first connect, as a share of the time between two connects, from 0 to below 1. Each shard
    /// (generator thread) of each process has a different delay, so that connects of different shards do not coincide.
    pub(super) phase: f64,
}

/// The descriptors of one shard (generator thread) of S-Clients (sockets that connect again and again).
pub(super) struct Descriptors {
    pub(super) wanted: u32,
    pub(super) spread: Spread,
    pub(super) think: Think,
    /// Number of descriptors that should connect but cannot, because established connections use all connection
    /// indexes.
    pub(super) missing: u32,
    pub(super) pace: Option<Pace>,
}

impl Descriptors {
    pub(super) fn new(wanted: u32, spread: Spread, think: Think, dues: Option<DueClock>) -> Self {
        let pace = dues.map(Pace::new);
        Self { wanted, spread, think, missing: 0, pace }
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.spread.timeout_ns
    }

    /// Returns the clock of due connects, or `None` if the connects follow no arrival process.
    pub(super) fn dues(&self) -> Option<&DueClock> {
        self.pace.as_ref().map(Pace::dues)
    }

    /// Returns the number of arrivals for which no descriptor was free at once.
    pub(super) fn waited(&self) -> u64 {
        self.pace.as_ref().map_or(0, Pace::waited)
    }

    /// Returns the minimum number of connects per second of the S-Clients (sockets that connect again and again). The
    /// result is D/(T + Z), where Z is the mean think time.
    pub(super) fn least_per_s(&self) -> f64 {
        f64::from(self.wanted) * 1e9 / (self.spread.timeout_ns as f64 + self.think.mean_ns).max(1.0)
    }

    /// Returns the time of the first connect of descriptor `i`, nanoseconds since the start. The first connects of all
    /// shards (generator threads) together are evenly spread over the connect timeout T.
    pub(super) fn first_ns(&self, i: u32) -> u64 {
        let (s, wanted) = (&self.spread, u64::from(self.wanted.max(1)));
        let whole = u128::from(i) * u128::from(s.timeout_ns) / u128::from(wanted);
        whole as u64 + (s.phase * s.timeout_ns as f64 / wanted as f64) as u64
    }
}

/// Arrival process that the connects of S-Clients (sockets that connect again and again) follow.
pub(super) struct Pace {
    pub(super) dues: DueClock,
    /// Number of the descriptors that are connecting at the moment.
    pub(super) connecting: u32,
    /// Number of arrivals for which no descriptor was free at once.
    pub(super) waited: u64,
}

impl Pace {
    pub(super) fn new(dues: DueClock) -> Self {
        Self { dues, connecting: 0, waited: 0 }
    }

    /// Returns the clock of due connects.
    pub(super) fn dues(&self) -> &DueClock {
        &self.dues
    }

    /// Returns the number of arrivals for which no descriptor was free at once.
    pub(super) fn waited(&self) -> u64 {
        self.waited
    }
}

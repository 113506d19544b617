//! The D descriptors of S-Clients, and the optional arrival process of their connects.

use super::due_clock::DueClock;
use super::task::Think;

/// Distribution of the first connects over T.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) timeout_ns: u64,
    /// Position of this shard in the first gap, 0 to below 1. The phase offsets the shards of all processes against
    /// each other.
    pub(super) phase: f64,
}

/// The descriptors of one shard of S-Clients.
pub(super) struct Descriptors {
    pub(super) wanted: u32,
    pub(super) spread: Spread,
    pub(super) think: Think,
    /// Descriptors that should connect but have no connection number, because established connections hold all numbers.
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

    /// Returns the clock of the connects if they follow an arrival process.
    pub(super) fn dues(&self) -> Option<&DueClock> {
        self.pace.as_ref().map(Pace::dues)
    }

    /// Returns the number of arrivals that found no free descriptor.
    pub(super) fn waited(&self) -> u64 {
        self.pace.as_ref().map_or(0, Pace::waited)
    }

    /// Returns the minimum offered connects per second: D/(T + Z) for a mean think time Z.
    pub(super) fn least_per_s(&self) -> f64 {
        f64::from(self.wanted) * 1e9 / (self.spread.timeout_ns as f64 + self.think.mean_ns).max(1.0)
    }

    /// Returns the first connect time of descriptor `i`, nanoseconds. The descriptors of all shards together spread
    /// evenly over T.
    pub(super) fn first_ns(&self, i: u32) -> u64 {
        let (s, wanted) = (&self.spread, u64::from(self.wanted.max(1)));
        let whole = u128::from(i) * u128::from(s.timeout_ns) / u128::from(wanted);
        whole as u64 + (s.phase * s.timeout_ns as f64 / wanted as f64) as u64
    }
}

/// Arrival process that the connects follow.
pub(super) struct Pace {
    pub(super) dues: DueClock,
    /// Number of the D descriptors that are connecting.
    pub(super) connecting: u32,
    /// Arrivals that found no free descriptor.
    pub(super) waited: u64,
}

impl Pace {
    pub(super) fn new(dues: DueClock) -> Self {
        Self { dues, connecting: 0, waited: 0 }
    }

    /// Returns the clock of the connects.
    pub(super) fn dues(&self) -> &DueClock {
        &self.dues
    }

    /// Returns the number of arrivals that found no free descriptor.
    pub(super) fn waited(&self) -> u64 {
        self.waited
    }
}

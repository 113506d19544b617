//! The D descriptors of S-Clients, and the arrival process that their connects may follow.

use super::due::Dues;
use super::task::Think;

/// How the first connects are spread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) timeout_ns: u64,
    /// Where in the first gap this shard begins, 0 to below 1: the shards of all processes are offset against each other.
    pub(super) phase: f64,
}

/// The D descriptors of one shard.
pub(super) struct Descriptors {
    pub(super) wanted: u32,
    pub(super) spread: Spread,
    pub(super) think: Think,
    /// Descriptors that ought to connect but have no number because established connections hold all.
    pub(super) missing: u32,
    pub(super) pace: Option<Pace>,
}

impl Descriptors {
    pub(super) fn new(wanted: u32, spread: Spread, think: Think, dues: Option<Dues>) -> Self {
        let pace = dues.map(Pace::new);
        Self { wanted, spread, think, missing: 0, pace }
    }

    pub(super) fn timeout_ns(&self) -> u64 {
        self.spread.timeout_ns
    }

    /// The clock of the connects, if they follow an arrival process.
    pub(super) fn dues(&self) -> Option<&Dues> {
        self.pace.as_ref().map(Pace::dues)
    }

    /// Arrivals that found no free descriptor.
    pub(super) fn waited(&self) -> u64 {
        self.pace.as_ref().map_or(0, Pace::waited)
    }

    /// What D descriptors offer at least, connects per second: D/(T + Z) with think times of mean Z.
    pub(super) fn least_per_s(&self) -> f64 {
        f64::from(self.wanted) * 1e9 / (self.spread.timeout_ns as f64 + self.think.mean_ns).max(1.0)
    }

    /// When descriptor `i` connects for the first time: all of all shards evenly over T.
    pub(super) fn first_ns(&self, i: u32) -> u64 {
        let (s, wanted) = (&self.spread, u64::from(self.wanted.max(1)));
        let whole = u128::from(i) * u128::from(s.timeout_ns) / u128::from(wanted);
        whole as u64 + (s.phase * s.timeout_ns as f64 / wanted as f64) as u64
    }
}

/// The arrival process that the connects follow.
pub(super) struct Pace {
    pub(super) dues: Dues,
    /// Of the D descriptors, those that connect.
    pub(super) connecting: u32,
    /// Arrivals that found no free descriptor.
    pub(super) waited: u64,
}

impl Pace {
    pub(super) fn new(dues: Dues) -> Self {
        Self { dues, connecting: 0, waited: 0 }
    }

    /// The clock of the connects.
    pub(super) fn dues(&self) -> &Dues {
        &self.dues
    }

    /// Arrivals that found no free descriptor.
    pub(super) fn waited(&self) -> u64 {
        self.waited
    }
}

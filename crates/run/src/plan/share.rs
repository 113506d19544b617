//! Division of a load into equal shares, for hosts, agents and threads.

use crate::{Intensity, LoadPlan};

/// Returns share `i` of `total` divided into `shares` nearly equal whole numbers. If the division leaves a remainder,
/// the first shares are larger by one.
pub fn even_share(total: u32, i: u32, shares: u32) -> u32 {
    let shares = shares.max(1);
    total / shares + u32::from(i < total % shares)
}

impl Intensity {
    /// Returns share `i` of `shares` equal shares of this load. The connections, descriptors and rates of the load are
    /// divided among the shares. Each share of an open loop has at least one connection.
    fn share(&self, i: u32, shares: u32) -> Self {
        let mut share = self.clone();
        match &mut share {
            Self::Closed { connections, .. } => *connections = even_share(*connections, i, shares),
            Self::Open { rate, max_connections, .. } => {
                *rate /= f64::from(shares);
                *max_connections = even_share(*max_connections, i, shares).max(1);
            }
            Self::SClients { descriptors, pace, .. } => {
                *descriptors = even_share(*descriptors, i, shares);
                pace.iter_mut().for_each(|pace| pace.rate /= f64::from(shares));
            }
        }
        share
    }

    /// Returns the number of connections or descriptors. A load cannot be divided into more shares than it has
    /// connections or descriptors.
    pub fn units(&self) -> u32 {
        match self {
            Self::Closed { connections, .. } => *connections,
            Self::Open { max_connections, .. } => *max_connections,
            Self::SClients { descriptors, .. } => *descriptors,
        }
    }
}

impl LoadPlan {
    /// Returns the phase ([`Self::phase`]) of share `i` of `shares` equal shares. The phases shift the shares against
    /// each other. The requests of all shares together are therefore evenly spaced, even if a share is divided again.
    pub fn share_phase(&self, i: u32, shares: u32) -> f64 {
        (self.phase + f64::from(i)) / f64::from(shares.max(1))
    }

    /// Returns share `i` of `shares` equal shares of this load. The share has the same number of threads and the same
    /// seed as the whole load.
    #[must_use]
    pub fn share(&self, i: u32, shares: u32) -> Self {
        let shares = shares.max(1);
        let mut share = Self { intensity: self.intensity.share(i, shares), ..self.clone() };
        share.phase = self.share_phase(i, shares);
        share.connect_rate /= f64::from(shares);
        for stage in &mut share.stages {
            (stage.from, stage.to) = (stage.from / f64::from(shares), stage.to / f64::from(shares));
        }
        let of_requests = share.requests.as_mut().and_then(|set| set.recorded.as_mut());
        let of_file = share.arrivals.as_mut().and_then(|arrivals| arrivals.times.as_mut());
        for times in of_requests.into_iter().chain(of_file) {
            *times = times.share(i, shares);
        }
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arrival, Stage};

    #[test]
    fn shares_add_up_to_the_whole() {
        for (total, shares) in [(1, 4), (4, 4), (7, 3), (1040, 16)] {
            assert_eq!((0..shares).map(|i| even_share(total, i, shares)).sum::<u32>(), total);
        }
        assert_eq!(even_share(7, 0, 0), 7);
    }

    #[test]
    fn a_share_of_an_open_loop_has_its_part_of_every_rate() {
        let intensity = Intensity::Open { rate: 90.0, arrival: Arrival::Constant, max_connections: 2, pipeline: 1 };
        let stages = vec![Stage { seconds: 1.0, from: 0.0, to: 180.0 }];
        let plan = LoadPlan { intensity, stages, connect_rate: 30.0, phase: 0.5, ..LoadPlan::default() };
        let last = plan.share(2, 3);
        assert_eq!(
            last.intensity,
            Intensity::Open { rate: 30.0, arrival: Arrival::Constant, max_connections: 1, pipeline: 1 }
        );
        assert_eq!((last.stages[0].to, last.connect_rate, last.phase), (60.0, 10.0, 2.5 / 3.0));
    }
}

//! Queueing networks with known service times: throughput and response time by exact mean value analysis.
//!
//! Sources: M. Reiser, S. Lavenberg, *Mean-Value Analysis of Closed Multichain Queuing Networks*, JACM 27 (1980).
//! Stations with several servers: marginal probabilities as in E. Lazowska et al., *Quantitative System Performance*
//! (1984), chapter 20. Probability that a station is empty: M. Reiser, *Mean-Value Analysis and Convolution Method for
//! Queue-Dependent Servers in Closed Queueing Networks*, Performance Evaluation 1 (1981).

mod closed;
mod loss;
mod open;
mod slowed;

pub use closed::{Closed, closed, elasticities};
pub use loss::servers_of_loss;
pub use open::response_s as open_response_s;
pub use slowed::least_elasticity;

/// Number of servers of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Servers {
    /// The station has a fixed number of servers, at least 1, which is the value. Each server serves one request at a
    /// time, and other requests wait.
    Some(u32),
    /// The station has one server for each request, so no request waits. Examples are a network distance, a sleep and a
    /// think time.
    Unlimited,
}

/// A station of the network, at which a request spends time: a CPU, a disk, or a delay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Service time of one request in seconds, at least 0.
    pub demand_s: f64,
    /// Number of servers of the station.
    pub servers: Servers,
}

impl Station {
    /// Creates a station with one server.
    pub const fn queue(demand_s: f64) -> Self {
        Self { demand_s, servers: Servers::Some(1) }
    }

    /// Creates a station at which no request waits.
    pub const fn delay(demand_s: f64) -> Self {
        Self { demand_s, servers: Servers::Unlimited }
    }

    /// Returns a delay if the station has at least as many servers as there are clients, because no request waits
    /// there. Otherwise returns the station unchanged.
    fn where_some_wait(self, clients: u32) -> Self {
        match self.servers {
            Servers::Some(m) if m >= clients.max(1) => Self::delay(self.demand_s),
            _ => self,
        }
    }

    /// Returns the station after the speed of its servers was multiplied by a factor.
    pub fn faster(self, factor: f64) -> Self {
        Self { demand_s: self.demand_s / factor, ..self }
    }
}

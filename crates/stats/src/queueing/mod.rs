//! Queueing networks with known demands: throughput and response time by exact mean value analysis.
//!
//! Source: M. Reiser, S. Lavenberg, *Mean-Value Analysis of Closed Multichain Queuing Networks*, JACM 27 (1980); stations
//! of several servers by their marginal probabilities as in E. Lazowska et al., *Quantitative System Performance* (1984),
//! chapter 20, the chance that one is empty by the network without it (M. Reiser, *Mean-Value Analysis and Convolution Method
//! for Queue-Dependent Servers in Closed Queueing Networks*, Performance Evaluation 1, 1981).

mod closed;
mod open;

pub use closed::{Closed, closed, elasticities};
pub use open::response_s as open_response_s;

/// Number of servers of a station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Servers {
    /// Serves this many requests at once, at least 1; the others wait.
    Some(u32),
    /// Serves every request at once: a network distance, a sleep, a think time.
    Unlimited,
}

/// One place where a request spends time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Station {
    /// Service time of one request, seconds, at least 0.
    pub demand_s: f64,
    /// Number of servers.
    pub servers: Servers,
}

impl Station {
    /// Makes a station of one server.
    pub const fn queue(demand_s: f64) -> Self {
        Self { demand_s, servers: Servers::Some(1) }
    }

    /// Makes a station at which nobody waits.
    pub const fn delay(demand_s: f64) -> Self {
        Self { demand_s, servers: Servers::Unlimited }
    }

    /// Turns the station into a delay where none of so many clients ever waits.
    fn where_some_wait(self, clients: u32) -> Self {
        match self.servers {
            Servers::Some(m) if m >= clients.max(1) => Self::delay(self.demand_s),
            _ => self,
        }
    }

    /// Returns the station with all its servers faster by a factor.
    pub fn faster(self, factor: f64) -> Self {
        Self { demand_s: self.demand_s / factor, ..self }
    }
}

//! Open loops with too few connections: all connections were in use, but the server answered as fast as without load.
//! With more connections, more requests would have been completed. The rate of a load with too few connections says
//! nothing about the server's capacity.

use run::{Intensity, Limits, OwnLimit, Trial, TrialKind};

use crate::context::single::{clients, closed};
use crate::context::sweep::lightest;
use crate::estimate::objective::holds;
use crate::number::positive;
use crate::thresholds::{POOL_IN_USE, POOL_SLOWED};

/// Returns the rate at which an open loop had too few connections. Returns `None` if some connections were free, if the
/// load met the objective, or if the server was slower than without load. Also returns `None` if a step of the sweep in
/// `trials` had more requests in flight than this load allows.
pub fn own_pool(trial: &Trial, trials: &[Trial], limits: &Limits) -> Option<OwnLimit> {
    let Intensity::Open { max_connections, pipeline, .. } = trial.intensity else { return None };
    let most = f64::from(max_connections) * f64::from(pipeline);
    let sweep: Vec<&Trial> = trials.iter().filter(|t| t.kind == TrialKind::Sweep && closed(t)).collect();
    let alone_us = positive(lightest(&sweep)?.latency_us.mean)?;
    let response_us = alone_us.max(positive(on_a_connection_us(trial))?);
    let in_use = trial.rates.concurrency >= POOL_IN_USE * most;
    let further = sweep.iter().any(|step| clients(step) > most);
    (in_use && !further && !holds(trial, limits) && response_us <= (1.0 + POOL_SLOWED) * alone_us).then_some(OwnLimit {
        offered_rate: trial.rates.offered_rate,
        connections: max_connections,
        response_us,
    })
}

/// Returns the mean time for which a request occupied a connection, microseconds. With one connection per request, the
/// time on a connection includes the time to connect.
fn on_a_connection_us(trial: &Trial) -> f64 {
    trial.service_us.mean + if trial.tally.connected > 1 + trial.tally.sent / 2 { trial.connect_us.mean } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use run::{Arrival, Intensity, Run, TrialKind};

    use crate::planted::PlantedRun;

    /// Makes a run with a server 40 ms away, and with eight connections in the search. The sweep has up to 8 clients,
    /// and each client adds throughput.
    fn far(service_us: f64) -> Run {
        let mut run = PlantedRun::new(40_000.0, 200.0).rates(&[0.6, 0.9, 1.2]).run();
        run.trials.retain(|t| t.kind != TrialKind::Sweep || t.intensity.in_flight().is_some_and(|n| n <= 8.0));
        for trial in run.trials.iter_mut().filter(|t| t.kind == TrialKind::Search) {
            let rate = trial.rates.offered_rate;
            trial.intensity = Intensity::Open { rate, arrival: Arrival::Poisson, max_connections: 8, pipeline: 1 };
            trial.service_us.mean = service_us;
            trial.rates.concurrency = (rate * service_us / 1e6).min(8.0);
        }
        run
    }

    #[test]
    fn a_full_pool_before_an_idle_server_is_no_failure_of_the_server() {
        let mut run = far(40_100.0);
        crate::judge(&mut run);
        let capacity = run.findings.capacity.unwrap();
        let own = capacity.own_limit.unwrap();
        assert!(own.connections == 8 && (own.offered_rate - 240.0).abs() < 1.0, "{own:?}");
        assert!(capacity.held && capacity.failed_at.is_none() && capacity.rate > 175.0, "{capacity:?}");
    }

    #[test]
    fn a_server_that_slows_down_fails_by_itself() {
        let mut run = far(80_000.0);
        crate::judge(&mut run);
        let capacity = run.findings.capacity.unwrap();
        assert!(capacity.own_limit.is_none() && capacity.failed_at.is_some(), "{capacity:?}");
    }

    #[test]
    fn a_sweep_that_went_further_than_the_pool_shows_the_servers_limit() {
        let mut run = far(40_100.0);
        let mut more = run.trials.iter().rfind(|t| t.kind == TrialKind::Sweep).unwrap().clone();
        more.intensity = Intensity::Closed { connections: 16, pipeline: 1, think: run::ThinkTime::default() };
        run.trials.insert(0, more);
        crate::judge(&mut run);
        assert!(run.findings.capacity.unwrap().own_limit.is_none());
    }
}

//! Servers whose workers keep their connections. Each worker accepts one connection, and answers only requests on this
//! connection until it ends. All other connections wait unanswered, however little the server has to do. Examples are
//! Apache's prefork processes, synchronous workers with keep-alive, and a single-threaded server.

use run::{Intensity, Trial, TrialKind};

use crate::context::single::closed;
use crate::thresholds::{PLACES_APART, SERVES_SOME};

/// Returns the number of connections on which a server answers at the same time, if it leaves further connections
/// unanswered. Returns `None` if the steps of the sweep in `trials` do not show such a number.
///
/// A server that takes its requests in turn may also leave connections unanswered, if a step is short or some of the
/// connections were lost. With more connections, such a server answers on more of them. From the first step with
/// unanswered connections on, all steps must therefore have about the same number of answered connections.
pub fn served_connections(trials: &[Trial]) -> Option<u32> {
    let mut steps: Vec<(u32, &Trial)> = trials.iter().filter_map(of_sweep).collect();
    steps.sort_by_key(|(connections, _)| *connections);
    let each = steps.iter().map(|(connections, step)| served_of(step, *connections)).skip_while(Option::is_none);
    let served = each.collect::<Option<Vec<u32>>>()?;
    let (fewest, most) = (served.iter().min()?, served.iter().max()?);
    let apart = f64::from(most - fewest);
    (apart <= (PLACES_APART * f64::from(*most)).max(1.0)).then_some(served[0])
}

/// Returns the number of connections of a step of the sweep, with the step.
fn of_sweep(trial: &Trial) -> Option<(u32, &Trial)> {
    let Intensity::Closed { connections, .. } = trial.intensity else { return None };
    (trial.kind == TrialKind::Sweep && closed(trial)).then_some((connections, trial))
}

/// Returns the number of answered connections of a step, if the step also has unanswered ones. Each answered connection
/// must have several answers. In the time of several answers, a server that takes requests in turn would also have
/// served the other connections. Returns `None` for a load that opens a connection for each request.
fn served_of(step: &Trial, connections: u32) -> Option<u32> {
    let tally = &step.tally;
    let opened = tally.connected.min(u64::from(connections));
    let served = opened.checked_sub(tally.phantom).filter(|served| *served > 0)?;
    let reuses = tally.connected <= 1 + tally.sent / 2;
    let answers_each = tally.completed as f64 / served as f64;
    let is_some = tally.phantom > 0 && reuses && answers_each >= SERVES_SOME;
    is_some.then(|| u32::try_from(served).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use run::{Run, Tally};

    use super::*;
    use crate::planted::PlantedRun;

    /// Makes a sweep. Each step has the given numbers of clients, of unanswered connections, and of answers.
    fn sweep(steps: &[(u32, u64, u64)]) -> Run {
        let clients: Vec<u32> = steps.iter().map(|(clients, ..)| *clients).collect();
        let mut run = PlantedRun::new(20_000.0, 400.0).steps(&clients).rates(&[]).run();
        for trial in run.trials.iter_mut().filter(|trial| trial.kind == TrialKind::Sweep) {
            let clients = trial.intensity.in_flight().unwrap_or_default() as u32;
            let Some((_, phantom, completed)) = steps.iter().find(|(n, ..)| *n == clients) else { continue };
            let (connected, sent) = (u64::from(clients), completed + phantom);
            trial.tally = Tally { connected, sent, completed: *completed, phantom: *phantom, ..trial.tally.clone() };
        }
        run
    }

    fn served(steps: &[(u32, u64, u64)]) -> Option<u32> {
        served_connections(&sweep(steps).trials)
    }

    #[test]
    fn a_server_with_a_connection_per_worker_serves_a_fixed_number() {
        assert_eq!(served(&[(8, 0, 400), (16, 6, 400), (32, 22, 400)]), Some(10));
        assert_eq!(served(&[(1, 0, 400), (2, 1, 400)]), Some(1), "a single-threaded server");
        assert_eq!(served(&[(8, 0, 400), (16, 0, 400), (32, 0, 400)]), None);
    }

    #[test]
    fn a_server_that_has_not_come_to_all_connections_yet_is_none() {
        assert_eq!(served(&[(8, 0, 40), (16, 0, 40), (32, 4, 40)]), None, "one answer each");
        assert_eq!(served(&[(32, 2, 4000), (64, 3, 4000), (128, 5, 4000)]), None, "some were lost in each step");
        assert_eq!(served(&[(32, 2, 4000), (64, 0, 4000)]), None, "and were not lost in the next one");
    }

    #[test]
    fn connections_for_single_requests_show_no_workers() {
        let mut run = sweep(&[(8, 0, 400), (16, 6, 400)]);
        run.trials.iter_mut().for_each(|trial| trial.tally.connected = trial.tally.sent);
        assert_eq!(served_connections(&run.trials), None);
    }
}

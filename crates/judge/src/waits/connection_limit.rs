//! A limit on the server's connections: the server holds a constant number of connections, while others wait to be
//! accepted.

use run::number::number;
use run::{Bottleneck, Trial, WaitProfile};

use super::explain::line;
use super::pools::MIN_MEMBERS;
use crate::thresholds::{LIMIT_CONNECTS, LIMIT_READINGS, WAIT_FEW, WAIT_QUEUE};

/// Adds a limit on connections to the evidence and the advice of a verdict that may follow from this limit.
pub(crate) fn explain_connection_limit(verdict: &mut Bottleneck, run: &run::Run) {
    if !matches!(verdict.id.as_str(), "unknown" | "server-concurrency" | "accept-queue") {
        return;
    }
    let trial = run.sampled_trial().and_then(|at| run.trials.get(at));
    let Some((process, open, queued)) = trial.and_then(limit) else { return };
    let [open_text, queued_text] = [open, queued].map(number);
    let text =
        format!("{process} never held more than {open_text} connections, and {queued_text} more waited to be accepted");
    verdict.evidence.push(line(&text, process, open));
    let advice = format!("Raise the limit of connections of {process} (nginx: worker_connections) above {open_text}.");
    verdict.advice.insert(0, advice);
}

/// Returns the process of an event loop, its constant number of connections, and the mean number of connections that
/// wait to be accepted.
fn limit(trial: &Trial) -> Option<(&str, f64, f64)> {
    let profile: &WaitProfile = trial.server.as_ref()?.waits.as_deref()?;
    let clients = profile.clients.as_ref().filter(|clients| clients.readings >= LIMIT_READINGS as u64)?;
    let process = profile.processes.iter().find(|process| process.epoll && !process.behind)?;
    let is_constant = clients.open >= MIN_MEMBERS && clients.max_open <= clients.open + WAIT_FEW;
    let keeps = trial.tally.attempted as f64 <= LIMIT_CONNECTS * trial.tally.completed as f64;
    (is_constant && keeps && clients.max_open > 0.0 && clients.queued >= WAIT_QUEUE).then_some((
        process.process.as_str(),
        clients.max_open,
        clients.queued,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::process;
    use super::*;
    use run::{ClientConnections, Run, Side, ThreadState};

    /// Returns a run in which an event loop holds 36 connections and 15 wait to be accepted.
    fn planted(change: impl FnOnce(&mut Trial, &mut WaitProfile)) -> Run {
        let mut profile = process(1.0, &[(ThreadState::Events, "", 0.5), (ThreadState::OnCpu, "", 0.5)]);
        profile.processes[0].epoll = true;
        let clients = ClientConnections { readings: 3, open: 36.0, max_open: 36.0, queued: 15.0, ..Default::default() };
        profile.clients = Some(clients);
        let tally = run::Tally { attempted: 72_000, completed: 370_000, ..run::Tally::default() };
        let mut trial = Trial { tally, ..Trial::default() };
        change(&mut trial, &mut profile);
        trial.server = Some(Side { waits: Some(Box::new(profile)), ..Side::default() });
        Run { trials: vec![trial], ..Run::default() }
    }

    /// Returns the advice that this run adds to a verdict.
    fn advice(id: &str, run: &Run) -> Vec<String> {
        let mut verdict = Bottleneck { id: id.into(), ..Bottleneck::default() };
        explain_connection_limit(&mut verdict, run);
        assert_eq!(verdict.evidence.len(), verdict.advice.len());
        verdict.advice
    }

    #[test]
    fn a_constant_number_of_connections_beside_a_queue_of_others_is_a_limit() {
        let told = ["Raise the limit of connections of app:7 (nginx: worker_connections) above 36."];
        assert_eq!(advice("unknown", &planted(|_, _| ())), told);
        assert!(advice("server-cpu", &planted(|_, _| ())).is_empty());
        type Change = fn(&mut ClientConnections);
        let changes: [(&str, Change); 5] = [
            ("no queue", |c| c.queued = 0.1),
            ("a number that grows", |c| c.max_open = 40.0),
            ("few readings", |c| c.readings = 2),
            ("one connection at a time", |c| (c.open, c.max_open) = (1.0, 1.0)),
            ("a run of an older version", |c| c.max_open = 0.0),
        ];
        for (why, change) in changes {
            let run = planted(|_, profile| profile.clients.iter_mut().for_each(change));
            assert!(advice("unknown", &run).is_empty(), "{why}");
        }
        let fresh = planted(|trial, _| trial.tally.attempted = trial.tally.completed);
        assert!(advice("unknown", &fresh).is_empty(), "a connection per request");
        let threads = planted(|_, profile| profile.processes[0].epoll = false);
        assert!(advice("unknown", &threads).is_empty(), "a worker per connection");
    }
}

//! Servers that stop answering as soon as the load has more clients. Reasons are a limited number of connections, or
//! parts of the server that wait for each other (deadlock).

use run::Trial;

use crate::Facts;
use crate::context::single::{clients, closed};
use crate::number::{counted, duration, figure};

/// Describes the first closed loop that got no answer, and the closed loop before it, which got answers. Returns `None`
/// if every closed loop after the first answered one got answers, or if the load could not connect.
pub(crate) fn standstill(facts: &Facts<'_>) -> Option<String> {
    let loops: Vec<&Trial> = facts.run.trials.iter().filter(|t| closed(t) && !t.kind.is_auxiliary()).collect();
    let is_answered = |trial: &&Trial| trial.measured.tally.completed > 0;
    let stopped = |pair: &&[&Trial]| {
        let (before, after) = (pair[0], pair[1]);
        let connected = after.tally.errors.0.is_empty() && after.tally.connected >= before.tally.connected;
        is_answered(&before) && !is_answered(&after) && clients(after) > clients(before) && connected
    };
    let pair = loops.windows(2).find(stopped)?;
    let (before, after) = (pair[0], pair[1]);
    let few = counted(clients(before), "client");
    Some(format!(
        "with {} no request was answered for {}, although {few} got {} answers/s, {} each: the server serves only {few} at a time, or hangs",
        counted(clients(after), "client"),
        duration(after.measured.length_s * 1e6),
        figure(before.rates.completed_rate),
        duration(before.latency_us.p50),
    ))
}

#[cfg(test)]
mod tests {
    use crate::planted::PlantedRun;

    /// This test imitates a proxy with keep-alive connections to servers that handle one connection at a time. The
    /// server answers one client, and never answers with two clients.
    #[test]
    fn a_server_that_stops_answering_is_told_with_its_load() {
        let told = |stops_at: f64, fails: bool| {
            let mut run = PlantedRun::new(15_625.0, 1e9)
                .steps(&[1, 2])
                .rates(&[])
                .change(move |trial, point| {
                    if point.n >= stops_at {
                        (trial.measured.tally.completed, trial.rates.completed_rate) = (0, 0.0);
                        if fails {
                            trial.tally.errors.0.insert(run::ErrorKind::ConnectRefused, 2);
                        }
                    }
                })
                .run();
            run.plan.command = "find".into();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let stopped = told(2.0, false);
        assert!(stopped.id == "unknown" && stopped.confidence == 0.0, "{stopped:#?}");
        assert!(stopped.sentence.starts_with("with 2 clients no request was answered for"), "{stopped:#?}");
        assert!(stopped.sentence.contains("although 1 client got 64"), "{stopped:#?}");
        for other in [told(3.0, false), told(2.0, true)] {
            assert!(!other.sentence.contains("no request was answered"), "{other:#?}");
        }
    }
}

//! Fills [`run::Side::counters`]: one reading of each counter of a side for the measured window.
//!
//! The readings of a counter's instances are combined as its row in [`run::COUNTERS`] says ([`run::Aggregation`]).
//! Readings of the counters `process.*` and `thread.*` include only the processes of one side (client or server).
//! Readings of the counters `cpu.*` come from the instance `total`, which stands for all CPUs.

use std::collections::BTreeMap;

use run::{Aggregation, CounterId, Reading, RecordedCounter, Run, Side, Trial, Window, counter};

/// Returns the measured window of a trial. If the trial has no measured window, returns the whole trial.
pub(crate) fn window_of(trial: &run::Trial) -> Window {
    let w = trial.measured.window;
    if w.length_s() > 0.0 && w.begin_s.is_finite() && w.end_s.is_finite() { w } else { Window::ALL }
}

/// Fills the counters of all sides of all trials, and those that were read before any load.
pub(crate) fn derive(run: &mut Run) {
    derive_rest(&mut run.at_rest);
    run.trials.iter_mut().for_each(derive_trial);
}

/// Fills the counters of the recordings that were made before any load.
pub(crate) fn derive_rest(at_rest: &mut [Side]) {
    at_rest.iter_mut().for_each(|side| side.counters = counters(side, Window::ALL));
}

/// Fills in the counters of all sides (the client's and the server's) of one trial.
pub(crate) fn derive_trial(trial: &mut Trial) {
    let window = window_of(trial);
    trial.client.counters = counters(&trial.client, window);
    for host in &mut trial.client_hosts {
        host.counters = counters(host, window);
    }
    if let Some(server) = &mut trial.server {
        server.counters = counters(server, window);
    }
}

fn counters(side: &Side, window: Window) -> BTreeMap<CounterId, Reading> {
    let own = side.instance_filter();
    let reading = |(id, recorded): (&CounterId, RecordedCounter<'_>)| {
        let values = recorded.columns.iter().filter(|c| own.counts(id.as_str(), &c.instance));
        let values = values.filter_map(|c| side.recording.over(c, window).value());
        (id.clone(), together(id.as_str(), values).unwrap_or_else(|| recorded.why_absent(id.as_str())))
    };
    side.recording.by_counter().into_iter().map(reading).collect()
}

/// Combines the readings of all instances into one reading.
fn together(id: &str, values: impl Iterator<Item = f64>) -> Option<Reading> {
    let found = counter(id).map_or(Aggregation::Sum, |spec| spec.together).combine(values)?;
    Some(if found.is_finite() { Reading::Value(found) } else { Reading::absent(format!("{id} is not a number")) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Column, Recording};

    fn column(id: &'static str, instance: &str, values: &[f64]) -> Column {
        Column {
            counter: CounterId::new(id),
            instance: instance.into(),
            values: values.iter().copied().map(Some).collect(),
        }
    }

    fn side(columns: Vec<Column>) -> Side {
        let recording = Recording { t_s: vec![0.0, 1.0], columns, ..Recording::default() };
        Side { processes: vec!["nginx:7".into(), "nginx:8".into()], recording, ..Side::default() }
    }

    #[test]
    fn only_own_processes_count_and_they_add_up() {
        let s = side(vec![
            column("process.cpu", "nginx:7", &[0.0, 5.0]),
            column("process.cpu", "nginx:8", &[0.0, 6.0]),
            column("process.cpu", "other:77", &[0.0, 100.0]),
            column("thread.cpu", "worker:8/9", &[0.0, 3.0]),
        ]);
        let c = counters(&s, Window::ALL);
        assert_eq!(c[&CounterId::new("process.cpu")], Reading::Value(11.0));
        assert_eq!(c[&CounterId::new("thread.cpu")], Reading::Value(3.0));
    }

    #[test]
    fn processors_take_the_total_and_limits_the_largest() {
        let s = side(vec![
            column("cpu.user", "0", &[0.0, 5.0]),
            column("cpu.user", "total", &[0.0, 9.0]),
            column("process.fd_limit", "nginx:7", &[10.0, 10.0]),
            column("process.fd_limit", "nginx:8", &[20.0, 20.0]),
        ]);
        let c = counters(&s, Window::ALL);
        assert_eq!(c[&CounterId::new("cpu.user")], Reading::Value(9.0));
        assert_eq!(c[&CounterId::new("process.fd_limit")], Reading::Value(20.0));
    }

    #[test]
    fn counters_that_could_not_be_read_stay_absent_with_a_reason() {
        let mut s = side(vec![]);
        let reason = "no permission".to_string();
        s.recording.absent.push(run::Absence {
            counter: CounterId::new("process.fds"),
            instance: String::new(),
            reason,
        });
        assert_eq!(counters(&s, Window::ALL)[&CounterId::new("process.fds")], Reading::absent("no permission"));
    }
}

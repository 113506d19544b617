//! Resources that a server's processes hold during a trial: accepted connections, memory, threads and descriptors.
//! Resources that the server holds are read on its host, because a client cannot know which of its connections still
//! wait in the accept queue. This module also finds the trial's bottleneck, and the reason if fewer connections were
//! held than attempted.

mod ended;
mod levels;
mod limited;

use std::net::SocketAddr;

use run::{Recording, Trial, Window};

pub(super) use levels::Levels;
pub(super) use limited::put_limited;

use ended::Ended;
use levels::Looks;

use super::values::{THREADS, THREADS_AT_REST};
use crate::values::{CONNECTIONS, HELD, MEMORY_PER_CONNECTION_BYTES, PROCESSES};

/// Resources that a server's processes hold during a trial.
#[derive(Clone, Debug, Default)]
pub(super) struct HeldResources {
    /// Summary of the samples of each server process.
    each: Vec<Looks>,
    /// Descriptor limit of each process; `None` if unknown.
    limits: Vec<Option<f64>>,
}

impl HeldResources {
    /// Reads the gauges of server processes from a recording. `servers` has the ID and the listening address of each
    /// process.
    pub(super) fn of(recording: &Recording, servers: &[(u32, SocketAddr)]) -> Self {
        let looks = |(pid, addr): &(u32, SocketAddr)| Looks::of(recording, *pid, &addr.to_string());
        let limit = |(pid, _): &(u32, SocketAddr)| {
            let of_pid = |instance: &str| run::Instance::read(instance).is_some_and(|i| i.pid == *pid);
            let column = recording.columns_of("process.fd_limit").find(|c| of_pid(&c.instance))?;
            recording.most(column, Window::ALL)
        };
        Self { each: servers.iter().map(looks).collect(), limits: servers.iter().map(limit).collect() }
    }

    /// Stores the numbers of processes, threads and held connections, and the memory per connection, in a trial's
    /// results. If the server held fewer connections than attempted, returns the reason.
    pub(super) fn put(&self, trial: &mut Trial) -> Option<Ended> {
        let (rest, most) = (self.sum(|one| one.rest), self.sum(|one| one.most));
        trial.key.put(PROCESSES, u32::try_from(self.each.len()).ok());
        let results = &mut trial.results;
        results.put(THREADS, most.threads);
        results.put(THREADS_AT_REST, rest.threads);
        put(trial, most.accepted, Some((most.rss_bytes - rest.rss_bytes).max(0.0)), |trial| {
            self.descriptors().unwrap_or_else(|| Ended::by_errors(trial, most.threads))
        })
    }

    /// Returns the gauges of each process at a moment at which its numbers of connections and threads did not change.
    /// Returns `None` if the numbers of connections and threads of some process changed all the time.
    pub(super) fn still(&self) -> Option<Vec<Levels>> {
        let still: Option<Vec<Levels>> = self.each.iter().map(|one| one.still).collect();
        still.filter(|s| !s.is_empty())
    }

    fn sum(&self, of: fn(&Looks) -> Levels) -> Levels {
        self.each.iter().map(of).fold(Levels::default(), Levels::plus)
    }

    /// Returns the descriptor limit as the reason for too few connections, if a process came close to its limit.
    fn descriptors(&self) -> Option<Ended> {
        let most = self.each.iter().map(|one| one.most).zip(&self.limits);
        most.filter_map(|(most, limit)| Ended::by_descriptors(&most, (*limit)?)).next()
    }
}

/// Stores the number of held connections, and the server's memory per connection, in a trial's results. `grown` is the
/// growth of the server's resident memory, bytes. If the server held fewer connections than attempted, adds a note with
/// the reason that `ended` returns, and returns this reason.
fn put(trial: &mut Trial, held: f64, grown: Option<f64>, ended: impl FnOnce(&Trial) -> Ended) -> Option<Ended> {
    let attempted = f64::from(trial.key.get(CONNECTIONS).unwrap_or(0));
    let results = &mut trial.results;
    results.put(HELD, held);
    results.put(MEMORY_PER_CONNECTION_BYTES, grown.filter(|_| held > 0.0).map(|grown| grown / held));
    let ended = (held < attempted).then(|| ended(trial))?;
    trial.notes.push(format!("held {held} of {attempted} connections; ended by {}", ended.words));
    Some(ended)
}

/// Stores the numbers of threads and of held connections, and the memory per connection, for a server on another host.
/// The numbers of threads and connections, and the memory, come from the counts that the server itself reports. If the
/// server held fewer connections than attempted, returns the reason. Returns `None` if the server reported no counts.
pub(super) fn put_counted(trial: &mut Trial) -> Option<Ended> {
    trial.key.put(PROCESSES, 1);
    let recording = &trial.server.as_ref()?.recording;
    let threads = ends_of(recording, "server.threads");
    let held = ends_of(recording, "server.connections").map(|(_, most)| most);
    let grown = ends_of(recording, "process.rss").map(|(first, most)| most - first);
    let (rest, most) = threads.unzip();
    trial.results.put(THREADS_AT_REST, rest);
    trial.results.put(THREADS, most);
    put(trial, held?, grown, |trial| Ended::by_errors(trial, threads.map_or(f64::NAN, |(_, most)| most)))
}

/// Adds up a gauge over all its instances: returns the sum of the first values and the sum of the largest values.
fn ends_of(recording: &Recording, id: &str) -> Option<(f64, f64)> {
    let columns = recording.columns_of(id).filter_map(|column| {
        let mut known = column.values.iter().copied().flatten();
        let first = known.next()?;
        Some((first, known.fold(first, f64::max)))
    });
    columns.reduce(|a, b| (a.0 + b.0, a.1 + b.1))
}

/// Returns the mean growth of a counter per second, between its first and its last sample in a window.
pub(super) fn growth_per_s(recording: &Recording, id: &str, window: Window) -> Option<f64> {
    let samples = recording.columns_of(id).next()?.values.iter().zip(&recording.t_s);
    let mut inside = samples.filter_map(|(value, t_s)| Some((*t_s, (*value)?))).filter(|(t_s, _)| window.holds(*t_s));
    let (first, last) = (inside.next()?, inside.next_back()?);
    Some((last.1 - first.1).max(0.0) / (last.0 - first.0).max(1e-9))
}

#[cfg(test)]
mod tests {
    use run::{Column, CounterId, ErrorKind, Key, Side};

    use super::*;

    fn column(id: &'static str, instance: &str, values: &[Option<f64>]) -> Column {
        Column { counter: CounterId::new(id), instance: instance.into(), values: values.to_vec() }
    }

    fn trial() -> Trial {
        Trial { key: Key::default().with(CONNECTIONS, 200), ..Trial::default() }
    }

    /// Returns a recording of a process with `accepted` connections, `threads` threads, and `limit` as its descriptor
    /// limit.
    fn recording(accepted: f64, threads: f64, limit: f64) -> Recording {
        let levels = |rest: f64, full: f64| [Some(rest), Some(full), Some(full)];
        let columns = vec![
            column("listen.accepted", "127.0.0.1:7", &levels(0.0, accepted)),
            column("listen.waiting", "127.0.0.1:7", &levels(0.0, 0.0)),
            column("process.rss", "loadline:50", &[Some(1e6), None, Some(1e6 + accepted * 100.0)]),
            column("process.threads", "loadline:50", &levels(2.0, threads)),
            column("process.threads", "other:51", &levels(9.0, 9.0)),
            column("process.fds", "loadline:50", &levels(20.0, 20.0 + accepted)),
            column("process.fd_limit", "loadline:50", &[Some(limit), None, None]),
        ];
        Recording { t_s: vec![0.0, 1.0, 2.0], columns, ..Recording::default() }
    }

    fn held(recording: &Recording) -> HeldResources {
        HeldResources::of(recording, &[(50, SocketAddr::from(([127, 0, 0, 1], 7)))])
    }

    #[test]
    fn gauges_come_from_the_process_and_its_listening_socket() {
        let (mut trial, held) = (trial(), held(&recording(126.0, 4.0, 1024.0)));
        let ended = held.put(&mut trial);
        let r = &trial.results;
        assert_eq!((r.get(HELD), r.get(THREADS), r.get(THREADS_AT_REST)), (Some(126.0), Some(4.0), Some(2.0)));
        assert_eq!((trial.key.get(PROCESSES), r.get(MEMORY_PER_CONNECTION_BYTES)), (Some(1), Some(100.0)));
        assert_eq!(held.still().map(|s| (s.len(), s[0].accepted, s[0].threads)), Some((1, 126.0, 4.0)));
        assert!(ended.is_some_and(|e| e.id.is_none() && e.words.starts_with("time")));
    }

    #[test]
    fn a_shortfall_is_explained_by_threads_or_descriptors() {
        let mut refused = trial();
        refused.tally.errors.0.insert(ErrorKind::Reset, 5);
        let id = |trial: &mut Trial, accepted, limit| held(&recording(accepted, 9.0, limit)).put(trial).map(|e| e.id);
        assert_eq!(id(&mut refused, 195.0, 1024.0), Some(Some("server-concurrency")));
        assert_eq!(id(&mut refused, 195.0, 256.0), Some(Some("server-fds")));
        assert_eq!(id(&mut trial(), 200.0, 256.0), None);
    }

    #[test]
    fn counts_of_a_server_on_another_host_are_used() {
        let columns = vec![
            column("server.connections", "", &[Some(0.0), Some(150.0), Some(120.0)]),
            column("server.threads", "", &[Some(1.0), None, Some(3.0)]),
            column("server.bytes_in", "", &[Some(5.0), Some(10.0), Some(50.0)]),
        ];
        let recording = Recording { t_s: vec![0.5, 1.0, 3.0], columns, ..Recording::default() };
        let window = Window { begin_s: 0.9, end_s: 3.1 };
        assert_eq!(growth_per_s(&recording, "server.bytes_in", window), Some(20.0));
        assert_eq!(growth_per_s(&recording, "server.bytes_out", window), None);
        let mut trial = Trial { server: Some(Side { recording, ..Side::default() }), ..trial() };
        assert!(put_counted(&mut trial).is_some());
        let r = &trial.results;
        assert_eq!((r.get(HELD), r.get(THREADS_AT_REST), r.get(THREADS)), (Some(150.0), Some(1.0), Some(3.0)));
    }
}

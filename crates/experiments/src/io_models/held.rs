//! What the server's processes really hold while a trial runs: sockets that were accepted, memory, threads, descriptors;
//! and what ended it where that is less than was attempted. The client's own counts cannot know what waits in the accept
//! queue, so the processes are looked at from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use run::{ErrorKind, Trial};

use super::looks::{Levels, Looks};

/// Between two looks; longer where looks are dear: who looks must not take the processor that is measured.
const EVERY: Duration = Duration::from_millis(250);
const LOOKING_SHARE: u64 = 10;

/// A look at server processes that goes on until it is ended.
pub(super) struct Held {
    stop: Arc<AtomicBool>,
    looking: JoinHandle<Vec<Looks>>,
    rest: Levels,
}

/// What was seen.
pub(super) struct Seen {
    rest: Levels,
    most: Levels,
    /// Of each server process.
    each: Vec<Looks>,
}

/// What ended it: the bottleneck's id where that is told, and in words.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ended {
    pub(super) id: Option<&'static str>,
    pub(super) words: String,
}

impl Held {
    /// Watches processes of one host, with their ports.
    pub(super) fn watch(servers: Vec<(u32, u16)>) -> Self {
        let at_rest = look(&servers);
        let rest = sum(&at_rest);
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let looking = std::thread::spawn(move || watch(&servers, &at_rest, &told));
        Self { stop, looking, rest }
    }

    pub(super) fn end(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        self.looking.thread().unpark();
        let each = self.looking.join().unwrap_or_default();
        let most: Vec<Levels> = each.iter().map(|one| one.most).collect();
        Seen { rest: self.rest, most: sum(&most), each }
    }
}

fn watch(servers: &[(u32, u16)], at_rest: &[Levels], stop: &AtomicBool) -> Vec<Looks> {
    let (begin, mut pause) = (Instant::now(), EVERY);
    let mut each: Vec<Looks> = at_rest.iter().map(|rest| Looks::begin(*rest)).collect();
    while !stop.load(Ordering::Relaxed) {
        std::thread::park_timeout(pause);
        let (t_s, before_ns) = (begin.elapsed().as_secs_f64(), sys::clock::thread_cpu_ns());
        each.iter_mut().zip(look(servers)).for_each(|(looks, now)| looks.add(t_s, now));
        let took_ns = sys::clock::thread_cpu_ns().saturating_sub(before_ns);
        pause = EVERY.max(Duration::from_nanos(took_ns * LOOKING_SHARE));
    }
    each
}

fn look(servers: &[(u32, u16)]) -> Vec<Levels> {
    servers.iter().map(|(pid, port)| Levels::of(*pid, *port)).collect()
}

fn sum(levels: &[Levels]) -> Levels {
    levels.iter().fold(Levels::default(), |sum, one| sum.plus(*one))
}

/// Threads beyond those at rest that a model makes for the connections of one process.
fn rule(model: &str, held: f64) -> Option<f64> {
    match model {
        "event-groups" => Some((held / 63.0).ceil()),
        "uring-groups" => Some((held / 62.0).ceil()),
        "blocking" => Some(2.0 * held),
        _ => None,
    }
}

impl Seen {
    /// Writes it among the results of a trial of a model; gives what ended it where not everything was held.
    pub(super) fn put(&self, trial: &mut Trial, model: &str) -> Option<Ended> {
        let attempted = f64::from(trial.key.connections.unwrap_or(0));
        let (rest, most) = (self.rest, self.most);
        let length_s = trial.measured.length_s.max(1e-9);
        trial.key.processes = u32::try_from(self.each.len()).ok();
        let results = &mut trial.results;
        results.held = Some(most.accepted);
        results.threads = Some(most.threads);
        results.threads_at_rest = Some(rest.threads);
        let grown = (most.rss_bytes - rest.rss_bytes).max(0.0);
        results.memory_per_connection_bytes = (most.accepted > 0.0).then(|| grown / most.accepted);
        results.bytes_per_s = Some(trial.measured.tally.bytes_received as f64 / length_s);
        self.put_threads(trial, model);
        let ended = (most.accepted < attempted).then(|| self.ended_by(trial))?;
        trial.notes.push(format!("held {} of {attempted} connections; ended by {}", most.accepted, ended.words));
        Some(ended)
    }

    /// Threads that the rule asks for, and those that were there, in quiet moments of all processes.
    fn put_threads(&self, trial: &mut Trial, model: &str) {
        if rule(model, 0.0).is_none() {
            return;
        }
        let still: Option<Vec<Levels>> = self.each.iter().map(|one| one.still).collect();
        let Some(still) = still.filter(|s| !s.is_empty()) else {
            trial.notes.push("its threads are not held against the rule: connections came all the time".into());
            return;
        };
        let sum = |of: &dyn Fn(&Levels) -> f64| still.iter().map(of).sum::<f64>();
        trial.results.threads_by_rule = Some(sum(&|s| rule(model, s.accepted).unwrap_or(0.0)));
        trial.results.threads_then = Some(sum(&|s| s.threads));
        trial.results.held_then = Some(sum(&|s| s.accepted));
    }

    fn ended_by(&self, trial: &Trial) -> Ended {
        let limit = sys::limits::descriptors().0 as f64;
        // Rings keep their connections in a table of their own, of the same size as the limit.
        let full = |one: &Looks| one.most.descriptors + 100.0 >= limit || one.most.accepted + 100.0 >= limit;
        if self.each.iter().any(full) {
            let words = format!("descriptors: one process may have {limit} (RLIMIT_NOFILE)");
            return Ended { id: Some("server-fds"), words };
        }
        Ended::by_errors(trial, self.most.threads)
    }
}

impl Ended {
    /// What the clients' errors say of it, where the server had so many threads.
    pub(super) fn by_errors(trial: &Trial, threads: f64) -> Self {
        let errors = |kind: ErrorKind| trial.tally.errors.0.get(&kind).copied().unwrap_or(0);
        let (id, words) = if errors(ErrorKind::ClientPorts) > 0 {
            (Some("client-ports"), "the client's ports".into())
        } else if errors(ErrorKind::ClientFds) > 0 {
            (Some("client-fds"), "the client's descriptors".into())
        } else if errors(ErrorKind::Reset) > 0 {
            let words = format!("the server's refusals: no more threads than {threads} (max_threads, or the system's)");
            (Some("server-concurrency"), words)
        } else {
            (None, "time: the server had not accepted the others when the trial ended".into())
        };
        Self { id, words }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::Key;

    fn trial() -> Trial {
        Trial { key: Key { connections: Some(200), ..Key::default() }, ..Trial::default() }
    }

    fn seen(levels: Levels) -> Seen {
        let mut looks = Looks::begin(Levels::default());
        (0..2).for_each(|t| looks.add(f64::from(t), levels));
        Seen { rest: Levels { threads: 2.0, ..Levels::default() }, most: looks.most, each: vec![looks] }
    }

    #[test]
    fn threads_are_held_against_the_rule_of_their_moment() {
        let levels = Levels { accepted: 126.0, threads: 4.0, ..Levels::default() };
        let mut trial = trial();
        let ended = seen(levels).put(&mut trial, "event-groups");
        let r = &trial.results;
        assert_eq!((r.threads_by_rule, r.threads_then, r.held_then), (Some(2.0), Some(4.0), Some(126.0)));
        assert!(ended.is_some_and(|e| e.id.is_none() && e.words.starts_with("time")));
    }

    #[test]
    fn refusals_are_threads_and_all_held_is_no_end() {
        let mut refused = trial();
        refused.tally.errors.0.insert(ErrorKind::Reset, 5);
        let levels = Levels { accepted: 195.0, threads: 390.0, ..Levels::default() };
        assert_eq!(seen(levels).put(&mut refused, "blocking").and_then(|e| e.id), Some("server-concurrency"));
        assert_eq!(seen(Levels { accepted: 200.0, ..levels }).put(&mut trial(), "blocking"), None);
    }
}

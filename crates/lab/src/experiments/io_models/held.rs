//! What the server's process really holds while a trial runs: sockets that were accepted, memory, threads, descriptors.
//! Looked at from outside, four times a second; the client's own counts cannot know what waits in the accept queue.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use run::{ErrorKind, Trial};

const EVERY: Duration = Duration::from_millis(250);

/// The levels at one moment, or the highest of several.
#[derive(Clone, Copy, Debug, Default)]
struct Levels {
    accepted: f64,
    rss_bytes: f64,
    threads: f64,
    descriptors: f64,
}

/// The highest levels of a process, and those of the last two looks in a row that found the same connections and threads:
/// while connections come, their threads are counted a moment earlier or later.
#[derive(Clone, Copy, Debug, Default)]
struct Looks {
    most: Levels,
    still: Option<Levels>,
}

/// A look at a server process that goes on until it is ended.
pub(super) struct Held {
    stop: Arc<AtomicBool>,
    looking: JoinHandle<Looks>,
    rest: Levels,
}

/// What was seen.
pub(super) struct Seen {
    rest: Levels,
    most: Levels,
    /// Of each server process.
    each: Vec<Looks>,
}

impl Held {
    pub(super) fn watch(pid: u32, port: u16) -> Self {
        let rest = look(pid, port);
        let stop = Arc::new(AtomicBool::new(false));
        let told = stop.clone();
        let looking = std::thread::spawn(move || {
            let mut looks = Looks { most: rest, still: None };
            let mut last = rest;
            while !told.load(Ordering::Relaxed) {
                std::thread::sleep(EVERY);
                let now = look(pid, port);
                looks.add(last, now);
                last = now;
            }
            looks
        });
        Self { stop, looking, rest }
    }

    pub(super) fn end(self) -> Seen {
        self.stop.store(true, Ordering::Relaxed);
        let looks = self.looking.join().unwrap_or_default();
        Seen { rest: self.rest, most: looks.most, each: vec![looks] }
    }
}

impl Looks {
    fn add(&mut self, last: Levels, now: Levels) {
        self.most = self.most.max(now);
        let same = now.accepted > 0.0 && (now.accepted, now.threads) == (last.accepted, last.threads);
        // The fullest quiet moment: at the end connections go and their threads stay.
        if same && self.still.is_none_or(|s| now.accepted >= s.accepted) {
            self.still = Some(now);
        }
    }
}

impl Levels {
    fn max(self, o: Self) -> Self {
        Self {
            accepted: self.accepted.max(o.accepted),
            rss_bytes: self.rss_bytes.max(o.rss_bytes),
            threads: self.threads.max(o.threads),
            descriptors: self.descriptors.max(o.descriptors),
        }
    }

    fn plus(self, o: Self) -> Self {
        Self {
            accepted: self.accepted + o.accepted,
            rss_bytes: self.rss_bytes + o.rss_bytes,
            threads: self.threads + o.threads,
            descriptors: self.descriptors + o.descriptors,
        }
    }
}

/// Threads beyond those at rest that a model makes for the connections of one process.
fn rule(model: &str, held: f64) -> Option<f64> {
    match model.split([':', '+']).next() {
        Some("event-groups") => Some((held / 63.0).ceil()),
        Some("uring-groups") => Some((held / 62.0).ceil()),
        Some("blocking") => Some(2.0 * held),
        _ => None,
    }
}

fn look(pid: u32, port: u16) -> Levels {
    let proc = PathBuf::from(format!("/proc/{pid}"));
    let status = std::fs::read_to_string(proc.join("status")).unwrap_or_default();
    let field = |name: &str| -> f64 {
        let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap_or("0");
        line.trim_start_matches(':').split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0)
    };
    Levels {
        accepted: accepted(&std::fs::read_to_string(proc.join("net/tcp")).unwrap_or_default(), port),
        rss_bytes: field("VmRSS") * 1024.0,
        threads: field("Threads"),
        descriptors: std::fs::read_dir(proc.join("fd")).map_or(0.0, |d| d.count() as f64),
    }
}

/// Established sockets of a local port that have an inode: those that wait in the accept queue have none yet. Each peer
/// counts once: a table that changes while it is read can show a socket twice.
fn accepted(table: &str, port: u16) -> f64 {
    let suffix = format!(":{port:04X}");
    let held = table.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, peer, state) = (fields.next()?, fields.next()?, fields.next()?);
        let inode = fields.nth(5)?;
        (local.ends_with(&suffix) && state == "01" && inode != "0").then_some(peer)
    });
    held.collect::<HashSet<&str>>().len() as f64
}

impl Seen {
    /// All processes together.
    pub(super) fn of(seen: impl Iterator<Item = Self>) -> Self {
        let mut all = Self { rest: Levels::default(), most: Levels::default(), each: Vec::new() };
        for one in seen {
            (all.rest, all.most) = (all.rest.plus(one.rest), all.most.plus(one.most));
            all.each.extend(one.each);
        }
        all
    }

    /// Writes it on the axes of a trial, with what ended it where not everything was held.
    pub(super) fn put(&self, trial: &mut Trial) {
        let attempted = trial.axes.get("connections").copied().unwrap_or(0.0);
        let (rest, most) = (self.rest, self.most);
        let length_s = trial.measured.length_s.max(1e-9);
        let label = trial.label.clone();
        let mut put = |name: &str, value: f64| trial.axes.insert(name.into(), value);
        put("held", most.accepted);
        put("threads", most.threads);
        put("threads_at_rest", rest.threads);
        put("processes", self.each.len() as f64);
        let ruled = rule(&label, 0.0).is_some();
        if let Some((by_rule, threads)) = self.by_rule(&label) {
            put("threads_by_rule", by_rule);
            put("threads_then", threads);
        } else if ruled {
            trial.notes.push("its threads are not held against the rule: connections came all the time".into());
        }
        let mut put = |name: &str, value: f64| trial.axes.insert(name.into(), value);
        put("bytes_per_s", trial.measured.tally.bytes_received as f64 / length_s);
        if most.accepted > 0.0 {
            put("memory_per_connection_bytes", (most.rss_bytes - rest.rss_bytes).max(0.0) / most.accepted);
        }
        if most.accepted < attempted {
            let why = self.ended_by(trial);
            trial.notes.push(format!("held {} of {attempted} connections; ended by {why}", most.accepted));
        }
    }

    /// Threads that the rule asks for, and those that were there, in quiet moments of all processes.
    fn by_rule(&self, label: &str) -> Option<(f64, f64)> {
        let each = self.each.iter().map(|one| Some((rule(label, one.still?.accepted)?, one.still?.threads)));
        let each: Option<Vec<(f64, f64)>> = each.collect();
        Some(each?.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1)))
    }

    fn ended_by(&self, trial: &Trial) -> String {
        let limit = sys::limits::descriptors().0 as f64;
        let errors = |kind: ErrorKind| trial.tally.errors.0.get(&kind).copied().unwrap_or(0);
        // Rings keep their connections in a table of their own, of the same size as the limit.
        if self.each.iter().any(|one| one.most.descriptors + 100.0 >= limit || one.most.accepted + 100.0 >= limit) {
            return format!("descriptors: one process may have {limit} (RLIMIT_NOFILE)");
        }
        if errors(ErrorKind::ClientPorts) > 0 {
            return "the client's ports".into();
        }
        if errors(ErrorKind::ClientFds) > 0 {
            return "the client's descriptors".into();
        }
        if errors(ErrorKind::Reset) > 0 {
            return format!(
                "the server's refusals: no more threads than {} (max_threads, or the system's)",
                self.most.threads
            );
        }
        "time: the server had not accepted the others when the trial ended".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_in_a_quiet_moment() {
        let levels = |accepted, threads| Levels { accepted, threads, ..Levels::default() };
        let mut looks = Looks::default();
        let seen = [levels(5.0, 9.0), levels(63.0, 2.0), levels(63.0, 2.0), levels(70.0, 2.0), levels(0.0, 2.0)];
        seen.windows(2).for_each(|pair| looks.add(pair[0], pair[1]));
        let still = looks.still.map(|s| (s.accepted, s.threads));
        assert_eq!((still, looks.most.accepted), (Some((63.0, 2.0)), 70.0));
    }

    #[test]
    fn only_accepted_sockets_of_the_port_count() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 100 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000     0        0 101 1 0 20 4 30 10 -1
   2: 0100007F:1F90 0100007F:C002 01 00000000:00000000 00:00000000 00000000     0        0 0 1 0 20 4 30 10 -1
   3: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0 20 4 30 10 -1
";
        assert_eq!(accepted(table, 0x1F90), 1.0);
    }
}

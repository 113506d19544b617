//! Gauges (connections, memory, threads, descriptors) of a server process, and two summaries of many samples. The first
//! summary is the maximum of each gauge. The second summary has the values of all gauges at a moment at which the
//! numbers of connections and threads did not change.

use run::{Instance, Recording};

/// Time after which a process counts as quiet although connections wait in the accept queue, seconds. During this time,
/// the process's numbers of connections and of threads must not change. If the accept queue is empty, a process counts
/// as quiet as soon as two successive samples show equal numbers of connections and threads.
const STALLED_S: f64 = 2.0;

/// Gauges of a server process at one time, or the maximum of each gauge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Levels {
    /// Number of accepted connections.
    pub(crate) accepted: f64,
    /// Number of connections that wait in the accept queue.
    pub(crate) waiting: f64,
    /// Resident memory, bytes.
    pub(crate) rss_bytes: f64,
    /// Number of threads.
    pub(crate) threads: f64,
    /// Number of open descriptors.
    pub(crate) descriptors: f64,
}

/// Gauges of a process in three states: in its first sample (`rest`), their largest values (`most`), and in a sample at
/// which the process was quiet (`still`). While connections arrive, the numbers of threads and connections do not
/// match, because they are read at different moments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    pub(super) rest: Levels,
    pub(super) most: Levels,
    pub(super) still: Option<Levels>,
    last: Levels,
    /// Time of the last change in the number of connections or threads, seconds.
    same_since_s: f64,
}

impl Looks {
    /// Summarizes all readings (samples) of a server process and its listening socket. Samples without the number of
    /// accepted connections are left out. If another gauge is missing in a sample, the gauge's previous value is used.
    /// If a missing gauge has no previous value, the sample is left out. A missing number of descriptors without a
    /// previous value counts as 0.
    pub(super) fn of(recording: &Recording, pid: u32, listener: &str) -> Self {
        let of_pid = |instance: &str| Instance::read(instance) == Some(Instance { pid, tid: None });
        let process = |id| recording.columns_of(id).find(|c| of_pid(&c.instance));
        let columns = [
            recording.column("listen.accepted", listener),
            recording.column("listen.waiting", listener),
            process("process.rss"),
            process("process.threads"),
            process("process.fds"),
        ];
        let mut known = [None; 5];
        let mut looks: Option<Self> = None;
        for (row, t_s) in recording.t_s.iter().enumerate() {
            let read = columns.map(|column| column.and_then(|c| c.values.get(row).copied().flatten()));
            known = std::array::from_fn(|i| read[i].or(known[i]));
            // Some counters are read less often than others, because reading them is expensive. The most expensive
            // counter is the number of accepted connections, so only samples that contain the number of accepted
            // connections are used.
            let (Some(_), [Some(accepted), Some(waiting), Some(rss_bytes), Some(threads), descriptors]) =
                (read[0], known)
            else {
                continue;
            };
            let now = Levels { accepted, waiting, rss_bytes, threads, descriptors: descriptors.unwrap_or(0.0) };
            match &mut looks {
                Some(looks) => looks.add(*t_s, now),
                None => looks = Some(Self::begin(now)),
            }
        }
        looks.unwrap_or_default()
    }

    pub(super) fn begin(rest: Levels) -> Self {
        Self { rest, most: rest, last: rest, ..Self::default() }
    }

    /// Adds the gauges that were sampled at `t_s`.
    pub(super) fn add(&mut self, t_s: f64, now: Levels) {
        self.most = self.most.max(now);
        let same = (now.accepted, now.threads) == (self.last.accepted, self.last.threads);
        self.last = now;
        if !same {
            self.same_since_s = t_s;
            return;
        }
        let quiet = now.accepted > 0.0 && (now.waiting == 0.0 || t_s - self.same_since_s >= STALLED_S);
        // Of all quiet samples, the one with the most connections is kept. When the trial ends, connections close
        // before their threads end, so later samples have too many threads for their number of connections.
        if quiet && self.still.is_none_or(|s| now.accepted >= s.accepted) {
            self.still = Some(now);
        }
    }
}

impl Levels {
    pub(super) fn plus(self, o: Self) -> Self {
        self.with(o, |a, b| a + b)
    }

    fn max(self, o: Self) -> Self {
        self.with(o, f64::max)
    }

    fn with(self, o: Self, both: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            accepted: both(self.accepted, o.accepted),
            waiting: both(self.waiting, o.waiting),
            rss_bytes: both(self.rss_bytes, o.rss_bytes),
            threads: both(self.threads, o.threads),
            descriptors: both(self.descriptors, o.descriptors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn still(seen: &[(f64, Levels)]) -> Option<(f64, f64)> {
        let mut looks = Looks::begin(Levels::default());
        seen.iter().for_each(|(t_s, now)| looks.add(*t_s, *now));
        looks.still.map(|s| (s.accepted, s.threads))
    }

    fn levels(accepted: f64, waiting: f64, threads: f64) -> Levels {
        Levels { accepted, waiting, threads, ..Levels::default() }
    }

    #[test]
    fn threads_are_taken_from_the_quiet_sample_with_most_connections() {
        let (full, less) = (levels(63.0, 0.0, 2.0), levels(5.0, 0.0, 9.0));
        let coming = levels(70.0, 0.0, 2.0);
        let seen = [(0.1, less), (0.2, full), (0.3, full), (0.4, coming), (0.5, less), (0.6, less)];
        assert_eq!(still(&seen), Some((63.0, 2.0)));
    }

    #[test]
    fn a_full_process_is_quiet_but_a_pause_in_accepting_is_not() {
        let stuck = levels(2609.0, 900.0, 5217.0);
        assert_eq!(still(&[(1.0, stuck), (1.3, stuck), (1.6, levels(2700.0, 809.0, 5400.0))]), None);
        assert_eq!(still(&[(1.0, stuck), (1.3, stuck), (3.1, stuck)]), Some((2609.0, 5217.0)));
    }
}

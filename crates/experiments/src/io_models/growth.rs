//! Growth of kernel memory during the load: for each part of the memory, and per connection. The memory is sampled
//! several times before the load, after the memory has stopped changing. A growth that is within the spread of the
//! samples before the load counts as noise.

use std::time::Duration;

use probe::{Probe, Scope};
use run::{Recording, Results, Trial, ValueName, Window};

use super::values::{
    KERNEL_PAGE_TABLES_BYTES, KERNEL_PAGE_TABLES_BYTES_NOISE, KERNEL_SLAB_BYTES, KERNEL_SLAB_BYTES_NOISE,
    KERNEL_STACKS_BYTES, KERNEL_STACKS_BYTES_NOISE, KERNEL_TCP_PAGES_BYTES, KERNEL_TCP_PAGES_BYTES_NOISE,
    SWITCHES_PER_S,
};
use crate::values::{HELD, KERNEL_MEMORY_PER_CONNECTION_BYTES};

/// Size of a page of socket memory, bytes.
const PAGE_BYTES: f64 = 4096.0;
/// Names of the counter sources that are read before the load.
const SOURCES: [&str; 4] = ["process", "sockstat", "slab", "memory"];
/// Number of samples that are kept; older samples are dropped.
const SAMPLES: usize = 5;
/// Time between two samples.
const EVERY: Duration = Duration::from_millis(40);
/// Maximum number of samples of the memory before the load. After `MAX_SAMPLES` readings of the server's memory, the
/// load starts even if the memory still changes. (The kernel frees the memory of the previous trial within a second or
/// two.)
const MAX_SAMPLES: usize = 50;
/// Maximum difference between the kept samples at which the memory counts as settled, bytes.
const MAX_SETTLED_CHANGE_BYTES: f64 = 262_144.0;

/// A part of the memory with four facts: the names under which its growth and its noise are stored, its counter, and
/// the bytes per unit of the counter. If `mine` is true, only memory of the server's processes counts.
struct Part {
    grown: [ValueName<f64>; 2],
    counter: &'static str,
    unit_bytes: f64,
    mine: bool,
}

const PARTS: [Part; 4] = [
    Part {
        grown: [KERNEL_TCP_PAGES_BYTES, KERNEL_TCP_PAGES_BYTES_NOISE],
        counter: "socket.tcp_memory",
        unit_bytes: PAGE_BYTES,
        mine: false,
    },
    Part { grown: [KERNEL_SLAB_BYTES, KERNEL_SLAB_BYTES_NOISE], counter: "slab.bytes", unit_bytes: 1.0, mine: false },
    Part {
        grown: [KERNEL_STACKS_BYTES, KERNEL_STACKS_BYTES_NOISE],
        counter: "memory.kernel_stacks",
        unit_bytes: 1.0,
        mine: false,
    },
    Part {
        grown: [KERNEL_PAGE_TABLES_BYTES, KERNEL_PAGE_TABLES_BYTES_NOISE],
        counter: "process.page_tables",
        unit_bytes: 1.0,
        mine: true,
    },
];

/// Samples of the memory before the load.
pub(super) struct Before {
    looks: Vec<Recording>,
}

/// Samples the memory of the machine and of the servers until it no longer changes, at most [`MAX_SAMPLES`] times.
pub(super) fn look(pids: &[u32]) -> Before {
    let mut looks: Vec<Recording> = Vec::new();
    for _ in 0..MAX_SAMPLES {
        looks.push(once(pids));
        let before = Before { looks: looks.split_off(looks.len().saturating_sub(SAMPLES)) };
        let rests =
            PARTS.iter().all(|part| before.level(part).is_none_or(|(_, spread)| spread < MAX_SETTLED_CHANGE_BYTES));
        if before.looks.len() == SAMPLES && rests {
            return before;
        }
        looks = before.looks;
        std::thread::sleep(EVERY);
    }
    Before { looks }
}

fn once(pids: &[u32]) -> Recording {
    let sources = Some(SOURCES.to_vec());
    let mut probe = Probe::new(Scope { processes: pids.to_vec(), sources, ..Scope::default() });
    probe.sample(0.0);
    probe.take()
}

impl Before {
    /// Returns the mean of a part's samples, and their spread (the largest minus the smallest), bytes.
    fn level(&self, part: &Part) -> Option<(f64, f64)> {
        let of = |look: &Recording| look.sum(part.counter, Window::ALL, |_| true).value();
        let bytes: Option<Vec<f64>> = self.looks.iter().map(|look| Some(of(look)? * part.unit_bytes)).collect();
        let bytes = bytes.filter(|b| !b.is_empty())?;
        let (low, high) = bytes.iter().fold((f64::MAX, f64::MIN), |(l, h), b| (l.min(*b), h.max(*b)));
        Some((judge::average(&bytes), high - low))
    }
}

/// Growth of a part of the memory, bytes; or, for a growth within the noise, the largest growth that may be noise. For
/// a growth within the noise, only the upper limit is known.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Growth {
    Bytes(f64),
    BelowNoise(f64),
}

/// Computes a growth from the memory during the load (`now`), and the mean and spread of the samples before the load.
/// If the memory has shrunk, the noise is at least as large as the decrease.
fn growth(now: f64, before: f64, spread: f64) -> Growth {
    let (grown, noise) = (now - before, spread.max(before - now));
    if grown > noise || grown == 0.0 { Growth::Bytes(grown) } else { Growth::BelowNoise(noise) }
}

/// Adds the growth of each part of the memory, and the rate of context switches, to a trial's results. If the growth of
/// any part is unknown, no growth is stored. A growth within the noise is stored as an upper limit, under a separate
/// name.
pub(super) fn put(trial: &mut Trial, before: &Before) {
    let window = trial.measured.window;
    let Some(server) = &trial.server else { return };
    let now = &server.recording;
    let mine = |instance: &str| server.processes.iter().any(|p| p == instance);
    let grown = |part: &Part| {
        let (was, spread) = before.level(part)?;
        let is = now.sum(part.counter, window, |instance| !part.mine || mine(instance)).value()?;
        Some((part.grown, growth(is * part.unit_bytes, was, spread)))
    };
    let parts: Option<Vec<Grown>> = PARTS.iter().map(grown).collect();
    let switched = ["process.voluntary_switches", "process.involuntary_switches"];
    let switches: Option<f64> = switched.iter().map(|id| now.sum(id, window, mine).value()).sum();
    let switches = switches.map(|n| n / trial.measured.length_s.max(1e-9));
    trial.results.put(SWITCHES_PER_S, switches.filter(|v| v.is_finite()));
    put_parts(&mut trial.results, &parts.unwrap_or_default());
}

/// Names under which a growth and its noise are stored, and the growth.
type Grown = ([ValueName<f64>; 2], Growth);

fn put_parts(results: &mut Results, parts: &[Grown]) {
    let mut together = 0.0;
    for ([bytes, noise], growth) in parts {
        match growth {
            Growth::Bytes(more) => {
                together += more;
                results.put(*bytes, *more);
            }
            Growth::BelowNoise(level) => results.put(*noise, *level),
        }
    }
    let held = results.get(HELD).filter(|n| *n > 0.0 && !parts.is_empty());
    results.put(KERNEL_MEMORY_PER_CONNECTION_BYTES, held.map(|held| together / held));
}

#[cfg(test)]
mod tests {
    use super::super::values::{KERNEL_SLAB_BYTES, KERNEL_SLAB_BYTES_NOISE, KERNEL_TCP_PAGES_BYTES};
    use super::*;

    #[test]
    fn negative_growth_and_growth_within_the_spread_are_noise() {
        assert_eq!(growth(110.0, 100.0, 4.0), Growth::Bytes(10.0));
        assert_eq!(growth(103.0, 100.0, 4.0), Growth::BelowNoise(4.0));
        assert_eq!(growth(90.0, 100.0, 4.0), Growth::BelowNoise(10.0));
        assert_eq!(growth(100.0, 100.0, 0.0), Growth::Bytes(0.0));
    }

    #[test]
    fn a_part_within_the_noise_is_not_in_the_sum() {
        let mut r = Results::default().with(HELD, 10.0);
        put_parts(&mut r, &[(PARTS[0].grown, Growth::Bytes(1000.0)), (PARTS[1].grown, Growth::BelowNoise(7.0))]);
        let slab = (r.get(KERNEL_SLAB_BYTES), r.get(KERNEL_SLAB_BYTES_NOISE));
        assert_eq!((r.get(KERNEL_TCP_PAGES_BYTES), slab), (Some(1000.0), (None, Some(7.0))));
        assert_eq!(r.get(KERNEL_MEMORY_PER_CONNECTION_BYTES), Some(100.0));
    }
}

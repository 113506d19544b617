//! The probe: reads every source into the book, never fails, and knows what it costs.

use run::Recording;

use crate::Scope;
use crate::book::Book;
use crate::roster::Roster;
use crate::sources::{Round, SOURCES, Source, SourceSpec};
use crate::tree::Tree;

/// What observing did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observed {
    /// Processor time of the samples, microseconds.
    pub cpu_us: f64,
    /// Samples taken.
    pub samples: u64,
    /// Samples that were taken later than half an interval after their time.
    pub late: u64,
}

/// Reads the counters of one side. Not bound to a thread; one thread at a time.
pub struct Probe {
    tree: Tree,
    book: Book,
    roster: Roster,
    readers: Vec<Reader>,
    observed: Observed,
}

/// A source and its pace.
struct Reader {
    spec: &'static SourceSpec,
    source: Box<dyn Source>,
    /// What the last reading cost, microseconds.
    cost_us: f64,
    /// Periodic samples to leave out before the next reading.
    rest: u32,
    /// When it was read last, on the monotonic clock.
    read_ns: Option<u64>,
}

impl Probe {
    /// A probe of one scope. Nothing is read yet.
    pub fn new(scope: Scope) -> Self {
        let tree = Tree::new(&scope);
        let wanted = |spec: &&'static SourceSpec| scope.sources.as_ref().is_none_or(|names| names.contains(&spec.name));
        let reader = |spec: &'static SourceSpec| Reader {
            spec,
            source: (spec.open)(&scope, &tree),
            cost_us: 0.0,
            rest: 0,
            read_ns: None,
        };
        let readers: Vec<Reader> = SOURCES.iter().filter(wanted).map(reader).collect();
        Self {
            tree,
            book: Book::default(),
            roster: Roster::new(scope.processes),
            readers,
            observed: Observed::default(),
        }
    }

    /// Takes a full sample: every source, also what is dear. For the edges of phases. `t_s` is its time in seconds
    /// since the origin of the trial. Never fails: what cannot be read becomes an absence.
    pub fn sample(&mut self, t_s: f64) {
        self.row(t_s, true);
    }

    /// Takes a sample of the series: sources that cost more than their budget are left out as often as it needs to
    /// hold the budget on the mean.
    pub fn sample_series(&mut self, t_s: f64) {
        self.row(t_s, false);
    }

    fn row(&mut self, t_s: f64, full: bool) {
        let begin = cpu_us();
        self.book.begin(t_s);
        self.observed.samples += 1;
        let mut round =
            Round { book: &mut self.book, tree: &self.tree, full, roster: &mut self.roster, observed: self.observed };
        let mut before = begin;
        let now_ns = sys::clock::monotonic_ns();
        for reader in &mut self.readers {
            if reader.rests(full, now_ns) {
                continue;
            }
            reader.source.sample(&mut round);
            let now = cpu_us();
            reader.pace(now - before, full);
            before = now;
        }
        self.observed.cpu_us += cpu_us() - begin;
    }

    /// Follows other processes from the next sample on; everything else stays as it is, with its open files. For the
    /// next trial of the same side, whose generator is another process.
    pub fn follow(&mut self, processes: &[u32]) {
        self.roster = Roster::after(&self.roster, processes.to_vec());
        // What was read for the last trial is not in this one's recording.
        self.readers.iter_mut().for_each(|reader| (reader.rest, reader.read_ns) = (0, None));
    }

    /// Hands out what was recorded since the last time, and begins anew with the same files and buffers.
    pub fn take(&mut self) -> Recording {
        self.book.take()
    }

    /// Instances `name:pid` of this side's processes seen so far (since [`Probe::follow`]).
    pub fn processes(&self) -> Vec<String> {
        self.roster.instances().map(str::to_owned).collect()
    }

    /// Processor time that all samples cost so far, microseconds.
    pub fn cost_us(&self) -> f64 {
        self.observed.cpu_us
    }

    /// What observing did and cost so far.
    pub fn observed(&self) -> Observed {
        self.observed
    }

    /// What the last reading of each source cost, microseconds of processor time: name and cost.
    pub fn costs_us(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.readers.iter().map(|r| (r.spec.name, r.cost_us))
    }

    /// Notes samples that came late or not at all.
    pub(crate) fn add_late(&mut self, late: u64) {
        self.observed.late += late;
    }
}

impl Reader {
    /// Whether this sample goes without it.
    fn rests(&mut self, full: bool, now_ns: u64) -> bool {
        let gap_ns = u64::from(self.spec.edge_gap_ms) * 1_000_000;
        let fresh = self.read_ns.is_some_and(|at| now_ns.saturating_sub(at) < gap_ns);
        let rests = if full { fresh } else { self.rest > 0 };
        if !full {
            self.rest = self.rest.saturating_sub(1);
        }
        if !rests {
            self.read_ns = Some(now_ns);
        }
        rests
    }

    /// Decides how many samples of the series to leave out, so that the mean cost holds the budget. Full samples read
    /// more than those of the series and open files, so they change nothing: a source that rests goes on resting after
    /// an edge, or each window would begin with its dearest sample.
    fn pace(&mut self, cost_us: f64, full: bool) {
        self.cost_us = cost_us;
        let over = cost_us / f64::from(self.spec.budget_us);
        if !full {
            self.rest = (over.ceil() as u32).saturating_sub(1);
        }
    }
}

/// Processor time of this thread, microseconds.
fn cpu_us() -> f64 {
    sys::clock::thread_cpu_ns() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_sample_fills_or_explains_every_counter() {
        let mut probe = Probe::new(Scope { processes: vec![std::process::id()], ..Scope::default() });
        for t in 0..3 {
            probe.sample(f64::from(t));
        }
        let r = probe.take();
        assert_eq!(r.t_s, [0.0, 1.0, 2.0]);
        for spec in run::COUNTERS.iter().filter(|c| !run::TOLD.contains(&c.object)) {
            let told = r.columns_of(spec.id).next().is_some();
            let explained = r.absent.iter().any(|a| a.counter.as_str() == spec.id);
            // A quiet counter may be all zeros on an idle machine.
            assert!(told || explained || spec.id == "interrupt.count" || spec.id.starts_with("slab."), "{}", spec.id);
        }
        assert!(probe.cost_us() > 0.0 && probe.observed().samples == 3);
    }

    #[test]
    fn another_process_is_followed_with_the_same_probe() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let sources = Some(vec!["process", "cgroup"]);
        let mut probe = Probe::new(Scope { processes: vec![child.id()], sources, ..Scope::default() });
        probe.sample(0.0);
        assert!(probe.processes()[0].ends_with(&format!(":{}", child.id())));
        child.kill().unwrap();
        child.wait().unwrap();
        probe.take();
        probe.follow(&[std::process::id()]);
        probe.sample(0.0);
        let r = probe.take();
        assert_eq!(probe.processes().len(), 1);
        assert!(r.column("process.cpu", &probe.processes()[0]).is_some());
        assert_eq!(r.columns_of("process.cpu").count(), 1);
        assert!(r.absent.iter().all(|a| !a.reason.ends_with("ended")));
    }

    #[test]
    fn a_source_that_disturbs_is_not_read_twice_in_a_short_trial() {
        let mut probe = Probe::new(Scope { sources: Some(vec!["slab"]), ..Scope::default() });
        let reader = &mut probe.readers[0];
        assert_eq!([0, 10, 900].map(|ms| reader.rests(true, ms * 1_000_000)), [false, true, true]);
        assert!(!reader.rests(true, 1_000_000_000));
    }

    #[test]
    fn a_dear_source_rests_in_the_series_and_never_at_an_edge() {
        let mut probe = Probe::new(Scope { sources: Some(vec!["cpu"]), ..Scope::default() });
        let reader = &mut probe.readers[0];
        reader.pace(3.5 * f64::from(reader.spec.budget_us), false);
        assert_eq!(reader.rest, 3);
        probe.sample_series(0.0);
        probe.sample_series(1.0);
        probe.sample(2.0);
        probe.sample_series(3.0);
        probe.sample_series(4.0);
        let r = probe.take();
        let told: Vec<bool> = r.column("cpu.online", "").unwrap().values.iter().map(Option::is_some).collect();
        assert_eq!(told, [false, false, true, false, true]);
    }
}

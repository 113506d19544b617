//! Reads every source into a [`ColumnWriter`]. The probe never fails, and measures its own cost.

use run::{CpuUse, Recording};

use crate::column_writer::ColumnWriter;
use crate::cpu_use::CpuUseMeter;
use crate::process_set::ProcessSet;
use crate::source::{Effort, Round, Source};
use crate::sources::{Exported, Exporter, SOURCES};
use crate::tree::Tree;
use crate::{Scope, process_tree};

/// Reads the counters of one side (server or load generator). A probe may move between threads, but only one thread at
/// a time may use it.
pub struct Probe {
    tree: Tree,
    writer: ColumnWriter,
    process_set: ProcessSet,
    readers: Vec<Reader>,
    effort: Effort,
    cpu_use: Option<CpuUseMeter>,
}

/// CPU time that reading an exporter, such as loadline's own server, may take on average per sample, microseconds.
/// [`SOURCES`] has no row with the budget of an exporter, because the caller provides the exporter.
const EXPORTER_BUDGET_US: u32 = 200;

/// A source, with the data that decides when it is read next.
struct Reader {
    name: &'static str,
    /// Budget of the source, as described at [`crate::SourceSpec::budget_us`].
    budget_us: u32,
    /// Minimum time between two readings at phase starts and ends, as described at [`crate::SourceSpec::edge_gap_ms`].
    edge_gap_ms: u32,
    source: Box<dyn Source>,
    /// CPU time of the last reading in microseconds.
    cost_us: f64,
    /// Number of periodic samples that leave this source out before it is read again.
    rest: u32,
    /// Time of the last reading on the monotonic clock; `None` before the first reading.
    read_ns: Option<u64>,
}

impl Probe {
    /// Creates a probe for a scope, but reads no counter yet.
    pub fn new(scope: Scope) -> Self {
        let tree = Tree::new(&scope);
        let wanted = |name: &'static str| scope.sources.as_ref().is_none_or(|names| names.contains(&name));
        let rows = SOURCES.iter().filter(|spec| wanted(spec.name));
        let readers = rows.map(|spec| Reader {
            edge_gap_ms: spec.edge_gap_ms,
            ..Reader::new(spec.name, spec.budget_us, (spec.open)(&scope, &tree))
        });
        let readers: Vec<Reader> = readers.collect();
        // Process CPU times are read from the running kernel, so a copied /proc tree cannot give them.
        let cpu_use = (tree.is_live() && wanted("cpu") && wanted("process"))
            .then(|| CpuUseMeter::new(tree.keep("proc/stat"), scope.processors.clone()));
        Self { cpu_use, ..Self::over(tree, readers, scope.processes) }
    }

    /// Creates a probe that reads only the given exporters (see [`Exporter`]).
    pub fn exported(exporters: Vec<Exporter>) -> Self {
        let reader = |exporter| Reader::new("exported", EXPORTER_BUDGET_US, Box::new(Exported::by(exporter)));
        Self::over(Tree::new(&Scope::default()), exporters.into_iter().map(reader).collect(), Vec::new())
    }

    fn over(tree: Tree, readers: Vec<Reader>, processes: Vec<u32>) -> Self {
        let (writer, process_set) = (ColumnWriter::default(), ProcessSet::new(processes));
        Self { tree, writer, process_set, readers, effort: Effort::default(), cpu_use: None }
    }

    /// Reads every source at the start or end of a phase (such as the measurement), including expensive sources. Skips
    /// a source only if it was last read less than its `edge_gap_ms` ago. `t_s` is the time of the sample in seconds
    /// since the origin (time zero) of the load test. Never fails: for a counter that cannot be read, records the
    /// reason.
    pub fn sample(&mut self, t_s: f64) {
        self.row(t_s, true);
    }

    /// Takes a sample of the series (the periodic samples within a phase). Skips a source that costs more than its
    /// budget in some samples, so its mean cost per sample stays within the budget.
    pub fn sample_series(&mut self, t_s: f64) {
        self.row(t_s, false);
    }

    fn row(&mut self, t_s: f64, full: bool) {
        let begin = cpu_us();
        if full {
            self.writer.begin(t_s);
        } else {
            self.writer.begin_series(t_s);
        }
        self.effort.samples += 1;
        let mut round = Round {
            writer: &mut self.writer,
            tree: &self.tree,
            full,
            process_set: &mut self.process_set,
            effort: self.effort,
        };
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
        self.effort.cpu_us += cpu_us() - begin;
    }

    /// Follows other processes from the next sample on. Files that are not about a process stay open. Call this
    /// function before the next load test, because a load test may have other processes (for example a new generator).
    pub fn follow(&mut self, processes: &[u32]) {
        self.process_set = ProcessSet::after(&self.process_set, processes.to_vec(), process_tree::started_ticks);
        // The next sample reads every source, because readings of the previous load test do not count for the next
        // recording.
        self.readers.iter_mut().for_each(|reader| (reader.rest, reader.read_ns) = (0, None));
    }

    /// Reads the CPU time of the host and of the followed processes. Returns false if this probe reads no CPU times.
    /// `origin` is time zero of the load test.
    pub(crate) fn read_cpu_use(&mut self, origin: sys::clock::Origin) -> bool {
        let Some(meter) = &mut self.cpu_use else { return false };
        let begin = cpu_us();
        // A sample before this reading may take a tenth of a second, so the reading takes the time itself. An earlier
        // version of loadline used the time of the sample. The idle time during the sample then belonged to the wrong
        // tenth of a second, and loadline reported CPU use of other programs that did not exist.
        meter.read(origin.now_s(), self.process_set.all_pids());
        self.effort.cpu_us += cpu_us() - begin;
        true
    }

    /// Returns the CPU times since the last call; empty if this probe does not read CPU times.
    pub(crate) fn take_cpu_use(&mut self) -> CpuUse {
        self.cpu_use.as_mut().map(CpuUseMeter::take).unwrap_or_default()
    }

    /// Returns a copy of the last `rows` samples (readings). The copy contains only the counters in `wanted`.
    pub fn newest(&self, rows: usize, wanted: &[&str]) -> Recording {
        self.writer.newest(rows, wanted)
    }

    /// Copies everything recorded since the last [`Probe::take`].
    pub fn copy(&self) -> Recording {
        self.writer.copy()
    }

    /// Returns everything recorded since the last call, and continues with the same files and buffers.
    pub fn take(&mut self) -> Recording {
        self.writer.take()
    }

    /// Returns the processes that were followed since [`Probe::follow`], as instances `name:pid`, without processes of
    /// upstreams.
    pub fn processes(&self) -> Vec<String> {
        self.process_set.instances().map(str::to_owned).collect()
    }

    /// Returns the upstreams found since [`Probe::follow`], each with the processes that listen at its address.
    pub fn behind(&self) -> Vec<run::Upstream> {
        self.process_set.behind()
    }

    /// Returns the CPU time that all samples so far took, microseconds.
    pub fn cost_us(&self) -> f64 {
        self.effort.cpu_us
    }

    /// Returns the number and cost of the samples so far.
    pub fn effort(&self) -> Effort {
        self.effort
    }

    /// Returns the name of each source and the CPU time of its last reading in microseconds.
    pub fn costs_us(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.readers.iter().map(|r| (r.name, r.cost_us))
    }

    /// Adds `late` to the number of samples that were taken late or were missed.
    pub(crate) fn add_late(&mut self, late: u64) {
        self.effort.late += late;
    }
}

impl Reader {
    fn new(name: &'static str, budget_us: u32, source: Box<dyn Source>) -> Self {
        Self { name, budget_us, edge_gap_ms: 0, source, cost_us: 0.0, rest: 0, read_ns: None }
    }

    /// Returns true if this sample skips the source.
    fn rests(&mut self, full: bool, now_ns: u64) -> bool {
        let gap_ns = u64::from(self.edge_gap_ms) * 1_000_000;
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

    /// Sets for how many periodic samples the source is not read, so that its mean cost per sample stays within its
    /// budget. A full sample (at the start or end of a phase) does not change this number, because it reads more and
    /// opens files. The source also stays skipped after a full sample. If a full sample ended the skipping, the next
    /// sample would be the most expensive one.
    fn pace(&mut self, cost_us: f64, full: bool) {
        self.cost_us = cost_us;
        let over = cost_us / f64::from(self.budget_us);
        if !full {
            self.rest = (over.ceil() as u32).saturating_sub(1);
        }
    }
}

/// Returns the CPU time that this thread has used, microseconds.
fn cpu_us() -> f64 {
    sys::clock::thread_cpu_ns() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_fills_or_explains_every_counter() {
        let mut probe = Probe::new(Scope { processes: vec![std::process::id()], ..Scope::default() });
        for t in 0..3 {
            probe.sample(f64::from(t));
        }
        let r = probe.take();
        assert_eq!(r.t_s, [0.0, 1.0, 2.0]);
        for spec in run::COUNTERS.iter().filter(|c| !run::EXPORTED.contains(&c.object)) {
            let told = r.columns_of(spec.id).next().is_some();
            let explained = r.absent.iter().any(|a| a.counter.as_str() == spec.id);
            // The recording leaves out interrupts that never occurred, and socket caches that the kernel does not list.
            assert!(told || explained || spec.id == "interrupt.count" || spec.id.starts_with("slab."), "{}", spec.id);
        }
        assert!(probe.cost_us() > 0.0 && probe.effort().samples == 3);
    }

    #[test]
    fn one_probe_can_follow_another_process() {
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
        // Concurrent tests start other children of this process, so only the instances of two process IDs are counted.
        let count = |all: Vec<String>, pid: u32| all.into_iter().filter(|p| p.ends_with(&format!(":{pid}"))).count();
        let read = || r.columns_of("process.cpu").map(|column| column.instance.to_string()).collect::<Vec<_>>();
        let me = std::process::id();
        assert_eq!((count(probe.processes(), me), count(probe.processes(), child.id())), (1, 0));
        assert_eq!((count(read(), me), count(read(), child.id())), (1, 0));
        // A process of a concurrent test may end while it is read, so reasons about other processes are allowed.
        let ended = format!("process {} ended", child.id());
        assert!(r.absent.iter().all(|a| !a.reason.ends_with(&ended)));
    }

    #[test]
    fn a_disturbing_source_is_read_once_in_a_short_trial() {
        let mut probe = Probe::new(Scope { sources: Some(vec!["slab"]), ..Scope::default() });
        let reader = &mut probe.readers[0];
        assert_eq!([0, 10, 900].map(|ms| reader.rests(true, ms * 1_000_000)), [false, true, true]);
        assert!(!reader.rests(true, 1_000_000_000));
    }

    #[test]
    fn an_expensive_source_is_skipped_in_the_series_but_never_at_an_edge() {
        let mut probe = Probe::new(Scope { sources: Some(vec!["cpu"]), ..Scope::default() });
        let reader = &mut probe.readers[0];
        reader.pace(3.5 * f64::from(reader.budget_us), false);
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

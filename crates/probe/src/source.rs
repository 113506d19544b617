//! What the table of sources says of one, and how a source is read.

use crate::Scope;
use crate::column_writer::ColumnWriter;
use crate::family::Family;
use crate::process_set::ProcessSet;
use crate::tree::Tree;

/// One place where the kernel keeps counters.
#[derive(Clone, Copy, Debug)]
pub struct SourceSpec {
    /// Its name.
    pub name: &'static str,
    /// What it reads, in one sentence.
    pub help: &'static str,
    /// The counters it fills: ids, or all of an object (`cpu.*`).
    pub counters: &'static [&'static str],
    /// What it may cost on the mean of the periodic samples, microseconds of processor time. A source that costs
    /// more is read at phase edges, and between them as often as it fits.
    pub budget_us: u32,
    /// At edges it is read whatever it costs, but not again within this many milliseconds: 0 but for what is so dear
    /// that it would disturb short trials.
    pub edge_gap_ms: u32,
    /// Makes a reader.
    pub open: fn(&Scope, &Tree) -> Box<dyn Source>,
}

impl SourceSpec {
    /// Whether it fills a counter.
    pub fn fills(&self, id: &str) -> bool {
        self.counters.iter().any(|c| c.strip_suffix('*').map_or(*c == id, |object| id.starts_with(object)))
    }
}

/// A reader of one source.
pub trait Source: Send {
    /// Writes what the source says now into the writer; what it does not say becomes an absence. Never fails.
    fn sample(&mut self, round: &mut Round<'_>);
}

/// What a source is handed for one sample.
pub struct Round<'a> {
    /// Where values go.
    pub writer: &'a mut ColumnWriter,
    /// Where files are.
    pub tree: &'a Tree,
    /// A phase edge: everything is to be read, also what is dear.
    pub full: bool,
    /// This side's processes.
    pub process_set: &'a mut ProcessSet,
    /// What observing did and cost so far.
    pub effort: Effort,
}

/// Writes the same reason for every counter of a family.
pub(crate) fn none(round: &mut Round<'_>, family: &Family, reason: &str) {
    round.writer.absent_all(family.ids(), "", format_args!("{reason}"));
}

/// Why netlink and clocks are not asked when the files are a captured tree.
pub(crate) const CAPTURED: &str = "the files are a captured tree; only the running kernel can be asked this";

/// What observing did and cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// Processor time of the samples, microseconds.
    pub cpu_us: f64,
    /// Samples taken.
    pub samples: u64,
    /// Samples that were taken later than half an interval after their time.
    pub late: u64,
}

//! Row of the table [`crate::SOURCES`], and the trait that the reader of a source implements.

use crate::Scope;
use crate::column_writer::ColumnWriter;
use crate::family::Family;
use crate::process_set::ProcessSet;
use crate::tree::Tree;

/// A kernel interface with counters, such as a file of /proc.
#[derive(Clone, Copy, Debug)]
pub struct SourceSpec {
    /// Name of the source.
    pub name: &'static str,
    /// Description of the source in one sentence.
    pub help: &'static str,
    /// Counters that the source fills: their IDs, or a pattern such as `cpu.*` for all counters of an object.
    pub counters: &'static [&'static str],
    /// Maximum mean cost per periodic sample in microseconds of CPU time. A source that costs more than its budget is
    /// read at phase starts and ends. Within a phase, such a source is read only as often as its budget allows.
    pub budget_us: u32,
    /// Minimum interval between two readings at phase starts and ends in milliseconds. The interval is 0 except for
    /// very expensive sources, which would disturb short load tests.
    pub edge_gap_ms: u32,
    /// Function that creates a reader of the source.
    pub open: fn(&Scope, &Tree) -> Box<dyn Source>,
}

impl SourceSpec {
    /// Returns true if the source fills a counter.
    pub fn fills(&self, id: &str) -> bool {
        self.counters.iter().any(|c| c.strip_suffix('*').map_or(*c == id, |object| id.starts_with(object)))
    }
}

/// A reader of one source.
pub trait Source: Send {
    /// Writes the source's current values into the writer. If a value cannot be read, writes the reason
    /// ([`ColumnWriter::absent`]), so this function never fails.
    fn sample(&mut self, round: &mut Round<'_>);
}

/// Arguments for one sample of a source.
pub struct Round<'a> {
    /// Writer that gets the values.
    pub writer: &'a mut ColumnWriter,
    /// Access to the files of the host and to netlink.
    pub tree: &'a Tree,
    /// True at the start or end of a phase (such as the measurement). At the start or end of a phase, expensive sources
    /// are read, too.
    pub full: bool,
    /// Processes of this side (server or load generator).
    pub process_set: &'a mut ProcessSet,
    /// Number and cost of samples so far.
    pub effort: Effort,
}

/// Records for all counters of a [`Family`] the reason why they have no value.
pub(crate) fn none(round: &mut Round<'_>, family: &Family, reason: &str) {
    round.writer.absent_all(family.ids(), "", format_args!("{reason}"));
}

/// Reason why counters from netlink and clocks have no values if the probe reads captured (copied) files.
pub(crate) const CAPTURED_TREE: &str = "the files are a captured tree; only the running kernel can be asked this";

/// Number and cost of samples so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Effort {
    /// CPU time that all samples so far took, microseconds.
    pub cpu_us: f64,
    /// Number of samples taken.
    pub samples: u64,
    /// Number of samples that were missed, or taken more than half an interval late.
    pub late: u64,
}

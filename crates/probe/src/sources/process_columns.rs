//! Counters of a process, and its columns in the recording.

use super::process_io::IO;
use super::threads::SUMS;
use crate::column_writer::{ColumnWriter, Slots};

pub(super) const STAT: &[&str] =
    &["process.minor_faults", "process.major_faults", "process.user", "process.system", "process.parent"];
pub(super) const CPU: &[&str] = &["process.cpu"];
pub(super) const STATUS: &[&str] = &[
    "process.rss",
    "process.locked",
    "process.pinned",
    "process.page_tables",
    "process.threads",
    "process.cpus_allowed",
    "process.cpu_mask",
];
pub(super) const FDS: &[&str] = &["process.fds"];
pub(super) const LIMIT: &[&str] = &["process.fd_limit"];
pub(super) const PSS: &[&str] = &["process.pss"];
pub(super) const INSTRUCTIONS: &[&str] = &["process.instructions"];

#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub(super) stat: Slots,
    pub(super) cpu: Slots,
    pub(super) status: Slots,
    pub(super) io: Slots,
    pub(super) fds: Slots,
    pub(super) limit: Slots,
    pub(super) pss: Slots,
    pub(super) instructions: Slots,
    pub(super) sums: Slots,
}

impl Columns {
    pub(super) fn open(writer: &mut ColumnWriter, instance: &str) -> Self {
        Self {
            stat: writer.open(STAT, instance),
            cpu: writer.open(CPU, instance),
            status: writer.open(STATUS, instance),
            io: writer.open(IO, instance),
            fds: writer.open(FDS, instance),
            limit: writer.open(LIMIT, instance),
            pss: writer.open(PSS, instance),
            instructions: writer.open(INSTRUCTIONS, instance),
            sums: writer.open(SUMS, instance),
        }
    }

    /// Returns each group of columns with the IDs of its counters.
    pub(super) fn all(&self) -> [(Slots, &'static [&'static str]); 9] {
        let Self { stat, cpu, status, io, fds, limit, pss, instructions, sums } = *self;
        let slots = [stat, cpu, status, io, fds, limit, pss, instructions, sums];
        let ids = [STAT, CPU, STATUS, IO, FDS, LIMIT, PSS, INSTRUCTIONS, SUMS];
        std::array::from_fn(|at| (slots[at], ids[at]))
    }
}

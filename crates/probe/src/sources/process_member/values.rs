//! Writes a process's values: the fields of its status, its open files, the limit on them, and its share of memory.

use super::super::open_files::{descriptors, open_files_limit};
use super::super::process_columns::{FDS, LIMIT, PSS, STATUS};
use super::super::thread_status::{Status, status};
use super::Member;
use crate::reread_file::{reread, why};
use crate::source::Round;
use crate::text::keyed;
use crate::units;

/// Maximum resident memory (KiB) of a process whose Pss (proportional share of memory) is read. To compute the Pss, the
/// kernel walks all page tables and delays the process, so the Pss of larger processes is not read.
const MAX_PSS_RSS_KIB: f64 = 512.0 * 1024.0;

impl Member {
    pub(super) fn put_status(&self, round: &mut Round<'_>, buffer: &mut Vec<u8>) -> Status {
        let Some(text) = self.status.as_ref().and_then(|file| reread(file, buffer).ok()) else {
            let reason = format_args!("cannot read status of process {}", self.pid);
            round.writer.absent_all(STATUS, &self.instance, reason);
            return Status::default();
        };
        let told = status(text);
        let [rss, locked, pinned, tables, threads] = told.levels;
        let bytes = |kib: Option<f64>| kib.map(units::kib_bytes);
        let allowed = told.cpus.map(|(count, _)| f64::from(count));
        let mask = told.cpus.and_then(|(_, mask)| mask).map(|mask| mask as f64);
        let all = [bytes(rss), bytes(locked), bytes(pinned), bytes(tables), threads, allowed, mask];
        for (at, value) in all.into_iter().enumerate() {
            round.writer.put_some(self.slots.status, at, value);
        }
        told
    }

    pub(super) fn put_fds(&self, round: &mut Round<'_>) {
        match descriptors(&self.folder.join("fd"), round.tree.is_live(), round.full) {
            Ok(count) => round.writer.put_some(self.slots.fds, 0, count.map(|n| n as f64)),
            Err(e) => {
                let reason = why(&self.folder.join("fd"), &e);
                round.writer.absent_all(FDS, &self.instance, format_args!("{reason}"));
            }
        }
    }

    pub(super) fn put_limit(&self, round: &mut Round<'_>) {
        let path = self.folder.join("limits");
        match std::fs::read(&path) {
            Ok(text) => match open_files_limit(&text) {
                Some(limit) => round.writer.put(self.slots.limit, 0, limit),
                None => round.writer.absent_all(LIMIT, &self.instance, format_args!("its open files are not limited")),
            },
            Err(e) => round.writer.absent_all(LIMIT, &self.instance, format_args!("{}", why(&path, &e))),
        }
    }

    pub(super) fn put_pss(&self, round: &mut Round<'_>, rss_kib: Option<f64>) {
        if rss_kib.is_some_and(|kib| kib > MAX_PSS_RSS_KIB) {
            let reason = format_args!("reading it would hold up a process of more than 512 MiB");
            return round.writer.absent_all(PSS, &self.instance, reason);
        }
        let path = self.folder.join("smaps_rollup");
        match std::fs::read(&path) {
            Ok(text) => round.writer.put_some(self.slots.pss, 0, keyed(&text, "Pss:").map(units::kib_bytes)),
            Err(e) => round.writer.absent_all(PSS, &self.instance, format_args!("{}", why(&path, &e))),
        }
    }
}

//! Collects the readings (samples) of all sources of counters in a table. The table has one column for each counter of
//! each instance (such as a CPU or a process), and one row for each sample. The writer builds a [`run::Recording`]
//! without copying values. Each column keeps its index when a new recording begins.

use std::collections::HashSet;
use std::fmt;

use run::{Absence, Column, CounterId, Kind, Peak, Recording};

use crate::samples::{Place, Samples, only};

/// Index of the first column of one instance. The instance's columns follow each other in the order of the counter IDs
/// given to [`ColumnWriter::open`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots(usize);

#[derive(Debug)]
struct InstanceColumns {
    id: &'static str,
    instance: String,
    samples: Samples,
    /// True if the recording leaves out the column when it contains only zeros.
    quiet: bool,
}

/// Collects the readings (samples) of all sources of counters in a table, as the module documentation describes.
#[derive(Debug, Default)]
pub struct ColumnWriter {
    t_s: Vec<f64>,
    pages: Vec<InstanceColumns>,
    absent: Vec<Absence>,
    /// For each row, true if [`ColumnWriter::thin`] must keep the row. Rows of samples at the start or end of a phase
    /// are kept.
    stays: Vec<bool>,
    /// Number of rows that [`ColumnWriter::thin`] must keep.
    edges: usize,
    /// Number of samples since the writer was created, which is also the number of the newest sample.
    sample: u64,
    /// Number of times that pairs of rows of the series (the periodic samples) were merged, at most 32. A row of the
    /// series is complete when it contains 2^`thinned` samples.
    thinned: u32,
    /// Number of samples in the last row of the series so far.
    open: u64,
    /// Minimum number of rows for the next merge: 5/4 of the number of rows after the last merge. Without a minimum, a
    /// merge that found few rows to merge would be tried again with each sample.
    merge_from: usize,
}

/// Maximum number of rows of a series: 34 minutes at two samples per second. In a longer series, pairs of rows are
/// merged, so a run of days takes no more memory than a run of an hour.
const MAX_ROWS: usize = 4096;
/// Maximum number of values of a series. A value takes 16 bytes in memory and 7 bytes in `run.json`. All samples of one
/// side (server or generator) together therefore take at most about 4 MB in memory and 2 MB in `run.json`. With 300
/// columns and two samples per second, rows are merged for the first time after seven minutes.
const MAX_VALUES: usize = 256 * 1024;
/// Number of rows that a series may always have, even with very many columns. Even charts of hundreds of processes
/// therefore have enough points.
const MIN_ROWS: usize = 128;
/// Maximum number of recorded reasons for missing values. The number is limited because all recorded reasons are
/// searched at each sample.
const MAX_ABSENCES: usize = 1_000;

impl ColumnWriter {
    /// Starts the row of a sample at the start or end of a phase, such as the measurement. Merges never remove the row
    /// of a sample at the start or end of a phase.
    pub fn begin(&mut self, t_s: f64) {
        self.edges += 1;
        self.open = 0;
        self.row(t_s, true);
    }

    /// Starts a sample of the series, which has one sample per interval. In a long series of samples, several samples
    /// share a row.
    pub fn begin_series(&mut self, t_s: f64) {
        if self.t_s.len() - self.edges >= self.max_rows().max(self.merge_from) {
            self.thin();
        }
        self.open = if self.open >> self.thinned == 0 { self.open + 1 } else { 1 };
        match self.t_s.last_mut() {
            Some(last) if self.open > 1 => {
                *last = t_s;
                self.sample += 1;
            }
            _ => self.row(t_s, false),
        }
    }

    fn row(&mut self, t_s: f64, stays: bool) {
        self.t_s.push(t_s);
        self.stays.push(stays);
        self.sample += 1;
    }

    /// Returns the maximum number of rows of the series, which depends on the number of columns with values.
    fn max_rows(&self) -> usize {
        if self.t_s.len() < MIN_ROWS {
            return MIN_ROWS;
        }
        let columns = self.pages.iter().filter(|page| !page.samples.is_empty()).count();
        (MAX_VALUES / columns.max(1)).clamp(MIN_ROWS, MAX_ROWS)
    }

    /// Merges pairs of neighbouring rows of the series. Keeps the rows of phase starts and ends, and never merges a row
    /// before a phase start or end with a row after it.
    fn thin(&mut self) {
        let mut keep = vec![true; self.stays.len()];
        for row in 1..keep.len() {
            let takes_one = row >= 2 && !keep[row - 2];
            keep[row - 1] = takes_one || self.stays[row - 1] || self.stays[row];
        }
        self.pages.iter_mut().for_each(|page| page.samples.merge(&keep, &self.t_s, &self.stays));
        only(&mut self.t_s, &keep);
        only(&mut self.stays, &keep);
        (self.thinned, self.open) = ((self.thinned + 1).min(32), 0);
        self.merge_from = (self.t_s.len() - self.edges) * 5 / 4;
    }

    /// Opens one column for each counter of one instance, and returns the index of the first column. Call this function
    /// once per instance and keep the result.
    pub fn open(&mut self, ids: &'static [&'static str], instance: &str) -> Slots {
        let first = self.pages.len();
        let page = |id: &&'static str| {
            debug_assert!(run::counter(id).is_some(), "{id} is no row of COUNTERS");
            let averaged = run::counter(id).is_some_and(|spec| spec.kind == Kind::Gauge);
            InstanceColumns { id, instance: instance.to_owned(), samples: Samples::new(averaged), quiet: false }
        };
        self.pages.extend(ids.iter().map(page));
        Slots(first)
    }

    /// Opens columns as [`ColumnWriter::open`] does, but leaves them out of the recording if they contain only zeros.
    /// Sources with hundreds of instances, most of which stay at zero, call this function.
    pub fn open_quiet(&mut self, ids: &'static [&'static str], instance: &str) -> Slots {
        let slots = self.open(ids, instance);
        for page in &mut self.pages[slots.0..] {
            page.quiet = true;
        }
        slots
    }

    /// Writes the value of an instance's counter into the current row. `at` is the index of the counter in the list
    /// given to [`ColumnWriter::open`]. A second write of the counter in one sample replaces the value of the first
    /// write.
    pub fn put(&mut self, slots: Slots, at: usize, value: f64) {
        let (Some(page), Some(t_s)) = (self.pages.get_mut(slots.0 + at), self.t_s.last()) else { return };
        let (row, stretch) = (self.t_s.len() - 1, self.edges);
        page.samples.put(Place { row, t_s: *t_s, stretch, sample: self.sample }, value);
    }

    /// Returns the growth of a counter from its first value to its last value; 0 without values.
    pub fn growth(&self, slots: Slots, at: usize) -> f64 {
        self.pages.get(slots.0 + at).map_or(0.0, |page| page.samples.growth())
    }

    /// Drops the values of an instance that no longer exists, and the reasons why values of the instance are missing.
    /// [`ColumnWriter::reopen`] gives the instance's columns to another instance.
    pub fn close(&mut self, slots: Slots, ids: &[&str]) {
        for page in self.pages.iter_mut().skip(slots.0).take(ids.len()) {
            page.samples.clear();
            self.absent.retain(|a| a.instance != page.instance || a.counter.as_str() != page.id);
        }
    }

    /// Gives the columns of a closed instance to another instance with the same list of counters.
    pub fn reopen(&mut self, slots: Slots, ids: &[&str], instance: &str) {
        for page in self.pages.iter_mut().skip(slots.0).take(ids.len()) {
            instance.clone_into(&mut page.instance);
        }
    }

    /// Writes a value as [`ColumnWriter::put`] does. Writes nothing if there is no value.
    pub fn put_some(&mut self, slots: Slots, at: usize, value: Option<f64>) {
        if let Some(value) = value {
            self.put(slots, at, value);
        }
    }

    /// Records why a counter has no value. An empty `instance` means all instances of the counter. Keeps only the first
    /// reason for a counter and an instance.
    pub fn absent(&mut self, id: &'static str, instance: &str, reason: fmt::Arguments<'_>) {
        let known = |a: &Absence| a.counter.as_str() == id && a.instance == instance;
        if self.absent.len() < MAX_ABSENCES && !self.absent.iter().any(known) {
            let (counter, instance, reason) = (CounterId::new(id), instance.to_owned(), reason.to_string());
            self.absent.push(Absence { counter, instance, reason });
        }
    }

    /// Records one reason for several counters, as [`ColumnWriter::absent`] does for one counter.
    pub fn absent_all(&mut self, ids: &[&'static str], instance: &str, reason: fmt::Arguments<'_>) {
        for id in ids {
            self.absent(id, instance, reason);
        }
    }

    /// Returns the number of rows in the current recording.
    pub fn rows(&self) -> usize {
        self.t_s.len()
    }

    /// Copies the last `rows` rows of the counters in `wanted`, while recording continues.
    pub fn newest(&self, rows: usize, wanted: &[&str]) -> Recording {
        let from = self.t_s.len().saturating_sub(rows);
        let column = |page: &InstanceColumns| page.column(page.samples.rows(from, self.t_s.len()), false);
        let columns = self.pages.iter().filter(|page| wanted.contains(&page.id)).filter_map(column).collect();
        Recording { t_s: self.t_s[from..].to_vec(), columns, ..Recording::default() }
    }

    /// Copies everything written so far, while recording continues.
    pub fn copy(&self) -> Recording {
        let column = |page: &InstanceColumns| page.column(page.samples.rows(0, self.t_s.len()), page.quiet);
        let columns: Vec<Column> = self.pages.iter().filter_map(column).collect();
        let absent = without_answered(self.absent.clone(), &columns);
        Recording { t_s: self.t_s.clone(), columns, absent, peaks: self.peaks() }
    }

    /// Returns the recording and starts a new recording. Leaves out columns without any value, but keeps the reasons
    /// for the missing values.
    pub fn take(&mut self) -> Recording {
        let (peaks, t_s) = (self.peaks(), std::mem::take(&mut self.t_s));
        self.stays.clear();
        (self.thinned, self.open, self.edges, self.merge_from) = (0, 0, 0, 0);
        self.t_s.reserve(t_s.len());
        let column = |page: &mut InstanceColumns| {
            let values = page.samples.take(t_s.len());
            page.column(values, page.quiet)
        };
        let columns: Vec<Column> = self.pages.iter_mut().filter_map(column).collect();
        let absent = without_answered(std::mem::take(&mut self.absent), &columns);
        Recording { t_s, columns, absent, peaks }
    }

    fn peaks(&self) -> Vec<Peak> {
        let of = |page: &InstanceColumns| {
            let (counter, instance) = (CounterId::new(page.id), page.instance.clone());
            let peak = move |(t_s, value)| Peak { counter: counter.clone(), instance: instance.clone(), t_s, value };
            page.samples.peaks().map(peak).collect::<Vec<_>>()
        };
        self.pages.iter().flat_map(of).collect()
    }
}

/// Removes each reason that was recorded for all instances of a counter, if an instance of this counter has values.
fn without_answered(mut absent: Vec<Absence>, columns: &[Column]) -> Vec<Absence> {
    let answered: HashSet<&CounterId> = columns.iter().map(|column| &column.counter).collect();
    absent.retain(|a| !a.instance.is_empty() || !answered.contains(&a.counter));
    absent
}

impl InstanceColumns {
    /// Builds a recorded column from `values`. Returns `None` if there is no value, or if `quiet` is true and all
    /// values are 0.
    fn column(&self, values: Vec<Option<f64>>, quiet: bool) -> Option<Column> {
        let told = values.iter().flatten().any(|v| !quiet || *v != 0.0);
        let (counter, instance) = (CounterId::new(self.id), self.instance.clone());
        told.then_some(Column { counter, instance, values })
    }
}

#[cfg(test)]
mod tests;

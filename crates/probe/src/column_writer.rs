//! The writer that sources write into: one column per counter and instance, one row per sample. It builds a
//! [`run::Recording`] without copying values. Its columns keep their positions in the next recording.

use std::fmt;

use run::{Absence, Column, CounterId, Recording};

/// The columns of one instance, in the order of the IDs with which it was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots(usize);

#[derive(Debug)]
struct InstanceColumns {
    id: &'static str,
    instance: String,
    values: Vec<Option<f64>>,
    /// True if the column is left out of the recording when it contains only zeros.
    quiet: bool,
}

/// Collects the samples of all sources; see the module documentation.
#[derive(Debug, Default)]
pub struct ColumnWriter {
    t_s: Vec<f64>,
    pages: Vec<InstanceColumns>,
    absent: Vec<Absence>,
    /// True for each row that must be kept, because it is at the edge of a window.
    stays: Vec<bool>,
    /// Thinning of the series: one of 2^thinned samples is kept. The second field is the number of samples so far.
    thinned: u32,
    came: u64,
    /// True if the next row replaces the last one.
    passing: bool,
}

/// Maximum number of rows of a recording, which is 34 minutes at two samples per second. A longer recording drops every
/// second row of the series and then keeps half as many samples, so that even a run of days takes no more memory.
const MAX_ROWS: usize = 4096;

impl ColumnWriter {
    /// Starts the row of a sample that is always kept.
    pub fn begin(&mut self, t_s: f64) {
        self.row(t_s, true);
    }

    /// Starts the row of a sample of the series. In a long series, some rows replace others.
    pub fn begin_series(&mut self, t_s: f64) {
        self.row(t_s, false);
    }

    fn row(&mut self, t_s: f64, stays: bool) {
        if self.t_s.len() >= MAX_ROWS {
            self.thin();
        }
        match (self.passing, self.t_s.last_mut(), self.stays.last_mut()) {
            // A source that is not read at each sample keeps its last value in the replacing row.
            (true, Some(t), Some(edge)) => (*t, *edge) = (t_s, stays),
            _ => {
                self.t_s.push(t_s);
                self.stays.push(stays);
            }
        }
        self.came += u64::from(!stays);
        self.passing = !stays && !self.came.is_multiple_of(1 << self.thinned);
    }

    /// Drops every second row of the series.
    fn thin(&mut self) {
        let mut series = 0_u64;
        let keep = self.stays.iter().map(|stays| {
            series += u64::from(!stays);
            *stays || series.is_multiple_of(2)
        });
        let keep: Vec<bool> = keep.collect();
        only(&mut self.t_s, &keep);
        only(&mut self.stays, &keep);
        for page in &mut self.pages {
            page.values.resize(keep.len(), None);
            // A value from a dropped row is better than no value.
            for row in 1..keep.len() {
                let before = page.values[row - 1].filter(|_| !keep[row - 1]);
                page.values[row] = page.values[row].or(before);
            }
            only(&mut page.values, &keep);
        }
        self.thinned = (self.thinned + 1).min(32);
        self.passing = false;
    }

    /// Returns the columns for these counters of one instance. Call this once per instance and keep the result.
    pub fn open(&mut self, ids: &'static [&'static str], instance: &str) -> Slots {
        let first = self.pages.len();
        let page = |id: &&'static str| {
            debug_assert!(run::counter(id).is_some(), "{id} is no row of COUNTERS");
            InstanceColumns { id, instance: instance.to_owned(), values: Vec::new(), quiet: false }
        };
        self.pages.extend(ids.iter().map(page));
        Slots(first)
    }

    /// Opens columns as [`ColumnWriter::open`] does, but leaves them out of the recording if they contain only zeros.
    /// Used for hundreds of instances, most of which never count anything.
    pub fn open_quiet(&mut self, ids: &'static [&'static str], instance: &str) -> Slots {
        let slots = self.open(ids, instance);
        for page in &mut self.pages[slots.0..] {
            page.quiet = true;
        }
        slots
    }

    /// Writes the value of the counter at index `at` of an instance into the current row. A later write replaces the
    /// value.
    pub fn put(&mut self, slots: Slots, at: usize, value: f64) {
        let row = self.t_s.len();
        if let Some(page) = self.pages.get_mut(slots.0 + at).filter(|_| row > 0) {
            page.values.resize(row, None);
            page.values[row - 1] = Some(value);
        }
    }

    /// Writes a value as [`ColumnWriter::put`] does, or leaves the row without a value.
    pub fn put_some(&mut self, slots: Slots, at: usize, value: Option<f64>) {
        if let Some(value) = value {
            self.put(slots, at, value);
        }
    }

    /// Records why a counter has no value. An empty instance means all instances. The first reason is kept.
    pub fn absent(&mut self, id: &'static str, instance: &str, reason: fmt::Arguments<'_>) {
        let known = |a: &Absence| a.counter.as_str() == id && a.instance == instance;
        if !self.absent.iter().any(known) {
            let (counter, instance, reason) = (CounterId::new(id), instance.to_owned(), reason.to_string());
            self.absent.push(Absence { counter, instance, reason });
        }
    }

    /// Records one reason for several counters, as [`ColumnWriter::absent`] does for one.
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
        let column = |page: &InstanceColumns| {
            let mut values = page.values.get(from..).unwrap_or_default().to_vec();
            values.resize(self.t_s.len() - from, None);
            let told = values.iter().any(Option::is_some);
            told.then(|| Column { counter: CounterId::new(page.id), instance: page.instance.clone(), values })
        };
        let columns = self.pages.iter().filter(|page| wanted.contains(&page.id)).filter_map(column).collect();
        Recording { t_s: self.t_s[from..].to_vec(), columns, absent: Vec::new() }
    }

    /// Copies everything written so far, while recording continues.
    pub fn copy(&self) -> Recording {
        let columns = self.pages.iter().filter_map(|page| page.copy(self.t_s.len())).collect();
        Recording { t_s: self.t_s.clone(), columns, absent: self.absent.clone() }
    }

    /// Returns the recording and starts a new one. Columns without any value are left out, but their reasons are kept.
    pub fn take(&mut self) -> Recording {
        let t_s = std::mem::take(&mut self.t_s);
        self.stays.clear();
        (self.thinned, self.came, self.passing) = (0, 0, false);
        self.t_s.reserve(t_s.len());
        let columns = self.pages.iter_mut().filter_map(|page| page.take(t_s.len())).collect();
        Recording { t_s, columns, absent: std::mem::take(&mut self.absent) }
    }
}

/// Keeps the items marked in `keep`.
fn only<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut places = keep.iter();
    items.retain(|_| places.next().copied().unwrap_or(true));
}

impl InstanceColumns {
    fn take(&mut self, rows: usize) -> Option<Column> {
        let values = std::mem::take(&mut self.values);
        self.values.reserve(values.len());
        self.column(values, rows)
    }

    fn copy(&self, rows: usize) -> Option<Column> {
        self.column(self.values.clone(), rows)
    }

    fn column(&self, mut values: Vec<Option<f64>>, rows: usize) -> Option<Column> {
        let told = values.iter().flatten().any(|v| !self.quiet || *v != 0.0);
        values.resize(rows, None);
        let (counter, instance) = (CounterId::new(self.id), self.instance.clone());
        told.then_some(Column { counter, instance, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_of_eight_hours_is_thinned_but_keeps_edges_and_its_end() {
        let mut writer = ColumnWriter::default();
        let slots = writer.open(&["cpu.user", "cpu.system"], "total");
        writer.begin(-1.0);
        let samples = 8 * 3600 * 2;
        for i in 0..samples {
            let t_s = f64::from(i) / 2.0;
            writer.begin_series(t_s);
            writer.put(slots, 0, t_s * 1e6);
            // An expensive source is read at every third sample.
            writer.put_some(slots, 1, (i % 3 == 0).then_some(t_s));
            if i == 1000 {
                writer.begin(t_s + 0.1);
                writer.put(slots, 0, 7.0);
            }
        }
        let r = writer.take();
        assert!(r.t_s.len() <= MAX_ROWS && r.t_s.len() > MAX_ROWS / 4, "{}", r.t_s.len());
        assert!(r.t_s.windows(2).all(|w| w[0] < w[1]) && r.t_s[0] == -1.0 && r.t_s.contains(&500.1));
        assert_eq!(r.t_s.last(), Some(&(f64::from(samples - 1) / 2.0)), "the newest is always there");
        let longest = r.t_s.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
        assert!(longest <= 16.0, "evenly thinned: {longest}");
        let values = |id: &str| &r.column(id, "total").unwrap().values;
        let at_edge = r.t_s.iter().position(|t| *t == 500.1).unwrap();
        assert_eq!(values("cpu.user")[at_edge], Some(7.0));
        let exact = |(t, v): (&f64, &Option<f64>)| v.is_none_or(|v| v == t * 1e6) || *t == 500.1;
        assert!(r.t_s.iter().zip(values("cpu.user")).all(exact), "values stay with their times");
        assert!(values("cpu.system").iter().flatten().count() > r.t_s.len() / 2, "the dear source is not lost");
        writer.begin_series(9.0);
        writer.begin_series(10.0);
        assert_eq!(writer.take().t_s, [9.0, 10.0], "the next trial begins anew");
    }

    #[test]
    fn missing_values_are_none_and_columns_without_values_are_left_out() {
        let mut writer = ColumnWriter::default();
        let slots = writer.open(&["cpu.user", "cpu.system"], "0");
        for t in 0..4 {
            writer.begin(f64::from(t));
            if t == 1 {
                writer.put(slots, 0, 5.0);
            }
        }
        let copy = writer.copy();
        let r = writer.take();
        assert_eq!(copy, r, "a copy is what would be handed out");
        assert_eq!(r.t_s, [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(r.columns.len(), 1);
        assert_eq!(r.columns[0].values, [None, Some(5.0), None, None]);
        let newest = writer.newest(2, &["cpu.user"]);
        assert!(newest.t_s.is_empty() && newest.columns.is_empty(), "all was taken");
        writer.begin(9.0);
        writer.put(slots, 1, 7.0);
        assert_eq!(writer.take().column("cpu.system", "0").map(|c| c.values.clone()), Some(vec![Some(7.0)]));
    }

    #[test]
    fn quiet_columns_of_zeros_are_left_out_and_reasons_are_kept_once() {
        let mut writer = ColumnWriter::default();
        let quiet = writer.open_quiet(&["interrupt.count"], "LOC");
        let loud = writer.open(&["softirq.count"], "HI");
        writer.begin(0.0);
        writer.put(quiet, 0, 0.0);
        writer.put(loud, 0, 0.0);
        writer.absent("cpu.user", "", format_args!("first"));
        writer.absent("cpu.user", "", format_args!("second"));
        let r = writer.take();
        assert_eq!(r.columns.iter().map(|c| c.instance.as_str()).collect::<Vec<_>>(), ["HI"]);
        assert_eq!(r.absent.iter().map(|a| a.reason.as_str()).collect::<Vec<_>>(), ["first"]);
    }
}

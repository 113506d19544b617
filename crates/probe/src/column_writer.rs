//! The writer that sources write into: a column a counter and instance, a row a sample. It makes a
//! [`run::Recording`] without copying a value, and its columns keep their places from one recording to the next.

use std::fmt;

use run::{Absence, Column, CounterId, Recording};

/// The columns of one instance, in the order of the ids it was opened with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots(usize);

#[derive(Debug)]
struct Page {
    id: &'static str,
    instance: String,
    values: Vec<Option<f64>>,
    /// Dropped from the recording when it holds nothing but zeros.
    quiet: bool,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub struct ColumnWriter {
    t_s: Vec<f64>,
    pages: Vec<Page>,
    absent: Vec<Absence>,
}

impl ColumnWriter {
    /// Begins the row of one sample.
    pub fn begin(&mut self, t_s: f64) {
        self.t_s.push(t_s);
    }

    /// Columns for these counters of one instance. Ask once for each instance and keep the answer.
    pub fn open(&mut self, ids: &'static [&'static str], instance: &str) -> Slots {
        let first = self.pages.len();
        let page = |id: &&'static str| {
            debug_assert!(run::counter(id).is_some(), "{id} is no row of COUNTERS");
            Page { id, instance: instance.to_owned(), values: Vec::new(), quiet: false }
        };
        self.pages.extend(ids.iter().map(page));
        Slots(first)
    }

    /// As [`ColumnWriter::open`], for instances of which there may be hundreds that never count anything: columns of zeros
    /// only are left out of the recording.
    pub fn open_quiet(&mut self, ids: &'static [&'static str], instance: &str) -> Slots {
        let slots = self.open(ids, instance);
        for page in &mut self.pages[slots.0..] {
            page.quiet = true;
        }
        slots
    }

    /// Writes the value of the `at`-th counter of an instance into the present row. The last write counts.
    pub fn put(&mut self, slots: Slots, at: usize, value: f64) {
        let row = self.t_s.len();
        if let Some(page) = self.pages.get_mut(slots.0 + at).filter(|_| row > 0) {
            page.values.resize(row, None);
            page.values[row - 1] = Some(value);
        }
    }

    /// As [`ColumnWriter::put`] where there may be no value: then the row has none.
    pub fn put_some(&mut self, slots: Slots, at: usize, value: Option<f64>) {
        if let Some(value) = value {
            self.put(slots, at, value);
        }
    }

    /// Notes why a counter has no value (instance empty: none of its instances). The first reason is kept.
    pub fn absent(&mut self, id: &'static str, instance: &str, reason: fmt::Arguments<'_>) {
        let known = |a: &Absence| a.counter.as_str() == id && a.instance == instance;
        if !self.absent.iter().any(known) {
            let (counter, instance, reason) = (CounterId::new(id), instance.to_owned(), reason.to_string());
            self.absent.push(Absence { counter, instance, reason });
        }
    }

    /// As [`ColumnWriter::absent`] for several counters.
    pub fn absent_all(&mut self, ids: &[&'static str], instance: &str, reason: fmt::Arguments<'_>) {
        for id in ids {
            self.absent(id, instance, reason);
        }
    }

    /// Rows in the present recording.
    pub fn rows(&self) -> usize {
        self.t_s.len()
    }

    /// A copy of the last `rows` rows of those counters that `wanted` names: to be looked at while recording goes on.
    pub fn newest(&self, rows: usize, wanted: &[&str]) -> Recording {
        let from = self.t_s.len().saturating_sub(rows);
        let column = |page: &Page| {
            let mut values = page.values.get(from..).unwrap_or_default().to_vec();
            values.resize(self.t_s.len() - from, None);
            let told = values.iter().any(Option::is_some);
            told.then(|| Column { counter: CounterId::new(page.id), instance: page.instance.clone(), values })
        };
        let columns = self.pages.iter().filter(|page| wanted.contains(&page.id)).filter_map(column).collect();
        Recording { t_s: self.t_s[from..].to_vec(), columns, absent: Vec::new() }
    }

    /// Hands out what was written and begins anew. Columns without a value are left out; reasons go with them.
    pub fn take(&mut self) -> Recording {
        let t_s = std::mem::take(&mut self.t_s);
        self.t_s.reserve(t_s.len());
        let columns = self.pages.iter_mut().filter_map(|page| page.take(t_s.len())).collect();
        Recording { t_s, columns, absent: std::mem::take(&mut self.absent) }
    }
}

impl Page {
    fn take(&mut self, rows: usize) -> Option<Column> {
        let mut values = std::mem::take(&mut self.values);
        self.values.reserve(values.len());
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
    fn rows_without_a_value_are_none_and_columns_without_any_are_left_out() {
        let mut writer = ColumnWriter::default();
        let slots = writer.open(&["cpu.user", "cpu.system"], "0");
        for t in 0..4 {
            writer.begin(f64::from(t));
            if t == 1 {
                writer.put(slots, 0, 5.0);
            }
        }
        let r = writer.take();
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

//! Index of a recording by counter and by instance. With the index, reading all instances takes time in proportion to
//! the number of columns. Without the index, each query would search all columns.

use std::collections::{BTreeMap, HashMap};

use crate::{Column, CounterId, Reading, Recording, Window};

/// Instances of one counter, by name.
#[derive(Clone, Debug)]
pub struct Instances<'a> {
    recording: &'a Recording,
    columns: HashMap<&'a str, &'a Column>,
}

/// Contents of a recording for one counter.
#[derive(Clone, Debug, Default)]
pub struct RecordedCounter<'a> {
    /// Columns of the counter, one per instance.
    pub columns: Vec<&'a Column>,
    /// Reason why the counter, or a part of it, is missing.
    pub absent: Option<&'a str>,
}

impl Recording {
    /// Returns the instances of a counter.
    pub fn instances(&self, id: &str) -> Instances<'_> {
        let mut columns = HashMap::new();
        for column in self.columns.iter().filter(|c| c.counter.as_str() == id) {
            columns.entry(column.instance.as_str()).or_insert(column);
        }
        Instances { recording: self, columns }
    }

    /// Returns every counter that was recorded or is missing as a whole.
    pub fn by_counter(&self) -> BTreeMap<&CounterId, RecordedCounter<'_>> {
        let mut all: BTreeMap<&CounterId, RecordedCounter<'_>> = BTreeMap::new();
        for column in &self.columns {
            all.entry(&column.counter).or_default().columns.push(column);
        }
        for absence in self.absent.iter().filter(|a| a.instance.is_empty()) {
            all.entry(&absence.counter).or_default().absent.get_or_insert(&absence.reason);
        }
        all
    }
}

impl RecordedCounter<'_> {
    /// Returns the reason why a value is missing.
    pub fn why_absent(&self, id: &str) -> Reading {
        Reading::absent(self.absent.map_or_else(|| format!("{id} was not recorded"), str::to_string))
    }
}

impl Instances<'_> {
    /// Returns the value of an instance in a window, as [`Recording::reading`] does; `None` if the value is missing.
    pub fn value(&self, instance: &str, window: Window) -> Option<f64> {
        self.recording.over(self.columns.get(instance)?, window).value()
    }

    /// Returns the largest value of an instance in a window, as [`Recording::max`] does; `None` if the value is
    /// missing.
    pub fn max(&self, instance: &str, window: Window) -> Option<f64> {
        self.recording.most(self.columns.get(instance)?, window)
    }
}

//! A recording sorted by counter or by instance: what is asked of every instance is asked in time that grows with the
//! recording, not with its square, however many columns a file has.

use std::collections::{BTreeMap, HashMap};

use crate::{Column, CounterId, Reading, Recording, Window};

/// The instances of one counter, by name.
#[derive(Clone, Debug)]
pub struct Instances<'a> {
    recording: &'a Recording,
    columns: HashMap<&'a str, &'a Column>,
}

/// What a recording holds of one counter.
#[derive(Clone, Debug, Default)]
pub struct Recorded<'a> {
    /// Its columns.
    pub columns: Vec<&'a Column>,
    /// Why it, or all of it that is missing, could not be read.
    pub absent: Option<&'a str>,
}

impl Recording {
    /// The instances of a counter.
    pub fn instances(&self, id: &str) -> Instances<'_> {
        let mut columns = HashMap::new();
        for column in self.columns.iter().filter(|c| c.counter.as_str() == id) {
            columns.entry(column.instance.as_str()).or_insert(column);
        }
        Instances { recording: self, columns }
    }

    /// Every counter that was recorded, or could not be as a whole.
    pub fn by_counter(&self) -> BTreeMap<&CounterId, Recorded<'_>> {
        let mut all: BTreeMap<&CounterId, Recorded<'_>> = BTreeMap::new();
        for column in &self.columns {
            all.entry(&column.counter).or_default().columns.push(column);
        }
        for absence in self.absent.iter().filter(|a| a.instance.is_empty()) {
            all.entry(&absence.counter).or_default().absent.get_or_insert(&absence.reason);
        }
        all
    }
}

impl Recorded<'_> {
    /// Why there is no value.
    pub fn why_absent(&self, id: &str) -> Reading {
        Reading::absent(self.absent.map_or_else(|| format!("{id} was not recorded"), str::to_string))
    }
}

impl Instances<'_> {
    /// [`Recording::reading`] of an instance.
    pub fn value(&self, instance: &str, window: Window) -> Option<f64> {
        self.recording.over(self.columns.get(instance)?, window).value()
    }

    /// [`Recording::max`] of an instance.
    pub fn max(&self, instance: &str, window: Window) -> Option<f64> {
        self.recording.most(self.columns.get(instance)?, window)
    }
}

//! Counter samples over time: one column per counter and instance, one row per sample.

pub(crate) mod counter_spec;
pub(crate) mod counters;
pub(crate) mod counters_table;
pub(crate) mod cpu_times;
pub(crate) mod instance;
pub(crate) mod instance_filter;
pub(crate) mod instances;
mod pieces;
pub(crate) mod stored;

use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::{CounterId, Kind, Reading, Window, counter};

/// Samples of one host or network namespace. The values are as read from the kernel, and not converted into rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recording {
    /// Time of each sample in seconds since the start of the load, or since the start of the observation if there is no
    /// load. Samples before the start of the load have negative times.
    #[serde(with = "Figure::<Vec<f64>>")]
    pub t_s: Vec<f64>,
    /// Values, one column per counter and instance.
    pub columns: Vec<Column>,
    /// Counters that could not be read, with the reasons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<Absence>,
    /// Largest values of gauges in long recordings, in which one row stands for several samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peaks: Vec<Peak>,
}

/// Largest value of a gauge among several samples that one row stands for. The row itself contains the mean of the
/// samples for which it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Peak {
    /// Counter that has this peak.
    pub counter: CounterId,
    /// Instance of the counter.
    pub instance: String,
    /// Time of the sample, seconds since the same moment as [`Recording::t_s`].
    #[serde(with = "Figure")]
    pub t_s: f64,
    /// Highest value of the counter.
    #[serde(with = "Figure")]
    pub value: f64,
}

/// Samples of one instance of a counter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Column {
    /// Counter in this column.
    pub counter: CounterId,
    /// The instance: `0` (a CPU), `nginx:1234` (a process), `nginx:1234/1240` (a thread), `eth0`; empty for the host.
    pub instance: String,
    /// One value per sample; `None` for a missing value, for example after the process ended.
    #[serde(serialize_with = "crate::short::optional")]
    pub values: Vec<Option<f64>>,
}

impl Column {
    fn name(&self) -> (&CounterId, &str) {
        (&self.counter, &self.instance)
    }
}

/// A counter that could not be read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Absence {
    /// Counter that is absent.
    pub counter: CounterId,
    /// The instance; empty if no instance of the counter could be read.
    pub instance: String,
    /// Reason why the counter could not be read, in one sentence.
    pub reason: String,
}

impl Recording {
    /// Returns the columns of one counter.
    pub fn columns_of<'a>(&'a self, id: &'a str) -> impl Iterator<Item = &'a Column> {
        self.columns.iter().filter(move |c| c.counter.as_str() == id)
    }

    /// Returns the column of one counter and instance.
    pub fn column(&self, id: &str, instance: &str) -> Option<&Column> {
        self.columns.iter().find(|c| c.counter.as_str() == id && c.instance == instance)
    }

    /// Returns the value of one instance in a window: the growth of a cumulative counter, or the mean of a gauge.
    pub fn reading(&self, id: &str, instance: &str, window: Window) -> Reading {
        match self.column(id, instance) {
            Some(column) => self.over(column, window),
            None => self.why_absent(id, instance),
        }
    }

    /// Returns the sum of [`Recording::reading`] over all instances that `keep` accepts; an absent reading if no
    /// instance has a value.
    pub fn sum(&self, id: &str, window: Window, keep: impl Fn(&str) -> bool) -> Reading {
        let mut sum = None;
        for column in self.columns_of(id).filter(|c| keep(&c.instance)) {
            if let Some(v) = self.over(column, window).value() {
                sum = Some(sum.unwrap_or(0.0) + v);
            }
        }
        sum.map_or_else(|| self.why_absent(id, ""), Reading::Value)
    }

    /// Returns the largest value that an instance has in a window.
    pub fn max(&self, id: &str, instance: &str, window: Window) -> Reading {
        let Some(column) = self.column(id, instance) else { return self.why_absent(id, instance) };
        self.most(column, window)
            .map_or_else(|| Reading::absent(format!("{id} has no sample in the window")), Reading::Value)
    }

    /// Returns the time from the first sample to the last in seconds; 0 without samples.
    pub fn length_s(&self) -> f64 {
        self.t_s.first().zip(self.t_s.last()).map_or(0.0, |(first, last)| last - first)
    }

    /// Returns the time between the first and the last sample of a window in seconds. The rate of a counter is its
    /// growth divided by the time between the first and the last sample.
    pub fn span_s(&self, window: Window) -> f64 {
        let mut inside = self.t_s.iter().copied().filter(|t| window.holds(*t));
        let first = inside.next();
        let last = inside.next_back().or(first);
        first.zip(last).map_or(0.0, |(a, b)| b - a)
    }

    /// Returns an absent reading with its reason. The reason comes from the crate `probe`, or says that the counter was
    /// not recorded.
    pub fn why_absent(&self, id: &str, instance: &str) -> Reading {
        let told =
            self.absent.iter().find(|a| a.counter.as_str() == id && (a.instance == instance || a.instance.is_empty()));
        match told {
            Some(absence) => Reading::absent(absence.reason.clone()),
            None => Reading::absent(format!("{id} was not recorded")),
        }
    }

    fn inside<'a>(&'a self, column: &'a Column, window: Window) -> impl Iterator<Item = f64> + 'a {
        let samples = self.t_s.iter().zip(&column.values);
        samples.filter(move |(t, _)| window.holds(**t)).filter_map(|(_, v)| *v)
    }

    /// Returns the largest value of a column in a window.
    pub fn most(&self, column: &Column, window: Window) -> Option<f64> {
        let of_column = |peak: &&Peak| (&peak.counter, peak.instance.as_str()) == column.name();
        let merged = self.peaks.iter().filter(|peak| window.holds(peak.t_s)).filter(of_column);
        self.inside(column, window).chain(merged.map(|peak| peak.value)).reduce(f64::max)
    }

    /// Returns the growth of a cumulative counter, or the mean of a gauge, in a window.
    pub fn over(&self, column: &Column, window: Window) -> Reading {
        let samples: Vec<f64> = self.inside(column, window).collect();
        let id = column.counter.as_str();
        let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
            return Reading::absent(format!("{id} has no sample in the window"));
        };
        match counter(id).map_or(Kind::Gauge, |spec| spec.kind) {
            Kind::Gauge => Reading::Value(samples.iter().sum::<f64>() / samples.len() as f64),
            Kind::Cumulative if samples.len() < 2 => {
                Reading::absent(format!("{id} has one sample in the window, two are needed"))
            }
            Kind::Cumulative if last < first => {
                Reading::absent(format!("{id} went backwards (the process or device was replaced)"))
            }
            Kind::Cumulative => Reading::Value(last - first),
        }
    }
}

#[cfg(test)]
mod tests;

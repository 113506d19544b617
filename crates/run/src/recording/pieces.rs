//! Divides recordings into pieces, and puts recordings together.

use super::{Column, Recording};

impl Recording {
    /// Adds the columns of another recording of the same trial. After the merge, each column has `None` at times that
    /// only the other recording has.
    pub fn merge(&mut self, other: Self) {
        self.absent.extend(other.absent);
        self.peaks.extend(other.peaks);
        // A recording without columns has only the times of its samples. Merging a recording without columns would add
        // rows without values.
        if other.columns.is_empty() {
            return;
        }
        let mut times: Vec<f64> = self.t_s.iter().chain(&other.t_s).copied().collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        let place = |own: &[f64], columns: Vec<Column>| -> Vec<Column> {
            let rows: Vec<usize> = own.iter().map(|t| times.partition_point(|at| at < t)).collect();
            let spread = |column: Column| {
                let mut values = vec![None; times.len()];
                rows.iter().zip(column.values).for_each(|(row, value)| values[*row] = value);
                Column { values, ..column }
            };
            columns.into_iter().map(spread).collect()
        };
        let ours = std::mem::take(&mut self.columns);
        self.columns = place(&self.t_s, ours);
        self.columns.extend(place(&other.t_s, other.columns));
        self.t_s = times;
    }

    /// Returns the number of stored numbers: the values of all columns, and the times of the samples.
    pub fn values(&self) -> usize {
        self.columns.iter().map(|column| column.values.len()).sum::<usize>() + self.t_s.len()
    }

    /// Splits the first samples off this recording: as many as have about `values` values together, but at least one
    /// sample. Returns `None` if this recording would have no samples left.
    pub fn split_first(&mut self, values: usize) -> Option<Self> {
        let rows = (values / (self.columns.len() + 1)).max(1);
        if self.t_s.len() <= rows {
            return None;
        }
        let first = |values: &mut Vec<Option<f64>>| values.drain(..rows).collect();
        let columns = self.columns.iter_mut().map(|column| {
            let values = first(&mut column.values);
            Column { counter: column.counter.clone(), instance: column.instance.clone(), values }
        });
        Some(Self { columns: columns.collect(), t_s: self.t_s.drain(..rows).collect(), ..Self::default() })
    }

    /// Appends the samples of a later recording and returns true, if both recordings have equal columns in equal order,
    /// or if this recording is empty. If the columns differ and this recording is not empty, changes nothing and
    /// returns false.
    pub fn append(&mut self, later: Self) -> bool {
        if self.t_s.is_empty() && self.columns.is_empty() {
            *self = later;
            return true;
        }
        if !self.columns.iter().map(Column::name).eq(later.columns.iter().map(Column::name)) {
            return false;
        }
        self.columns.iter_mut().zip(later.columns).for_each(|(own, column)| own.values.extend(column.values));
        self.t_s.extend(later.t_s);
        self.absent.extend(later.absent);
        self.peaks.extend(later.peaks);
        true
    }
}

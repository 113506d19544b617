//! Values of one instance's counter, one value per row of a recording. Merging rows replaces the values of a level (a
//! gauge such as memory in use) by their mean. The largest value is kept as a peak. A growing counter keeps its newest
//! value.

/// Values of one column.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    values: Vec<Option<f64>>,
    /// True for a level (a gauge), false for a counter that grows.
    is_level: bool,
    first: Option<f64>,
    newest: Newest,
    /// Largest merged value in each stretch of rows between two starts or ends of phases: number of the stretch, time
    /// in seconds, and value.
    peaks: Vec<(usize, (f64, f64))>,
}

/// The newest value, with the sum (`earlier`) and the number (`count`) of the earlier values in its row.
#[derive(Debug, Default)]
struct Newest {
    value: Option<f64>,
    row: usize,
    t_s: f64,
    sample: u64,
    earlier: f64,
    count: f64,
}

/// Position of a value in a recording: row, time in seconds, number of the stretch of rows, and number of the sample. A
/// stretch consists of the rows between two starts or ends of phases.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) row: usize,
    pub(crate) t_s: f64,
    pub(crate) stretch: usize,
    pub(crate) sample: u64,
}

impl Samples {
    pub(crate) fn new(is_level: bool) -> Self {
        Self { is_level, ..Self::default() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Writes a value into the current row of the column. If one sample writes twice, the second value replaces the
    /// first value. If a later sample writes a level into the same row, the row gets the mean of all levels written by
    /// its samples.
    pub(crate) fn put(&mut self, at: Place, value: f64) {
        self.first.get_or_insert(value);
        let shares_row = self.values.len() > at.row && self.newest.row == at.row;
        let earlier = self.newest.value.filter(|_| self.is_level && shares_row);
        match earlier {
            Some(earlier) if self.newest.sample != at.sample => {
                self.note_peak(at.stretch, (self.newest.t_s, earlier), (at.t_s, value));
                self.newest.earlier += earlier;
                self.newest.count += 1.0;
            }
            Some(_) => {}
            None if shares_row && self.newest.sample != at.sample && self.newest.value != Some(value) => {
                self.keep_first(at.row)
            }
            None => (self.newest.earlier, self.newest.count) = (0.0, 0.0),
        }
        let Newest { earlier, count, .. } = self.newest;
        self.newest = Newest { value: Some(value), row: at.row, t_s: at.t_s, sample: at.sample, earlier, count };
        self.values.resize(at.row + 1, None);
        self.values[at.row] = Some((earlier + value) / (count + 1.0));
    }

    /// Merges each row that `keep` does not mark into the next row. `stays` marks the rows at phase starts and ends.
    pub(crate) fn merge(&mut self, keep: &[bool], t_s: &[f64], stays: &[bool]) {
        self.values.resize(keep.len(), None);
        let mut stretch = 0;
        for row in 0..keep.len().saturating_sub(1) {
            stretch += usize::from(stays[row]);
            if keep[row] {
                continue;
            }
            let next = row + 1;
            self.values[next] = match (self.values[row], self.values[next]) {
                (Some(a), Some(b)) if self.is_level => {
                    self.note_peak(stretch, (t_s[row], a), (t_s[next], b));
                    Some(a.midpoint(b))
                }
                (earlier, later) => {
                    if later.is_some() && later != earlier {
                        self.keep_first(row);
                    }
                    later.or(earlier)
                }
            };
        }
        only(&mut self.values, keep);
        self.newest.row = usize::MAX;
    }

    /// Copies the first value of a counter into the preceding row before a newer value replaces it. Without the copied
    /// value, the counter of a process that lives for less time than a row covers would seem not to grow.
    fn keep_first(&mut self, row: usize) {
        let is_first = !self.is_level && self.first.is_some() && self.values[row] == self.first;
        if let Some(before) = row.checked_sub(1).and_then(|before| self.values.get_mut(before)).filter(|_| is_first) {
            before.get_or_insert(self.first.unwrap_or_default());
        }
    }

    /// Before two values are merged, records the larger one as the peak of a stretch of rows, unless the stretch has a
    /// larger peak. The first peak of a stretch is recorded only if the two values differ.
    fn note_peak(&mut self, stretch: usize, a: (f64, f64), b: (f64, f64)) {
        let larger = if a.1 > b.1 { a } else { b };
        match self.peaks.binary_search_by_key(&stretch, |(stretch, _)| *stretch) {
            Ok(at) if self.peaks[at].1.1 < larger.1 => self.peaks[at].1 = larger,
            Err(at) if a.1 != b.1 => self.peaks.insert(at, (stretch, larger)),
            Ok(_) | Err(_) => {}
        }
    }

    /// Returns the time in seconds and the value of each peak that a merge of rows averaged away.
    pub(crate) fn peaks(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.peaks.iter().map(|(_, peak)| *peak)
    }

    /// Returns the growth from the first value to the newest value, at least 0.
    pub(crate) fn growth(&self) -> f64 {
        self.newest.value.zip(self.first).map_or(0.0, |(last, first)| (last - first).max(0.0))
    }

    /// Copies the values of the rows `from..until`.
    pub(crate) fn rows(&self, from: usize, until: usize) -> Vec<Option<f64>> {
        let mut values = self.values.get(from..).unwrap_or_default().to_vec();
        values.resize(until - from, None);
        values
    }

    /// Returns the values of the first `rows` rows, and starts an empty column.
    pub(crate) fn take(&mut self, rows: usize) -> Vec<Option<f64>> {
        let mut values = std::mem::take(&mut self.values);
        *self = Self { values: Vec::with_capacity(values.len()), ..Self::new(self.is_level) };
        values.resize(rows, None);
        values
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new(self.is_level);
    }
}

/// Removes the items that `keep` does not mark.
pub(crate) fn only<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut places = keep.iter();
    items.retain(|_| places.next().copied().unwrap_or(true));
}

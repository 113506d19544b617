//! The history of a run for the view: a list of moments (short periods, each with its figures). When the list becomes
//! longer than [`MAX_MOMENTS`], loadline merges pairs of neighbouring moments. Merging moments limits the memory for
//! the history of a long run.

/// Maximum number of moments in the history.
const MAX_MOMENTS: usize = 512;

/// A short period of a run with its figures. Unknown figures are NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Length of this period, seconds.
    pub(crate) seconds: f64,
    /// Completed requests per second.
    pub(crate) completed: f64,
    /// Median response time, microseconds. For merged moments, the mean of their medians.
    pub(crate) p50_us: f64,
    /// 99th percentile of the response time, microseconds. For merged moments, the largest of their 99th percentiles.
    pub(crate) p99_us: f64,
    /// Utilization of the server's CPUs, 0 to 1; used only by the charts of `watch`.
    pub(crate) cpu: f64,
}

impl Moment {
    /// Merges the figures of two consecutive moments into one.
    fn with(self, next: Self) -> Self {
        let seconds = self.seconds + next.seconds;
        let mean = |a: f64, b: f64| match (a.is_nan(), b.is_nan()) {
            (true, _) => b,
            (_, true) => a,
            _ => (a * self.seconds + b * next.seconds) / seconds,
        };
        Self {
            seconds,
            completed: mean(self.completed, next.completed),
            p50_us: mean(self.p50_us, next.p50_us),
            p99_us: self.p99_us.max(next.p99_us),
            cpu: mean(self.cpu, next.cpu),
        }
    }
}

/// The history of a run: a list of moments, at most [`MAX_MOMENTS`].
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    moments: Vec<Moment>,
    /// The newest stored moment, which still takes in further measured moments, and the number of measured moments that
    /// it contains so far.
    open: Option<(Moment, u32)>,
    /// Number of measured moments that form one stored moment; 0 has the same meaning as 1.
    each: u32,
}

impl History {
    pub(crate) fn push(&mut self, moment: Moment) {
        let (sum, n) = match self.open.take() {
            Some((open, n)) => (open.with(moment), n + 1),
            None => (moment, 1),
        };
        if n < self.each.max(1) {
            self.open = Some((sum, n));
            return;
        }
        self.moments.push(sum);
        if self.moments.len() >= MAX_MOMENTS {
            self.moments = pairs(&self.moments, 2);
            self.each = self.each.max(1) * 2;
        }
    }

    /// Returns the whole history, merged into at most `columns` moments.
    pub(crate) fn in_columns(&self, columns: usize) -> Vec<Moment> {
        let each = self.moments.len().div_ceil(columns.max(1)).max(1);
        pairs(&self.moments, each)
    }
}

fn pairs(moments: &[Moment], each: usize) -> Vec<Moment> {
    moments.chunks(each).filter_map(|few| few.iter().copied().reduce(Moment::with)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(completed: f64) -> Moment {
        Moment { seconds: 0.2, completed, p50_us: 100.0, p99_us: completed, cpu: f64::NAN }
    }

    #[test]
    fn a_week_takes_no_more_memory_than_a_minute_and_keeps_its_peaks() {
        let mut history = History::default();
        let n = 7 * 24 * 3600 * 5;
        (0..n).for_each(|i| history.push(moment(if i == 12_345 { 900.0 } else { 100.0 })));
        assert!(history.moments.len() < MAX_MOMENTS);
        let columns = history.in_columns(80);
        assert!(columns.len() <= 80 && columns.iter().any(|m| m.p99_us == 900.0));
        let seconds: f64 = columns.iter().map(|m| m.seconds).sum();
        assert!(seconds > 0.99 * f64::from(n) * 0.2 && seconds <= f64::from(n) * 0.2 + 1.0, "{seconds}");
    }

    #[test]
    fn unknown_figures_do_not_affect_means() {
        let known = moment(10.0);
        let unknown = Moment { p50_us: f64::NAN, p99_us: f64::NAN, completed: 0.0, ..known };
        let both = known.with(unknown);
        assert_eq!((both.p50_us, both.p99_us, both.completed), (100.0, 10.0, 5.0));
        assert!(unknown.with(unknown).p50_us.is_nan());
    }
}

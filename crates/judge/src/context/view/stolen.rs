//! CPU time that the hypervisor took away from one side's machine.

use super::View;
use super::cpus::is_in;
use crate::number::{finite, ratio};
use crate::thresholds::MAX_STOLEN;
use stats::average;

/// Maximum number of CPUs of a machine for which only the sum of the stolen time over all CPUs is known.
const MAX_CPUS: usize = 4096;

impl View<'_> {
    /// Returns the share of the time for which the hypervisor gave this machine the CPUs that the side may use. No
    /// program on this machine can use time that the hypervisor gave to other guests.
    pub(crate) fn given(&self) -> f64 {
        1.0 - average(&self.stolen_each(self.mask()))
    }

    /// Returns the share of the time for which the hypervisor took away the CPUs that the side may use. Unlike
    /// [`View::given`], does not limit the share to [`MAX_STOLEN`].
    pub(crate) fn withheld(&self) -> f64 {
        let each = self.steal_of_cpus(self.mask());
        let all = || self.steal_of(|cpu| cpu == "total").first().and_then(|sum| ratio(*sum, self.online()?));
        if each.is_empty() { all().unwrap_or(0.0) } else { average(&each) }
    }

    /// Returns, for each CPU of `mask`, the share of the time for which the hypervisor took the CPU away from this
    /// host. A share above [`MAX_STOLEN`] counts as [`MAX_STOLEN`]. Without a mask, returns the shares of all CPUs. If
    /// only the sum over all CPUs was read, a single CPU may have lost all of the stolen time. The result is empty if
    /// nothing was read.
    pub(crate) fn stolen_each(&self, mask: Option<u64>) -> Vec<f64> {
        let mut shares = self.steal_of_cpus(mask);
        if shares.is_empty() {
            shares = self.steal_of(|cpu| cpu == "total");
            let cpus = mask.map_or(self.online().unwrap_or(1.0), |mask| f64::from(mask.count_ones()));
            shares.resize(shares.len() * (cpus as usize).clamp(1, MAX_CPUS), 0.0);
        }
        shares.into_iter().map(|share| share.clamp(0.0, MAX_STOLEN)).collect()
    }

    /// Returns the share of the time for which the hypervisor took a CPU away from this host, for the CPU that lost the
    /// most. Reads the recording itself, so trials need no derived figures.
    pub fn stolen(&self) -> Option<f64> {
        let most = self.steal_of_cpus(None).into_iter().reduce(f64::max);
        // A run of an older version of loadline may contain only the sum over all CPUs.
        most.or_else(|| self.steal_of(|cpu| cpu == "total").first().copied())
    }

    /// Returns the share of the time that the hypervisor took away, for each single CPU of `mask`, or for all single
    /// CPUs without a mask. The result is empty if only the sum over all CPUs was read.
    fn steal_of_cpus(&self, mask: Option<u64>) -> Vec<f64> {
        self.steal_of(|cpu| cpu != "total" && mask.is_none_or(|mask| is_in(mask, cpu)))
    }

    /// Returns the share of the time that the hypervisor took away, for each instance of the counter that `of` selects.
    fn steal_of(&self, of: impl Fn(&str) -> bool) -> Vec<f64> {
        let recording = &self.side.recording;
        let columns = recording.columns.iter().filter(|c| c.counter.as_str() == "cpu.steal" && of(&c.instance));
        let share =
            |c: &run::Column| ratio(recording.over(c, self.window).value().and_then(finite)? / 1e6, self.span_s?);
        columns.filter_map(share).collect()
    }
}

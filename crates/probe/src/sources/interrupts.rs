//! Interrupts by kind, summed over CPUs: /proc/interrupts and /proc/softirqs. The name of a hardware interrupt is `36
//! virtio1-req.0` (number and device) or, for the kernel's own kinds, a label (`LOC`). Source: proc_interrupts(5).

use std::collections::HashMap;

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source, none};
use crate::text::{lines, number, words};
use crate::tree::Tree;

/// Number of values that the kernel's 32-bit count of one CPU has.
const VALUES_OF_COUNT: f64 = 4_294_967_296.0;

struct Interrupts {
    file: RereadFile,
    kinds: Family,
    /// Overflows of the counters in /proc/softirqs, by kind of interrupt. `None` for /proc/interrupts, which lists only
    /// CPUs that are online. The sums in /proc/interrupts also fall when a CPU goes offline, so a falling sum shows no
    /// overflow.
    wraps: Option<HashMap<Vec<u8>, Wraps>>,
    /// Buffer for the name of an instance.
    name: Vec<u8>,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    let kinds = Family::new(&["interrupt.count"]).quiet();
    Box::new(Interrupts { file: tree.keep("proc/interrupts"), kinds, wraps: None, name: Vec::new() })
}

pub(super) fn open_soft(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    let kinds = Family::new(&["softirq.count"]);
    Box::new(Interrupts { file: tree.keep("proc/softirqs"), kinds, wraps: Some(HashMap::new()), name: Vec::new() })
}

impl Source for Interrupts {
    fn sample(&mut self, round: &mut Round<'_>) {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(reason) => return none(round, &self.kinds, &reason),
        };
        let mut all = lines(text);
        let cpus = all.next().map_or(0, |head| words(head).count());
        for line in all {
            let mut rest = words(line);
            let Some(label) = rest.next().and_then(|w| w.strip_suffix(b":")) else { continue };
            let counts = words(line).skip(1).take(cpus).map_while(number);
            let (seen, sum) = counts.fold((0, 0_u64), |(seen, sum), n| (seen + 1, sum.saturating_add(n)));
            if seen == 0 {
                continue;
            }
            self.name.clear();
            self.name.extend_from_slice(label);
            if let Some(device) = rest.last().filter(|_| number(label).is_some()) {
                self.name.push(b' ');
                self.name.extend_from_slice(device);
            }
            if let Some(slots) = self.kinds.slots(round.writer, &self.name) {
                let lost = self.wraps.as_mut().map_or(0.0, |wraps| lost(wraps, &self.name, sum as f64));
                round.writer.put(slots, 0, sum as f64 + lost);
            }
        }
    }
}

/// Wraps of the counts of one kind of interrupt. The count of each CPU starts again at 0 after its largest value.
struct Wraps {
    /// Last sum over all CPUs.
    last: f64,
    /// Number of interrupts that the sum has lost by wraps.
    lost: f64,
}

/// Returns the number of interrupts of a kind that are missing from the sum over all CPUs. Interrupts are missing
/// because counts of CPUs wrapped (started again at 0). A sum falls only if the count of at least one CPU has wrapped.
fn lost(known: &mut HashMap<Vec<u8>, Wraps>, kind: &[u8], sum: f64) -> f64 {
    let Some(wraps) = known.get_mut(kind) else {
        known.insert(kind.to_vec(), Wraps { last: sum, lost: 0.0 });
        return 0.0;
    };
    wraps.lost += ((wraps.last - sum) / VALUES_OF_COUNT).ceil().max(0.0) * VALUES_OF_COUNT;
    wraps.last = sum;
    wraps.lost
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn lines_are_summed_over_cpus_and_named_by_device() {
        let tree = Tree::new(&[(
            "proc/interrupts",
            "           CPU0       CPU1       \n 36:          5     100718 PCI-MSIX-0000:00:02.0   1-edge      \
             virtio1-req.0\n 37:          0          0 PCI-MSIX   0-edge      idle\nLOC:   10   20   Local timer \
             interrupts\nERR:          3\nodd line\n",
        )]);
        let r = tree.sample("interrupts");
        assert_eq!(r.last("interrupt.count", "36 virtio1-req.0"), Some(100_723.0));
        assert_eq!((r.last("interrupt.count", "LOC"), r.last("interrupt.count", "ERR")), (Some(30.0), Some(3.0)));
        assert_eq!(r.last("interrupt.count", "37 idle"), None);
        assert_eq!(r.0.columns.len(), 3);
    }

    #[test]
    fn soft_interrupts_keep_their_zeros() {
        let tree = Tree::new(&[("proc/softirqs", "     CPU0 CPU1\n  NET_TX:  4  1\n NET_RX:  0 0\n")]);
        let r = tree.sample("softirqs");
        assert_eq!((r.last("softirq.count", "NET_TX"), r.last("softirq.count", "NET_RX")), (Some(5.0), Some(0.0)));
    }
    #[test]
    fn a_count_that_wraps_goes_on() {
        let text = |n: u32| format!("     CPU0 CPU1\n  NET_RX:  {n}  1000\n");
        let tree = Tree::new(&[("proc/softirqs", &text(u32::MAX))]);
        let mut probe = tree.probe("softirqs");
        probe.sample(0.0);
        tree.write("proc/softirqs", &text(9));
        probe.sample(1.0);
        assert_eq!(probe.take().reading("softirq.count", "NET_RX", run::Window::ALL).value(), Some(10.0));
    }
}

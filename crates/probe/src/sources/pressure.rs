//! Stall times (PSI) of the whole host, from /proc/pressure. Many kernels lack the files of /proc/pressure or have them
//! disabled (`psi=1` on the kernel's command line enables them). Source: Documentation/accounting/psi.rst.

use crate::Scope;
use crate::family::Family;
use crate::reread_file::RereadFile;
use crate::source::{Round, Source};
use crate::text::{after, value};
use crate::tree::Tree;

/// For each counter, the index of its file in [`FILES`] and the first word of its line.
const LINES: [(usize, &str); 5] = [(0, "some"), (1, "some"), (1, "full"), (2, "some"), (2, "full")];
const FILES: [&str; 3] = ["proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io"];
const IDS: &[&str] =
    &["pressure.cpu_some", "pressure.memory_some", "pressure.memory_full", "pressure.io_some", "pressure.io_full"];

struct Pressure {
    files: [RereadFile; 3],
    host: Family,
}

pub(super) fn open(_: &Scope, tree: &Tree) -> Box<dyn Source> {
    Box::new(Pressure { files: FILES.map(|file| tree.keep(file)), host: Family::new(IDS) })
}

impl Source for Pressure {
    fn sample(&mut self, round: &mut Round<'_>) {
        let Some(slots) = self.host.slots(round.writer, b"") else { return };
        for (which, file) in self.files.iter_mut().enumerate() {
            let text = file.read();
            for (at, (_, line)) in LINES.iter().enumerate().filter(|(_, (file, _))| *file == which) {
                match &text {
                    Ok(text) => round.writer.put_some(slots, at, total(text, line)),
                    Err(reason) => round.writer.absent(IDS[at], "", format_args!("{reason}")),
                }
            }
        }
    }
}

/// Parses `some avg10=0.05 avg60=0.28 avg300=0.50 total=25424614` and returns the total in microseconds.
fn total(text: &[u8], line: &str) -> Option<f64> {
    after(text, line)?.find_map(|word| word.strip_prefix(b"total=")).and_then(value)
}

#[cfg(test)]
mod tests {
    use crate::testing::Tree;

    #[test]
    fn totals_are_read_and_a_host_without_pressure_gives_a_reason() {
        let memory = "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull avg10=0.00 total=7\n";
        let r = Tree::new(&[("proc/pressure/memory", memory)]).sample("pressure");
        assert_eq!((r.last("pressure.memory_some", ""), r.last("pressure.memory_full", "")), (Some(42.0), Some(7.0)));
        assert!(r.reason("pressure.cpu_some").contains("does not exist"));
    }
}

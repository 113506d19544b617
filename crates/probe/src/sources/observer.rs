//! The probe's own counters: CPU time and number of its samples, and number of late samples.

use crate::Scope;
use crate::family::Family;
use crate::source::{Round, Source};
use crate::tree::Tree;

struct Observer(Family);

pub(super) fn open(_: &Scope, _: &Tree) -> Box<dyn Source> {
    Box::new(Observer(Family::new(&["probe.cpu", "probe.samples", "probe.late"])))
}

impl Source for Observer {
    fn sample(&mut self, round: &mut Round<'_>) {
        let Some(slots) = self.0.slots(round.writer, b"") else { return };
        round.writer.put(slots, 0, round.effort.cpu_us);
        round.writer.put(slots, 1, round.effort.samples as f64);
        round.writer.put(slots, 2, round.effort.late as f64);
    }
}

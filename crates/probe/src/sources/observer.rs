//! The probe itself: what its samples cost, how many they were, how many came late.

use crate::Scope;
use crate::family::Family;
use crate::sources::{Round, Source};
use crate::tree::Tree;

struct Observer(Family);

pub(super) fn open(_: &Scope, _: &Tree) -> Box<dyn Source> {
    Box::new(Observer(Family::new(&["probe.cpu", "probe.samples", "probe.late"])))
}

impl Source for Observer {
    fn sample(&mut self, round: &mut Round<'_>) {
        let Some(slots) = self.0.slots(round.book, b"") else { return };
        round.book.put(slots, 0, round.observed.cpu_us);
        round.book.put(slots, 1, round.observed.samples as f64);
        round.book.put(slots, 2, round.observed.late as f64);
    }
}

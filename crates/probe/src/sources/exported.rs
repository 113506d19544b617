//! Counters that are in no kernel file and come from an exporter, such as a server's own counts (the objects of
//! `run::EXPORTED`).

use run::{CounterId, Recording};

use crate::column_writer::Slots;
use crate::source::{Round, Source};

/// Function that returns the present values of an exporter's counters, as a recording of one row. A counter without a
/// value is absent, with a reason.
pub type Exporter = Box<dyn FnMut() -> Recording + Send>;

/// Calls an exporter at each sample.
pub(crate) struct Exported {
    exporter: Exporter,
    slots: Vec<(CounterId, String, Slots)>,
}

impl Exported {
    pub(crate) fn by(exporter: Exporter) -> Self {
        Self { exporter, slots: Vec::new() }
    }
}

impl Source for Exported {
    fn sample(&mut self, round: &mut Round<'_>) {
        let row = (self.exporter)();
        for column in row.columns {
            let Some(value) = column.values.first().copied().flatten() else { continue };
            let Some(spec) = run::counter(column.counter.as_str()) else { continue };
            let known = self.slots.iter().find(|(id, name, _)| *id == column.counter && *name == column.instance);
            let slots = known.map(|(_, _, slots)| *slots).unwrap_or_else(|| {
                let slots = round.writer.open(std::slice::from_ref(&spec.id), &column.instance);
                self.slots.push((column.counter, column.instance, slots));
                slots
            });
            round.writer.put(slots, 0, value);
        }
        for absence in row.absent {
            let Some(spec) = run::counter(absence.counter.as_str()) else { continue };
            round.writer.absent(spec.id, &absence.instance, format_args!("{}", absence.reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Probe;
    use run::{Absence, Column, CounterId, Recording, Window};

    #[test]
    fn exported_values_become_rows_and_missing_ones_have_reasons() {
        let mut n = 0.0;
        let told = move || {
            n += 1.0;
            let (counter, instance) = (CounterId::new("medium.bytes"), "wire".to_string());
            match n {
                2.0 => Recording {
                    absent: vec![Absence { counter, instance, reason: "asleep".into() }],
                    ..Recording::default()
                },
                _ => Recording {
                    columns: vec![Column { counter, instance, values: vec![Some(n)] }],
                    ..Recording::default()
                },
            }
        };
        let mut probe = Probe::exported(vec![Box::new(told)]);
        (0..3).for_each(|t| probe.sample(f64::from(t)));
        let r = probe.take();
        assert_eq!(r.columns[0].values, [Some(1.0), None, Some(3.0)]);
        assert_eq!(r.reading("medium.bytes", "wire", Window::ALL).value(), Some(2.0));
        assert_eq!(r.absent[0].reason, "asleep");
    }
}

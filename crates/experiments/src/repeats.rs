//! `lab NAME --repeat N`: repeats a whole experiment, and joins the repeats into one run. Each repeat draws its own
//! conclusions. A check passes only if it passed in every repeat.

use run::{Check, Relation, Run};

/// Adds a repeat to the run that contains the earlier repeats. `repeat` is the new repeat's number, counted from 0.
pub(crate) fn add(whole: &mut Run, mut part: Run, repeat: u32) {
    let named = |name: &str| format!("{name} (repeat {})", repeat + 1);
    whole.trials.append(&mut part.trials);
    whole.elapsed_s += part.elapsed_s;
    whole.interrupted = part.interrupted;
    for note in part.notes {
        if !whole.notes.contains(&note) {
            whole.notes.push(note);
        }
    }
    for check in part.findings.checks {
        match whole.findings.checks.iter_mut().find(|known| known.name == check.name) {
            Some(known) => *known = worse(known, &check),
            None => whole.findings.checks.push(Check { name: named(&check.name), ..check }),
        }
    }
    whole.findings.fits.extend(part.findings.fits.into_iter().map(|(name, fit)| (named(&name), fit)));
    whole.findings.conclusions.extend(part.findings.conclusions.iter().map(|words| named(words)));
}

/// Returns the worse of two results of the same check.
fn worse(a: &Check, b: &Check) -> Check {
    let b_is = match a.relation {
        Relation::AtLeast => b.value < a.value,
        Relation::AtMost => b.value > a.value,
        Relation::Equals => a.pass,
    };
    // A check whose value is NaN fails, so NaN is the worst value. NaN needs a separate condition, because comparisons
    // with NaN are always false.
    if a.value.is_finite() && (b_is || !b.value.is_finite()) { b.clone() } else { a.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(value: f64) -> Run {
        let mut run = Run { elapsed_s: 2.0, trials: vec![run::Trial::default()], ..Run::default() };
        run.findings.checks = vec![
            Check::new("at least 3", value, Relation::AtLeast, 3.0),
            Check::new("at most 3", value, Relation::AtMost, 3.0),
        ];
        run.findings.conclusions = vec![format!("it was {value}")];
        run
    }

    #[test]
    fn a_check_passes_if_it_passed_every_time() {
        let mut whole = with(3.0);
        add(&mut whole, with(2.0), 1);
        add(&mut whole, with(4.0), 2);
        let held: Vec<(f64, bool)> = whole.findings.checks.iter().map(|c| (c.value, c.pass)).collect();
        assert_eq!(held, [(2.0, false), (4.0, false)]);
        assert_eq!((whole.trials.len(), whole.elapsed_s), (3, 6.0));
        assert_eq!(whole.findings.conclusions[2], "it was 4 (repeat 3)");
    }

    #[test]
    fn nan_is_the_worst_value() {
        let mut whole = with(3.0);
        add(&mut whole, with(f64::NAN), 1);
        add(&mut whole, with(3.0), 2);
        assert!(whole.findings.checks.iter().all(|c| !c.pass && c.value.is_nan()));
    }
}

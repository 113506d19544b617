//! Connects that the server's host refused during the loads of a search. Refused clients send nothing, so fewer
//! connections than planned carry such a load.

use run::{ErrorKind, Trial};

use crate::Facts;
use crate::context::single::{clients, closed};
use crate::course::offered;
use crate::number::{counted, figure, percent, ratio};
use crate::thresholds::CONNECTS_DROPPED;

/// Returns a sentence about the first load with refused connects, and about the load with the most of them. Returns
/// `None` if hardly any connect was refused in any load. Loads whose server ended are left out, because the end is
/// reported, and a user who chose a single load sees its refused connects in the list of its errors.
pub(crate) fn sentence(facts: &Facts<'_>) -> Option<String> {
    if facts.run.is_of_chosen_loads() {
        return None;
    }
    let loads = || facts.run.last_repeat().iter().filter(|trial| !trial.kind.is_auxiliary());
    let refusing = || loads().filter(|trial| trial.broken().is_none() && share(trial) >= CONNECTS_DROPPED);
    let first = refusing().next()?;
    let most = refusing().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let load = |trial: &Trial| match closed(trial) {
        true => format!("with {}", counted(clients(trial), "client")),
        false => format!("at an offered {}", offered(facts.run, trial)),
    };
    let from = if std::ptr::eq(first, most) { String::new() } else { format!(" (the first ones {})", load(first)) };
    Some(format!(
        "{}, the server refused {} of {} ({}){from}: fewer connections than planned carried this load",
        load(most),
        figure(refused(most) as f64),
        counted(most.tally.attempted as f64, "connect"),
        percent(share(most))
    ))
}

fn refused(trial: &Trial) -> u64 {
    trial.tally.errors.count(ErrorKind::ConnectRefused)
}

/// Returns the share of the refused connects, 0 to 1.
fn share(trial: &Trial) -> f64 {
    ratio(refused(trial) as f64, trial.tally.attempted as f64).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use run::{ErrorKind, Trial, TrialKind};

    use crate::planted::{PlantedRun, Point};

    /// Judges a search on a server that accepts 20 connections and refuses `refused` connects of each larger load.
    fn warnings(refused: u64) -> Vec<String> {
        let refuses = move |t: &mut Trial, p: &Point| {
            if t.kind == TrialKind::Sweep {
                t.tally.attempted = p.n as u64;
                if p.n > 20.0 {
                    t.tally.attempted += refused;
                    t.tally.errors.0.extend((refused > 0).then_some((ErrorKind::ConnectRefused, refused)));
                }
            }
        };
        let mut run = PlantedRun::new(5000.0, 4000.0).steps(&[1, 8, 32, 64]).change(refuses).run();
        crate::judge(&mut run);
        run.findings.trust.warnings
    }

    /// An earlier version of loadline did not mention that connects of a step were refused.
    #[test]
    fn refused_connects_of_a_step_have_a_sentence() {
        let told = warnings(48);
        let expected = "with 32 clients, the server refused 48 of 80 connects (60 %): fewer connections than planned";
        assert!(told.iter().any(|text| text.starts_with(expected)), "{told:#?}");
        assert!(!warnings(0).iter().any(|text| text.contains("refused")));
    }
}

//! Common parts of the rules about the generator's own host.

use run::{ErrorKind, FigureUnit, Trial};

use super::rule::Verdict;
use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{closed, good};
use crate::context::sweep::{Plateau, plateau};
use crate::context::view::View;
use crate::number::{counted, figure, positive, rate};
use crate::signals::Signal;
use crate::thresholds::{FLAT, SUREST};

/// Returns a signal: the number of failed connects in the trial with the most failed connects. One failed connect is
/// enough for the verdict.
pub(super) fn failed(facts: &Facts<'_>, kind: ErrorKind, name: &'static str) -> Vec<Signal> {
    let most = facts.run.trials.iter().map(|t| t.tally.errors.count(kind)).max();
    most.map(|n| Signal::count(name, n as f64, 1.0)).into_iter().collect()
}

/// Returns the trials in which failed connects may have been the limit. Other functions leave out steps of the sweep in
/// which the load could not open all connections. This function includes such steps, unless the other steps show that
/// throughput stopped growing.
fn candidates<'a>(facts: &Facts<'a>, kind: ErrorKind) -> Vec<&'a Trial> {
    let nothing = |t: &&Trial| t.tally.attempted > 0 && positive(t.rates.completed_rate).is_none();
    let flat = matches!(facts.plateau, Plateau::Flat { .. });
    let lacked = |t: &&Trial| !flat && !t.kind.is_auxiliary() && t.tally.errors.count(kind) > 0;
    let further = facts.run.trials.iter().filter(|t| nothing(t) || lacked(t));
    facts.focus().into_iter().chain(further).collect()
}

/// Returns true if an open loop offered more than the highest rate of the sweep, but completed no more than this rate.
/// Beyond the server's capacity, requests pile up and need ever more connections, so a lack of connections is a symptom
/// of the overload.
pub(super) fn is_beyond(facts: &Facts<'_>, trial: &Trial) -> bool {
    let is_flat = matches!(plateau(&facts.sweep, &[], facts.decisive), Plateau::Flat { .. });
    let more_than = |most: f64| trial.rates.offered_rate > most && good(trial) <= (1.0 + FLAT) * most;
    is_flat && !closed(trial) && facts.x_max().is_some_and(more_than)
}

/// Returns a sentence that says that connects failed only at an offered rate beyond the server's highest rate.
fn only_beyond(facts: &Facts<'_>, overload: &Trial, failed: u64, thing: &str) -> String {
    format!(
        "{} of {} failed for lack of a {thing}, but only at an offered {}: before that, the server stopped at {}",
        figure(failed as f64),
        counted(overload.tally.attempted as f64, "connect"),
        rate(overload.rates.offered_rate),
        rate(facts.x_max().unwrap_or_default())
    )
}

/// Returns the verdict of the rules about the generator's local ports and file descriptors. These rules count connects
/// that failed before any packet was sent.
pub(crate) fn failed_locally(
    facts: &Facts<'_>,
    kind: ErrorKind,
    counter: &'static str,
    thing: &str,
    limit: &'static str,
) -> Verdict {
    let count = |t: &Trial| t.tally.errors.count(kind);
    let (beyond, looked_at): (Vec<&Trial>, Vec<&Trial>) =
        candidates(facts, kind).into_iter().partition(|trial| is_beyond(facts, trial));
    let Some(trial) = looked_at.iter().copied().max_by_key(|t| count(t)) else {
        return Verdict::CannotSay(vec!["no trial completed anything".into()]);
    };
    let (n, attempted) = (count(trial), trial.tally.attempted);
    if n == 0 && looked_at.iter().all(|t| t.tally.attempted == 0) {
        // Counters that other tools collected do not count connects.
        return Verdict::CannotSay(vec!["errors: no connect was counted".into()]);
    }
    if n == 0 {
        let overload = beyond.iter().copied().filter(|t| count(t) > 0).max_by_key(|t| count(t));
        return Verdict::RuledOut(match overload {
            Some(overload) => only_beyond(facts, overload, count(overload), thing),
            None => format!("none of {} failed for lack of a {thing}", counted(attempted as f64, "connect")),
        });
    }
    let view = View::new("client", trial, &trial.client);
    let (failed, all) = (figure(n as f64), counted(attempted as f64, "connect"));
    let sentence = format!("the generator ran out of {thing}s: {failed} of {all} failed");
    let errno = if kind == ErrorKind::ClientPorts { "EADDRNOTAVAIL" } else { "EMFILE or ENFILE" };
    let text = format!("{failed} of {all} failed with {errno}");
    let mut evidence =
        vec![measured(&view, ("errors", ""), (n as f64, FigureUnit::Plain), Some(attempted as f64), text)];
    if let Some(v) = view.max(counter) {
        let bound = view.max(limit);
        let of = bound.map_or(String::new(), |b| format!(" (limit {})", figure(b)));
        evidence.push(measured(
            &view,
            (counter, ""),
            (v, FigureUnit::Plain),
            bound,
            format!("{counter} reached {}{of}", figure(v)),
        ));
    }
    Verdict::Binds { confidence: SUREST, sentence, evidence }
}

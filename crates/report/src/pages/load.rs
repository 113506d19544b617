//! Result of `loadline load`: the main figures of a load that the user chose. The page of a single load shows no
//! capacity, because loadline tried no other load.

mod counts;
pub(super) mod headline;
mod objective;
mod rates;
mod times;

use run::{BreachKind, Run, Trial};

use self::counts::{counts, errors};
use self::objective::objective;
use self::rates::{completed, sent, stream_limit};
use self::times::{first_byte, latency};
use super::answered::single;
use super::{course, cpus, limited, next_command, parts, quic, server_acts, spread, streams};
use crate::{AnswerLine, Block, Note, Section, Tone, Weight};

/// Returns the section with the counts of a single load. The summary of a single load already contains the main
/// figures.
pub(super) fn sections(run: &Run) -> Vec<Section> {
    let Some((trial, _)) = single(run) else { return Vec::new() };
    vec![Section::new("load", "", Weight::First, vec![Block::KeyFigures(vec![counts(trial)])])]
}

/// Returns the summary of a single load: percentiles, rate, errors, CPU time of both sides, and the verdict. If the
/// rate changed during the load, the highest rate that met the objective comes first.
pub(super) fn answer(run: &Run) -> Option<Vec<Block>> {
    let (trial, outcome) = single(run)?;
    let changed = run.findings.course.as_ref();
    let times = [latency(trial, run.plan.load.new_connections)].into_iter().chain(first_byte(trial));
    // Percentiles over all rates of a load describe no single rate, so the highest good rate comes first.
    let times = changed
        .map(course::line)
        .into_iter()
        .chain(times)
        .chain(parts::line(run, trial))
        .chain(quic::line(trial))
        .chain(streams::lines(run, trial));
    let mut blocks = vec![Block::Answer(times.collect())];
    blocks.extend(spread::histogram(trial).map(Block::Bars));
    let rate = changed.is_none().then(|| completed(run, trial, outcome));
    let lines = [
        rate,
        sent(trial),
        Some(errors(trial, outcome)),
        cpus::line(run, trial),
        objective(run, outcome),
        acts(run, trial),
    ];
    let lines = lines.into_iter().chain([stream_limit(trial)]);
    // The answer section usually contains advice. The answer section contains no advice if the cause is unknown, the
    // server was observed, some requests succeeded, and the limit on errors was met. For a load without advice,
    // `end_of_answer` recommends a command.
    let is_advised = is_known(run) || trial.server.is_none() || outcome.good_rate.is_none_or(|rate| rate <= 0.0);
    let is_advised = is_advised || outcome.breach.is_some_and(|breach| breach.kind == BreachKind::Errors);
    let verdict = [limited::limited_by(run), limited::advice(run).filter(|_| is_advised)];
    blocks.push(Block::Answer(lines.chain(verdict).flatten().collect()));
    Some(blocks)
}

/// Returns the end of the answer section for a run with a single load. The section has a table of the load's stages, if
/// there are several. If the verdict names no cause, the section also has the command that finds one.
pub(super) fn end_of_answer(run: &Run) -> Vec<Block> {
    let stages = run.findings.course.as_ref().map(|changed| Block::Table(course::table(changed)));
    let next = (!is_known(run)).then(|| Note::block(Tone::Plain, next_command::sentence(run)));
    if single(run).is_some() { stages.into_iter().chain(next).collect() } else { Vec::new() }
}

/// Returns true if the verdict names a cause.
fn is_known(run: &Run) -> bool {
    !matches!(run.findings.bottleneck.id.as_str(), "unknown" | "not-saturated" | "")
}

/// Returns the summary line about actions that the server took without a request, such as closing connections.
fn acts(run: &Run, trial: &Trial) -> Option<AnswerLine> {
    let told = server_acts::sentences(&run.plan.load.protocol, trial).join("; ");
    (!told.is_empty()).then(|| AnswerLine::new("Note", "", told))
}

#[cfg(test)]
mod tests {
    use run::Outcome;

    use super::*;

    #[test]
    fn a_search_for_the_cause_is_advised_only_if_no_cause_is_named() {
        let mut run = Run { trials: vec![Trial::default()], ..Run::default() };
        run.plan.command = "load".into();
        run.findings.outcomes = vec![Outcome::default()];
        let advised = |id: &str| {
            let mut run = run.clone();
            run.findings.bottleneck.id = id.into();
            !end_of_answer(&run).is_empty()
        };
        assert_eq!(["", "unknown", "not-saturated", "server-cpu"].map(advised), [true, true, true, false]);
    }
}

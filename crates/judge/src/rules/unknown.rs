//! Rule for runs whose evidence does not show one cause. The rule `unknown` is the last rule, and it always gives a
//! verdict.

use std::collections::BTreeMap;

use run::{Run, Trial};

use super::busiest_cpus::BusiestCpus;
use super::rule::{PLAIN, Rule, Tier, Verdict};
use super::withheld;
use crate::Facts;
use crate::context::evidence::line;
use crate::context::single::{closed, good, keeps_up, server_of};
use crate::context::sweep::Plateau;
use crate::course::{changes_rate, offered};
use crate::failed::failed_upstream::UpstreamFailure;
use crate::failed::failures::Failures;
use crate::failed::standstill::standstill;
use crate::number::{counted, cpus, figure, grew, percent, ratio, total};
use crate::thresholds::BUSY;

pub(super) const RULE: Rule = Rule {
    id: "unknown",
    needs: &[],
    waits: true,
    tier: Tier::LeftOver,
    judge,
    // Only `loadline explain` prints the advice in this table. The verdict of a run gets the advice of
    // `verdict::advice_without_a_cause` instead.
    advice: &[
        "Read the counters listed under \"Not known\": run on the server's host, as root, or name its process with --server-pid.",
    ],
    explain: "No rule found its signs, or the counters that it needs could not be read. The verdict then says what is known and \
              what is missing, and names no cause. If throughput stopped growing while every measured host idles, requests \
              queue outside the measured devices.",
    ..PLAIN
};

/// Describes a server that loadline only watched under an external load: how close the server's counters are to their
/// limits.
fn watched(trial: &Trial) -> Verdict {
    let mut evidence = Vec::new();
    let mut told = Vec::new();
    if let Some(view) = server_of(trial) {
        if let Some(busy) = view.host().and_then(|host| ratio(host.busy, host.online)) {
            told.push(format!("the host's CPUs were {} busy", percent(busy.min(1.0))));
            evidence.push(line(
                &view,
                "cpu.idle",
                "total",
                format!("CPUs of the host: {} busy", percent(busy.min(1.0))),
            ));
        }
        if let Some(used) = view.cpu_used() {
            told.push(format!("the server used {}", cpus(used)));
            evidence.push(line(
                &view,
                "process.cpu",
                "",
                format!("CPU time of the server's processes: {}", cpus(used)),
            ));
        }
    }
    let said = if told.is_empty() { "none of its counters could be read".into() } else { told.join(" and ") };
    let sentence = format!("loadline only watched, so response times and errors are unknown; {said}");
    Verdict::Binds { confidence: 0.0, sentence, evidence }
}

/// Returns a sentence about the answers of a run, if none of them was good.
pub(crate) fn no_good_answers(run: &Run) -> Option<String> {
    let answered = || run.trials.iter().filter(|t| !t.kind.is_auxiliary() && t.measured.tally.completed > 0);
    if !run.sent_requests() || answered().next().is_none() || answered().any(|t| good(t) > 0.0) {
        return None;
    }
    let mut by_status: BTreeMap<&str, u64> = BTreeMap::new();
    for (status, n) in answered().flat_map(|t| t.measured.tally.refusals()) {
        let sum = by_status.entry(status).or_default();
        *sum = sum.saturating_add(n);
    }
    let all = total(answered().map(|t| t.measured.tally.completed));
    let each: Vec<String> = by_status.iter().map(|(class, n)| format!("{class}: {}", figure(*n as f64))).collect();
    let each = if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) };
    let unknown = if run.is_of_chosen_loads() { "" } else { ", so the capacity is unknown" };
    Some(format!("none of {} was good{each}{unknown}", counted(all as f64, "answer")))
}

fn judge(facts: &Facts<'_>) -> Verdict {
    if let Some(sentence) = no_good_answers(facts.run) {
        return Verdict::Binds { confidence: 0.0, sentence, evidence: Vec::new() };
    }
    if let Some(failures) = Failures::of(facts) {
        return match UpstreamFailure::of(facts, &failures).filter(|cause| cause.id.is_none()) {
            Some(cause) => cause.verdict(&failures),
            None => Verdict::Binds { confidence: 0.0, sentence: failures.sentence(), evidence: Vec::new() },
        };
    }
    if let Some(trial) = facts.run.trials.last().filter(|_| facts.run.only_watched()) {
        return watched(trial);
    }
    let Some(client) = facts.client() else {
        let sentence = match crate::failed::connects::nothing_completed(facts.run) {
            Some(sentence) => sentence,
            None if !facts.run.sent_requests() && !facts.run.trials.is_empty() => {
                "these trials timed calls and sent no requests, so there is no bottleneck to find".into()
            }
            None => "no request completed, so there is nothing to judge".into(),
        };
        return Verdict::Binds { confidence: 0.0, sentence, evidence: Vec::new() };
    };
    let busiest = BusiestCpus::of(facts);
    let mut evidence = Vec::new();
    let flat = match facts.plateau {
        Plateau::Flat { from, to, growth } => {
            let text = format!("from {} to {} clients throughput {}", figure(from), figure(to), grew(growth));
            evidence.push(line(&client, "completed_rate", "", text));
            true
        }
        _ => false,
    };
    if let Some(cpus) = busiest.as_ref().filter(|cpus| cpus.share < BUSY) {
        evidence.push(line(&client, "cpu.idle", "total", cpus.words()));
    }
    let lack = withheld::lack_of_cpus(facts).filter(|_| flat);
    let sentence = match (flat, busiest) {
        (true, _) if lack.is_some() => lack.unwrap_or_default() + WITHHELD,
        (true, Some(cpus)) if cpus.share < BUSY => {
            "throughput stopped growing, but no measured device was full: requests queue somewhere else".into()
        }
        (true, _) => "throughput stopped growing, and the counters do not show why".into(),
        (false, Some(cpus)) if facts.plateau == Plateau::NoResult => one_load(facts, &cpus),
        (false, _) => "the evidence does not point to one cause".into(),
    };
    let slow = facts.rare_slow.as_ref().map_or(String::new(), |slow| format!("; {}", slow.text()));
    Verdict::Binds { confidence: 0.0, sentence: sentence + &slow, evidence }
}

/// End of the sentence about threads that lack CPUs.
const WITHHELD: &str = ": a CPU quota or a set of CPUs that loadline cannot read withholds CPU time from them";

/// Returns the sentence about a run with one load. `cpus` are the busiest CPUs of this load.
fn one_load(facts: &Facts<'_>, cpus: &BusiestCpus) -> String {
    let used = if cpus.share < BUSY { "nothing was full".into() } else { cpus.words() };
    if let Some(text) = facts.outgrown_text().or_else(|| standstill(facts)) {
        return text;
    }
    if let Some(trial) = facts.decisive.filter(|trial| !closed(trial) && keeps_up(trial) && cpus.share >= BUSY) {
        let rate = offered(facts.run, trial);
        return format!("the server answered the offered {rate}, but {used}, so how much more it takes is not known");
    }
    match facts.decisive.is_some_and(|trial| changes_rate(facts.run, trial)) {
        true => format!("{used}, and the counters do not show what limits the server"),
        false if facts.is_search() && facts.run.was_ended_by_user() => {
            format!("{used}, and the search was interrupted before any load reached a limit")
        }
        false if facts.is_search() => format!("{used}, and the budget ended before any load reached a limit"),
        false => match Failures::without_other_cause(facts) {
            Some(failures) => failures.sentence(),
            None => format!("{used}, and one load level cannot show the limit"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Run;
    use crate::planted::{PlantedRun, Who};

    /// Makes a run with a single load. `busy` is the share of time in which the CPUs of the generator's host were in
    /// use. More requests in flight are counted than rate times response time gives (Little's law).
    fn one_load(busy: f64, stages: &[run::Stage]) -> Run {
        let planted = PlantedRun::new(200.0, 1e9).steps(&[2]).rates(&[]);
        let planted = planted.per_s(Who::Client, "cpu.user", "total", move |_| busy * 4e6);
        let mut run = planted.change(|t, _| (t.kind, t.rates.concurrency) = (run::TrialKind::Fixed, 9.0)).run();
        run.plan.command = "load".into();
        run.plan.load.stages = stages.to_vec();
        crate::judge(&mut run);
        assert_eq!(run.findings.bottleneck.id, "unknown");
        run
    }

    #[test]
    fn a_full_machine_is_not_called_idle_and_a_ramp_has_several_load_levels() {
        let warns = |run: &Run| run.findings.trust.warnings.iter().any(|text| text.contains("Little's law"));
        let idle = one_load(0.1, &[]);
        assert_eq!(idle.findings.bottleneck.sentence, "nothing was full, and one load level cannot show the limit");
        assert!(warns(&idle));
        let mut search = idle.clone();
        search.plan.command = "find".into();
        crate::judge(&mut search);
        let b = &search.findings.bottleneck;
        assert_eq!(b.sentence, "nothing was full, and the budget ended before any load reached a limit");
        assert!(!format!("{b:?}").contains("loadline find"), "{b:#?}");
        search.interrupted = true;
        crate::judge(&mut search);
        let b = &search.findings.bottleneck;
        assert_eq!(b.sentence, "nothing was full, and the search was interrupted before any load reached a limit");
        let advice = b.advice.join(" ");
        assert!(advice.contains("Let the search run to its end") && !advice.contains("--budget"), "{advice}");
        let full = one_load(1.0, &[]).findings.bottleneck.sentence;
        assert!(full.starts_with("the busiest measured CPUs were 100"), "{full}");
        let ramp = one_load(0.1, &[run::Stage { seconds: 5.0, from: 1.0, to: 9.0 }]);
        assert!(!ramp.findings.bottleneck.sentence.contains("one load level"), "{:?}", ramp.findings.bottleneck);
        assert!(!warns(&ramp));
    }

    /// The CPUs were full, and two of five requests failed. If requests of a single load failed, the failures are the
    /// most useful fact about it.
    #[test]
    fn failures_of_one_load_are_told_although_the_machine_was_full() {
        let mut run = one_load(1.0, &[]);
        for trial in &mut run.trials {
            let failed = trial.measured.tally.completed * 2 / 5;
            (trial.tally.unexpected_status, trial.measured.tally.unexpected_status) = (failed, failed);
        }
        crate::judge(&mut run);
        let verdict = &run.findings.bottleneck;
        assert_eq!(verdict.id, "unknown");
        assert!(verdict.sentence.starts_with("40 % of the requests failed"), "{}", verdict.sentence);
    }

    /// All answers of the trials were refusals (503). Refusals show neither a capacity of 0 nor a full CPU.
    #[test]
    fn if_no_answer_was_good_the_verdict_says_only_that() {
        let refused = |t: &mut run::Trial, _: &crate::planted::Point| {
            let tally = &mut t.measured.tally;
            tally.unexpected_status = tally.completed;
            tally.status = [("5xx".to_string(), tally.completed)].into();
        };
        let full = PlantedRun::new(200.0, 5000.0).per_s(Who::Server, "process.cpu", "srv:100", |_| 4e6);
        let mut run = full.change(refused).run();
        crate::judge(&mut run);
        let b = &run.findings.bottleneck;
        assert!(b.id == "unknown" && b.sentence.contains("none of") && b.sentence.contains("5xx"), "{b:#?}");
        assert!(b.ruled_out.is_empty(), "{b:#?}");
        assert!(run.findings.capacity.is_none_or(|c| !c.held));
    }

    /// The load offers 200 requests per second, which are all answered, while a build fills the CPUs.
    #[test]
    fn a_rate_that_was_answered_beside_a_build_is_told_first() {
        let planted = PlantedRun::new(200.0, 1e9).steps(&[]).rates(&[1e-6]);
        let planted = planted.per_s(Who::Client, "cpu.user", "total", |_| 4e6);
        let mut run = planted
            .per_s(Who::Client, "cpu.idle", "total", |_| 0.0)
            .change(|t, _| t.kind = run::TrialKind::Fixed)
            .run();
        run.plan.command = "load".into();
        crate::judge(&mut run);
        let b = &run.findings.bottleneck;
        assert!(b.sentence.starts_with("the server answered the offered"), "{b:#?}");
    }
}

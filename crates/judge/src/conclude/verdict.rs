//! The verdict on a run. Every rule gives a result for the run, and [`choose`] picks the winner. The other rules give
//! the reasons why their bottlenecks are ruled out. The decisive trial of a run is the load that represents the run.

use run::{Bottleneck, RuledOut};

use crate::conclude::choose::{Answer, Choice, choose};
use crate::context::single::{clients, failed_share};
use crate::context::sweep::Plateau;
use crate::failed::failed_upstream::UpstreamFailure;
use crate::failed::failures::Failures;
use crate::in_flight::inside::Inside;
use crate::network::ack_timer;
use crate::number::percent;
use crate::rules::{RULES, Rule, Tier, Verdict, lack_of_cpus, no_good_answers, refuses_for_workers};
use crate::signals::cpu::fullness;
use crate::thresholds::{LIKELY, SURE};
use crate::waits::{self, WordOrder};
use crate::{Facts, conclude::confidence, conclude::margins};

/// ID of the rule that names no cause and always gives a verdict.
const UNKNOWN: &str = "unknown";

/// ID of the rule for a server that refuses requests on purpose. A gateway does not refuse on purpose if the cause of
/// its failures is known.
const RATE_LIMIT: &str = "server-rate-limit";

/// Inputs that rules lack if loadline only watched a server under an external load.
const NOT_WATCHED: [&str; 2] = [
    "requests, response times and errors: only the load generator counts them (run `loadline load` or `loadline find`)",
    "the generator's side: it shows if the generator or the network was the limit (run `loadline find`)",
];

/// Returns the reasons against the bottlenecks of the other rules, and the counters whose absence kept rules from a
/// decision.
fn others(winner: &Rule, confidence: f64, answers: &[Answer]) -> (Vec<RuledOut>, Vec<String>) {
    let (mut ruled_out, mut missing) = (Vec::new(), Vec::new());
    for (rule, answer) in answers.iter().filter(|(r, _)| r.id != winner.id && r.id != UNKNOWN) {
        let mut out = |why| ruled_out.push(RuledOut { id: rule.id.into(), why });
        match answer {
            Verdict::RuledOut(why) => out(why.clone()),
            // Missing counters are listed only if the verdict is uncertain.
            Verdict::CannotSay(what) if winner.id == UNKNOWN || confidence < SURE => {
                missing.extend(what.iter().map(|w| (rule.id, w.as_str())));
            }
            Verdict::CannotSay(_) => {}
            Verdict::Binds { sentence: also, confidence, .. } => {
                out(not_it(winner, rule, also, *confidence));
            }
        }
    }
    (ruled_out, merged(&missing))
}

/// Returns the reason why a rule did not win although its signs were found.
fn not_it(winner: &Rule, rule: &Rule, also: &str, chance: f64) -> String {
    if chance < LIKELY {
        return format!("unlikely ({}): {also}", percent(chance));
    }
    let why = match winner.explains.contains(&rule.id) || winner.tier < rule.tier {
        true => format!("explained by {}", winner.id),
        false => format!("less likely than {}", winner.id),
    };
    format!("{why}, though its signs are there: {also}")
}

/// Returns one line for each distinct text about missing counters. Each line names the first rule that lacks these
/// counters, and the number of further rules that lack them.
fn merged(missing: &[(&str, &str)]) -> Vec<String> {
    let first = |at: usize| !missing[..at].iter().any(|(_, what)| *what == missing[at].1);
    let line = |at: usize| {
        let (id, what) = missing[at];
        match missing.iter().filter(|(_, w)| *w == what).count() {
            1 => format!("{id}: {what}"),
            all => format!("{id} and {} more: {what}", all - 1),
        }
    };
    (0..missing.len()).filter(|at| first(*at)).map(line).collect()
}

/// Returns the verdict of all rules.
pub(crate) fn verdict(facts: &Facts<'_>) -> Bottleneck {
    without(facts, &[])
}

/// Returns the verdict of all rules except the rules for bottlenecks that an experiment excluded.
pub(crate) fn without(facts: &Facts<'_>, excluded: &[&str]) -> Bottleneck {
    let answers = answers(facts, excluded);
    let Some(choice) = choose(&answers, &[]) else { return Bottleneck::default() };
    let mut verdict = of_rule(facts, &choice, &answers);
    verdict.margins = margins::of(facts, &choice, &answers);
    confidence::weaken(&mut verdict, facts);
    verdict
}

/// Returns true if the run cannot show a limit of the server. Only the rule `unknown` judges a run that cannot show a
/// limit of the server.
fn is_mute(facts: &Facts<'_>) -> bool {
    // If the server or the generator died in the decisive trial (which represents the run), no rule reads this trial's
    // counters.
    let broken = facts.decisive.is_some_and(|t| t.broken().is_some());
    // Without a good answer, no rule applies, because a server that refuses everything shows no limit. No rule applies
    // either if every request failed for a stretch of time.
    broken || no_good_answers(facts.run).is_some() || facts.stretch.is_some()
}

/// Returns the position of the text about waiting threads in the sentence of a verdict: first or last.
///
/// In a verdict on the cause of failures, the text about waiting threads comes last. In a verdict without a cause, this
/// text also comes last if the sentence is about failures or the threads have too few samples. In all other verdicts,
/// the text about waiting threads comes first.
pub(crate) fn word_order(facts: &Facts<'_>, verdict: &Bottleneck) -> WordOrder {
    let completes = facts.client().is_some() || facts.run.only_watched();
    let fails = is_mute(facts) || !completes || Failures::of(facts).is_some();
    let is_of_failures = || cause_of_failures(facts).is_some_and(|cause| cause.id == Some(verdict.id.as_str()));
    match verdict.id == UNKNOWN && (fails || !waits::has_enough_samples(facts.run)) || fails && is_of_failures() {
        true => WordOrder::WaitsLast,
        false => WordOrder::WaitsFirst,
    }
}

fn answers(facts: &Facts<'_>, excluded: &[&str]) -> Vec<Answer> {
    let mute = is_mute(facts);
    let asked = RULES.iter().filter(|r| (!mute || r.id == UNKNOWN) && !excluded.contains(&r.id));
    let failures = Failures::of(facts);
    let cause = failures.as_ref().filter(|_| !mute).and_then(|failures| UpstreamFailure::of(facts, failures));
    let answer = |rule: &Rule| match (&cause, failures.as_ref()) {
        (Some(cause), Some(failures)) if cause.id == Some(rule.id) => cause.verdict(failures),
        (_, Some(failures)) if is_silenced(facts, rule, failures, cause.as_ref()) => {
            Verdict::RuledOut(failures.sentence())
        }
        _ => (rule.judge)(facts),
    };
    asked.map(|rule| (rule, answer(rule))).collect()
}

/// Returns true if failed answers explain a run better than the signs of `rule` do. If the cause of the failures is
/// known, rules of the last tier are ruled out, too, because they have no direct signs.
///
/// Two kinds of failures are results of the limit. First, failures at other loads do not disprove full CPUs or a full
/// thread at which throughput stopped growing without failures. Second, a gateway may refuse more of a heavier load
/// while requests queue for all workers behind it. The gateway then refuses only the requests that these workers cannot
/// handle.
fn is_silenced(facts: &Facts<'_>, rule: &Rule, failures: &Failures<'_>, cause: Option<&UpstreamFailure>) -> bool {
    let at_some_load = !failures.at_every_load || failures.most;
    let is_left_over = rule.id != UNKNOWN && rule.tier == Tier::LeftOver;
    rule.is_of_work && at_some_load && !is_full_without_failures(facts)
        || (failures.most && !refuses_for_workers(facts) || cause.is_some()) && is_left_over
        || rule.id == RATE_LIMIT && facts.refusals.by_gateway && cause.is_some()
}

/// Returns true if throughput stopped growing in steps without failures, and the server's CPUs or one of its threads
/// were likely full in these steps.
fn is_full_without_failures(facts: &Facts<'_>) -> bool {
    let Plateau::Flat { from, .. } = facts.plateau else { return false };
    let mut steps = facts.sweep.iter().filter(|step| clients(step) >= from).peekable();
    let is_seen = steps.peek().is_some();
    let is_sound = steps.all(|step| failed_share(step).is_some_and(|share| share <= facts.limits.errors));
    is_seen && is_sound && facts.full_server().and_then(|view| fullness(&view)).is_some_and(|full| full >= LIKELY)
}

/// Returns the winner's verdict, with the sentence and the evidence of its rule.
fn of_rule(facts: &Facts<'_>, choice: &Choice<'_>, answers: &[Answer]) -> Bottleneck {
    let (winner, is_unknown) = (choice.rule, choice.rule.id == UNKNOWN);
    let Verdict::Binds { sentence, evidence, .. } = choice.verdict else { return Bottleneck::default() };
    let (ruled_out, mut missing) = others(winner, choice.chance, answers);
    if facts.run.only_watched() {
        missing = NOT_WATCHED.map(str::to_string).into();
    }
    let waits_for = if winner.waits { crate::in_flight::upstreams::waits_for(facts) } else { None };
    let of_upstream = waits_for.as_ref().and_then(|_| crate::in_flight::upstreams::advice(facts));
    let of_failures = cause_of_failures(facts).filter(|cause| cause.id == Some(winner.id)).map(|cause| cause.advice);
    let looks_inside = winner.looks_inside && of_failures.is_none();
    let of_rule = match is_unknown {
        _ if of_failures.is_some() => of_failures.into_iter().collect(),
        true => advice_without_a_cause(facts, &missing, answers),
        false => winner.advice_on(facts),
    };
    let of_timer = ack_timer::advice(facts).filter(|_| winner.id != "tcp-delayed-ack");
    let inside = if looks_inside { Inside::of(facts) } else { Inside::default() };
    let of_rule = inside.advice.unwrap_or(of_rule);
    let mut verdict = Bottleneck {
        id: winner.id.into(),
        sentence: sentence.clone(),
        evidence: evidence.clone(),
        ruled_out,
        missing,
        advice: of_upstream.into_iter().chain(of_rule).chain(of_timer).collect(),
        waits_for,
        serial: inside.serial,
        caveats: (winner.caveat)(facts).into_iter().collect(),
        counted: inside.counted,
        ..Bottleneck::default()
    };
    confidence::set(&mut verdict, choice.chance);
    verdict
}

/// Returns the upstream failure that caused the server's failed answers, if a counter shows such a failure.
fn cause_of_failures(facts: &Facts<'_>) -> Option<UpstreamFailure> {
    UpstreamFailure::of(facts, &Failures::of(facts)?)
}

/// Returns the next steps for a run in which no cause was found, such as measurements that the run lacks.
fn advice_without_a_cause(facts: &Facts<'_>, missing: &[String], answers: &[Answer]) -> Vec<String> {
    if facts.client().is_none() {
        return crate::failed::connects::advice(facts.run);
    }
    if facts.run.only_watched() || !facts.run.sent_requests() {
        return Vec::new();
    }
    if no_good_answers(facts.run).is_some() {
        return vec![no_good_answer(facts).into()];
    }
    let of_cause = cause_of_failures(facts).map(|cause| cause.advice);
    let failures = of_cause.or_else(|| Failures::of(facts).map(|failures| failures.advice()));
    let unread = !facts.reads_server();
    let forbidden = !missing.is_empty() && facts.server().is_some_and(|view| is_forbidden(view.side, answers));
    let one_load = facts.plateau == Plateau::NoResult && facts.search.is_empty();
    let (lacks_cpus, interrupted) = (lack_of_cpus(facts).is_some(), facts.run.was_ended_by_user());
    let reads = [
        (
            lacks_cpus,
            "Run loadline outside of the server's container, on its host, so that it can read the server's control group.",
        ),
        (!facts.outgrown.is_empty(), "Run `loadline find` again, now that the server is warm."),
        (unread, "Run loadline on the server's host, or name its process: --server-pid PID."),
        (one_load && !facts.is_search(), "Run `loadline find URL`, which sends several load levels."),
        (one_load && facts.is_search() && !interrupted, "Give more time, for more load levels: --budget."),
        (one_load && facts.is_search() && interrupted, "Let the search run to its end: it was interrupted."),
        (forbidden, "Run loadline as root: it may not read some of the counters that are missing."),
    ];
    let missing = reads.into_iter().filter(|(is_missing, _)| *is_missing).map(|(_, text)| text.to_string());
    failures.into_iter().chain(missing).collect()
}

/// Returns the next step for a run in which no answer was good.
fn no_good_answer(facts: &Facts<'_>) -> &'static str {
    if let Some(true) = facts.refusals.overload {
        "Exempt the generator's address from the server's rate limit, or send fewer requests: `loadline load URL --rate N`."
    } else if facts.run.plan.load.protocol.http().is_some() {
        "Send one request by hand (curl -v URL), and correct the path, the method or the credentials."
    } else {
        "Send one request by hand, and correct the request or the credentials: the first line has the server's error."
    }
}

/// Returns true if a rule could not decide because loadline was not permitted to read a counter.
fn is_forbidden(side: &run::Side, answers: &[Answer]) -> bool {
    let refused = |need: &&str| {
        side.recording.absent.iter().any(|a| a.counter.as_str() == *need && a.reason.starts_with("no permission"))
    };
    let open = answers.iter().filter(|(_, answer)| matches!(answer, Verdict::CannotSay(_)));
    open.flat_map(|(rule, _)| rule.needs).any(refused)
}

#[cfg(test)]
mod tests {
    use run::{FutexKind, Run, Trial, TrialKind};

    use crate::planted::{PlantedRun, Point, Who};

    /// In this observed case, one thread of Redis was full with 8 to 32 clients, and no request failed. An open loop
    /// opened more connections than Redis's limit of 40 clients, and some of its requests failed.
    #[test]
    fn failures_at_another_load_do_not_disprove_a_thread_that_was_full_without_failures() {
        let verdict = |first: f64| {
            let refuses = move |t: &mut Trial, p: &Point| {
                if p.n >= first || t.kind == TrialKind::Search {
                    let refused = t.measured.tally.completed / 60;
                    t.measured.tally.unexpected_status = refused;
                    t.measured.tally.status.insert("5xx".into(), refused);
                }
            };
            let used = |p: &Point| p.x / 8000.0 * 0.98e6;
            let planted = PlantedRun::new(200.0, 8000.0).steps(&[1, 2, 4, 8, 16, 32]).rates(&[0.5, 0.8]);
            let planted = planted.per_s(Who::Server, "process.cpu", "srv:100", used);
            planted.per_s(Who::Server, "thread.cpu", "srv:100/100", used).change(refuses).verdict()
        };
        let full = verdict(1e9);
        assert_eq!(full.id, "server-single-thread", "{full:#?}");
        let fails = verdict(16.0);
        assert_ne!(fails.id, "server-single-thread", "requests failed at the plateau, too: {fails:#?}");
    }

    /// Returns the verdict's sentence about a server that is observed under an external load. Most threads of the
    /// server wait for a lock, in `rounds` rounds of samples.
    fn watched(rounds: u64, change: impl FnOnce(&mut Run)) -> String {
        let mut run = crate::planted::planted("server-cpu").unwrap();
        let mut server = run.trials.last().unwrap().server.clone();
        let profile = run::WaitProfile { rounds, ..crate::waits::tests::locked(FutexKind::OwnedMutex) };
        server.iter_mut().for_each(|side| side.waits = Some(Box::new(profile.clone())));
        run.trials = vec![Trial { kind: TrialKind::Watched, server, ..Trial::default() }];
        change(&mut run);
        crate::judge(&mut run);
        run.findings.bottleneck.sentence
    }

    #[test]
    fn a_verdict_without_a_cause_begins_with_the_wait() {
        let wait = "14.7 of 16 threads of app:7 wait for one lock";
        let told = watched(100, |_| ());
        assert!(
            told.starts_with(wait) && told.contains("; this need not be the limit: loadline only watched"),
            "{told}"
        );
        let few = watched(3, |_| ());
        assert!(
            few.starts_with("loadline only watched") && few.contains(wait),
            "three samples may agree by chance: {few}"
        );
        let failed = watched(100, |run| run.trials[0].kind = TrialKind::Fixed);
        assert!(!failed.starts_with(wait) && failed.contains(wait), "no request completed: {failed}");
    }
}

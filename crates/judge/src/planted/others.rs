//! Tests with counters that other programs on the host can change, too. If only another program raises the counter of a
//! rule, the rule must not report a bottleneck. If the measured load also shows a symptom of the bottleneck, the rule
//! must report this bottleneck.

use super::shared_signs::{NEVER_FOR, SHARED, SHARED_GROUPS, healthy, limited};
use super::{PlantedRun, Who};
use crate::thresholds::LIKELY;
use crate::{Facts, RULES, Rule, Verdict};

use Who::{Client, Server};

/// Counters of a machine whose values never change.
const CONSTANT: [&str; 4] = ["cpu.online", "interface.speed", "medium.rate", "ports.range"];

fn is_likely(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Binds { confidence, .. } if *confidence >= LIKELY)
}

fn binds(planted: &PlantedRun, rule: &Rule) -> (bool, String) {
    let mut run = planted.run();
    crate::judge(&mut run);
    let verdict = (rule.judge)(&Facts::of(&run));
    (is_likely(&verdict), format!("{verdict:#?}"))
}

#[test]
fn a_shared_counter_gives_no_verdict_without_a_symptom_of_this_load() {
    for shared in SHARED.iter().chain(SHARED_GROUPS) {
        let rule = RULES.iter().find(|rule| rule.id == shared.rule).unwrap();
        let (theirs, ours) = ((shared.theirs)(), (shared.ours)((shared.theirs)()));
        let (wrong, said) = binds(&theirs, rule);
        assert!(!wrong, "{}: {}: {said}", shared.rule, shared.story);
        let (right, said) = binds(&ours, rule);
        assert!(right, "{}, with the symptom: {}: {said}", shared.rule, shared.story);
    }
}

/// Tests that the runs in `shared_signs` cover every counter of a rule that other programs can change, too.
#[test]
fn every_shared_counter_is_tried() {
    for rule in RULES {
        for counter in rule.shared.iter().flat_map(|(counters, _)| *counters) {
            let tried = SHARED.iter().any(|shared| shared.rule == rule.id && shared.counters.contains(counter));
            assert!(tried || NEVER_FOR.contains(&(rule.id, counter)), "{}: {counter}", rule.id);
        }
    }
    for shared in SHARED {
        let rows = shared.theirs;
        let planted = |counter: &&&str| rows().rows.iter().any(|row| row.planted && row.id == **counter);
        assert_eq!(shared.counters.iter().filter(planted).count(), shared.counters.len(), "{}", shared.story);
    }
}

/// Returns true if a counter covers a whole machine or network namespace. Returns false for the counters of a listener,
/// because they describe only the server's own listener.
fn is_shared(counter: &str) -> bool {
    run::counter(counter).is_some_and(|spec| spec.scope() != run::Scope::Side && spec.object != "Listener")
}

/// Tests that each rule lists the shared counters that it needs or that its evidence shows.
#[test]
fn every_rule_names_the_counters_that_it_shares() {
    let names = |rule: &Rule, counter: &str| rule.shared.iter().any(|(counters, _)| counters.contains(&counter));
    let rules = || RULES.iter().filter(|rule| rule.id != "unknown");
    for rule in rules() {
        for need in rule.needs.iter().filter(|need| is_shared(need) && !CONSTANT.contains(need)) {
            assert!(names(rule, need), "{} needs {need}", rule.id);
        }
    }
    for planted in super::PLANTED.iter().map(|p| (p.plant)()).chain(SHARED.iter().map(|s| (s.ours)((s.theirs)()))) {
        let mut run = planted.run();
        crate::derive(&mut run);
        let facts = Facts::of(&run);
        for rule in rules() {
            let Verdict::Binds { evidence, .. } = (rule.judge)(&facts) else { continue };
            for line in evidence.iter().filter(|line| is_shared(&line.counter)) {
                assert!(names(rule, &line.counter), "{} reports {}", rule.id, line.counter);
            }
        }
    }
}

/// Function that makes a made-up run.
type Plant = fn() -> PlantedRun;

/// Returns the instances (such as devices or processes) that a counter has in a made-up run. If the made-up run has no
/// instance of the counter, returns the usual instance.
fn instances(planted: &PlantedRun, who: Who, id: &str) -> Vec<String> {
    let known: Vec<String> =
        planted.rows.iter().filter(|row| row.who == who && row.id == id).map(|row| row.instance.clone()).collect();
    let of_kind =
        [("cpu", "total"), ("disk", "vda"), ("interface", "eth0"), ("qdisc", "eth0 htb 1:"), ("medium", "hub")];
    let kind = id.split('.').next().unwrap_or_default();
    let usual = of_kind.iter().find(|(name, _)| *name == kind).map_or("", |(_, instance)| *instance);
    if known.is_empty() { vec![usual.into()] } else { known }
}

/// Returns the IDs of all rules whose probability is at least one half. Runs only the rules, which takes a fraction of
/// the time of a whole judgement.
fn found(planted: &PlantedRun) -> Vec<&'static str> {
    let mut run = planted.run();
    crate::derive(&mut run);
    let facts = Facts::of(&run);
    let likely = |rule: &&Rule| is_likely(&(rule.judge)(&facts));
    RULES.iter().filter(likely).map(|rule| rule.id).collect()
}

/// Raises each shared counter on the server's side, and on both sides. The rise of a counter is a typical rate of
/// events, or nearly the time of a whole CPU in microseconds. The rise of the counters alone must not make any rule
/// likely.
#[test]
fn no_counter_of_a_host_alone_makes_a_cause_likely() {
    let runs: [(&str, Plant); 4] = [
        ("healthy", || healthy().steps(&[1, 8, 64])),
        ("sleeping workers", || limited().steps(&[1, 8, 64])),
        ("healthy on one host", || healthy().steps(&[1, 8, 64]).shared()),
        ("healthy and not read", || healthy().steps(&[1, 8, 64]).no_server()),
    ];
    let counters = run::COUNTERS.iter().map(|spec| spec.id).filter(|id| is_shared(id) && !CONSTANT.contains(id));
    let counters: Vec<&'static str> = counters.collect();
    assert!(counters.len() > 80, "{}", counters.len());
    let raised: [(&[Who], f64); 3] = [(&[Server], 400.0), (&[Client, Server], 400.0), (&[Client, Server], 0.97e6)];
    let mut wrong = Vec::new();
    for (name, make) in runs {
        let before = found(&make());
        for id in &counters {
            for (sides, value) in raised {
                let raise = |planted: PlantedRun, who: &Who| {
                    let all = instances(&planted, *who, id);
                    all.iter().fold(planted, |planted, instance| planted.per_s(*who, id, instance, move |_| value))
                };
                let after = found(&sides.iter().fold(make(), raise));
                let new: Vec<_> = after.into_iter().filter(|rule| !before.contains(rule)).collect();
                if !new.is_empty() {
                    wrong.push(format!("{name}: {id} = {value}: {new:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

//! Tests of the decision table for the outcome of an experiment.

use super::*;

/// Makes the inputs for a verdict. `own` is the effect of the lever on the verdict's resource.
fn of(own: Own) -> Test {
    Test {
        subject: Subject::Cause,
        own,
        kind: Kind::Agrees,
        is_predicted: true,
        is_disturbed: false,
        rival: Rival::None,
        is_rival_predicted: false,
        excludes_others: true,
        more_load: MoreLoad::Unchanged,
        saturation: Saturation::Shown,
        more_sources: MoreSources::NotTested,
        observed: Observed::Agrees,
        is_definite: false,
        is_lighter: false,
        is_sampled: false,
    }
}

/// Under a light load, no resource is full, so neither a small effect nor a larger load says anything about the limit.
#[test]
fn a_load_much_lighter_than_the_verdict_s_decides_nothing() {
    for own in [Own::Small, Own::Follows, Own::Unused, Own::Partly] {
        let light = Test { is_lighter: true, more_load: MoreLoad::Raised, saturation: Saturation::Refuted, ..of(own) };
        assert_eq!(
            (decide(&light), decide(&light).outcome()),
            (Conclusion::Lighter, ProofOutcome::NotTested),
            "{own:?}"
        );
    }
    let load = Test { is_lighter: true, subject: Subject::Load, more_load: MoreLoad::Raised, ..of(Own::NoLever) };
    assert_eq!(decide(&load), Conclusion::Proven);
}

/// While nothing is full, throughput follows the speed of each resource, in proportion to the resource's share of
/// the response time.
#[test]
fn a_resource_is_full_only_if_a_larger_load_changes_nothing() {
    let (follows, partly) = (of(Own::Follows), Test { rival: Rival::Other, ..of(Own::Partly) });
    let (rival, load) = (Test { own: Own::NoLever, ..partly }, Test { subject: Subject::Load, ..partly });
    let load = Test { own: Own::NoLever, more_load: MoreLoad::NotTested, ..load };
    for test in [follows, partly, rival, Test { kind: Kind::Differs, ..follows }] {
        let open = Test { saturation: Saturation::Open, more_load: MoreLoad::NotTested, ..test };
        assert_eq!((decide(&open), decide(&open).outcome()), (Conclusion::FullnessOpen, ProofOutcome::Inconclusive));
        let raised = Test { saturation: Saturation::Refuted, more_load: MoreLoad::Raised, ..test };
        assert_eq!(decide(&raised), Conclusion::LoadRaised);
    }
    for saturation in [Saturation::Open, Saturation::Shown] {
        assert_eq!(decide(&Test { saturation, ..load }), Conclusion::LoadOpen);
        assert_eq!(decide(&Test { saturation, more_load: MoreLoad::Unchanged, ..load }), Conclusion::Excluded);
    }
}

#[test]
fn only_a_predicted_effect_of_the_own_lever_is_a_proof() {
    let follows = of(Own::Follows);
    assert_eq!(decide(&follows), Conclusion::Proven);
    assert_eq!(decide(&Test { is_predicted: false, ..follows }), Conclusion::Found);
    assert_eq!(decide(&Test { kind: Kind::Open, ..follows }), Conclusion::KindOpen);
    let count_open = decide(&Test { kind: Kind::CountOpen, ..follows });
    assert_eq!((count_open, count_open.outcome()), (Conclusion::CountOpen, ProofOutcome::Inconclusive));
    assert_eq!(decide(&Test { kind: Kind::Differs, ..follows }), Conclusion::OtherKind);
    let by_counters = decide(&Test { kind: Kind::ByCounters, ..follows });
    assert_eq!((by_counters, by_counters.outcome()), (Conclusion::CountUntested, ProofOutcome::Supported));
    assert_eq!(decide(&Test { is_disturbed: true, ..follows }), Conclusion::Disturbed);
    let all = [Own::NoLever, Own::Unused, Own::Slack, Own::Astray, Own::Small, Own::Partly];
    assert!(all.iter().all(|own| decide(&of(*own)).outcome() != ProofOutcome::Proven));
}

#[test]
fn a_verdict_by_exclusion_is_supported_by_an_observation_and_a_larger_load() {
    let rest = of(Own::NoLever);
    assert_eq!(decide(&rest), Conclusion::Remains);
    assert_eq!(decide(&Test { more_load: MoreLoad::NotTested, ..rest }), Conclusion::Remains);
    for (test, conclusion) in [
        (Test { observed: Observed::Nothing, ..rest }, Conclusion::NotSeen),
        (Test { observed: Observed::Contradicts, ..rest }, Conclusion::TwoCauses),
        (Test { excludes_others: false, ..rest }, Conclusion::OthersOpen),
        (Test { more_load: MoreLoad::Open, ..rest }, Conclusion::LoadOpen),
    ] {
        assert_eq!((decide(&test), conclusion.outcome()), (conclusion, ProofOutcome::NotTested));
    }
    assert_eq!(decide(&Test { more_load: MoreLoad::Raised, ..rest }), Conclusion::LoadRaised);
    assert_eq!(decide(&Test { more_sources: MoreSources::Raised, ..rest }), Conclusion::SourcesRaised);
    let load = Test { subject: Subject::Load, more_load: MoreLoad::Raised, is_predicted: false, ..rest };
    assert_eq!(decide(&load), Conclusion::LoadConfirmed);
    assert_eq!(decide(&Test { is_predicted: true, ..load }), Conclusion::Proven);
    assert_eq!(decide(&Test { more_load: MoreLoad::Unchanged, ..load }), Conclusion::Excluded);
    assert_eq!(decide(&Test { subject: Subject::Unknown, ..load }), Conclusion::LoadFound);
}

#[test]
fn a_refutation_needs_a_lever_that_acted() {
    assert_eq!(decide(&of(Own::Small)), Conclusion::Excluded);
    assert_eq!(decide(&Test { rival: Rival::Other, ..of(Own::Partly) }), Conclusion::Overtaken);
    let other = Test { rival: Rival::Other, ..of(Own::Unused) };
    assert_eq!(decide(&other), Conclusion::Overtaken);
    assert_eq!(decide(&Test { is_definite: true, ..other }), Conclusion::AgainstCounters);
    let found = Test { subject: Subject::Unknown, ..other };
    assert_eq!(decide(&found), Conclusion::Found);
    assert_eq!(decide(&Test { kind: Kind::Open, ..found }), Conclusion::KindOpen);
    assert_eq!(decide(&of(Own::Slack)), Conclusion::Slack);
}

/// A rival refutes nothing if its lever did not change throughput as predicted for a saturated resource. Without a
/// prediction of the rival's effect, the new verdict gets at most the confidence `SUPPORTED`, as if it replaced an
/// unknown verdict.
#[test]
fn a_refutation_is_as_strong_as_a_proof() {
    let overtaken = Test { rival: Rival::Other, ..of(Own::Partly) };
    let predicted = Test { is_rival_predicted: true, ..overtaken };
    let of_new = |test: &Test| decide(test).confidence_in_new(test);
    assert_eq!((of_new(&overtaken), of_new(&predicted)), (SUPPORTED, SHOWN));
    for (own, conclusion) in [(Own::Partly, Conclusion::Close), (Own::Unused, Conclusion::OthersOpen)] {
        let astray = Test { rival: Rival::Astray, excludes_others: false, ..of(own) };
        assert_eq!(decide(&astray), conclusion, "{own:?}");
        let unknown = Test { subject: Subject::Unknown, own: Own::NoLever, ..astray };
        assert_eq!((decide(&unknown), of_new(&unknown)), (Conclusion::Found, CLOSE));
    }
    let other_kind = Test { kind: Kind::Differs, ..of(Own::Follows) };
    assert_eq!(of_new(&other_kind), SHOWN);
    assert_eq!(of_new(&Test { is_predicted: false, ..other_kind }), SUPPORTED);
}

#[test]
fn an_open_experiment_takes_nothing_from_counters_that_are_sure() {
    let test = Test { more_load: MoreLoad::NotTested, ..of(Own::Partly) };
    let after = |conclusion: Conclusion, before, own_most| conclusion.confidence(before, own_most, &test);
    for open in [Conclusion::Disturbed, Conclusion::Close, Conclusion::Slack, Conclusion::NotSeen] {
        assert_eq!(after(open, 0.95, 1.0), 0.95, "{open:?}");
    }
    assert_eq!((after(Conclusion::Disturbed, 0.8, 1.0), after(Conclusion::Close, 0.95, 0.45)), (0.8, UNDECIDED));
    assert_eq!((after(Conclusion::Close, 0.8, 1.0), after(Conclusion::KindOpen, 0.8, 1.0)), (UNDECIDED, CLOSE));
    assert_eq!((after(Conclusion::Slack, 0.8, 1.0), after(Conclusion::Proven, 0.8, 1.0)), (0.8, SHOWN));
    assert_eq!(after(Conclusion::CountOpen, 0.85, 1.0), UNDECIDED, "the counters alone show the kind");
    let sampled = Test { is_sampled: true, ..test };
    let close = |own_most| Conclusion::Close.confidence(0.85, own_most, &sampled);
    assert_eq!((close(1.0), close(0.45)), (0.85, UNDECIDED), "threads wait for the lock that the verdict names");
    let addresses = Test { more_sources: MoreSources::Unchanged, ..test };
    let one_limit = |before| Conclusion::NotSeen.confidence(before, 1.0, &addresses);
    assert_eq!((one_limit(0.5), one_limit(0.4), one_limit(0.95)), (WEAK_SIGN, 0.4, 0.95));
    assert_eq!(
        Conclusion::OthersOpen.confidence(0.5, 1.0, &addresses),
        WEAK_SIGN,
        "limits for an address are excluded"
    );
    assert_eq!((after(Conclusion::Remains, 0.7, 1.0), after(Conclusion::Found, 0.0, 1.0)), (0.7, SUPPORTED));
}

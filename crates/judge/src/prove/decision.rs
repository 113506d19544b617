//! Decision table for the outcome of an experiment, from the effects of the levers, the predictions and the direct
//! observations.

use run::ProofOutcome;

use crate::thresholds::{CLOSE, LIKELY, MOST, SHOWN, SUPPORTED, SURE, UNDECIDED, WEAK_SIGN};

/// Result of the lever that acts on the resource that the verdict names ("own lever").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// No lever acts on the resource that the verdict names.
    NoLever,
    /// A lever exists for the resource, but was not used.
    Unused,
    /// The lever took much less of the resource than ordered.
    Slack,
    /// Throughput followed the lever more than anything else, as predicted: the interval contains the prediction and
    /// excludes "no effect".
    Follows,
    /// Throughput followed the lever more than anything else, but not by the predicted amount.
    Astray,
    /// Throughput certainly followed the lever very little.
    Small,
    /// Neither a large nor a very small effect is certain.
    Partly,
}

/// Comparison of the verdict with the kind of a CPU limit: all CPUs, one thread, or one request at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The verdict names this kind, or is not about the server's CPU.
    Agrees,
    /// The verdict says that requests take turns on the CPU, and the counters agree. The experiment did not show it,
    /// because it changed the CPUs' speed alone, on which work in turns and work side by side depend alike.
    ByCounters,
    /// The kind of the CPU limit is unknown.
    Open,
    /// The verdict names another kind.
    Differs,
}

/// Another resource that surely explains most of the throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    /// No other resource explains the limit.
    None,
    /// The other resource describes the verdict's bottleneck in more detail.
    Refines,
    /// The other resource is another bottleneck.
    Other,
}

/// Effect of a larger load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoreLoad {
    NotTested,
    /// The larger load raised throughput, so nothing was saturated.
    Raised,
    /// The larger load did not raise throughput.
    Unchanged,
    Open,
}

/// Effect of more source addresses on a verdict that a limit per address explains as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoreSources {
    NotTested,
    /// More addresses raised throughput, so the server limits each address.
    Raised,
    /// More addresses did not raise throughput, so the server does not limit each address.
    Unchanged,
    Open,
}

/// Direct observations of the verdict: a queue, a count of workers or connections, or refused requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    /// A direct observation agrees with the verdict.
    Agrees,
    Nothing,
    /// An observation shows another cause that no lever tested.
    Contradicts,
}

/// Resource that the verdict names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Cause,
    /// The load itself: nothing is saturated.
    Load,
    /// The cause is unknown.
    Unknown,
}

/// Everything that decides the outcome.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) subject: Subject,
    pub(super) own: Own,
    pub(super) kind: Kind,
    /// True if the effect of the verdict's own lever was predicted before the experiment. The own lever of
    /// `not-saturated` is a larger load.
    pub(super) is_predicted: bool,
    /// True if something else changed throughput as much as the levers did, or a lever slowed more than its own
    /// resource.
    pub(super) is_disturbed: bool,
    pub(super) rival: Rival,
    /// True if the levers exclude both sides' CPUs and every other resource that they slowed.
    pub(super) excludes_others: bool,
    pub(super) more_load: MoreLoad,
    pub(super) more_sources: MoreSources,
    pub(super) observed: Observed,
    /// True if counters of a specific cause made the verdict sure.
    pub(super) is_definite: bool,
}

/// Outcome of an experiment, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// The own lever had the predicted effect.
    Proven,
    /// A lever showed the cause, but its effect had not been predicted.
    Found,
    /// The CPU's speed limits throughput, and only the counters show that requests take turns on it.
    CountUntested,
    /// The CPU's speed limits throughput, but the kind (all CPUs or one thread) is open.
    KindOpen,
    /// Everything else is excluded, and a direct observation agrees.
    Remains,
    /// The verdict says that nothing is saturated, and a larger load raised throughput.
    LoadConfirmed,
    /// A larger load raised throughput, and the cause was unknown: nothing is saturated.
    LoadFound,
    /// The own lever hardly changed throughput.
    Excluded,
    /// Another resource explains most of the throughput.
    Overtaken,
    /// The CPU's speed limits throughput, but the kind of the limit differs from the verdict.
    OtherKind,
    /// A larger load raised throughput, so nothing was saturated.
    LoadRaised,
    /// More source addresses raised throughput, so the server limits each of them.
    SourcesRaised,
    /// Something else changed throughput as much as the levers did.
    Disturbed,
    /// Throughput differs from the prediction.
    Astray,
    /// The own lever's part is too close to another part, or to zero.
    Close,
    /// Another resource explains most of the throughput, although the counters are sure of the verdict.
    AgainstCounters,
    /// The own lever did not act.
    Slack,
    /// Two causes are observed directly, and no lever acts on either of them.
    TwoCauses,
    /// Some other resource may explain the throughput.
    OthersOpen,
    /// A larger load may raise throughput.
    LoadOpen,
    /// Nothing else explains the throughput, but no direct observation confirms the verdict.
    NotSeen,
}

/// Decides the outcome of an experiment.
pub(super) fn decide(test: &Test) -> Conclusion {
    use Conclusion as C;
    match (test.own, test.rival) {
        _ if test.is_disturbed => C::Disturbed,
        (Own::Follows, _) if test.kind == Kind::Differs => C::OtherKind,
        (Own::Follows, _) if test.kind == Kind::Open => C::KindOpen,
        (Own::Follows, _) if test.kind == Kind::ByCounters => C::CountUntested,
        (Own::Follows, _) if test.is_predicted => C::Proven,
        (Own::Follows, _) => C::Found,
        (Own::Small, _) => C::Excluded,
        (Own::Astray, _) => C::Astray,
        (Own::Partly, Rival::Other) => C::Overtaken,
        (Own::Partly, _) => C::Close,
        (Own::NoLever | Own::Unused | Own::Slack, _) => without_own_lever(test),
    }
}

/// Decides the outcome if no lever acted on the resource that the verdict names. The effects of other levers prove
/// nothing.
fn without_own_lever(test: &Test) -> Conclusion {
    use Conclusion as C;
    match (test.subject, test.rival, test.more_load) {
        (Subject::Cause, ..) if test.more_sources == MoreSources::Raised => C::SourcesRaised,
        (Subject::Load, _, MoreLoad::Raised) if test.is_predicted => C::Proven,
        (Subject::Load, _, MoreLoad::Raised) => C::LoadConfirmed,
        (Subject::Load, _, MoreLoad::Unchanged) => C::Excluded,
        (Subject::Unknown, Rival::None, MoreLoad::Raised) => C::LoadFound,
        (_, Rival::None, MoreLoad::Raised) => C::LoadRaised,
        (Subject::Unknown, Rival::Other, _) if test.kind == Kind::Open => C::KindOpen,
        (Subject::Unknown, Rival::Other, _) | (_, Rival::Refines, _) => C::Found,
        (_, Rival::Other, _) if test.is_definite => C::AgainstCounters,
        (_, Rival::Other, _) => C::Overtaken,
        _ if test.own == Own::Slack => C::Slack,
        _ if test.observed == Observed::Contradicts => C::TwoCauses,
        (Subject::Unknown, ..) if !test.excludes_others => C::Close,
        _ if !test.excludes_others => C::OthersOpen,
        (.., MoreLoad::Open) => C::LoadOpen,
        _ if test.observed == Observed::Agrees => C::Remains,
        _ => C::NotSeen,
    }
}

impl Conclusion {
    /// Returns the word for the outcome.
    pub(super) fn outcome(self) -> ProofOutcome {
        match self {
            Self::Proven => ProofOutcome::Proven,
            Self::Found | Self::CountUntested | Self::Remains | Self::LoadConfirmed | Self::LoadFound => {
                ProofOutcome::Supported
            }
            Self::Excluded | Self::Overtaken | Self::OtherKind | Self::LoadRaised | Self::SourcesRaised => {
                ProofOutcome::Refuted
            }
            Self::KindOpen | Self::Disturbed | Self::Astray | Self::Close | Self::AgainstCounters | Self::Slack => {
                ProofOutcome::Inconclusive
            }
            Self::TwoCauses | Self::OthersOpen | Self::LoadOpen | Self::NotSeen => ProofOutcome::NotTested,
        }
    }

    /// Returns the new confidence of a verdict that stays, given its confidence from the counters. No other function
    /// lets an experiment change a confidence. `own_most` is the upper end of the share that the verdict's own resource
    /// explains.
    ///
    /// An undecided experiment does not weaken a verdict that the counters made sure. The experiment lowers the
    /// confidence only if it contradicts the verdict: the own share is surely less than half, or throughput surely
    /// differs from the prediction.
    pub(super) fn confidence(
        self,
        before: f64,
        own_most: f64,
        (more_load, more_sources): (MoreLoad, MoreSources),
    ) -> f64 {
        let if_unsure = |most: f64| if before >= SURE { before } else { before.min(most) };
        match self {
            Self::Proven => before.max(SHOWN),
            Self::Found | Self::CountUntested | Self::LoadConfirmed => before.max(SUPPORTED),
            Self::Remains if more_load == MoreLoad::Unchanged => before.max(SUPPORTED),
            // Most limits that delay answers apply per address. The limit left in this case applies to all addresses
            // together, so the sign of a delaying limit remains weak.
            Self::NotSeen if more_sources == MoreSources::Unchanged && before >= LIKELY => before.max(WEAK_SIGN),
            Self::Astray => before.min(CLOSE),
            Self::Close if own_most < MOST => before.min(CLOSE),
            Self::Close => if_unsure(UNDECIDED),
            Self::KindOpen => if_unsure(CLOSE),
            _ => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the test of a verdict whose own lever had this effect.
    fn of(own: Own) -> Test {
        Test {
            subject: Subject::Cause,
            own,
            kind: Kind::Agrees,
            is_predicted: true,
            is_disturbed: false,
            rival: Rival::None,
            excludes_others: true,
            more_load: MoreLoad::Unchanged,
            more_sources: MoreSources::NotTested,
            observed: Observed::Agrees,
            is_definite: false,
        }
    }

    #[test]
    fn only_a_predicted_effect_of_the_own_lever_is_a_proof() {
        let follows = of(Own::Follows);
        assert_eq!(decide(&follows), Conclusion::Proven);
        assert_eq!(decide(&Test { is_predicted: false, ..follows }), Conclusion::Found);
        assert_eq!(decide(&Test { kind: Kind::Open, ..follows }), Conclusion::KindOpen);
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

    #[test]
    fn an_open_experiment_takes_nothing_from_counters_that_are_sure() {
        let after = |conclusion: Conclusion, before, own_most| {
            conclusion.confidence(before, own_most, (MoreLoad::NotTested, MoreSources::NotTested))
        };
        for open in [Conclusion::Disturbed, Conclusion::Close, Conclusion::Slack, Conclusion::NotSeen] {
            assert_eq!(after(open, 0.95, 1.0), 0.95, "{open:?}");
        }
        assert_eq!((after(Conclusion::Disturbed, 0.8, 1.0), after(Conclusion::Close, 0.95, 0.45)), (0.8, CLOSE));
        assert_eq!((after(Conclusion::Close, 0.8, 1.0), after(Conclusion::KindOpen, 0.8, 1.0)), (UNDECIDED, CLOSE));
        assert_eq!((after(Conclusion::Slack, 0.8, 1.0), after(Conclusion::Proven, 0.8, 1.0)), (0.8, SHOWN));
        let one_limit =
            |before| Conclusion::NotSeen.confidence(before, 1.0, (MoreLoad::NotTested, MoreSources::Unchanged));
        assert_eq!((one_limit(0.5), one_limit(0.4), one_limit(0.95)), (WEAK_SIGN, 0.4, 0.95));
        assert_eq!((after(Conclusion::Remains, 0.7, 1.0), after(Conclusion::Found, 0.0, 1.0)), (0.7, SUPPORTED));
    }
}

//! Decision table for the outcome of an experiment, and the confidence that follows from the outcome.

use run::ProofOutcome;

use super::decision_inputs::{Kind, MoreLoad, MoreSources, Observed, Own, Rival, Saturation, Subject, Test};
use crate::thresholds::{CLOSE, LIKELY, MOST, SHOWN, SUPPORTED, SURE, UNDECIDED, WEAK_SIGN};

/// Outcome of an experiment, including the reason for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conclusion {
    /// The lever of the verdict's own resource changed throughput as predicted.
    Proven,
    /// A lever (a slowdown of a resource) showed the cause, but its effect was not predicted.
    Found,
    /// The CPU's speed limits throughput. The counters, not the experiment, show that only one request at a time runs
    /// on a CPU.
    CountUntested,
    /// The CPU's speed limits throughput as predicted. The experiment did not show the kind of the limit, such as all
    /// CPUs or one thread.
    CountOpen,
    /// The lever changed throughput, but the experiment did not show which kind of limit the lever acted on.
    KindOpen,
    /// Throughput follows the speed of a resource, but nothing shows that the resource is full.
    FullnessOpen,
    /// All other resources are excluded, and a direct observation agrees with the verdict.
    Remains,
    /// The verdict was that nothing is saturated, and a larger load raised throughput.
    LoadConfirmed,
    /// The cause was unknown, and a larger load raised throughput, so nothing is saturated.
    LoadFound,
    /// The lever of the verdict's own resource hardly changed throughput, so this resource is excluded.
    Excluded,
    /// Another resource explains most of the throughput.
    Overtaken,
    /// The CPU's speed limits throughput, but the verdict names the wrong kind of CPU limit (such as one full thread
    /// instead of all CPUs).
    OtherKind,
    /// A larger load raised throughput, so nothing was saturated, contrary to the verdict.
    LoadRaised,
    /// More source addresses raised throughput, so the server limits each address.
    SourcesRaised,
    /// The experiment's load was much lighter than the load at which the verdict's resource is full.
    Lighter,
    /// Something else changed throughput as much as the levers did.
    Disturbed,
    /// Throughput followed the lever of the verdict's own resource, but not as predicted.
    Astray,
    /// The interval of the share of throughput that the verdict's resource explains contains zero, or the share of
    /// another resource is too close to decide.
    Close,
    /// Another resource explains most of the throughput, but the counters make the verdict sure.
    AgainstCounters,
    /// The lever on the verdict's resource took a much smaller share of this resource than planned.
    Slack,
    /// A cause other than the verdict's is observed directly, and no lever tested this cause.
    TwoCauses,
    /// Another resource may explain the throughput.
    OthersOpen,
    /// A larger load may raise throughput.
    LoadOpen,
    /// No other resource explains the throughput, but no direct observation confirms the verdict.
    NotSeen,
}

/// Decides the outcome of an experiment.
pub(super) fn decide(test: &Test) -> Conclusion {
    use Conclusion as C;
    match (test.own, test.rival) {
        _ if test.is_lighter && test.subject != Subject::Load => C::Lighter,
        _ if test.is_disturbed => C::Disturbed,
        (Own::NoLever | Own::Unused | Own::Slack, _) => without_own_lever(test),
        _ if test.saturation == Saturation::Refuted && test.subject == Subject::Unknown => C::LoadFound,
        _ if test.saturation == Saturation::Refuted => C::LoadRaised,
        (Own::Small, _) => C::Excluded,
        (Own::Astray, _) => C::Astray,
        (Own::Follows, _) | (Own::Partly, Rival::Other) if test.saturation == Saturation::Open => C::FullnessOpen,
        (Own::Follows, _) if test.kind == Kind::Differs => C::OtherKind,
        (Own::Follows, _) if test.kind == Kind::CountOpen => C::CountOpen,
        (Own::Follows, _) if test.kind == Kind::Open => C::KindOpen,
        (Own::Follows, _) if test.kind == Kind::ByCounters => C::CountUntested,
        (Own::Follows, _) if test.is_predicted => C::Proven,
        (Own::Follows, _) => C::Found,
        (Own::Partly, Rival::Other) => C::Overtaken,
        (Own::Partly, _) => C::Close,
    }
}

/// Decides the outcome if no lever acted on the verdict's resource. Without a lever on the verdict's resource, only the
/// verdict `not-saturated` can be proven: a larger load must raise throughput as predicted.
fn without_own_lever(test: &Test) -> Conclusion {
    use Conclusion as C;
    match (test.subject, test.rival, test.more_load) {
        (Subject::Cause, ..) if test.more_sources == MoreSources::Raised => C::SourcesRaised,
        (Subject::Load, _, MoreLoad::Raised) if test.is_predicted => C::Proven,
        (Subject::Load, _, MoreLoad::Raised) => C::LoadConfirmed,
        (Subject::Load, _, MoreLoad::Unchanged) => C::Excluded,
        // While nothing is full, throughput follows the speed of each resource that takes time, so this does not
        // contradict the verdict.
        (Subject::Load, Rival::Other | Rival::Refines | Rival::Astray, _) => C::LoadOpen,
        (Subject::Unknown, _, MoreLoad::Raised) => C::LoadFound,
        (.., MoreLoad::Raised) => C::LoadRaised,
        (_, Rival::Other, _) if test.is_definite => C::AgainstCounters,
        (_, Rival::Other | Rival::Refines | Rival::Astray, _) if test.saturation == Saturation::Open => C::FullnessOpen,
        (Subject::Unknown, Rival::Other, _) if matches!(test.kind, Kind::CountOpen | Kind::Open) => C::KindOpen,
        (Subject::Unknown, Rival::Other | Rival::Astray, _) | (_, Rival::Refines, _) => C::Found,
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
    /// Returns the word that reports use for the outcome.
    pub(super) fn outcome(self) -> ProofOutcome {
        match self {
            Self::Proven => ProofOutcome::Proven,
            Self::Found | Self::CountUntested | Self::Remains | Self::LoadConfirmed | Self::LoadFound => {
                ProofOutcome::Supported
            }
            Self::Excluded | Self::Overtaken | Self::OtherKind | Self::LoadRaised | Self::SourcesRaised => {
                ProofOutcome::Refuted
            }
            Self::FullnessOpen
            | Self::CountOpen
            | Self::KindOpen
            | Self::Disturbed
            | Self::Astray
            | Self::Close
            | Self::AgainstCounters
            | Self::Slack => ProofOutcome::Inconclusive,
            Self::Lighter | Self::TwoCauses | Self::OthersOpen | Self::LoadOpen | Self::NotSeen => {
                ProofOutcome::NotTested
            }
        }
    }

    /// Returns the new confidence of a verdict that the experiment keeps. `before` is the verdict's confidence from the
    /// counters. The verdict's resource explains a share of throughput, and `own_most` is the upper end of this share's
    /// interval. An experiment changes confidences only through this function.
    ///
    /// If the counters made the verdict sure, an undecided experiment does not lower the confidence. Only a
    /// contradiction lowers the confidence: a share of throughput that is surely below one half, or throughput that
    /// surely differs from the prediction. If sampled threads show the cause, an undecided experiment does not lower
    /// the confidence either.
    pub(super) fn confidence(self, before: f64, own_most: f64, test: &Test) -> f64 {
        let if_unsure = |most: f64| if before >= SURE { before } else { before.min(most) };
        match self {
            Self::Proven => before.max(SHOWN),
            Self::Found | Self::CountUntested | Self::LoadConfirmed => before.max(SUPPORTED),
            Self::Remains if test.more_load == MoreLoad::Unchanged => before.max(SUPPORTED),
            // Most rate limits that delay answers apply to each source address. If more addresses changed nothing, only
            // a limit for all addresses together is possible, which is rare. With the outcome `OthersOpen`, the
            // experiment did not exclude all other resources, but this does not make such a rate limit more likely.
            Self::NotSeen | Self::OthersOpen if test.more_sources == MoreSources::Unchanged && before >= LIKELY => {
                before.max(WEAK_SIGN)
            }
            Self::Astray => before.min(CLOSE),
            // Among 2,000 simulated networks, 15 of 16 verdicts of this kind were right. The measured share is too
            // small if a time slot has few requests.
            Self::Close if own_most < MOST => before.min(UNDECIDED),
            Self::Close if test.is_sampled => before,
            // `CountOpen`: the experiment confirmed that the CPUs limit throughput, but only the counters show which
            // kind of CPU limit it is.
            Self::Close | Self::CountOpen => if_unsure(UNDECIDED),
            Self::KindOpen => if_unsure(CLOSE),
            _ => before,
        }
    }

    /// Returns the greatest confidence that the experiment gives to a verdict that replaces another one. A new verdict
    /// gets the confidence of a proven verdict only if its evidence is as strong as a proof. Such evidence has three
    /// parts: a lever on the new verdict's resource, a measured dose, and a prediction that the experiment then
    /// confirmed.
    pub(super) fn confidence_in_new(self, test: &Test) -> f64 {
        match self {
            Self::OtherKind if test.is_predicted => SHOWN,
            Self::Overtaken | Self::Excluded | Self::Found | Self::KindOpen if test.rival == Rival::Astray => CLOSE,
            Self::Overtaken | Self::Excluded if test.is_rival_predicted => SHOWN,
            _ => SUPPORTED,
        }
    }
}

#[cfg(test)]
mod tests;

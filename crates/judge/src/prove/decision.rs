//! Decision table for the outcome of an experiment. The inputs of the table are the effects of the levers (which slow
//! resources or change the load), the predicted effects, and direct observations.

use run::ProofOutcome;

use crate::thresholds::{CLOSE, LIKELY, MOST, SHOWN, SUPPORTED, SURE, UNDECIDED, WEAK_SIGN};

/// Effect of the lever (temporary change by the experiment) that acts on the resource that the verdict names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Own {
    /// No lever of loadline acts on the resource that the verdict names.
    NoLever,
    /// A lever acts on the resource that the verdict names, but the experiment did not use this lever.
    Unused,
    /// The lever took a much smaller share of the resource than planned.
    Slack,
    /// The lever's resource explains the largest share of throughput, and throughput changed as predicted: the interval
    /// agrees with the prediction and excludes "no effect".
    Follows,
    /// The lever's resource explains the largest share of throughput, but throughput did not change as predicted.
    Astray,
    /// The lever (a slowdown of the verdict's resource) certainly had hardly any effect.
    Small,
    /// The measurement is too inexact for a decision about the lever's resource. The lever's resource may explain much
    /// of the throughput, or little.
    Partly,
}

/// Result of comparing two kinds of a CPU limit: the kind that the verdict names, and the kind that the experiment
/// measured. The kinds are: all CPUs are full, one thread is full, only one request at a time uses a CPU, or there are
/// too few workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The verdict names the measured kind of CPU limit, or the verdict is not about the server's CPU.
    Agrees,
    /// The verdict and the counters say that one request at a time runs on a CPU, but the experiment did not test this.
    /// The experiment changed only the speed of the CPUs, and throughput follows this speed under every kind of CPU
    /// limit.
    ByCounters,
    /// The experiment did not show which kind of CPU limit the server has. For every kind of CPU limit, throughput
    /// follows the speed of the CPUs.
    CountOpen,
    /// The lever of the experiment acts on two possible causes, such as a rate limit and session affinity. The
    /// experiment did not show which of the two is the real one.
    Open,
    /// The verdict names a kind of CPU limit that differs from the measured kind.
    Differs,
}

/// Statement whether there is a rival: a resource that certainly explains most of the throughput, although the verdict
/// names another resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rival {
    /// No other resource explains most of the throughput.
    None,
    /// The rival resource belongs to the verdict's bottleneck, and describes this bottleneck more precisely.
    Refines,
    /// The rival resource belongs to a bottleneck other than the one that the verdict names. Throughput changed as
    /// predicted for a full resource: the measured interval contains the predicted change and excludes "no effect".
    Other,
    /// Like `Other`, but throughput changed by less or by more than predicted for a full resource. Such a rival does
    /// not refute the verdict.
    Astray,
}

/// Effect of a larger load on throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoreLoad {
    NotTested,
    /// A larger load raised throughput, so nothing was saturated.
    Raised,
    /// A larger load did not raise throughput.
    Unchanged,
    Open,
}

/// Evidence for or against saturation, in which a resource is full and a larger load does not raise throughput.
/// Throughput of a closed loop follows the speed of each resource even if nothing is full, so the decision needs this
/// evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saturation {
    /// A plateau, a queue or a larger load shows that throughput has stopped growing. Also used for a lever that does
    /// not test a full resource.
    Shown,
    /// Nothing shows whether throughput would grow with the load.
    Open,
    /// A larger load raised throughput.
    Refuted,
}

/// Effect of more source addresses on throughput. If a server limits the rate of each address, its counters look like
/// those of other causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MoreSources {
    NotTested,
    /// More source addresses raised throughput, so the server limits each address.
    Raised,
    /// More source addresses did not raise throughput, so the server does not limit each address.
    Unchanged,
    Open,
}

/// Direct observations of a cause: a queue, a count of workers or connections, or refused requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Observed {
    /// An observation shows the verdict's cause.
    Agrees,
    Nothing,
    /// An observation shows a cause other than the verdict's, and no lever tested this cause.
    Contradicts,
}

/// Subject of a verdict: a cause, the load, or nothing known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Cause,
    /// The verdict says that the load is too small to saturate anything.
    Load,
    /// The verdict says that the cause is unknown.
    Unknown,
}

/// All inputs of the decision.
#[derive(Clone, Copy, Debug)]
pub(super) struct Test {
    pub(super) subject: Subject,
    pub(super) own: Own,
    pub(super) kind: Kind,
    /// True if the effect of the verdict's own lever was predicted before the experiment. For the verdict
    /// `not-saturated`, the verdict's own lever is a larger load, and throughput must also have grown as predicted.
    pub(super) is_predicted: bool,
    /// True if the measured effects of the levers (slowdowns of resources) are not reliable. Either something else
    /// changed throughput as much as the levers did, or a lever slowed more than its own resource.
    pub(super) is_disturbed: bool,
    pub(super) rival: Rival,
    /// True if the effect of the rival's lever was predicted before the experiment, and the measurement confirmed it.
    pub(super) is_rival_predicted: bool,
    /// True if the levers exclude the CPUs of client and server, and all other resources that they slowed.
    pub(super) excludes_others: bool,
    pub(super) more_load: MoreLoad,
    pub(super) saturation: Saturation,
    pub(super) more_sources: MoreSources,
    pub(super) observed: Observed,
    /// True if counters of the verdict's specific cause make the verdict sure.
    pub(super) is_definite: bool,
    /// True if another load of the run got many more answers than the experiment's load.
    pub(super) is_lighter: bool,
    /// True if sampled threads wait for what the verdict names, such as a lock, and nothing shows another cause.
    pub(super) is_sampled: bool,
}

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
            // a limit for all addresses together is possible, which is rare. For `OthersOpen`, a resource that the
            // experiment did not exclude does not make such a rate limit more likely.
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
    /// gets the confidence of a proven verdict only if its evidence is as strong as a proof. Such evidence is a lever
    /// on the new verdict's resource, a measured dose, and a prediction that was made before the experiment and
    /// confirmed by it.
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

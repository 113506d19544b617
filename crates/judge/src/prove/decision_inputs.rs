//! Inputs of the decision table for the outcome of an experiment: the effects of the levers (which slow resources or
//! change the load), the predicted effects, and direct observations.

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
    /// A plateau, a queue or a larger load shows that throughput has stopped growing. This value is also used for a
    /// lever that does not test a full resource.
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

//! The watched server's share of the requests, if the load goes to several servers with an address each. Each
//! connection stays with its address, so a lever on the watched server changes only the throughput of that server's
//! connections. The change of the total throughput is smaller: the watched server's change, multiplied by its share of
//! the requests.

use run::{Effect, Estimate, Trial};

use crate::context::single::server_of;
use crate::number::{positive, ratio};
use crate::thresholds::PLACES_APART;

/// ID of the lever that slows the generator's CPU.
pub(super) const CLIENT_CPU: &str = "client-cpu";
/// Levers on resources that all requests use, whichever server answers them; see [`is_of_all_servers`].
const OF_ALL_SERVERS: [&str; 2] = [CLIENT_CPU, "link"];

/// Returns true if a lever acts on a resource that all requests use, even requests to servers that are not watched.
pub(super) fn is_of_all_servers(lever: &str) -> bool {
    OF_ALL_SERVERS.contains(&lever)
}

/// Share of the completed requests that the watched server answered, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WatchedShare(Estimate);

impl WatchedShare {
    /// Share of a server that answered all requests.
    const WHOLE: Self = Self(Estimate { value: 1.0, low: 1.0, high: 1.0 });

    /// Returns the watched server's share of the requests of a trial. The number of the watched server's addresses
    /// follows from the connections that its host accepted. If the number of the watched server's addresses is unknown,
    /// the share lies between that of one address and that of all addresses.
    pub(super) fn of(trial: Option<&Trial>) -> Self {
        let Some(trial) = trial.filter(|trial| trial.addresses.len() > 1) else { return Self::WHOLE };
        let completed = trial.addresses.iter().map(|part| part.requests.measured.completed as f64);
        let mut completed: Vec<f64> = completed.collect();
        completed.sort_by(f64::total_cmp);
        let all: f64 = completed.iter().sum();
        let of = |parts: &[f64]| ratio(parts.iter().sum(), all).unwrap_or(1.0);
        let number = completed.len();
        match watched_addresses(trial) {
            Some(watched) => Self(Estimate {
                value: watched as f64 / number as f64,
                low: of(&completed[..watched.min(number)]),
                high: of(&completed[number.saturating_sub(watched)..]),
            }),
            None => Self(Estimate { value: 1.0, low: of(&completed[..1]), high: 1.0 }),
        }
    }

    /// Returns true if the watched server certainly answered all requests.
    pub(super) fn is_whole(self) -> bool {
        self == Self::WHOLE
    }

    /// Predicts the throughput of all servers, divided by their present throughput, if the watched server loses the
    /// share `dose` of its speed.
    pub(super) fn left(self, dose: f64) -> f64 {
        1.0 - dose * self.0.value
    }

    /// Converts a change of the throughput of all servers into the change of the watched server's throughput. Argument
    /// and result are ratios of new to old throughput.
    pub(super) fn ratio(self, all: Estimate) -> Estimate {
        let of = |ratio: f64, share: f64| 1.0 - (1.0 - ratio) / share;
        self.convert(all, of)
    }

    /// Converts the effect of a lever on the throughput of all servers into its effect on the watched server's
    /// throughput. Leaves the effect unchanged if all servers use the lever's resource.
    pub(super) fn own(self, effect: &Effect) -> Effect {
        if self.is_whole() || is_of_all_servers(&effect.lever) {
            return effect.clone();
        }
        let Estimate { value, low, high } =
            self.ratio(Estimate { value: effect.ratio, low: effect.low, high: effect.high });
        Effect { ratio: value, low, high, ..effect.clone() }
    }

    /// Converts the effects of several levers in the way that [`WatchedShare::own`] describes.
    pub(super) fn own_each(self, effects: &[Effect]) -> Vec<Effect> {
        effects.iter().map(|effect| self.own(effect)).collect()
    }

    /// Returns the elasticity of the watched server's throughput for the speed of a resource that lost the share
    /// `dose`. `all` is the factor by which the throughput of all servers changed.
    pub(super) fn elasticity(self, all: Estimate, dose: f64) -> Estimate {
        let of = |ratio: f64, share: f64| match positive(1.0 - (1.0 - ratio) / share) {
            Some(own) => own.ln() / (1.0 - dose).ln(),
            // All servers together lost more throughput than the watched server completes, so the elasticity is far
            // above 1.
            None => ratio.ln() / (1.0 - dose).ln() / share,
        };
        self.convert(all, of)
    }

    /// Applies the function `of` to the estimate `all` and to the watched server's share. The interval of the result
    /// includes the uncertainty of the estimate and of the share.
    fn convert(self, all: Estimate, of: impl Fn(f64, f64) -> f64) -> Estimate {
        let Self(share) = self;
        let ends = [all.low, all.high].into_iter().flat_map(|end| [of(end, share.low), of(end, share.high)]);
        let value = of(all.value, share.value);
        let (low, high) = ends.fold((value, value), |(low, high), end| (low.min(end), high.max(end)));
        Estimate { value, low, high }
    }
}

/// Returns the number of the trial's addresses at which the watched server answers. All addresses get equally many
/// connections. The host of the watched server therefore accepted a whole multiple of the number of connections per
/// address. Returns `None` if the host's count agrees with no multiple, for example because other clients connected,
/// too.
fn watched_addresses(trial: &Trial) -> Option<usize> {
    let accepted = server_of(trial)?.whole_trial("tcp.passive_opens").and_then(positive)?;
    let each = positive(trial.tally.connected as f64 / trial.addresses.len() as f64)?;
    let number = (accepted / each).round();
    let is_counted = (1.0..=trial.addresses.len() as f64).contains(&number);
    (is_counted && (accepted - number * each).abs() <= PLACES_APART * each).then_some(number as usize)
}

#[cfg(test)]
mod tests {
    use run::{AddressPart, Bottleneck, Proof, ProofOutcome, Run};

    use crate::planted::proofs::{slots, tried_on};
    use crate::planted::{PlantedRun, Who};

    /// Makes a run in which `number` addresses get equal loads. The watched server's four threads are full. The watched
    /// server's host accepted `accepted` connections per connection of the load.
    fn one_of(number: u64, accepted: f64) -> Run {
        let planted = PlantedRun::new(4000.0, 1000.0 * number as f64)
            .per_s(Who::Server, "tcp.passive_opens", "", move |p| accepted * p.n.floor() / 2.0)
            .change(move |trial, _| {
                let mut part = AddressPart::default();
                part.requests.measured.completed = trial.measured.tally.completed / number;
                trial.addresses = vec![part; number as usize];
            });
        let each = move |p: &crate::planted::Point| p.x / number as f64 * 975.0;
        let all = move |p: &crate::planted::Point| p.x / number as f64 * 3900.0;
        let planted = planted
            .per_s(Who::Server, "process.cpu", "srv:100", all)
            .per_s(Who::Server, "cpu.user", "total", all)
            .per_s(Who::Server, "cpu.idle", "total", move |p| 3.95e6 - all(p));
        (101..105)
            .fold(planted, |planted, id| planted.per_s(Who::Server, "thread.cpu", &format!("srv:100/{id}"), each))
            .run()
    }

    /// Makes an experiment in which the lever on the watched server cuts the throughput of all servers by `lost`.
    fn slowed(number: u64, accepted: f64, lost: f64) -> (Proof, Bottleneck) {
        let run = one_of(number, accepted);
        let mut argued = run.clone();
        crate::judge(&mut argued);
        tried_on(run, argued.findings.bottleneck, |proof, lever| {
            proof.trials.push(slots(lever, (1.0 - lost).ln() / 0.75_f64.ln(), 0.01));
        })
    }

    /// One of four full servers is watched, so all servers together lost only 6 % of their throughput. An earlier
    /// version of loadline therefore refuted the verdict.
    #[test]
    fn one_of_several_full_servers_is_not_refuted_by_its_share() {
        for number in [1, 2, 3, 4] {
            let (proof, verdict) = slowed(number, 1.0 / number as f64, 0.25 / number as f64);
            assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Proven, "server-cpu"), "{}", proof.why);
        }
        let (proof, _) = slowed(4, 0.25, 0.0625);
        assert!(proof.why.contains("(predicted: 6.25 %)"), "{}", proof.why);
    }

    #[test]
    fn a_watched_server_that_does_not_limit_its_share_is_refuted() {
        let (proof, verdict) = slowed(3, 1.0 / 3.0, 0.005);
        assert_eq!((proof.outcome, verdict.id == "server-cpu"), (ProofOutcome::Refuted, false), "{}", proof.why);
    }

    /// The lever should cut the watched server's throughput by a quarter. If all addresses together lose a quarter, the
    /// verdict is proven, even if the number of the watched server's addresses is unknown. If four addresses together
    /// lose only a sixteenth, the full effect on one address and a quarter of it on all four look the same.
    #[test]
    fn an_unknown_share_proves_and_refutes_nothing_in_between() {
        for accepted in [0.0, 1.0] {
            let (proof, _) = slowed(2, accepted, 0.25);
            assert_eq!(proof.outcome, ProofOutcome::Proven, "{accepted}: {}", proof.why);
        }
        let (proof, verdict) = slowed(4, 0.0, 0.0625);
        assert_eq!((proof.outcome, verdict.id.as_str()), (ProofOutcome::Inconclusive, "server-cpu"), "{}", proof.why);
    }
}

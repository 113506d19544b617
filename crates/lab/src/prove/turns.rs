//! Experiment in which a load without a lever and a load with the lever take turns. A lever is a temporary change that
//! an experiment makes, such as slowing a CPU. A turn without the lever and a turn with the lever form a pair. The
//! order within each pair is random and follows from the plan's seed.

use std::time::Duration;

use run::number::prose::counted;
use run::{AgentCommand, AgentSpec, LeverPlan, LoadPlan, ProofMetric, SummaryFigure, SwitchTrial, TrialKind};

use super::operating_point::OperatingPoint;
use super::untried::{self, budget_for};
use crate::agents::AgentGroup;
use crate::levers::{Lever, LoadPair};
use crate::trial::turn_order::TurnOrder;
use crate::{Host, Lab, LabError, Point, TargetSetup};

/// Maximum time to wait for the agents to start, or to make or undo a change.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(10);
/// Length of the warm-up of each load, seconds. During the warm-up, the connections are established.
const WARM_UP_S: f64 = 0.15;
/// Minimum time that starting and ending agents adds to a turn, seconds.
const OVERHEAD_S: f64 = 0.25;
/// Minimum length of a turn (one load without or with the lever), seconds.
const MIN_TURN_S: f64 = 0.25;
/// Maximum length of a turn (one load without or with the lever), seconds.
const MAX_TURN_S: f64 = 2.0;
/// Minimum and maximum number of pairs of turns. The scatter between pairs cannot be estimated from fewer than three
/// pairs.
const PAIRS: (usize, usize) = (3, 8);

/// Minimum length of a turn, divided by the response time. The first number is preferred; the second number is used if
/// time is short. In a shorter turn, the start of the load would take most of the time.
const RESPONSES_PER_TURN: [f64; 2] = [20.0, 8.0];

/// Returns the number of pairs of turns, and the length of each turn, that fit into `seconds`; `None` if there is too
/// little time.
pub(super) fn pairs(response_s: f64, seconds: f64, overhead_s: f64) -> Option<(usize, f64)> {
    RESPONSES_PER_TURN.iter().find_map(|responses| pairs_of(responses * response_s, seconds, overhead_s))
}

/// Returns the shortest time for all turns (loads without and with the lever), seconds.
pub(super) fn least_seconds(response_s: f64, overhead_s: f64) -> f64 {
    let turn_s = (RESPONSES_PER_TURN[1] * response_s).clamp(MIN_TURN_S, MAX_TURN_S);
    2.0 * PAIRS.0 as f64 * (turn_s + WARM_UP_S + overhead_s.max(OVERHEAD_S))
}

fn pairs_of(least_s: f64, seconds: f64, overhead_s: f64) -> Option<(usize, f64)> {
    let around_s = WARM_UP_S + overhead_s.max(OVERHEAD_S);
    let wanted_s = least_s.clamp(MIN_TURN_S, MAX_TURN_S);
    // Adding 5e-10 compensates for rounding errors. Without this addition, the last pair of turns would be left out if
    // it fits exactly.
    let fitting = |turn_s: f64| (seconds / (2.0 * (turn_s + around_s)) + 5e-10).floor() as usize;
    let number = fitting(wanted_s).min(PAIRS.1);
    if number < PAIRS.0 {
        return None;
    }
    let longer_s = seconds / (2.0 * number as f64) - around_s;
    Some((number, longer_s.clamp(wanted_s, MAX_TURN_S)))
}

/// Conducts the turns without and with the lever. The error of the inner `Result` gives the reason why turns are not
/// possible.
pub(super) fn trial(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    operating_point: &OperatingPoint,
    (row, load_pair): (&Lever, &LoadPair),
    seconds: f64,
) -> Result<Result<SwitchTrial, String>, LabError> {
    let end_s = lab.elapsed_s() + seconds;
    let (pairs, turn_s) = match pairs_within(lab, operating_point.turn_response_s, seconds) {
        Ok(fitting) => fitting,
        Err(why) => return Ok(Err(why)),
    };
    let answer = lab.run.findings.proof.as_ref().map(|proof| proof.of).unwrap_or_default();
    let hosts = setup.hosts_of(row.place);
    let mut order = TurnOrder::new(setup.load.seed);
    let mut rates = [Vec::with_capacity(pairs), Vec::with_capacity(pairs)];
    let mut change = match load_pair.change.as_ref().map(|plan| HeldChange::prepare(lab, &hosts, plan)).transpose() {
        Ok(change) => change,
        Err(why) => return Ok(Err(why.to_string())),
    };
    for pair in 0..pairs {
        let overhead_s = lab.clock.overhead_with_drain_s(operating_point.turn_response_s);
        let pair_s = 2.0 * (WARM_UP_S + turn_s + overhead_s);
        if pair >= PAIRS.0 && lab.elapsed_s() + pair_s > end_s {
            break;
        }
        for with in order.pair() {
            if lab.stopped() {
                return Ok(Err("it was interrupted".into()));
            }
            let label = format!("{} {}, pair {}", row.id, ["off", "on"][with], pair + 1);
            let load = [&load_pair.off, &load_pair.on][with];
            let plan = LoadPlan { warmup_s: WARM_UP_S, duration_s: turn_s, seed: pair as u64, ..load.clone() };
            if let Err(why) = change.as_mut().map_or(Ok(()), |change| change.switch(with == 1)) {
                return Ok(Err(why.to_string()));
            }
            let result = turn(lab, setup, plan, label, answer)?;
            if result.is_nan() {
                return Ok(Err("too many requests were not answered to know the response time".into()));
            }
            rates[with].push(result);
        }
    }
    let [off, on] = rates;
    let label = describe(load_pair, operating_point.rate, on.len());
    let (lever, host, dose) = (row.id.into(), names(&hosts, setup), load_pair.dose);
    Ok(Ok(SwitchTrial { lever, host, label, turn_s, dose, off, on }))
}

/// Returns the number of pairs of turns, and the length of each turn, that fit into `seconds`. The error says how much
/// time is missing.
fn pairs_within(lab: &Lab<'_>, response_s: f64, seconds: f64) -> Result<(usize, f64), String> {
    let overhead_s = lab.clock.overhead_with_drain_s(response_s);
    pairs(response_s, seconds, overhead_s).ok_or_else(|| {
        let least_s = least_seconds(response_s, overhead_s);
        let budget_s = budget_for(lab, least_s, seconds);
        untried::no_time("turns with and without it", least_s, (seconds, budget_s))
    })
}

/// Describes the load with the lever and the number of pairs. `rate` is the offered rate of an open loop, requests per
/// second.
fn describe(load_pair: &LoadPair, rate: f64, pairs: usize) -> String {
    let load = match load_pair.on.intensity {
        run::Intensity::Closed { connections, .. } => counted(f64::from(connections), "connection"),
        _ => format!("{rate:.0} requests/s"),
    };
    format!("{load}, {} of turns", counted(pairs as f64, "pair"))
}

/// Returns the names of the hosts on which the lever makes its change. `hosts` is empty if the lever only changes the
/// load; the result is then the name of the host that generates the load.
fn names(hosts: &[&dyn Host], setup: &TargetSetup) -> String {
    let names: Vec<&str> = hosts.iter().map(|host| host.name()).collect();
    if names.is_empty() { setup.host().name().into() } else { names.join(", ") }
}

/// Agents that make a change before a turn and undo it after the turn. The change is undone when this value is dropped.
struct HeldChange {
    agents: AgentGroup,
    on: bool,
}

impl HeldChange {
    /// Starts the agents that change a resource between turns. Each agent locks the resources that it will change.
    fn prepare(lab: &Lab<'_>, hosts: &[&dyn Host], plan: &LeverPlan) -> Result<Self, LabError> {
        let mut agents = AgentGroup::default();
        for host in hosts {
            agents.start(*host, lab.program(), &plan.lever, &AgentSpec::Lever(plan.clone()))?;
        }
        agents.await_ready(CHANGE_TIMEOUT)?;
        Ok(Self { agents, on: false })
    }

    fn switch(&mut self, on: bool) -> Result<(), LabError> {
        if on == self.on {
            return Ok(());
        }
        self.agents.tell_all(&AgentCommand::Switch { on });
        self.agents.await_ready(CHANGE_TIMEOUT)?;
        self.on = on;
        Ok(())
    }
}

/// Returns the result of one turn (one load): good answers per second, or the response time in microseconds. The
/// response time is NaN if it is unknown because too many requests were not answered.
fn turn(
    lab: &mut Lab<'_>,
    setup: &TargetSetup,
    plan: LoadPlan,
    label: String,
    of: ProofMetric,
) -> Result<f64, LabError> {
    let point = Point { label, kind: TrialKind::Proof, ..Point::default() };
    let loads = setup.single_load(plan);
    let trial = lab.conduct(&setup.observation.without_samples(), &loads, &point)?;
    let proof = lab.run.findings.proof.get_or_insert_default();
    proof.switched_counts.get_or_insert_default().merge(&trial.tally);
    let known = |figure| trial.latency_us.figure(figure).exact().unwrap_or(f64::NAN);
    Ok(match of {
        ProofMetric::Throughput => judge::good(&trial),
        ProofMetric::P50 => known(SummaryFigure::P50),
        ProofMetric::Mean => trial.latency_us.mean,
        ProofMetric::P99 => known(SummaryFigure::P99),
        ProofMetric::P999 => known(SummaryFigure::P999),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_fit_the_time_and_the_response() {
        let pairs = |response_s, seconds| pairs(response_s, seconds, 0.0);
        let (number, turn_s) = pairs(0.001, 4.5).unwrap();
        assert!(number >= PAIRS.0 && 2.0 * number as f64 * (turn_s + WARM_UP_S + OVERHEAD_S) <= 4.5 + 1e-9);
        let (number, turn_s) = pairs(0.04, 20.0).unwrap();
        assert!(number == PAIRS.1 && turn_s >= 0.8, "{number} of {turn_s}");
        assert_eq!(pairs(0.001, 2.0), None);
        for response_s in [0.001, 0.04, 0.07, 0.11, 0.2] {
            let least_s = least_seconds(response_s, 0.3);
            assert!(super::pairs(response_s, least_s, 0.3).is_some(), "a rounding error: {response_s}");
            assert!(super::pairs(response_s, 0.99 * least_s, 0.3).is_none());
        }
        let (number, turn_s) = pairs(0.04, 4.5).unwrap();
        assert!(number == PAIRS.0 && turn_s >= 0.32, "40 ms away, in a search of 30 s: {number} of {turn_s}");
    }
}

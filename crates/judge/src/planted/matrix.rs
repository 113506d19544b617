//! Verdicts on runs with two planted causes, for every feasible pair of bottlenecks. See
//! `docs/reference/rule-matrix.md`.

use run::Run;

use super::{PLANTED, PlantedRun, Who};
use crate::RULES;

/// Reason why two causes cannot limit the same run.
pub(super) struct Infeasible {
    /// Keyword that stands for the reason in the cells of the matrix.
    pub(super) key: &'static str,
    /// Reason why two bottlenecks cannot occur together, as one or more sentences.
    pub(super) why: &'static str,
    /// Pairs of bottleneck IDs to which the reason applies, each in the order of the rules. The ID `*` stands for every
    /// other bottleneck.
    pairs: &'static [(&'static str, &'static str)],
    /// Feasible pairs of bottleneck IDs, as exceptions from the pairs that `*` matches.
    except: &'static [(&'static str, &'static str)],
}

/// All pairs of causes that cannot be planted together.
pub(super) const INFEASIBLE: &[Infeasible] = &[
    Infeasible {
        key: "no-limit",
        why: "`not-saturated` means that nothing reached its limit, so no other limit can be reached in that run. Causes that \
              lengthen each response and leave the rate growing are feasible.",
        pairs: &[("*", "not-saturated")],
        except: &[("tcp-delayed-ack", "not-saturated"), ("tcp-window", "not-saturated")],
    },
    Infeasible {
        key: "idle-cpus",
        why: "One full thread leaves the other CPUs idle; `server-cpu` means that none is idle.",
        pairs: &[("server-cpu", "server-single-thread")],
        except: &[],
    },
    Infeasible {
        key: "timer-hidden",
        why: "A response that waits 400 ms for its windows does not take the 40 ms of the timer.",
        pairs: &[("tcp-delayed-ack", "tcp-window")],
        except: &[],
    },
];

/// Function that changes a run with two causes so that both causes reach their limit.
type Adjust = fn(PlantedRun) -> PlantedRun;

/// Changes of the runs with two causes, one of which is a CPU quota. A CPU quota and full CPUs are both the limit only
/// if the quota equals the server's CPU use.
const ADJUST: &[((&str, &str), Adjust)] = &[
    (("server-cpu-quota", "server-cpu"), |pair| pair.level(Who::Server, "cgroup.cpu_quota", "/srv", 3.96)),
    (("server-cpu-quota", "server-single-thread"), |pair| {
        pair.level(Who::Server, "cgroup.cpu_quota", "/srv", 1.02).level(Who::Server, "thread.cpu", "srv:100/102", 0.0)
    }),
];

/// Returns the IDs of all rules in their order, without `unknown`, which has no cause to plant.
pub(super) fn ids() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.id).filter(|id| *id != "unknown").collect()
}

/// Verdict on a run with two planted causes.
pub(super) struct Winner {
    pub(super) id: String,
    pub(super) confidence: f64,
}

/// Returns the verdict on a run with the causes `a` and `b`, or the reason why these causes cannot be planted together.
/// If both IDs are equal, plants only this one cause.
pub(super) fn cell(a: &str, b: &str) -> Result<Winner, &'static Infeasible> {
    match INFEASIBLE.iter().find(|reason| reason.covers(a, b)) {
        Some(reason) => Err(reason),
        None => Ok(winner(if a == b { cause(a).run() } else { both(a, b).run() })),
    }
}

impl Infeasible {
    fn covers(&self, a: &str, b: &str) -> bool {
        let is = |(x, y): &(&str, &str)| (*x == "*" || *x == a) && *y == b;
        a != b && self.pairs.iter().any(is) && !self.except.iter().any(is)
    }
}

fn cause(id: &str) -> PlantedRun {
    let planted = PLANTED.iter().find(|planted| planted.id == id).expect("every rule has a planted run");
    (planted.plant)()
}

fn both(a: &str, b: &str) -> PlantedRun {
    let pair = cause(a).beside(cause(b));
    ADJUST.iter().filter(|(ids, _)| *ids == (a, b)).fold(pair, |pair, (_, adjust)| adjust(pair))
}

fn winner(mut run: Run) -> Winner {
    crate::judge(&mut run);
    let verdict = run.findings.bottleneck;
    Winner { id: verdict.id, confidence: verdict.confidence }
}

/// Pairs in the tables must name their rules in the order of the rules, because lookups use this order.
#[test]
fn pairs_name_rules_in_their_order_and_every_exception_exists() {
    let ids = ids();
    let at = |id: &str| ids.iter().position(|one| *one == id);
    for (a, b) in INFEASIBLE
        .iter()
        .flat_map(|reason| reason.pairs.iter().chain(reason.except))
        .chain(ADJUST.iter().map(|(pair, _)| pair))
    {
        assert!(*a == "*" || at(a).is_some_and(|a| Some(a) < at(b)), "{a}, {b}");
        assert!(at(b).is_some(), "{b}");
    }
}

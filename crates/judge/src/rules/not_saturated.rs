//! Rule for a run in which nothing reached its limit under the loads that were tried.

use run::{FigureUnit, Trial};

use super::rule::{PLAIN, Rule, Tier, Verdict};
use super::slow_without_load::{self, without_load};
use crate::Facts;
use crate::context::evidence::{line, measured};
use crate::context::laws::{LeastUse, handles_nearly_all, least_use};
use crate::context::single::{clients, closed, failed_share, failed_share_of_all, good, keeps_up, sides_of};
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::course::offered;
use crate::estimate::objective::{breach, words};
use crate::failed::overflow::held_connections;
use crate::failed::standstill::standstill;
use crate::number::{counted, duration, figure, percent, rate, ratio};
use crate::signals::medium::medium_use;
use crate::signals::{Signal, chance};
use crate::thresholds::{FULL_MIDDLE, FULL_WIDTH, LIKELY, ROOM_SEEN, ROOM_UNSEEN};
use crate::waits;

pub(super) const RULE: Rule = Rule {
    id: "not-saturated",
    needs: &["cpu.idle", "thread.cpu", "process.cpu", "interface.speed"],
    tier: Tier::LeftOver,
    signals,
    shared: &[
        (&["cpu.idle"], "a busy host only rules out"),
        (&["interface.tx_bytes", "interface.rx_bytes"], "a busy link only rules out"),
    ],
    judge,
    advice: &["Send more load: more connections, a higher rate, or a larger --budget."],
    advise: slow_without_load::advice,
    explain: "Throughput still grew with the last step (or the one offered rate completed), the objective held, and no known \
              device was likely to be full. The server can take at least the tried load; how much more is unknown.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let Some(trial) = facts.decisive else { return Verdict::CannotSay(vec!["no trial completed anything".into()]) };
    if let Plateau::Flat { from, to, .. } = facts.plateau {
        return Verdict::RuledOut(format!("throughput no longer grew from {} to {} clients", figure(from), figure(to)));
    }
    if let Some(text) = standstill(facts) {
        return Verdict::RuledOut(text);
    }
    if let Some(failing) = facts.failing {
        let why = breach(failing, &facts.limits).map_or_else(|| "a limit was exceeded".into(), |breach| words(&breach));
        return Verdict::RuledOut(format!("at {} {why}", offered(facts.run, failing)));
    }
    if let Some(queue) = waits::queue_inside(&facts.waits).filter(|_| !handles_nearly_all(facts)) {
        return Verdict::RuledOut(queue.sentence.clone());
    }
    if let Some(held) = held_connections(facts) {
        return Verdict::RuledOut(held.text());
    }
    let heaviest = heaviest(facts, trial);
    if let Some(behind) = [trial, heaviest].into_iter().find(|t| !closed(t) && !keeps_up(t)) {
        let completed = rate(behind.rates.completed_rate);
        return Verdict::RuledOut(format!("{completed} of the offered {} completed", offered(facts.run, behind)));
    }
    if closed(heaviest) && facts.plateau != Plateau::Grows && clients(trial) > 1.0 {
        return Verdict::CannotSay(vec![facts.lacks_levels()]);
    }
    let trial = shown(facts, trial);
    // Failed requests before and after the measured window count, too.
    let shares = facts.focus().into_iter().flat_map(|t| [failed_share(t), failed_share_of_all(t)]).flatten();
    let failed = shares.reduce(f64::max).unwrap_or(1.0);
    if failed > facts.limits.errors {
        return Verdict::RuledOut(format!("{} of the requests failed", percent(failed)));
    }
    quiet(facts, trial)
}

/// Returns the open loop with the highest offered rate, if it completed more than `decisive`; otherwise `decisive`.
fn heaviest<'a>(facts: &Facts<'a>, decisive: &'a Trial) -> &'a Trial {
    facts.search.last().copied().filter(|t| good(t) > good(decisive)).unwrap_or(decisive)
}

/// Returns the trial whose load this rule judges: the heaviest load if there is no sweep of several steps, otherwise
/// `decisive`.
fn shown<'a>(facts: &Facts<'a>, decisive: &'a Trial) -> &'a Trial {
    if facts.plateau == Plateau::NoResult { heaviest(facts, decisive) } else { decisive }
}

/// Returns a lower bound on the utilization of the busiest resource, from the response times of the sweep. Returns
/// `None` if the lower bound is not above `known`, the utilization of the busiest measured device. Also returns `None`
/// if throughput does not grow with the steps of the sweep.
fn busier_unknown(facts: &Facts<'_>, known: f64) -> Option<LeastUse> {
    least_use(facts).filter(|least| facts.plateau == Plateau::Grows && least.utilization > known)
}

/// Returns the utilization of the busiest known device, including the devices of the upstreams.
fn busiest_known(facts: &Facts<'_>, trial: &Trial) -> Option<f64> {
    let views = sides_of(trial);
    let hosts = views.iter().filter_map(|v| v.host().and_then(|h| ratio(h.busy, h.online)));
    let threads = views.iter().filter_map(|v| v.workers().first().map(|t| t.busy));
    let cpus_of = |load: &run::UpstreamLoad| load.cpu_used.zip(load.cpu_allowed).and_then(|(u, a)| ratio(u, a));
    let behind = facts.upstreams.iter().flat_map(|load| [load.busiest_thread, cpus_of(load)]).flatten();
    hosts.chain(threads).chain(behind).chain(medium_use(trial).map(|m| m.share)).reduce(f64::max)
}

fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let known = facts.decisive.and_then(|trial| busiest_known(facts, shown(facts, trial)));
    known
        .map(|known| busier_unknown(facts, known).map_or(known, |least| least.utilization))
        .map(|b| Signal::new("use of the busiest device", b, (FULL_MIDDLE, FULL_WIDTH)).beyond(""))
        .into_iter()
        .collect()
}

fn quiet(facts: &Facts<'_>, trial: &Trial) -> Verdict {
    let views = sides_of(trial);
    let Some(known) = busiest_known(facts, trial) else {
        return Verdict::CannotSay(vec!["use of any device (cpu.idle, thread.cpu)".into()]);
    };
    let unknown = busier_unknown(facts, known);
    let busiest = unknown.map_or(known, |least| least.utilization);
    let slower = unknown.map(|least| {
        format!(
            "a request took {} times as long as with one client, so something was in use at least {} of the time",
            figure(least.slower),
            percent(least.utilization)
        )
    });
    let room = 1.0 - chance((busiest - FULL_MIDDLE) / FULL_WIDTH);
    if room < LIKELY {
        let device = || format!("a device was busy {} of the time", percent(busiest));
        return Verdict::RuledOut(slower.unwrap_or_else(device));
    }
    let completed = rate(trial.rates.completed_rate);
    let (what, completed) = if facts.plateau == Plateau::Grows {
        let load = counted(facts.sweep.last().map_or(0.0, |t| clients(t)), "client");
        (format!("throughput still grew at {load}"), format!("{completed} completed with {load}"))
    } else {
        // If the window began before the first answer, its answers are too few for a rate.
        let load = if closed(trial) { completed } else { offered(facts.run, trial) };
        ("all requests completed".into(), format!("all of the offered {load} completed"))
    };
    let text = format!("the busiest known device was busy {} of the time", percent(known));
    let known = (known, FigureUnit::Plain);
    let Some(client) = views.first() else { return Verdict::CannotSay(Vec::new()) };
    let mut evidence = vec![
        line(client, "completed_rate", "", completed),
        measured(client, ("cpu.idle", ""), known, Some(FULL_MIDDLE), text),
    ];
    evidence.extend(slower.map(|text| line(client, "completed_rate", "", text)));
    evidence.extend(facts.own_pool.first().map(|own| {
        let text = format!(
            "at an offered {} all of the load's {} were in use, and each answer took {}: the load's own limit",
            rate(own.offered_rate),
            counted(f64::from(own.connections), "connection"),
            duration(own.response_us)
        );
        line(client, "completed_rate", "", text)
    }));
    // A limit on the streams of one HTTP/2 connection does not limit the server, because more connections would carry
    // more requests.
    evidence.extend(super::streams::waits(&View::new("client", trial, &trial.client)));
    let confidence = room * if trial.server.is_some() { ROOM_SEEN } else { ROOM_UNSEEN };
    let slow = without_load(facts).map_or(String::new(), |slow| format!(", but {slow}"));
    Verdict::Binds { confidence, sentence: format!("nothing was full: {what}{slow}"), evidence }
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point};
    use run::{Arrival, Intensity, Trial, TrialKind};

    /// One answer in a hundred takes 500 ms under any load, and nothing is full. The p99 therefore exceeds its limit
    /// even under the lightest load.
    #[test]
    fn answers_that_are_as_slow_without_load_saturate_nothing() {
        let rare = |slow_from: f64| {
            let change = move |t: &mut Trial, p: &Point| {
                if p.n >= slow_from || slow_from == 0.0 {
                    (t.latency_us.p99, t.latency_us.max) = (500_000.0, 700_000.0);
                }
                t.latency_us.p50 = 1000.0;
            };
            let mut run = PlantedRun::new(6000.0, 30_000.0).rates(&[0.3, 0.5]).change(change).run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let b = rare(0.0);
        assert!(b.id == "not-saturated" && b.confidence >= 0.7, "{b:#?}");
        assert_ne!(rare(50.0).id, "not-saturated", "answers that only a load makes slow");
    }

    /// Eight connections go to a server 40 ms away. The open loop used all eight connections while the server was
    /// mostly idle.
    #[test]
    fn a_load_that_its_own_connections_held_up_is_told() {
        let pool = |t: &mut Trial, p: &Point| {
            if t.kind == TrialKind::Search {
                t.intensity =
                    Intensity::Open { rate: p.offered, arrival: Arrival::Poisson, max_connections: 8, pipeline: 1 };
                (t.service_us.mean, t.latency_us.p50) = (40_100.0, 900_000.0);
                t.rates.concurrency = 8.0;
            }
        };
        let mut run = PlantedRun::new(40_000.0, 300.0).steps(&[1, 2, 4, 8]).rates(&[0.9]).change(pool).run();
        crate::judge(&mut run);
        let b = &run.findings.bottleneck;
        assert!(
            b.id == "not-saturated" && b.evidence.iter().any(|e| e.text.contains("the load's own limit")),
            "{b:#?}"
        );
    }

    /// A budget of 16 s left time for steps of 1, 2 and 16 clients. Three database connections were shared by all
    /// requests. Throughput grew, but 16 clients waited for a connection most of the time.
    #[test]
    fn a_request_that_waits_for_something_unknown_shows_its_use() {
        let verdict = |last: f64| {
            let mut run = PlantedRun::new(11_900.0, 1e9).steps(&[1, 2, 16]).rates(&[]).run();
            for (trial, (n, x)) in run.trials.iter_mut().zip([(1.0, 84.0), (2.0, 160.0), (16.0, last)]) {
                (trial.rates.completed_rate, trial.latency_us.mean) = (x, n / x * 1e6);
            }
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        let (room, waits, most) = (verdict(1100.0), verdict(272.0), verdict(200.0));
        assert!(room.id == "not-saturated" && room.confidence >= 0.75, "{room:#?}");
        assert!(waits.confidence <= 0.55, "{waits:#?}");
        assert_ne!(most.id, "not-saturated", "{most:#?}");
    }

    /// A busy machine left time for one sweep step and three rates. The server answered late at the highest rate, but
    /// met the objective. An earlier version of loadline judged the sweep step alone, and was sure that nothing was
    /// full.
    #[test]
    fn a_rate_that_was_not_completed_is_no_room() {
        let verdict = |completed: f64| {
            let late = move |t: &mut Trial, p: &Point| {
                if p.offered > 160.0 {
                    t.rates.completed_rate = completed * p.offered;
                }
            };
            let mut run = PlantedRun::new(24_000.0, 340.0).steps(&[1]).rates(&[0.25, 0.5]).change(late).run();
            crate::judge(&mut run);
            run.findings.bottleneck
        };
        assert_ne!(verdict(0.93).id, "not-saturated");
        let room = verdict(1.0);
        assert!(room.id == "not-saturated" && room.evidence[0].text.contains("170"), "{room:#?}");
    }
}

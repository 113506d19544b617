//! A fixed number of workers, a lock, or a wait downstream: the rate no longer grows while the processors idle and the
//! time that one request takes by itself stays the same.

use super::{Rule, Verdict, line, measured, server};
use crate::Facts;
use crate::facts::{Plateau, clients, loopback};
use crate::knee::r1_us;
use crate::number::{duration, figure, grew, percent, positive, rate, ratio};
use crate::view::{Task, View};

pub(super) const RULE: Rule = Rule {
    id: "server-concurrency",
    needs: &["sweep", "process.cpu", "cpu.online"],
    judge,
    advice: &[
        "Raise the number of workers, threads or connections to whatever the server waits for; the knee says how many it has now.",
        "If that number is already large, look for one lock, or for a service behind the server that serves so many at a time.",
    ],
    explain: "When each request holds one of W places for a time S, the rate ends at W / S however idle the machine is. \
              Xmax times R1 gives W. The places may be worker processes or threads, a connection pool, a lock (W = 1), or \
              a service behind the server. The rule needs a sweep that has gone flat, a server whose processors and threads \
              are not full, and a queue that is not in the network.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    let (from, to, growth) = match facts.plateau {
        Plateau::Flat { from, to, growth } => (from, to, growth),
        Plateau::Grows => return Verdict::RuledOut("more clients still brought more throughput".into()),
        Plateau::NotTried => {
            return Verdict::CannotSay(vec!["a sweep over the number of clients (loadline find)".into()]);
        }
    };
    let (Some(used), Some(allowed)) = (view.cpu_used(), view.cpu_allowed()) else {
        return Verdict::CannotSay(vec!["process.cpu of the server's processes and cpu.online".into()]);
    };
    let share = ratio(used, allowed).unwrap_or(1.0);
    let thread = view.workers().iter().map(Task::wants).fold(0.0, f64::max);
    if view.processors_busy().is_some_and(|b| b > 0.8) && thread > 0.5 {
        return Verdict::RuledOut(format!(
            "the server's processors were full with other work, and its busiest thread ran or waited for one {} of the time",
            percent(thread)
        ));
    }
    if share > 0.8 || thread > 0.9 {
        return Verdict::RuledOut(format!(
            "the server was busy: {} of its processors, its busiest thread {}",
            percent(share),
            percent(thread)
        ));
    }
    // A fixed number of places serves 2 clients twice as fast as 1 and never faster. Where it did, the time of the first
    // one was not service but waking up, and Xmax R1 counts nothing.
    if let Some(beyond) = crate::trust::beyond_bound(facts) {
        return Verdict::CannotSay(vec![format!(
            "a response time of one client that is service alone: {} clients did more than {} times its work",
            figure(clients(beyond)),
            figure(clients(beyond))
        )]);
    }
    let Some(place) = queue_place(facts, &view) else {
        return Verdict::CannotSay(vec![
            "connection.rtt on the server's side: whether the queue is in the server or in the network".into(),
        ]);
    };
    let text = format!("from {} to {} clients the rate {}", figure(from), figure(to), grew(growth));
    let mut evidence = vec![line(&view, "completed_rate", "", text)];
    let text = format!(
        "the server used {} of {} processors, its busiest thread {}",
        figure(used),
        figure(allowed),
        percent(thread)
    );
    evidence.push(measured(&view, ("process.cpu", ""), (used, "processors"), Some(allowed), text));
    evidence.push(place.0);
    let (sentence, extra) = places(facts, &view);
    evidence.extend(extra);
    evidence.extend(waits_for_a_disk(&view));
    Verdict::Binds { confidence: place.1, sentence, evidence }
}

/// Share of the time with a thread stalled for a disk from which that is what the threads sleep for.
const STALLED: f64 = 0.3;

/// What the threads sleep for, where it is a disk that is not full: more of them would use it better.
fn waits_for_a_disk(view: &View<'_>) -> Option<run::Evidence> {
    let stalled = view.share_of_time("pressure.io_some").filter(|s| *s >= STALLED)?;
    let own = ["process.read_bytes", "process.write_bytes"].iter().filter_map(|id| view.per_request(id)).sum::<f64>();
    let text = format!(
        "a request moves {} B to or from a disk, and a thread of the host waited for one {} of the time: that is what its \
         threads sleep for, and the disk itself is not full",
        figure(own),
        percent(stalled)
    );
    (own >= 1.0).then(|| measured(view, ("pressure.io_some", ""), (stalled, ""), Some(STALLED), text))
}

/// Where the requests wait, and how sure that makes the verdict.
fn queue_place(facts: &Facts<'_>, view: &View<'_>) -> Option<(run::Evidence, f64)> {
    let r = positive(view.trial.latency_us.mean)?;
    let unread = view.value("connection.receive_queue").filter(|q| *q >= 1.0);
    let unaccepted = view.max("listen.queue").filter(|q| *q >= 1.0);
    if let Some(q) = unread {
        let text =
            format!("{} bytes of requests waited unread in the server's receive queues, a connection", figure(q));
        return Some((measured(view, ("connection.receive_queue", ""), (q, "B"), None, text), 0.9));
    }
    if let Some(q) = unaccepted {
        let text = format!("{} connections waited for the server to accept them", figure(q));
        return Some((measured(view, ("listen.queue", ""), (q, ""), view.value("listen.limit"), text), 0.85));
    }
    if facts.shared() || loopback(facts.run) {
        let text = "client and server are on one host: there is no network in which requests could queue".to_string();
        return Some((line(view, "", "", text), 0.8));
    }
    let rtt = view.value("connection.rtt").filter(|rtt| *rtt < 0.5 * r)?;
    let text = format!(
        "the round trip takes {} of a response time of {}: the rest is spent in the server",
        duration(rtt),
        duration(r)
    );
    Some((measured(view, ("connection.rtt", ""), (rtt, "us"), Some(r), text), 0.8))
}

/// How many places there are: Xmax R1.
fn places(facts: &Facts<'_>, view: &View<'_>) -> (String, Vec<run::Evidence>) {
    let x = facts.x_max().unwrap_or(0.0);
    let Some(r1) = facts.unloaded.and_then(r1_us) else {
        return (format!("the server stays at {} while its threads sleep", rate(x)), Vec::new());
    };
    let places = x * r1 / 1e6;
    let text = format!(
        "{} a request with one client times {} at most: as if {} requests were served at a time",
        duration(r1),
        rate(x),
        figure(places)
    );
    let evidence = measured(view, ("latency_us.mean", ""), (places, "requests"), None, text);
    let sentence = format!(
        "the server serves about {} requests at a time, {} each; the others wait while its threads sleep",
        figure(places),
        duration(r1)
    );
    (sentence, vec![evidence])
}

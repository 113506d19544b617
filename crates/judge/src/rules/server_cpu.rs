//! All CPUs that the server may use are full.

use run::{Evidence, FigureUnit};

use super::rule::{Rule, Tier, Verdict, full_server, none};
use crate::Facts;
use crate::evidence::{measured, thread_line};
use crate::generator::client_limit_threads;
use crate::number::{figure, percent, ratio};
use crate::overflow::Overflow;
use crate::thresholds::{BUSY, CPU_WAIT, FULL, HALF_BUSY, MAYBE_FULL, MOST_OF_HOST, NEARLY_FULL, SEVERAL_CPUS, WORKS};
use crate::view::{Task, View};
use crate::waiting::Waiting;

pub(super) const RULE: Rule = Rule {
    id: "server-cpu",
    needs: &["process.cpu", "process.user", "cpu.online", "cpu.idle", "thread.cpu"],
    waits: false,
    tier: Tier::Cause,
    explains: &["server-single-thread", "network-loss", "tcp-window", "accept-queue"],
    signals: none,
    judge,
    advice: &[
        "Give the server more CPUs, or make a request cheaper: the costs per request show where the time goes.",
        "Profile the server at this load: kernel time means system calls and packets, user time means its own code.",
    ],
    explain: "One of three signs shows it. The server's processes use all the time of their CPUs (their affinity, else all \
              online CPUs). Or those CPUs are full and the server's threads wait for one. Or its threads hardly rest while \
              requests of a closed loop wait unread. A master process that only waits adds no CPUs to that set. With \
              server-single-thread other CPUs are free, but the thread cannot use them.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    let view = match full_server(facts) {
        Ok(view) => view,
        Err(verdict) => return verdict,
    };
    let (Some(used), Some(allowed)) = (view.cpu_used(), view.cpu_allowed()) else { return by_host(facts, &view) };
    let share = ratio(used, allowed).unwrap_or(0.0);
    let busy = view.processors_busy();
    match reason(facts, &view, share, busy) {
        Some(confidence) => bind(facts, &view, (used, allowed), busy, confidence),
        None => Verdict::RuledOut(format!(
            "the server used {} of {} CPUs{}",
            figure(used),
            figure(allowed),
            busy.map_or(String::new(), |b| format!(", which were {} busy with all work", percent(b)))
        )),
    }
}

/// Returns the confidence that the server is short of CPU time; `None` where it is not.
fn reason(facts: &Facts<'_>, view: &View<'_>, share: f64, busy: Option<f64>) -> Option<f64> {
    let workers = view.workers();
    let waited = workers.iter().filter_map(|t| t.wait).sum::<f64>();
    if share >= FULL {
        return Some(if facts.shared() { 0.9 } else { 0.95 });
    }
    let full = busy.is_some_and(|b| b >= FULL);
    let working: Vec<&Task> = workers.iter().filter(|t| t.busy >= WORKS).collect();
    // A single working thread with nearly a whole CPU lacks none, however full the others are.
    if let ([only], true) = (working.as_slice(), view.cpu_allowed() >= Some(SEVERAL_CPUS))
        && only.counter == "thread.cpu"
        && only.busy >= NEARLY_FULL
    {
        return None;
    }
    let all_want = !working.is_empty() && working.iter().all(|t| t.wants() >= FULL);
    match full {
        // Other programs use the same CPUs, or interrupts that are charged to no process.
        true if share >= MAYBE_FULL => Some(0.85),
        true if all_want && waited >= WORKS => Some(if share >= HALF_BUSY { 0.75 } else { 0.5 }),
        true if share >= HALF_BUSY && waited >= CPU_WAIT => Some(0.6),
        // Other programs fill the CPUs. Connects that are dropped while the server rests say more than the larger CPU use.
        true if outweighs_client(facts, view) && !Overflow::worst(facts).is_some_and(|o| o.counts()) => Some(0.5),
        false if share >= NEARLY_FULL && all_want => Some(0.8),
        _ if share >= HALF_BUSY && busy.unwrap_or(share) >= BUSY && waiting(facts)?.at_server() => Some(0.7),
        _ => None,
    }
}

/// Returns where the messages wait; only for CPUs that each side has for itself.
fn waiting(facts: &Facts<'_>) -> Option<Waiting> {
    Waiting::of(facts).filter(|_| !facts.shared())
}

/// Lowers the confidence where a generator that hardly rests limits as much.
fn beside_client(facts: &Facts<'_>, confidence: f64) -> (f64, String) {
    let busy = client_limit_threads(facts).unwrap_or(0.0);
    match waiting(facts).filter(|w| w.at_client() || !w.at_server() && busy >= BUSY) {
        Some(w) => (
            confidence.min(0.5),
            format!("; {} of the messages waited for the generator ({} busy)", percent(w.client), percent(busy)),
        ),
        None => (confidence, String::new()),
    }
}

/// Returns whether the server has the larger part of full CPUs that both sides share, and both together most of the work.
fn outweighs_client(facts: &Facts<'_>, view: &View<'_>) -> bool {
    let client = facts.full_client().and_then(|c| c.cpu_used());
    let (Some(c), Some(s), Some(host)) = (client, view.cpu_used(), view.host()) else { return false };
    facts.shared() && s > c && s + c >= MOST_OF_HOST * host.online
}

fn bind(
    facts: &Facts<'_>,
    view: &View<'_>,
    (used, allowed): (f64, f64),
    busy: Option<f64>,
    confidence: f64,
) -> Verdict {
    let text = format!("the server's processes used {} of their {} CPUs", figure(used), figure(allowed));
    let mut evidence = vec![measured(view, ("process.cpu", ""), (used, FigureUnit::Cpus), Some(allowed), text)];
    evidence.extend(view.workers().iter().filter(|t| t.busy >= 0.1).take(4).map(|t| thread_line(view, t)));
    if let Some(b) = busy {
        evidence.push(measured(
            view,
            ("cpu.idle", ""),
            (1.0 - b, FigureUnit::Plain),
            Some(1.0 - FULL),
            format!("these CPUs were idle {} of the time", percent((1.0 - b).max(0.0))),
        ));
    }
    evidence.extend(split(view));
    evidence.extend(super::handshakes::work(facts, view));
    let with = facts.full_client().and_then(|c| c.cpu_used()).filter(|_| facts.shared() && used / allowed < FULL);
    evidence.extend(waiting(facts).filter(Waiting::at_server).and_then(|w| w.line(facts)));
    let (confidence, beside) = beside_client(facts, confidence);
    let full = if busy.is_some_and(|b| b < FULL) && used < FULL * allowed { "is nearly full" } else { "is full" };
    let (share, used, allowed) = (percent(used / allowed), figure(used), figure(allowed));
    let sentence = match with {
        Some(client) => format!(
            "the CPUs that client and server share are full: of {allowed}, the server used {used} and the generator \
             {}{beside}",
            figure(client)
        ),
        None => format!("the server's CPU {full}: {share} used ({used} of {allowed} CPUs){beside}"),
    };
    Verdict::Binds { confidence, sentence, evidence }
}

/// Returns the user and kernel time of a request.
fn split(view: &View<'_>) -> Option<Evidence> {
    let (user, system) = (view.per_request("process.user")?, view.per_request("process.system")?);
    let text =
        format!("a request costs the server {} µs of user and {} µs of kernel time", figure(user), figure(system));
    Some(measured(view, ("process.user", ""), (user + system, FigureUnit::Micros), None, text))
}

/// Decides without the server's processes: a full host counts if it is the server's own.
fn by_host(facts: &Facts<'_>, view: &View<'_>) -> Verdict {
    let missing = || Verdict::CannotSay(vec!["process.cpu of the server's processes".into()]);
    let Some(host) = view.host() else { return missing() };
    if facts.shared() {
        return missing();
    }
    let text = format!("{} of {} CPUs of the server's host were busy", figure(host.busy), figure(host.online));
    if host.busy < FULL * host.online {
        return Verdict::RuledOut(text);
    }
    let evidence = vec![measured(view, ("cpu.idle", "total"), (host.busy, FigureUnit::Cpus), Some(host.online), text)];
    let sentence = format!("the server's host is full: {} of its CPU used", percent(host.busy / host.online));
    Verdict::Binds { confidence: 0.6, sentence, evidence }
}

//! Rule for a fixed number of workers, a lock, or a wait for an upstream. The rate no longer grows although the CPUs
//! are partly idle, and the service time of a request does not change.

use run::FigureUnit;

use super::concurrency_words;
use super::failed_connections;
use super::queue_signs::{
    acknowledgement_line, filled_cpus, held_line, held_places, looks_the_same, not_the_way, signs, waits_for_a_disk,
    waits_longer,
};
use super::rule::{PLAIN, Rule, Tier, Verdict, cannot_say, server};
use super::withheld;
use crate::Facts;
use crate::context::evidence::{line, measured};
use crate::context::laws::handles_nearly_all;
use crate::context::sweep::Plateau;
use crate::context::view::{Task, View};
use crate::estimate::collection;
use crate::failed::overflow::held_connections;
use crate::failed::refused_handshakes::refused_handshakes;
use crate::in_flight::chain::Chain;
use crate::in_flight::delayed::delayed_answers;
use crate::in_flight::places::Places;
use crate::in_flight::server_queue;
use crate::in_flight::upstreams;
use crate::in_flight::waiting::Waiting;
use crate::network::ack_timer;
use crate::number::{cpus, figure, grew, percent, ratio};
use crate::signals::Signal;
use crate::signals::cpu::{ServerCpu, WHATEVER};
use crate::signals::full::full;
use crate::thresholds::{BUSY, HALF_BUSY, HINT, LEAST_PLACES, LIKELY, NEARLY_FULL, SUREST, UNDECIDED, WEAK_SIGN};
use crate::waits;

pub(super) const RULE: Rule = Rule {
    id: "server-concurrency",
    needs: &["sweep", "process.cpu", "cpu.online"],
    waits: true,
    tier: Tier::LeftOver,
    signals,
    shared: &[(&["disk.busy", "pressure.io_some"], "processes of the server moved bytes; only a remark")],
    looks_inside: true,
    judge,
    advise: |facts| concurrency_words::advise(facts).or_else(|| delayed_answers(facts).map(|_| DELAYED_ADVICE.into())),
    advice: &[
        "Raise the number of workers or threads, or of connections to an upstream.",
        "Look for a lock, or for an upstream that handles only so many at a time, if that number is already large.",
    ],
    explain: "If each request holds one of W workers for a time S, throughput ends at W / S however idle the machine is. Xmax \
              times R1, without the round trip, gives W. The workers may be processes or threads, a connection pool, a lock \
              (W = 1), or an upstream. The rule needs throughput that has stopped growing, CPUs and threads that are not \
              full, a response time that grows by 1 / Xmax per client, and a direct sign: requests that wait unread or \
              unaccepted, or a count that matches W (children of a master, threads of one name, connections to an \
              upstream). Without such a sign the confidence is 0.5. If W is about 1 and several threads share one CPU, \
              requests take turns on the CPU: a lock, or the interpreter's.",
    ..PLAIN
};

/// Advice if there are two possible causes: the server has only one worker, or a limit makes it stop reading requests
/// for a time.
const DELAYED_ADVICE: &str = "Add a worker and measure again. If the rate stays, look for a limit that stops reading (a quota, traffic \
     shaping). If the rate grows, the worker was busy after its answers.";

fn judge(facts: &Facts<'_>) -> Verdict {
    bind(facts).unwrap_or_else(|verdict| verdict)
}

/// Returns the signals of the server's busiest thread and of its CPUs. A full thread or full CPUs would be the limit
/// instead of the number of workers.
fn signals(facts: &Facts<'_>) -> Vec<Signal> {
    let Some(cpu) = ServerCpu::of(facts) else { return Vec::new() };
    let thread = cpu.thread().map(|thread| thread.ran.beyond("server-single-thread"));
    thread.into_iter().chain(cpu.wants.map(|wants| wants.beyond("server-cpu"))).collect()
}

/// Returns the verdict with the number of workers. Returns [`Verdict::RuledOut`] or [`Verdict::CannotSay`] as an error.
fn bind(facts: &Facts<'_>) -> Result<Verdict, Verdict> {
    let view = server(facts)?;
    let places = Places::of(facts);
    let flat = flat(facts, places.as_ref())?;
    waits_for_the_generator(facts)?;
    let used = idles(facts, &view)?;
    let signs = signs(facts, &view, places.as_ref());
    counts_places(facts)?;
    waits_nowhere(facts, signs.is_empty())?;
    let (confidence, doubt) = match signs.iter().map(|(_, confidence)| *confidence).reduce(f64::max) {
        // Each further sign halves the probability that the verdict is wrong.
        Some(best) => (1.0 - (1.0 - best) / 2_u32.pow(signs.len() as u32 - 1) as f64, None),
        None => (LIKELY, Some(not_the_way(facts, &view)?)),
    };
    let grows = waits_longer(facts);
    // Clients whose connections are never accepted, or refused, do not lengthen the measured response times.
    let must_grow = flat.is_some() && !holds_no_more(facts);
    let confidence = if grows.is_none() && must_grow { confidence.min(LIKELY) } else { confidence };
    // If a thread is always full, nothing shows that the measured load fills the thread.
    let hidden = ServerCpu::of(facts).and_then(|cpu| Some(hidden(&cpu.view, cpu.always_full()?)));
    // If answers are quicker at a lower rate, the reason may be a rate limit that delays answers.
    let delayed = delayed_answers(facts);
    let confidence = if hidden.is_some() || delayed.is_some() { confidence.min(UNDECIDED) } else { confidence };
    let confidence = confidence.min(not_stopped(facts));
    let strongest = signs.iter().map(|(_, confidence)| *confidence).fold(0.0, f64::max);
    let accepts = concurrency_words::accepts(facts, places.as_ref()).filter(|_| strongest <= WEAK_SIGN);
    let same = looks_the_same(doubt.is_some(), delayed.is_some());
    let sentence = concurrency_words::sentence(facts, &view, places.as_ref());
    let sentence = match accepts.filter(|_| same.is_empty()) {
        Some(accepts) => format!("{sentence}; or {accepts}"),
        None => sentence + same,
    };
    let sentence = sentence + &failed_connections::words(facts).unwrap_or_default();
    let mut evidence: Vec<run::Evidence> =
        flat.map(|text| line(&view, "completed_rate", "", text)).into_iter().collect();
    evidence.push(used);
    evidence.extend(hidden);
    evidence.extend(signs.into_iter().map(|(line, _)| line).chain(doubt).chain(grows));
    evidence.extend(held_line(facts, &view).filter(|_| !ack_timer::hides_service_time(facts) && delayed.is_none()));
    evidence.extend(delayed.map(|delayed| line(&view, "latency_us.mean", "", delayed.text)));
    evidence.extend(acknowledgement_line(facts));
    evidence.extend(waits_for_a_disk(&view));
    evidence.extend(super::streams::waits(&view));
    let mut of_upstreams = upstreams::evidence(&view, &facts.upstreams);
    of_upstreams.retain(|line| !evidence.contains(line));
    evidence.extend(of_upstreams);
    evidence.extend(filled_cpus(facts, &view));
    // The sentence names the full upstream, so the verdict's confidence is at most that of the upstream's limit.
    let most = upstreams::awaited::chance(facts).map_or(SUREST, |chance| chance.min(SUREST));
    Ok(Verdict::Binds { confidence: confidence.min(most), sentence, evidence })
}

/// Checks that the answers do not wait for the generator to read them. If answers wait for the generator, the generator
/// is slower than the server.
fn waits_for_the_generator(facts: &Facts<'_>) -> Result<(), Verdict> {
    match Waiting::of(facts).filter(|waiting| !facts.shared() && waiting.at_client()) {
        Some(waiting) => Err(Verdict::RuledOut(format!(
            "{} of the requests in flight were answers that the generator had not read yet",
            percent(waiting.client)
        ))),
        None => Ok(()),
    }
}

/// Returns the maximum confidence that the number of workers is the limit, on a server with a garbage collector. A
/// collector that stops the other threads for a part of the time may be the real limit, unless the samples show what
/// requests wait for.
fn not_stopped(facts: &Facts<'_>) -> f64 {
    let is_known = waits::queue_inside(&facts.waits).is_some() || facts.waits.iter().any(waits::is_collection);
    let busy = collection::of(facts).filter(|_| !is_known).and_then(|collection| collection.thread_busy);
    busy.map_or(1.0, |busy| (1.0 - busy).max(LIKELY))
}

/// Returns evidence of a thread that is full under any load.
fn hidden(view: &View<'_>, task: &Task) -> run::Evidence {
    let text = format!("{} ran {} of the time {WHATEVER}: its CPU use tells nothing", task.name, percent(task.busy));
    measured(view, (task.counter, &task.name), (task.busy, FigureUnit::Cpus), Some(1.0), text)
}

/// Describes the range of clients over which throughput did not grow. Without a plateau of throughput, returns
/// `Ok(None)` if upstreams or waiting threads show the limit. If nothing shows the limit, returns the rule's result as
/// an error.
fn flat(facts: &Facts<'_>, places: Option<&Places>) -> Result<Option<String>, Verdict> {
    match facts.plateau {
        Plateau::Flat { from, to, growth } => {
            Ok(Some(format!("from {} to {} clients throughput {}", figure(from), figure(to), grew(growth))))
        }
        // If the server waits for a throttled upstream, no sweep is needed, because the kernel counts throttled periods
        // under any load.
        Plateau::Grows | Plateau::NoResult if upstreams::held(facts) && upstreams::awaited::waits_behind(facts) => {
            Ok(None)
        }
        // A single load level also shows the limit if most of its requests wait for a full upstream.
        Plateau::NoResult if upstreams::full(facts).is_some() && upstreams::awaited::waits_behind(facts) => Ok(None),
        // If most requests of the load wait for one thing inside the server, such as a lock, that thing limits the
        // rate. If a sweep ended early, it may have fewer than two steps at the highest rate.
        Plateau::Grows | Plateau::NoResult
            if waits::queue_inside(&facts.waits).is_some() && !handles_nearly_all(facts) =>
        {
            Ok(None)
        }
        // Clients whose connections are never accepted do not raise the rate.
        Plateau::Grows | Plateau::NoResult if holds_no_more(facts) => Ok(None),
        // An open loop completed less than it offered, while most waiting requests waited at the server.
        Plateau::Grows if facts.is_rate_limited() && server_queue::seen(facts, places).is_some() => Ok(None),
        Plateau::Grows => Err(Verdict::RuledOut("throughput still grew with more clients".into())),
        Plateau::NoResult => Err(cannot_say(facts.lacks_levels())),
    }
}

/// Returns true if the server serves a number of connections, and accepts no others or refuses them.
fn holds_no_more(facts: &Facts<'_>) -> bool {
    held_connections(facts).is_some() || refused_handshakes(facts).is_some()
}

/// Returns evidence of the server's CPU use. Returns the rule's result as an error if the server's CPU use is unknown,
/// or if its CPUs are almost certainly full. Without counters per thread, also returns an error if a process may
/// contain a full thread. If the CPUs are possibly full, a part of the probability goes to the rules about full CPUs.
fn idles(facts: &Facts<'_>, view: &View<'_>) -> Result<run::Evidence, Verdict> {
    let (Some(used), Some(allowed)) = (view.cpu_used(), view.cpu_allowed()) else {
        return Err(cannot_say("process.cpu of the server's processes and cpu.online"));
    };
    let share = ratio(used, allowed).unwrap_or(1.0);
    let thread = view.workers().iter().map(Task::wants).fold(0.0, f64::max);
    let by_upstream = upstreams::fills_cpus(facts);
    let withheld = view.withheld();
    // Clients whose connections the server refuses connect again and again, which fills CPUs but serves no request.
    let by_refusals = refused_handshakes(facts).is_some();
    let are_busy = !by_upstream && !by_refusals && view.processors_busy().is_some_and(|busy| busy > BUSY);
    if are_busy && withheld > share && share + withheld > HALF_BUSY {
        return Err(Verdict::RuledOut(format!(
            "the hypervisor took {} of the time of the server's CPUs, which the server wanted",
            percent(withheld)
        )));
    }
    if are_busy && thread > HALF_BUSY {
        return Err(Verdict::RuledOut(format!(
            "other work filled the server's CPUs, and its busiest thread ran or waited for one {} of the time",
            percent(thread)
        )));
    }
    let chain = (!by_upstream && !by_refusals).then(|| Chain::of(view)).flatten();
    if let Some(chain) = chain.filter(Chain::is_full) {
        return Err(Verdict::RuledOut(format!("the CPUs were full: {}", chain.text())));
    }
    if let Some(verdict) = withheld::withheld(facts, view).filter(|_| !by_upstream) {
        return Err(verdict);
    }
    // The rule `server-single-thread` covers a full thread. Without counters per thread, a process may contain a full
    // thread.
    let hidden = view.threads().is_empty() && thread > NEARLY_FULL;
    let room = 1.0 - full("", view.given(), share).chance();
    if room < HINT || hidden {
        return Err(Verdict::RuledOut(format!(
            "the server was busy: {} of its CPU used, and its busiest thread ran or waited for a CPU {} of the time",
            percent(share),
            percent(thread)
        )));
    }
    let text = format!(
        "the server used {} of {}, and its busiest thread ran or waited for a CPU {} of the time",
        figure(used),
        cpus(allowed),
        percent(thread)
    );
    Ok(measured(view, ("process.cpu", ""), (used, FigureUnit::Cpus), Some(allowed), text))
}

/// Checks that Xmax × R1 (highest rate times R1, the response time with one client) can be a number of workers. If R1
/// is not the service time, for example because a runtime still compiled the program, the number of workers stays
/// unknown.
fn counts_places(facts: &Facts<'_>) -> Result<(), Verdict> {
    if facts.x_max().is_none() {
        return Err(cannot_say("the rate of good answers"));
    }
    // One worker alone sustains the rate of one client, so an estimate below one worker is impossible.
    match held_places(facts).filter(|p| *p < LEAST_PLACES) {
        Some(places) => Err(Verdict::RuledOut(format!(
            "at most {} of the rate of one client completed: a fixed number of workers would keep that rate",
            percent(places)
        ))),
        None => Ok(()),
    }
}

/// Checks that response times grow with the load, if no sign of a queue was seen (`is_unseen`). Rare slow answers may
/// be as frequent and as slow under any load. Such answers wait in no queue, but occupy most clients of a closed loop.
fn waits_nowhere(facts: &Facts<'_>, is_unseen: bool) -> Result<(), Verdict> {
    match &facts.rare_slow {
        Some(slow) if is_unseen && waits_longer(facts).is_none() => {
            Err(Verdict::RuledOut(format!("no answer takes longer under more load: {}", slow.text())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;

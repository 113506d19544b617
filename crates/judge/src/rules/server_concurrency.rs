//! A fixed number of workers, a lock, or a wait for an upstream: the rate no longer grows while the CPUs idle, and the service time of one
//! request stays the same.

use run::FigureUnit;

use super::rule::{Rule, Tier, Verdict, none, server};
use crate::Facts;
use crate::chain::Chain;
use crate::evidence::{line, measured};
use crate::facts::loopback;
use crate::number::{duration, figure, grew, percent, positive, rate, ratio};
use crate::single::{clients, r1_us};
use crate::sweep::Plateau;
use crate::thresholds::{BUSY, DISK_STALLED, DISK_WORKS, HALF_BUSY, LEAST_PLACES, NEARLY_FULL};
use crate::upstreams;
use crate::view::{Task, View};

pub(super) const RULE: Rule = Rule {
    id: "server-concurrency",
    needs: &["sweep", "process.cpu", "cpu.online"],
    waits: true,
    tier: Tier::LeftOver,
    explains: &[],
    signals: none,
    judge,
    advice: &[
        "Raise the number of workers or threads, or of connections to an upstream; the knee shows how many there are now.",
        "If that number is already large, look for a lock, or for an upstream that handles only so many at a time.",
    ],
    explain: "If each request holds one of W workers for a time S, throughput ends at W / S however idle the machine is. Xmax \
              times R1 gives W. The workers may be processes or threads, a connection pool, a lock (W = 1), or an upstream. \
              The rule needs throughput that has stopped growing, a server whose CPUs and threads are not full, and a \
              queue that is not in the network.",
};

fn judge(facts: &Facts<'_>) -> Verdict {
    bind(facts).unwrap_or_else(|verdict| verdict)
}

/// Returns the verdict with the number of workers, or the reason against it.
fn bind(facts: &Facts<'_>) -> Result<Verdict, Verdict> {
    let view = server(facts)?;
    let flat = flat(facts)?;
    let used = idles(&view)?;
    counts_places(facts)?;
    let Some((queue, confidence)) = queue_place(facts, &view) else {
        return Err(cannot_say(
            "connection.rtt of the server's connections: it tells a queue in the server from one in the network",
        ));
    };
    let mut evidence: Vec<run::Evidence> =
        flat.map(|text| line(&view, "completed_rate", "", text)).into_iter().collect();
    evidence.extend([used, queue]);
    let (sentence, places) = places(facts, &view);
    evidence.extend(places);
    evidence.extend(waits_for_a_disk(&view));
    evidence.extend(super::streams::waits(&view));
    evidence.extend(upstreams::evidence(&view, &facts.upstreams));
    let sentence = upstreams::full(&facts.upstreams).map_or(sentence, upstreams::sentence);
    Ok(Verdict::Binds { confidence, sentence, evidence })
}

fn cannot_say(missing: impl Into<String>) -> Verdict {
    Verdict::CannotSay(vec![missing.into()])
}

/// Describes the flat sweep; `None` where the upstreams say enough without a sweep.
fn flat(facts: &Facts<'_>) -> Result<Option<String>, Verdict> {
    match facts.plateau {
        Plateau::Flat { from, to, growth } => {
            Ok(Some(format!("from {} to {} clients throughput {}", figure(from), figure(to), grew(growth))))
        }
        // The kernel counts throttled periods, so no second load is needed.
        Plateau::Grows | Plateau::NoResult if upstreams::held(&facts.upstreams) => Ok(None),
        Plateau::Grows => Err(Verdict::RuledOut("throughput still grew with more clients".into())),
        Plateau::NoResult => {
            Err(cannot_say("more load levels: a single one cannot show a limit (run `loadline find`)"))
        }
    }
}

/// Returns the server's CPU use, where neither its CPUs nor any of its threads are full.
fn idles(view: &View<'_>) -> Result<run::Evidence, Verdict> {
    let (Some(used), Some(allowed)) = (view.cpu_used(), view.cpu_allowed()) else {
        return Err(cannot_say("process.cpu of the server's processes and cpu.online"));
    };
    let share = ratio(used, allowed).unwrap_or(1.0);
    let thread = view.workers().iter().map(Task::wants).fold(0.0, f64::max);
    if view.processors_busy().is_some_and(|b| b > BUSY) && thread > HALF_BUSY {
        return Err(Verdict::RuledOut(format!(
            "other work filled the server's CPUs, and its busiest thread ran or waited for one {} of the time",
            percent(thread)
        )));
    }
    if let Some(chain) = Chain::of(view.trial, view).filter(Chain::is_full) {
        return Err(Verdict::RuledOut(format!("the CPUs were full: {}", chain.text())));
    }
    if share > BUSY || thread > NEARLY_FULL {
        return Err(Verdict::RuledOut(format!(
            "the server was busy: {} of its CPU used, its busiest thread {}",
            percent(share),
            percent(thread)
        )));
    }
    let text =
        format!("the server used {} of {} CPUs, its busiest thread {}", figure(used), figure(allowed), percent(thread));
    Ok(measured(view, ("process.cpu", ""), (used, FigureUnit::Cpus), Some(allowed), text))
}

/// Checks that Xmax R1 counts workers at all.
fn counts_places(facts: &Facts<'_>) -> Result<(), Verdict> {
    // A fixed number of workers serves 2 clients at most twice as fast as 1. A larger gain means that the first client's time was a wake-up, not
    // service.
    if let Some(beyond) = crate::laws::beyond_bound(facts) {
        let n = figure(clients(beyond));
        return Err(cannot_say(format!(
            "the service time of one request: {n} clients did more than {n} times the work of one, whose response time includes wake-ups"
        )));
    }
    if facts.x_max().is_none() {
        return Err(cannot_say("the rate of good answers"));
    }
    // One worker serves one client at full speed: less than one is no number of workers.
    match held_places(facts).filter(|p| *p < LEAST_PLACES) {
        Some(places) => Err(Verdict::RuledOut(format!(
            "at most {} of the rate of one client completed: a fixed number of workers would keep that rate",
            percent(places)
        ))),
        None => Ok(()),
    }
}

/// Returns Xmax R1, where both are known.
fn held_places(facts: &Facts<'_>) -> Option<f64> {
    Some(facts.x_max()? * facts.unloaded.and_then(r1_us)? / 1e6)
}

/// Returns evidence that the threads wait for a disk that is not full: more of them would use it better.
fn waits_for_a_disk(view: &View<'_>) -> Option<run::Evidence> {
    let stalled = view.share_of_time("pressure.io_some").filter(|s| *s >= DISK_STALLED)?;
    let own = ["process.read_bytes", "process.write_bytes"].iter().filter_map(|id| view.per_request(id)).sum::<f64>();
    let text = format!(
        "a request moves {} B to or from a disk, and some thread of the host waited for it {} of the time: more threads \
         would use the disk better",
        figure(own),
        percent(stalled)
    );
    // The pressure is that of the whole host, and a thread that sleeps in io_uring counts as waiting for I/O.
    let works = crate::disks::fullest(view, view.span_s? * 1e6)?;
    (own >= 1.0 && works.out + works.flushing >= DISK_WORKS)
        .then(|| measured(view, ("pressure.io_some", ""), (stalled, FigureUnit::Plain), Some(DISK_STALLED), text))
}

/// Returns the place where the requests wait, and the confidence that it gives.
fn queue_place(facts: &Facts<'_>, view: &View<'_>) -> Option<(run::Evidence, f64)> {
    let r = positive(view.trial.latency_us.mean)?;
    let unread = view.value("connection.receive_queue").filter(|q| *q >= 1.0);
    let unaccepted = view.max("listen.queue").filter(|q| *q >= 1.0);
    if let Some(q) = unread {
        let text = format!("{} bytes of requests waited unread in each receive queue of the server", figure(q));
        return Some((measured(view, ("connection.receive_queue", ""), (q, FigureUnit::Bytes), None, text), 0.9));
    }
    if let Some(q) = unaccepted {
        let text = format!("{} connections waited for the server to accept them", figure(q));
        return Some((
            measured(view, ("listen.queue", ""), (q, FigureUnit::Plain), view.value("listen.limit"), text),
            0.85,
        ));
    }
    if loopback(facts.run) {
        let text = "on loopback there is no network in which requests could queue".to_string();
        return Some((line(view, "", "", text), 0.8));
    }
    let rtt = view.value("connection.rtt").filter(|rtt| *rtt < 0.5 * r)?;
    let text = format!(
        "the round trip takes {} of a response time of {}: the rest is spent in the server",
        duration(rtt),
        duration(r)
    );
    Some((measured(view, ("connection.rtt", ""), (rtt, FigureUnit::Micros), Some(r), text), 0.8))
}

/// Returns the number of workers, Xmax R1.
fn places(facts: &Facts<'_>, view: &View<'_>) -> (String, Vec<run::Evidence>) {
    let x = facts.x_max().unwrap_or(0.0);
    let Some(r1) = facts.unloaded.and_then(r1_us) else {
        return (format!("the server stays at {} while its threads sleep", rate(x)), Vec::new());
    };
    let places = held_places(facts).unwrap_or(0.0);
    let text = format!(
        "{} per request with one client × {} at most = {} requests at a time",
        duration(r1),
        rate(x),
        figure(places)
    );
    let evidence = measured(view, ("latency_us.mean", ""), (places, FigureUnit::Requests), None, text);
    let sentence = format!(
        "the server handles only about {} requests at a time ({} each); the others wait while its threads sleep",
        figure(places),
        duration(r1)
    );
    (sentence, vec![evidence])
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Who};
    use run::Bottleneck;

    fn judged(planted_run: PlantedRun) -> Bottleneck {
        let mut run = planted_run.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    /// Behind a limit of SYNs: answers take 5 ms, connects seconds, and "0.05 requests at a time" was said.
    #[test]
    fn less_than_one_place_is_none() {
        let held_up = |t: &mut run::Trial, _: &crate::planted::Point| {
            (t.rates.completed_rate, t.rates.goodput) = (10.0, 10.0);
            t.measured.tally.completed = 20;
        };
        let b = judged(PlantedRun::new(5000.0, 200.0).steps(&[1, 2, 4, 8]).rates(&[]).change(held_up));
        assert!(!b.sentence.contains("at a time"), "{b:#?}");
        let one = judged(PlantedRun::new(20_000.0, 50.0).level(Who::Server, "connection.receive_queue", "", 60.0));
        assert!(one.id == "server-concurrency" && one.sentence.contains("about 1 request"), "{one:#?}");
    }

    /// Sixteen requests a connection for a server that takes eight: the other eight wait, and the evidence says how many.
    #[test]
    fn requests_that_wait_for_a_stream_are_told_with_the_servers_limit() {
        let limited = |limit| {
            let story = move |t: &mut run::Trial, p: &crate::planted::Point| {
                let (connections, think) = ((p.n / 16.0) as u32, run::ThinkTime::default());
                t.intensity = run::Intensity::Closed { connections, pipeline: 16, think };
                t.stream_limit = limit;
            };
            let run = PlantedRun::new(20_000.0, 200.0).steps(&[16, 32, 64, 128]).rates(&[]).change(story);
            judged(run.level(Who::Server, "connection.receive_queue", "", 60.0))
        };
        let told = |b: &Bottleneck| b.evidence.iter().find(|e| e.counter == "stream_limit").map(|e| e.text.clone());
        let b = limited(Some(8));
        assert_eq!(b.id, "server-concurrency", "{b:#?}");
        let text = told(&b).unwrap();
        assert!(text.contains("8 streams per connection") && text.contains(" waited in the generator"), "{text}");
        for enough in [None, Some(16), Some(128)] {
            assert_eq!(told(&limited(enough)), None);
        }
    }

    /// Where each connection has places of its own, more connections carry more, and nothing of the server's is full.
    #[test]
    fn a_limit_of_streams_is_told_where_more_connections_would_still_bring_more() {
        let eight = |t: &mut run::Trial, p: &crate::planted::Point| {
            let (connections, think) = ((p.n / 16.0) as u32, run::ThinkTime::default());
            t.intensity = run::Intensity::Closed { connections, pipeline: 16, think };
            t.stream_limit = Some(8);
        };
        let b = judged(PlantedRun::new(20_000.0, 1e9).steps(&[16, 32, 64, 128]).rates(&[]).change(eight));
        let told = b.evidence.iter().find(|e| e.counter == "stream_limit");
        assert!(b.id == "not-saturated" && told.is_some_and(|e| e.text.contains("8 streams per connection")), "{b:#?}");
    }

    /// The server in a namespace behind a veth, on this very machine: there is a network in which requests can wait.
    #[test]
    fn one_host_with_a_link_in_it_is_no_loopback() {
        let on = |url: &str| {
            let named = move |t: &mut run::Trial, _: &crate::planted::Point| {
                t.server.iter_mut().for_each(|s| s.host = t.client.host.clone());
            };
            judged(PlantedRun::new(20_000.0, 200.0).url(url).change(named))
        };
        let said = |b: &Bottleneck| b.evidence.iter().any(|e| e.text.contains("no network in which"));
        let (loopback, veth) = (on("http://127.0.0.1:8080/"), on("http://10.1.0.2:8080/"));
        assert!(loopback.id == "server-concurrency" && said(&loopback), "{loopback:#?}");
        assert!(veth.id == "server-concurrency" && !said(&veth), "{veth:#?}");
    }
}

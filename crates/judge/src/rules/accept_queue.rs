//! Rule for a server that accepts connections too slowly: its listen backlog overflows, and connects are dropped.

use run::{FigureUnit, Trial};

use super::rule::{PLAIN, Rule, Verdict, server};
use crate::Facts;
use crate::evidence::{cpu_share_line, measured};
use crate::facts::unix_socket;
use crate::number::{counted, figure, percent, positive};
use crate::overflow::{HeldConnections, Overflow, always_full, slow_connects, slow_share};
use crate::single::clients;
use crate::sweep::Plateau;
use crate::thresholds::{
    CONNECTS_DROPPED, FEW_DROPS, INDIRECT, LIKELY, LIMIT_CONNECTS, ONE_SIGN, OTHERS_USE, SUREST, TWO_SIGNS,
};
use crate::view::View;
use crate::waits;

pub(super) const RULE: Rule = Rule {
    id: "accept-queue",
    needs: &["tcp.listen_overflows", "tcp.listen_drops", "listen.drops", "listen.queue", "tcp.syn_retrans"],
    explains: &["network-loss"],
    shared: &[
        (
            &["tcp.listen_overflows", "tcp.listen_drops", "tcp.passive_opens"],
            "the listener of the server dropped connects or was full, or connects of the load took a second",
        ),
        (&["tcp.syn_retrans", "tcp.retrans_segs", "tcp.active_opens"], "connects of the load took a second"),
    ],
    signals: |facts| Overflow::worst(facts).iter().map(Overflow::signal).collect(),
    judge,
    advice: &[
        "Raise the backlog that the server passes to listen(), and net.core.somaxconn, which limits it.",
        "Accept all waiting connections each time the listener is ready, in a thread of its own or in every worker.",
    ],
    explain: "Linux drops the SYN when the accept queue (backlog + 1) is full. It does not tell the client, which repeats the \
              SYN after 1 s. A few connects then take 1 s, 2 s or more while all others are fast, and the server idles. The \
              kernel counts ListenOverflows of the host and the drops of each listener; only those of this server's listener, or \
              our own slow connects, count here. With full CPUs or workers the queue overflows only beyond the \
              rate that the server cannot serve anyway: then throughput stopped growing before the first drop, or the \
              samples of the threads show what the workers wait for.",
    ..PLAIN
};

fn judge(facts: &Facts<'_>) -> Verdict {
    if unix_socket(facts.run) {
        return Verdict::RuledOut("a connect to a unix socket waits or is refused; none is dropped".into());
    }
    if let Err(verdict) = server(facts) {
        return by_client(facts).unwrap_or(verdict);
    }
    let Some(worst) = Overflow::worst(facts) else {
        return by_client(facts).unwrap_or_else(|| {
            Verdict::CannotSay(vec![
                "tcp.listen_overflows and tcp.listen_drops of the server's network namespace".into(),
            ])
        });
    };
    let elsewhere = match worst.elsewhere >= 1.0 {
        true => format!("; {} more at other listeners of the host", figure(worst.elsewhere)),
        false => String::new(),
    };
    let cost = match worst.share > worst.of_connects {
        true => format!(", and waiting for a second SYN may take {} of the clients' time", percent(worst.share)),
        false => String::new(),
    };
    let text = format!(
        "{} of the connects found the accept queue full ({} drops{elsewhere}){cost}",
        percent(worst.of_connects),
        figure(worst.drops)
    );
    if !worst.counts() {
        return Verdict::RuledOut(text);
    }
    if let Some(why) = waits_for_workers(facts, &worst.view).or_else(|| was_flat_before(facts)) {
        return Verdict::RuledOut(format!("{text}, but {why}"));
    }
    if let Some(held) = HeldConnections::of(worst.view.trial) {
        return Verdict::RuledOut(format!("{text}, but {}", held.text()));
    }
    bind(facts, &worst, text)
}

/// Describes why requests queue inside the server, from samples of the server's threads. A server whose workers are all
/// busy accepts no connections, so a longer queue would not help.
fn waits_for_workers(facts: &Facts<'_>, view: &View<'_>) -> Option<String> {
    let finding = waits::busy_workers(&facts.waits, view)?;
    Some(format!("connects wait because of a cause inside the server: {}", finding.sentence))
}

/// Describes the steps of a plateau in which no connect was dropped. Returns `None` if connects were dropped in all
/// steps of the plateau, or in all except one. If throughput stopped growing before the first connect was dropped, the
/// accept queue does not limit throughput. With many more clients, the queue of any server overflows.
fn was_flat_before(facts: &Facts<'_>) -> Option<String> {
    let counts = without_drops(facts);
    let [few, many] = [f64::min, f64::max].map(|end| counts.iter().copied().reduce(end));
    let (few, many) = few.zip(many).filter(|(few, many)| many > few)?;
    Some(format!(
        "throughput no longer grew from {} to {} clients, where no connect was dropped",
        figure(few),
        figure(many)
    ))
}

/// Returns the numbers of clients of the plateau's steps in which no connect was dropped.
fn without_drops(facts: &Facts<'_>) -> Vec<f64> {
    let Plateau::Flat { from, .. } = facts.plateau else { return Vec::new() };
    let on_plateau = facts.sweep.iter().filter(|trial| clients(trial) >= from);
    let kept = on_plateau.filter(|trial| Overflow::of(trial).is_some_and(|overflow| overflow.drops < FEW_DROPS));
    kept.map(|trial| clients(trial)).collect()
}

/// Returns true if a listener that accepts slowly looks the same as workers that are all busy. Samples of the threads
/// tell a slow listener from busy workers. If each request has a connection of its own, connects are dropped in both
/// cases, and only a sweep shows which case applies: busy workers reach their highest rate before the first connect is
/// dropped. If clients keep their connections and the queue is full in the
/// whole window, the workers may all be busy, because each accepted connection may occupy a worker for many requests.
fn may_be_busy(facts: &Facts<'_>, view: &View<'_>) -> bool {
    let looks_the_same = match keeps_connections(view.trial) {
        true => always_full(view).is_some(),
        false => facts.plateau == Plateau::NoResult || !without_drops(facts).is_empty(),
    };
    looks_the_same && !waits::has_enough_samples(facts.run)
}

/// Returns true if the clients use a connection for many requests, in the whole trial and in its window.
fn keeps_connections(trial: &Trial) -> bool {
    let window = &trial.measured.tally;
    waits::keeps_connections(trial) && window.connected as f64 <= LIMIT_CONNECTS * window.completed as f64
}

fn bind(facts: &Facts<'_>, worst: &Overflow<'_>, text: String) -> Verdict {
    let (view, trial) = (&worst.view, worst.view.trial);
    let mut evidence = vec![measured(view, (worst.counter, ""), (worst.drops, FigureUnit::Plain), Some(0.0), text)];
    let mut confidence: f64 = ONE_SIGN;
    let limit = view.instances("listen.limit").into_iter().map(|(_, l)| l).reduce(f64::min);
    if let Some(queue) = view.whole_trial("listen.queue") {
        let full = limit.is_some_and(|l| queue >= l);
        let of = limit.map_or(String::new(), |l| format!(" (limit {})", figure(l)));
        evidence.push(measured(
            view,
            ("listen.queue", ""),
            (queue, FigureUnit::Plain),
            limit,
            format!("up to {} waited to be accepted{of}", counted(queue, "connection")),
        ));
        confidence = if full { TWO_SIGNS } else { confidence };
    }
    let slow = slow_connects(trial);
    if slow.is_some() {
        confidence = if confidence >= TWO_SIGNS { SUREST } else { TWO_SIGNS };
    }
    if !worst.is_own() || may_be_busy(facts, view) {
        // If the server's own listener shows no overflow, the signs of a full accept queue are only indirect. SYNs that
        // the network lost slow down connects, too, and the host's counter may count the drops of another listener.
        confidence = confidence.min(INDIRECT);
    }
    // Only slow connects of this generator prove that its own connects were dropped and repeated.
    let effect = match slow {
        Some(_) => format!("{} of the connects wait a second longer", percent(worst.of_connects)),
        None => format!("{} connects were dropped", figure(worst.drops)),
    };
    evidence.extend(slow);
    evidence.extend(cpu_share_line(view));
    let sentence = format!(
        "the server accepts connections too slowly: its backlog{} overflows, and {effect}",
        limit.map_or(String::new(), |l| format!(" of {}", figure(l)))
    );
    Verdict::Binds { confidence: confidence * worst.signal().chance(), sentence, evidence }
}

/// Decides whether the accept queue was full, from the client's counters alone. If the client resent SYNs but hardly
/// any other segment, the server's accept queue was full. Segments of the whole trial are counted, because the kernel
/// sends a dropped SYN again only after a second.
fn by_client(facts: &Facts<'_>) -> Option<Verdict> {
    let view = facts.client()?;
    let syn = view.whole_trial("tcp.syn_retrans")?;
    let all = view.whole_trial("tcp.retrans_segs")?;
    let tried = positive(view.whole_trial("tcp.active_opens")?)?;
    let slow = slow_connects(view.trial).filter(|_| slow_share(view.trial) >= CONNECTS_DROPPED)?;
    if syn < FEW_DROPS || syn / tried < CONNECTS_DROPPED || all - syn > OTHERS_USE * syn {
        return None;
    }
    let text = format!("{} SYNs were retransmitted, and hardly any other segment", figure(syn));
    let evidence = vec![measured(&view, ("tcp.syn_retrans", ""), (syn, FigureUnit::Plain), Some(0.0), text), slow];
    let sentence = "the server's accept queue overflows: only connects are dropped (seen from the client alone)";
    Some(Verdict::Binds { confidence: LIKELY, sentence: sentence.into(), evidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Who};

    /// Makes a run on one shared host with full CPUs. The load is `times` the server's capacity. `ran_us` and
    /// `waited_us` are the times per second for which the generator's thread ran and waited for a CPU. `drops` is the
    /// share of dropped connects.
    fn full_host(capacity: f64, times: f64, (ran_us, waited_us): (f64, f64), drops: f64) -> PlantedRun {
        PlantedRun::new(1000.0, capacity)
            .steps(&[])
            .rates(&[times])
            .shared()
            .per_s(Who::Client, "process.cpu", "loadline:50", move |_| ran_us)
            .per_s(Who::Client, "thread.cpu", "shard0:50/51", move |_| ran_us)
            .per_s(Who::Client, "thread.run_delay", "shard0:50/51", move |_| waited_us)
            .per_s(Who::Server, "cpu.idle", "total", |_| 0.0)
            .per_s(Who::Server, "cpu.user", "total", |_| 4e6)
            .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Who::Server, "listen.drops", "127.0.0.1:8080", move |p| p.x * drops)
            .per_s(Who::Server, "tcp.listen_overflows", "", move |p| p.x * drops)
    }

    /// This test repeats a situation that was observed with `python3 -m http.server` at 5,000 requests/s, while a build
    /// ran on the host. The accept queue dropped 12 % of the connects, and the generator lacked CPU time.
    #[test]
    fn a_starved_generator_fills_no_accept_queue() {
        let starved = |drops| full_host(800.0, 6.0, (2.6e5, 4e5), drops).verdict();
        let b = starved(0.13);
        assert_eq!(b.id, "accept-queue", "{b:#?}");
        let b = starved(0.0);
        assert!(!["accept-queue", "client-cpu"].contains(&b.id.as_str()), "{b:#?}");
    }

    /// The server has a short accept queue, and other programs fill the host's CPUs. The server uses more CPU time than
    /// the generator, and is idle at times.
    #[test]
    fn processors_that_others_fill_do_not_hide_a_full_queue() {
        let beside = |drops| {
            let planted_run = full_host(1200.0, 4.0, (3e5, 1e5), drops)
                .per_s(Who::Server, "process.cpu", "srv:100", |_| 1.6e6)
                .per_s(Who::Server, "thread.cpu", "srv:100/101", |_| 1.7e5)
                .per_s(Who::Server, "thread.run_delay", "srv:100/101", |_| 2.7e5);
            planted_run.verdict()
        };
        let b = beside(0.15);
        assert_eq!(b.id, "accept-queue", "{b:#?}");
        // Without drops, the verdict is unknown: other programs use more than half of the CPU time, so nothing shows
        // that the server is the limit.
        let b = beside(0.0);
        assert_eq!(b.id, "unknown", "{b:#?}");
    }

    /// Another listener of the host overflows. The connects of this load succeed at once, and the server's own listener
    /// drops nothing.
    #[test]
    fn an_overflow_of_another_listener_is_not_ours() {
        let beside = |own: Option<f64>| {
            let planted = PlantedRun::new(1000.0, 4000.0).per_s(Who::Server, "tcp.listen_overflows", "", |_| 40.0);
            let planted = match own {
                Some(share) => planted.per_s(Who::Server, "listen.drops", "0.0.0.0:8080", move |_| share * 40.0),
                None => planted,
            };
            let mut run = planted.run();
            crate::judge(&mut run);
            (RULE.judge)(&Facts::of(&run))
        };
        for own in [Some(0.0), None] {
            let verdict = beside(own);
            let told = matches!(&verdict, Verdict::RuledOut(why) if why.contains("80 more at other listeners"));
            assert!(told, "{own:?}: {verdict:#?}");
        }
        assert!(matches!(beside(Some(1.0)), Verdict::Binds { .. }), "{:#?}", beside(Some(1.0)));
    }

    /// Another listener overflows, and the counters of the server's own listener are unknown. A network path that loses
    /// packets can make connects of this load take a second, too.
    #[test]
    fn slow_connects_beside_a_listener_that_was_not_read_are_not_sure() {
        let slow =
            |t: &mut run::Trial, _: &crate::planted::Point| (t.connect_us.p99, t.connect_us.max) = (1.04e6, 3.1e6);
        let unread = || {
            PlantedRun::new(1000.0, 1e9)
                .rates(&[])
                .none(Who::Server, "listen.queue")
                .none(Who::Server, "listen.limit")
                .per_s(Who::Server, "tcp.listen_overflows", "", |_| 400.0)
                .change(slow)
        };
        let confidence = |planted: PlantedRun| {
            let mut run = planted.run();
            crate::judge(&mut run);
            match (RULE.judge)(&Facts::of(&run)) {
                Verdict::Binds { confidence, .. } => confidence,
                other => panic!("{other:#?}"),
            }
        };
        assert!(confidence(unread()) <= INDIRECT);
        assert!(confidence(unread().per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |_| 400.0)) > ONE_SIGN);
    }

    /// 128 clients connect at the same time to a backlog of 32. Clients whose SYN was dropped connect a second later
    /// and stay connected, so no connect is dropped in the measured window.
    #[test]
    fn connects_that_were_dropped_while_all_connected_limit_no_load_that_stays_connected() {
        let dropped = |again: f64| {
            let change = move |t: &mut run::Trial, _: &crate::planted::Point| {
                t.measured.window.begin_s = 0.5;
                t.connect_us.max = 1.05e6;
                let own = |c: &&mut run::Column| ["tcp.listen_overflows", "listen.drops"].contains(&c.counter.as_str());
                for column in t.server.iter_mut().flat_map(|side| &mut side.recording.columns).filter(own) {
                    column.values = [0.0, 90.0, 90.0, 90.0, 90.0 + again].map(Some).to_vec();
                }
            };
            PlantedRun::new(20_000.0, 300.0)
                .level(Who::Server, "connection.receive_queue", "", 60.0)
                .per_s(Who::Server, "tcp.listen_overflows", "", |_| 45.0)
                .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |_| 45.0)
                .change(change)
        };
        assert_eq!(dropped(0.0).verdict().id, "server-concurrency");
        assert_eq!(dropped(40.0).verdict().id, "accept-queue");
    }

    /// A server accepts connections in batches. A client whose SYN was dropped waits a second, so many clients may wait
    /// although few connects per second are dropped.
    #[test]
    fn few_drops_count_if_clients_wait_long_for_them() {
        let batches = |t: &mut run::Trial, _: &crate::planted::Point| {
            t.measured.tally.attempted = t.measured.tally.completed;
            t.tally.connected = t.tally.completed;
            t.connect_us.max = 1.02e6;
        };
        let planted = PlantedRun::new(10_000.0, 2000.0)
            .per_s(Who::Server, "tcp.listen_overflows", "", |p| (p.n - 22.0).max(0.0) / 6.0)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", |p| (p.n - 22.0).max(0.0) / 6.0)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", 21.0)
            .level(Who::Server, "listen.limit", "0.0.0.0:8080", 21.0)
            .change(batches);
        let b = planted.verdict();
        assert_eq!(b.id, "accept-queue", "{b:#?}");
        let told = &b.evidence[0].text;
        assert!(told.starts_with("0.") && told.contains("of the clients' time"), "few connects: {told}");
    }

    /// TCP counters do not count connections of Unix sockets.
    #[test]
    fn a_unix_socket_has_no_drops() {
        let mut run = crate::planted::planted("accept-queue").unwrap();
        run.plan.target.url = "unix:///run/app.sock:/".into();
        crate::judge(&mut run);
        assert_ne!(run.findings.bottleneck.id, "accept-queue", "{:#?}", run.findings.bottleneck);
        let facts = Facts::of(&run);
        for rule in crate::RULES.iter().filter(|rule| rule.id.starts_with("tcp-") || rule.id.starts_with("network-")) {
            assert!(matches!((rule.judge)(&facts), Verdict::RuledOut(_)), "{}", rule.id);
        }
    }

    #[test]
    fn segments_that_a_listener_drops_on_a_lossy_line_are_no_overflow() {
        let lossy = PlantedRun::new(500.0, 20_000.0).per_s(Who::Server, "listen.drops", "0.0.0.0:80", |p| p.x / 20.0);
        let judged = |planted_run: PlantedRun| {
            let mut run = planted_run.run();
            crate::judge(&mut run);
            (RULE.judge)(&Facts::of(&run))
        };
        assert!(matches!(judged(lossy), Verdict::RuledOut(_)));
        let unknown = PlantedRun::new(500.0, 20_000.0)
            .none(Who::Server, "tcp.listen_overflows")
            .none(Who::Server, "tcp.listen_drops")
            .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:80", |p| p.x / 20.0);
        assert!(matches!(judged(unknown), Verdict::Binds { .. }));
    }

    /// Eight workers need 20 ms per request and close each connection. The backlog holds 10 connections, so connects
    /// are dropped only from more than 18 clients on.
    fn workers_that_close_connections() -> PlantedRun {
        let closes = |t: &mut run::Trial, p: &crate::planted::Point| {
            t.measured.tally.attempted = t.measured.tally.completed;
            (t.tally.attempted, t.tally.connected) = (t.tally.completed, t.tally.completed);
            if p.n > 18.0 {
                (t.connect_us.p99, t.connect_us.max) = (1.04e6, 3.1e6);
            }
        };
        let drops = |p: &crate::planted::Point| (p.n - 18.0).max(0.0);
        PlantedRun::new(20_000.0, 400.0)
            .steps(&[1, 2, 4, 8, 16, 32])
            .rates(&[])
            .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Who::Server, "tcp.listen_overflows", "", drops)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", drops)
            .level(Who::Server, "listen.queue", "0.0.0.0:8080", 8.0)
            .level(Who::Server, "listen.limit", "0.0.0.0:8080", 10.0)
            .change(closes)
    }

    #[test]
    fn drops_after_throughput_stopped_growing_are_no_limit() {
        let b = workers_that_close_connections().verdict();
        assert_eq!(b.id, "server-concurrency", "{b:#?}");
        let why = b.ruled_out.iter().find(|other| other.id == "accept-queue").map(|other| other.why.as_str());
        assert!(why.is_some_and(|why| why.contains("from 8 to 16 clients, where no connect was dropped")), "{why:?}");
        let without_16 = workers_that_close_connections().steps(&[1, 2, 4, 8, 32]).verdict();
        assert_eq!(without_16.id, "accept-queue", "one step of the plateau shows no growth: {without_16:#?}");
    }

    #[test]
    fn a_single_load_tells_slow_accepts_from_busy_workers_only_by_samples() {
        let with = |samples: Option<run::WaitProfile>| {
            let one = workers_that_close_connections().steps(&[32]).change(move |trial, _| {
                trial.kind = run::TrialKind::Fixed;
                trial.server.iter_mut().for_each(|side| side.waits = samples.clone().map(Box::new));
            });
            one.verdict()
        };
        let unseen = with(None);
        assert!(unseen.id == "accept-queue" && unseen.confidence <= INDIRECT, "{unseen:#?}");
        let mut locked = waits::tests::locked(run::FutexKind::OwnedMutex);
        let names = locked.processes.iter_mut().map(|process| &mut process.process);
        let names = names.chain(locked.groups.iter_mut().map(|group| &mut group.process));
        names
            .chain(locked.futexes.iter_mut().map(|futex| &mut futex.process))
            .for_each(|name| *name = "srv:100".into());
        let busy = with(Some(locked.clone()));
        assert_ne!(busy.id, "accept-queue", "{busy:#?}");
        // This test repeats a situation that was observed with Python: some threads wait for the interpreter's lock,
        // and the others could take new connections.
        locked.processes[0].threads = 32.0;
        let contended = with(Some(locked));
        assert_eq!(contended.id, "accept-queue", "{contended:#?}");
    }

    /// Sixteen workers take 20 ms per request, each request has its own connection, and the backlog is 5. Sixteen
    /// clients reach the highest rate without a drop; 32 clients overflow the backlog. A longer backlog helps nobody.
    #[test]
    fn busy_workers_with_a_short_backlog_are_not_slow_to_accept() {
        let overflows = |p: &crate::planted::Point| if p.n > 21.0 { p.x / 2.0 } else { 0.0 };
        let b = PlantedRun::new(20_000.0, 800.0)
            .steps(&[1, 2, 4, 8, 16, 32])
            .rates(&[])
            .plan(|plan| plan.load.new_connections = true)
            .per_s(Who::Server, "tcp.passive_opens", "", |p| p.x)
            .per_s(Who::Server, "listen.drops", "127.0.0.1:8080", overflows)
            .per_s(Who::Server, "tcp.listen_overflows", "", overflows)
            .per_s(Who::Server, "listen.queue", "", |p| if p.n > 16.0 { 6.0 } else { 0.0 })
            .level(Who::Server, "listen.limit", "", 5.0)
            .verdict();
        assert!(b.id != "accept-queue" || b.confidence <= INDIRECT, "{b:#?}");
    }
}

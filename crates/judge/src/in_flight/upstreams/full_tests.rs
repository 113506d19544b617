use run::{Bottleneck, Proof, ProofOutcome, Run, Upstream};

use crate::planted::proofs::{slots_beside, tried_on};
use crate::planted::{PlantedRun, Point, Who};

/// A made-up upstream with one thread.
#[derive(Clone)]
struct Planted {
    address: String,
    depth: u32,
    from: &'static str,
    process: String,
    /// Share of the time in which the thread runs at the highest rate.
    busy: f64,
    /// Share of the requests in flight that wait for this upstream.
    waiting: f64,
    /// Mean number of open connections for each request that waits for this upstream.
    connections: f64,
    /// Bytes that wait unread in front of this upstream, per request in flight.
    unread: f64,
}

/// Makes a run of a server on eight CPUs that sends requests to the given upstreams. With one client, a request takes
/// `r1_us`, and the highest rate is 1000 requests per second.
fn before(r1_us: f64, upstreams: &[Planted]) -> PlantedRun {
    let all: f64 = upstreams.iter().map(|one| one.busy).sum();
    let share = |p: &Point| p.x / 1000.0;
    let behind: Vec<Upstream> = upstreams.iter().map(Planted::upstream).collect();
    let planted = PlantedRun::new(r1_us, 1000.0)
        .level(Who::Server, "cpu.online", "", 8.0)
        .per_s(Who::Server, "cpu.idle", "total", move |p| 8e6 - share(p) * (all + 0.1) * 1e6)
        .per_s(Who::Server, "cpu.user", "total", move |p| share(p) * (all + 0.1) * 1e6)
        .change(move |trial, _| trial.server.iter_mut().for_each(|side| side.behind = behind.clone()));
    upstreams.iter().cloned().fold(planted, |planted, one| one.add_to(planted))
}

impl Planted {
    fn new(address: &str, depth: u32, process: &str, busy: f64) -> Self {
        let from = if depth == 1 { "" } else { NODE };
        let (address, process) = (address.to_string(), process.to_string());
        Self { address, depth, from, process, busy, waiting: 0.97, connections: 1.0, unread: 0.0 }
    }

    fn upstream(&self) -> Upstream {
        let pid = self.process.rsplit_once(':').map_or("", |(_, pid)| pid);
        Upstream {
            address: self.address.clone(),
            depth: self.depth,
            from: self.from.into(),
            processes: vec![self.process.clone()],
            pids: pid.parse().into_iter().collect(),
        }
    }

    fn add_to(self, planted: PlantedRun) -> PlantedRun {
        let Self { address, process, busy, waiting, connections, unread, .. } = self;
        let thread = format!("{process}/{}", process.rsplit_once(':').map_or("", |(_, pid)| pid));
        planted
            .per_s(Who::Server, "process.cpu", &process, move |p| busy * p.x * 1e3)
            .per_s(Who::Server, "thread.cpu", &thread, move |p| busy * p.x * 1e3)
            .level(Who::Server, "process.cpus_allowed", &process, 8.0)
            .per_s(Who::Server, "behind.connections", &address, move |p| (p.n * waiting * connections).max(1.0))
            .per_s(Who::Server, "behind.busy", &address, move |p| p.n * waiting)
            .per_s(Who::Server, "behind.unread", &address, move |p| if p.n > 8.0 { p.n * unread } else { 0.0 })
    }
}

fn judged(planted: &PlantedRun) -> Run {
    let mut run = planted.run();
    crate::judge(&mut run);
    run
}

/// Makes a run of nginx that keeps connections to `number` replicas of a program with one thread. Each replica gets an
/// equal part of the requests.
fn replicas(number: u32, busy: f64, change: fn(&mut Planted)) -> Run {
    let all: Vec<Planted> = (0..number)
        .map(|at| {
            let mut one = Planted::new(&format!("127.0.0.1:{}", 3000 + at), 1, &format!("node:{}", 300 + at), busy);
            (one.waiting, one.connections, one.unread) = (0.97 / f64::from(number), 1.25, 60.0);
            change(&mut one);
            one
        })
        .collect();
    judged(&before(f64::from(number) * 1000.0, &all))
}

/// An earlier version of loadline compared each replica's awaited replies with all requests in flight. That version
/// reported "the server handles only about 2.88 requests at a time" with a confidence of 90 %.
#[test]
fn several_full_replicas_are_one_full_upstream() {
    for number in [1, 2, 3, 4] {
        let found = replicas(number, 0.97, |_| ()).findings;
        let verdict = &found.bottleneck;
        assert!(verdict.id == "server-concurrency" && verdict.confidence >= 0.9, "{number}: {verdict:#?}");
        let pids: Vec<u32> = (300..300 + number).collect();
        assert_eq!(verdict.waits_for.as_ref().map(|waits_for| &waits_for.pids), Some(&pids), "{verdict:#?}");
        assert!(found.behind.iter().all(|load| load.limit.is_some()), "{:#?}", found.behind);
    }
    let verdict = replicas(3, 0.97, |_| ()).findings.bottleneck;
    let named = "the 3 upstreams at 127.0.0.1:3000, 127.0.0.1:3001 and 127.0.0.1:3002 (node) are full";
    assert!(verdict.sentence.contains(named), "{}", verdict.sentence);
    assert!(verdict.advice[0].contains(", or add another upstream: "), "{:?}", verdict.advice);
    let unseen = replicas(3, 0.97, |one| one.unread = 0.0).findings.bottleneck;
    assert!(unseen.waits_for.is_some_and(|waits_for| waits_for.pids.len() == 3), "no queue was seen");
}

#[test]
fn replicas_that_are_idle_or_that_serve_others_are_not_what_the_server_waits_for() {
    let idle = replicas(3, 0.4, |one| one.unread = 0.0).findings.bottleneck;
    assert_eq!(idle.waits_for, None, "{}", idle.sentence);
    let of_others = |one: &mut Planted| (one.waiting, one.connections, one.unread) = (0.01, 20.0, 0.0);
    let busy = replicas(3, 0.97, of_others).findings.bottleneck;
    assert_eq!(busy.waits_for, None, "other clients fill them: {}", busy.sentence);
}

const NODE: &str = "127.0.0.1:3000";
const REDIS: &str = "127.0.0.1:6379";

/// Makes a run of nginx in front of node, which is in front of redis. The arguments are the busy shares of node's and
/// redis' thread, and the upstream in front of which requests wait unread, if any.
fn chain(node: f64, redis: f64, unread: &str) -> PlantedRun {
    let mut all = [Planted::new(NODE, 1, "node:300", node), Planted::new(REDIS, 2, "redis:400", redis)];
    all.iter_mut().filter(|one| one.address == unread).for_each(|one| one.unread = 40.0);
    before(4000.0, &all)
}

fn address(verdict: &Bottleneck) -> &str {
    verdict.waits_for.as_ref().map_or("", |waits_for| &waits_for.address)
}

/// Node waits for redis before it replies, so requests that wait for redis also wait for node. An earlier version of
/// loadline named the nearest full upstream as the limit, even if requests queued in front of another one.
#[test]
fn of_two_full_upstreams_in_a_chain_the_one_with_the_queue_limits() {
    for (node, redis, queue) in [(0.93, 1.0, REDIS), (0.885, 1.0, REDIS), (0.99, 0.91, NODE), (0.99, 0.99, NODE)] {
        let verdict = chain(node, redis, queue).verdict();
        assert_eq!(address(&verdict), queue, "{}", verdict.sentence);
        assert!(verdict.confidence >= 0.9, "{node} {redis}: {verdict:#?}");
    }
    assert_eq!(address(&chain(0.5, 0.99, REDIS).verdict()), REDIS);
    assert_eq!(address(&chain(0.99, 0.3, NODE).verdict()), NODE);
}

#[test]
fn without_a_queue_the_fuller_of_two_upstreams_is_named_and_the_other_stays_possible() {
    let far = chain(0.91, 0.99, "").verdict();
    assert_eq!(address(&far), REDIS, "{}", far.sentence);
    let tie = chain(0.97, 0.97, "").verdict();
    assert!(address(&tie) == NODE && tie.confidence <= 0.6, "{tie:#?}");
    assert!(tie.sentence.contains("or for 127.0.0.1:6379 (redis:400), which is full too"), "{}", tie.sentence);
    let against = chain(0.9, 1.0, NODE).verdict();
    assert!(against.confidence < 0.9, "the queue and the busy shares contradict each other: {against:#?}");
}

/// Makes an experiment in which the lever on the named upstream has the elasticity `own`.
fn slowed(planted: &PlantedRun, own: f64) -> (Proof, Bottleneck) {
    let verdict = planted.verdict();
    tried_on(planted.run(), verdict, |proof, lever| proof.trials.push(slots_beside(lever, own, 0.02)))
}

/// The first verdict names node, because requests queued in front of node. Slowing node changed nothing, so the next
/// verdict names redis.
#[test]
fn after_the_refutation_of_one_upstream_the_next_full_one_is_judged() {
    let (proof, verdict) = slowed(&chain(0.97, 0.97, ""), 0.05);
    assert_eq!((proof.outcome, address(&verdict)), (ProofOutcome::Refuted, REDIS), "{}", verdict.sentence);
    assert!(!verdict.sentence.contains(NODE) && !verdict.advice.iter().any(|text| text.contains(NODE)), "{verdict:#?}");
    let (proof, verdict) = slowed(&chain(0.97, 0.3, ""), 0.05);
    assert_eq!((proof.outcome, &verdict.waits_for), (ProofOutcome::Refuted, &None), "{}", verdict.sentence);
    assert!(verdict.sentence.contains("not for the upstream that looked full") && verdict.confidence <= 0.6);
    assert!(!verdict.advice.iter().any(|text| text.contains("is full")), "{:?}", verdict.advice);
    let (proof, verdict) = slowed(&chain(0.97, 0.97, ""), 0.96);
    assert_eq!((proof.outcome, address(&verdict)), (ProofOutcome::Proven, NODE), "{}", verdict.sentence);
}

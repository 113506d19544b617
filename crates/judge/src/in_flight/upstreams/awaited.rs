//! Upstreams for which the requests of the measured load wait. An upstream that requests wait for is full, or nearly
//! all requests in flight wait for its replies.

use run::Upstream;

use crate::Facts;
use crate::in_flight::places::{self, Places};
use crate::in_flight::server_queue;
use crate::number::{counted, figure, positive};
use crate::thresholds::{NEARLY_FULL, SURE};

/// Returns true if requests of this load wait for the full upstream. An upstream that few requests wait for does not
/// count as full. If the number of awaited replies is unknown, the function returns true only if a queue was seen in
/// front of the upstream.
pub(crate) fn waits_behind(facts: &Facts<'_>) -> bool {
    let is_known = |full: &run::UpstreamLoad| {
        facts.crowded_server().is_some_and(|view| super::awaited(&view, &full.behind).is_some())
    };
    super::full(facts).is_some_and(|full| is_known(full) || server_queue::seen(facts, None).is_some())
}

/// Returns the probability that the full upstream limits the server. Returns `None` if no upstream is full.
pub(crate) fn chance(facts: &Facts<'_>) -> Option<f64> {
    facts.full_upstreams.chance()
}

/// An upstream for whose replies requests in flight wait.
pub(crate) struct Awaited<'a> {
    pub(crate) behind: &'a Upstream,
    /// Number of requests that wait for replies of the upstream.
    pub(crate) waiting: f64,
    /// Number of requests in flight.
    pub(crate) in_flight: f64,
}

impl Awaited<'_> {
    /// Returns the text about the requests that wait for the upstream.
    pub(crate) fn words(&self) -> String {
        let (waiting, in_flight) = (figure(self.waiting), counted(self.in_flight, "request"));
        format!("{waiting} of {in_flight} in flight wait for replies of {}", super::named(self.behind))
    }
}

/// Returns the server's upstream for which nearly all requests in flight wait, if any. Requests that wait for replies
/// do not queue in the server, so the upstream (or one of its own upstreams) is the limit.
pub(crate) fn by_nearly_all<'a>(facts: &Facts<'a>) -> Option<Awaited<'a>> {
    most_awaited(facts).filter(|all| all.waiting >= NEARLY_FULL * all.in_flight)
}

/// Returns the direct upstream of the server for which the most requests in flight wait, if any. Possibly, fewer than
/// half of the requests wait for the returned upstream.
pub(crate) fn most_awaited<'a>(facts: &Facts<'a>) -> Option<Awaited<'a>> {
    let view = facts.crowded_server()?;
    let in_flight = positive(view.trial.rates.concurrency)?;
    let direct = view.side.behind.iter().filter(|behind| behind.depth <= 1);
    let each = direct.filter_map(|behind| Some((behind, super::awaited(&view, behind)?)));
    let (behind, waiting) = each.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(Awaited { behind, waiting, in_flight })
}

/// Returns the text about a number of connections or workers that may be the limit instead of the full upstream.
/// Returns `None` if the upstream certainly is the limit, or if no count equals the number of requests handled at a
/// time.
pub(crate) fn other_limit(facts: &Facts<'_>, places: Option<&Places>) -> Option<String> {
    let places = places.filter(|_| chance(facts).is_some_and(|chance| chance < SURE))?;
    let count = places.matching().find(|one| places::is_connections(one)).or_else(|| places.matching().next())?;
    let number = places::requests(places.places);
    Some(format!(", or the server handles only about {number} at a time ({})", places::text(count)))
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::{Bottleneck, Upstream};

    const ADDRESS: &str = "127.0.0.1:5432";

    /// Makes a run of a server that handles four requests at a time, in front of the upstream `processes`. Each process
    /// has one thread. The server waits for replies on `awaited` of its `connections` connections. `cpus` returns the
    /// CPU use of each process at an operating point.
    fn before(
        planted: PlantedRun,
        processes: &[&str],
        [connections, awaited]: [f64; 2],
        cpus: impl Fn(usize, &Point) -> f64 + Copy + 'static,
    ) -> PlantedRun {
        let names: Vec<String> = processes.iter().map(|name| (*name).to_string()).collect();
        let mut planted = planted
            .level(Who::Server, "behind.connections", ADDRESS, connections)
            .level(Who::Server, "behind.busy", ADDRESS, awaited)
            .change(move |trial, _| {
                let upstream =
                    Upstream { address: ADDRESS.into(), depth: 1, processes: names.clone(), ..Upstream::default() };
                trial.server.iter_mut().for_each(|side| side.behind = vec![upstream.clone()]);
            });
        for (at, name) in processes.iter().enumerate() {
            let thread = format!("{name}/{}", name.rsplit_once(':').map_or("", |(_, pid)| pid));
            planted = planted.per_s(Who::Server, "process.cpu", name, move |p| cpus(at, p) * 1e6).per_s(
                Who::Server,
                "thread.cpu",
                &thread,
                move |p| cpus(at, p) * 1e6,
            );
        }
        planted
    }

    fn four_at_a_time() -> PlantedRun {
        PlantedRun::new(20_000.0, 200.0)
    }

    /// Processes of a database: one for each of the server's four connections, and one with other work.
    const DATABASE: [&str; 5] = ["postgres:200", "postgres:201", "postgres:202", "postgres:203", "postgres:900"];

    fn names_the_upstream(verdict: &Bottleneck) -> bool {
        verdict.waits_for.is_some() || verdict.sentence.contains("waits for")
    }

    /// In this test, a session of another client, or a background process, fills one CPU. The measured load hardly uses
    /// the database.
    #[test]
    fn other_work_of_an_upstream_is_not_what_the_server_waits_for() {
        let unread = four_at_a_time().level(Who::Server, "connection.receive_queue", "", 60.0);
        let always = |at: usize, p: &Point| if at == 4 { 1.0 } else { p.x * 75e-6 };
        let full = before(unread, &DATABASE, [4.0, 4.0], always).verdict();
        assert!(full.id == "server-concurrency" && !names_the_upstream(&full), "{full:#?}");
        let later = |at: usize, p: &Point| match at {
            4 if p.x > 100.0 => 1.0,
            4 => 0.0,
            _ => p.x * 75e-6,
        };
        let began = before(four_at_a_time(), &DATABASE, [4.0, 4.0], later).verdict();
        assert!(!names_the_upstream(&began), "three of four connections wait for other processes: {began:#?}");
        let few = before(four_at_a_time(), &["app:300"], [30.0, 2.0], |_, p| p.x / 200.0).verdict();
        assert!(!names_the_upstream(&few), "the server waits on two of thirty connections: {few:#?}");
        let fixed = |trial: &mut run::Trial, _: &Point| trial.kind = run::TrialKind::Fixed;
        let one_load = PlantedRun::new(20_000.0, 1e9).steps(&[8]).rates(&[]).change(fixed);
        let one_load = before(one_load, &DATABASE, [8.0, 8.0], always).verdict();
        assert!(!names_the_upstream(&one_load) || one_load.confidence <= 0.6, "{one_load:#?}");
    }

    /// In this test, a service behind the server handles four requests at a time, which sleep. No resource of the
    /// service is full, but requests wait there.
    #[test]
    fn an_upstream_that_nearly_all_requests_wait_for_is_named_although_it_is_not_full() {
        let idle = |_: usize, p: &Point| p.x * 1e-5;
        let all = before(four_at_a_time(), &["app:300"], [200.0, 200.0], idle).verdict();
        assert!(all.id == "server-concurrency" && all.waits_for.is_none(), "{all:#?}");
        let wait = "requests in flight wait for replies of 127.0.0.1:5432 (app:300)";
        assert!(all.sentence.contains(wait) && all.sentence.contains("about 4 requests at a time"), "{all:#?}");
        assert!(all.advice[0].contains("run `loadline waits` there"), "{all:#?}");
        let pool = before(four_at_a_time(), &["app:300"], [4.0, 4.0], idle).verdict();
        assert!(!pool.sentence.contains(wait), "most requests wait in the server: {pool:#?}");
    }

    #[test]
    fn a_full_upstream_is_named_if_the_load_fills_it() {
        let app = before(four_at_a_time(), &["app:300"], [4.0, 4.0], |_, p| p.x / 200.0 * 0.97).verdict();
        assert!(names_the_upstream(&app) && app.confidence >= 0.85, "{app:#?}");
        let clause = app.sentence.split("; ").next().and_then(|first| first.split(": ").next()).unwrap_or_default();
        assert!(clause.contains("(app:300), of which one thread was busy 97 % of the time"), "{clause}");
        let all = |at: usize, p: &Point| if at == 4 { 0.0 } else { p.x / 200.0 * 0.97 };
        let database = before(four_at_a_time(), &DATABASE, [4.0, 4.0], all).verdict();
        assert!(names_the_upstream(&database) && database.confidence >= 0.85, "{database:#?}");
    }

    /// As with PostgreSQL, the upstream has a process for each connection, and this process computes nearly all the
    /// time. The pool of four connections is too small: four of eight CPUs are idle, and no request waits in the
    /// database.
    #[test]
    fn a_full_process_for_each_connection_shows_a_small_pool() {
        let eight = || four_at_a_time().level(Who::Server, "cpu.online", "", 8.0);
        let unread = || eight().level(Who::Server, "connection.receive_queue", "", 60.0);
        let all = |at: usize, p: &Point| if at == 4 { 0.0 } else { p.x / 200.0 * 0.97 };
        let pool = before(unread(), &DATABASE, [4.0, 3.9], all).verdict();
        assert!(pool.id == "server-concurrency" && pool.waits_for.is_none(), "{pool:#?}");
        assert!(pool.sentence.contains("about 4 requests at a time"), "{pool:#?}");
        let waiting = unread().level(Who::Server, "behind.unread", ADDRESS, 600.0);
        let queue = before(waiting, &DATABASE, [4.0, 3.9], all).verdict();
        assert!(queue.waits_for.is_some(), "requests wait before the processes: {queue:#?}");
    }

    fn one_at_a_time() -> PlantedRun {
        PlantedRun::new(20_000.0, 50.0).level(Who::Server, "connection.receive_queue", "", 60.0)
    }

    /// A server with one worker sends one query at a time to PostgreSQL, so only one process of the database computes.
    #[test]
    fn one_worker_before_a_database_shows_no_full_database() {
        let cpus = |at: usize, p: &Point| if at == 1 { p.x / 50.0 * 0.97 } else { 0.0 };
        let forked = one_at_a_time().level(Who::Server, "process.parent", "postgres:200", 199.0);
        let verdict = before(forked, &["postgres:199", "postgres:200"], [1.0, 0.98], cpus).verdict();
        assert!(verdict.id == "server-concurrency" && verdict.waits_for.is_none(), "{verdict:#?}");
        assert!(verdict.sentence.contains("about 1 request at a time"), "{verdict:#?}");
    }

    /// A server with one worker waits for a busy thread. The thread may be an event loop, as in Node.js. In a Java
    /// server, the thread is one of many, and other threads would serve further requests.
    #[test]
    fn a_busy_thread_behind_one_worker_is_named_with_the_worker() {
        let one = before(one_at_a_time(), &["node:300"], [1.0, 0.98], |_, p| p.x / 50.0 * 0.97).verdict();
        assert!(names_the_upstream(&one) && one.confidence <= 0.6, "{one:#?}");
        assert!(one.sentence.contains("or the server handles only about 1 request at a time"), "{one:#?}");
        let queue = one_at_a_time().level(Who::Server, "behind.unread", ADDRESS, 600.0);
        let many = before(queue, &["redis:300"], [1.0, 0.98], |_, p| p.x / 50.0 * 0.97).verdict();
        assert!(names_the_upstream(&many) && many.confidence >= 0.9, "requests wait for the thread: {many:#?}");
    }

    /// As with gunicorn's default, one synchronous worker waits for a parallel upstream in Go or Java that computes for
    /// 95 % of each request. The upstream's threads together use only one CPU, because the upstream gets only one
    /// request at a time.
    #[test]
    fn a_parallel_upstream_that_gets_one_request_at_a_time_has_no_lock() {
        let behind = |connections: [f64; 2]| {
            let mut planted = before(one_at_a_time(), &["app:300"], connections, |_, p| p.x / 50.0 * 0.95);
            for thread in ["app:300/300", "app:300/301", "app:300/302", "app:300/303"] {
                planted = planted.per_s(Who::Server, "thread.cpu", thread, |p| p.x / 50.0 * 0.95e6 / 4.0);
            }
            planted.verdict()
        };
        let one = behind([1.0, 0.96]);
        assert!(one.id == "server-concurrency" && !one.serial && one.waits_for.is_none(), "{one:#?}");
        assert!(one.sentence.contains("about 1 request at a time"), "{one:#?}");
        let many = behind([64.0, 60.0]);
        assert!(many.serial && names_the_upstream(&many), "sixty requests take turns: {many:#?}");
    }

    /// Four threads of a parallel upstream together use 0.97 CPUs.
    #[test]
    fn a_parallel_upstream_that_uses_about_one_cpu_has_no_lock() {
        for unread in [0.0, 60.0] {
            let server = four_at_a_time().level(Who::Server, "connection.receive_queue", "", unread);
            let mut planted = before(server, &["app:300"], [4.0, 4.0], |_, p| p.x / 200.0 * 0.97).per_s(
                Who::Server,
                "thread.cpu",
                "app:300/300",
                |p| p.x / 200.0 * 0.25e6,
            );
            for thread in ["app:300/301", "app:300/302", "app:300/303"] {
                planted = planted.per_s(Who::Server, "thread.cpu", thread, |p| p.x / 200.0 * 0.24e6);
            }
            let verdict = planted.verdict();
            assert!(!verdict.serial && !verdict.sentence.contains("take turns"), "{verdict:#?}");
            assert!(!names_the_upstream(&verdict), "{verdict:#?}");
        }
    }

    /// The confidence grows gradually with the busy share of the upstream's thread.
    #[test]
    fn the_busy_share_of_an_upstreams_thread_is_no_switch() {
        let at = |busy: f64| {
            let used = move |_, p: &Point| p.x / 200.0 * busy;
            before(PlantedRun::new(5000.0, 200.0), &["node:300"], [64.0, 60.0], used).verdict()
        };
        let (less, middle, more) = (at(0.86), at(0.88), at(0.91));
        for verdict in [&less, &middle, &more] {
            assert!(!verdict.sentence.contains("sleep"), "{verdict:#?}");
        }
        assert!(names_the_upstream(&middle) && (0.5..0.7).contains(&middle.confidence), "{middle:#?}");
        assert!(names_the_upstream(&more) && (0.7..0.9).contains(&more.confidence), "{more:#?}");
        assert!(less.sentence.contains("one thread of the upstream") && less.confidence <= 0.5, "{less:#?}");
    }
}

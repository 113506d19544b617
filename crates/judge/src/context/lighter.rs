//! Lighter loads of a run: the trials at much lower rates, and the counters that were read before any load. CPU use
//! that is the same under lighter loads is not caused by the measured load. A thread may be busy whatever the load: it
//! polls, compiles, tidies up, or works for other clients. A thread that was also full under a much lower load does not
//! show what limits the rate.

mod load;

use run::{Side, Trial, Window};

use crate::context::single::server_of;
use crate::context::view::{Task, View};
use crate::number::{positive, ratio};
use crate::thresholds::REACHED;

use load::{Load, full, room_by_law};

/// The server's side under lighter loads than in one trial.
#[derive(Clone, Debug)]
pub(crate) struct LighterLoads<'a> {
    /// The server's side of the trial that the lighter loads are compared with.
    now: View<'a>,
    /// The server's side of the trials with a clearly lower rate.
    views: Vec<View<'a>>,
    /// Recording of the server's side before any load; absent if there is none.
    rest: Option<View<'a>>,
    /// True if throughput still grew with the load, and no load missed the objective.
    grows: bool,
}

impl<'a> LighterLoads<'a> {
    /// Returns the server's side of the `trials` with a lower rate than `view`, and of `at_rest`, the recordings
    /// before any load. A recording belongs to the server if it contains one of the server's processes. `grows` is true
    /// if throughput still grew with the load, and no load missed the objective.
    pub(crate) fn of(
        view: &View<'a>,
        trials: impl Iterator<Item = &'a Trial>,
        at_rest: &'a [Side],
        grows: bool,
    ) -> Self {
        let rate = view.trial.rates.completed_rate;
        let views: Vec<View<'a>> =
            trials.filter(|t| t.rates.completed_rate < REACHED * rate).filter_map(server_of).collect();
        let is_server = |side: &&Side| side.processes.iter().any(|process| view.side.processes.contains(process));
        let rest = at_rest.iter().find(is_server).map(|side| View {
            side,
            window: Window::ALL,
            span_s: positive(side.recording.span_s(Window::ALL)),
            ..*view
        });
        Self { now: *view, views, rest, grows }
    }

    /// Returns the probability that a busy share was not full under lighter loads. `share` returns the busy share of a
    /// side, if it is known. While throughput still grows, a full share at half the rate or less makes the probability
    /// low, because a full thread cannot double its rate. Once throughput stopped growing or a load missed the
    /// objective, one full share is not enough: a server that warms up is slow at first. The probability is then low in
    /// two cases: if the share is full under all loads of at most half the rate, or if the utilization law shows that
    /// the resource does not limit the rate ([`room_by_law`]). The recording before any load is used only if no lighter
    /// load shows the share, because a polling thread may be idle before the load. Returns `None` if neither a lighter
    /// load nor the recording before any load shows the share.
    pub(crate) fn had_room(&self, share: impl Fn(&View<'a>) -> Option<f64>) -> Option<f64> {
        let loads = self.views.iter().filter_map(|view| Load::of(view, share(view)?, self.now.trial));
        let loads: Vec<Load<'a>> = loads.collect();
        let much_lower = loads.iter().filter(|load| load.is_much_lower()).map(|load| load.full);
        let least = much_lower.reduce(if self.grows { f64::max } else { f64::min });
        let room = 1.0 - least.or_else(|| Some(full(share(self.rest.as_ref()?)?)))?;
        let by_law = share(&self.now).filter(|_| !self.grows).map_or(1.0, |share| room_by_law(&loads, share));
        Some(room.min(by_law))
    }

    /// Returns the probability that one thread or process was not full under lighter loads: see
    /// [`LighterLoads::had_room`].
    pub(crate) fn task_had_room(&self, task: &Task) -> Option<f64> {
        self.had_room(|view| busy_of(view, task))
    }
}

/// Returns the busy share of a thread or process in another recording. If a recording contains other threads of the
/// process but not this thread, the thread had not started yet.
pub(crate) fn busy_of(view: &View<'_>, task: &Task) -> Option<f64> {
    let process = process_of(&task.name);
    let of_process = view.instances(task.counter).into_iter().filter(|(name, _)| process_of(name) == process);
    let of_process: Vec<(String, f64)> = of_process.collect();
    let own = of_process.iter().find(|(name, _)| *name == task.name).map_or(0.0, |(_, us)| *us);
    ratio(own / 1e6, view.span_s?).filter(|_| !of_process.is_empty())
}

/// Returns the process ID in the name of a thread or process: `100` for `srv:100` and for `worker:100/101`.
fn process_of(name: &str) -> &str {
    let id = name.rsplit_once(':').map_or(name, |(_, id)| id);
    id.split_once('/').map_or(id, |(process, _)| process)
}

#[cfg(test)]
mod tests {
    use super::process_of;
    use crate::planted::servers::{rested, uses};
    use crate::planted::{PlantedRun, Point, Who};
    use run::{Bottleneck, Run, TrialKind};

    /// Makes a run of a server with four workers. One more thread of the server uses the share `busy` of a CPU.
    fn beside(planted: PlantedRun, busy: impl Fn(&Point) -> f64 + Clone + 'static) -> PlantedRun {
        let also = busy.clone();
        planted.per_s(Who::Server, "process.cpu", "srv:100", move |p| busy(p) * 1e6 + p.x * 20.0).per_s(
            Who::Server,
            "thread.cpu",
            "poll:100/109",
            move |p| also(p) * 1e6,
        )
    }

    /// Makes a run of a server whose four threads poll, and therefore always fill the four CPUs.
    fn polls(planted: PlantedRun) -> PlantedRun {
        uses(planted, |_| 4.0)
    }

    /// Makes a run of `loadline load` with a single load of `clients` clients.
    fn one_load(planted: PlantedRun, clients: u32) -> PlantedRun {
        planted.steps(&[clients]).rates(&[]).change(|trial, _| trial.kind = TrialKind::Fixed)
    }

    fn judged(mut run: Run) -> Bottleneck {
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn a_polling_server_has_no_full_cpu() {
        let grows = judged(polls(PlantedRun::new(40_000.0, 1e9).steps(&[1, 2, 4, 8]).rates(&[])).run());
        assert_eq!(grows.id, "unknown", "{grows:#?}");
        let open = judged(one_load(polls(PlantedRun::new(40_000.0, 1e9)), 1).run());
        assert!(open.confidence <= 0.6 && open.sentence.contains("without load"), "{open:#?}");
        let polls = judged(rested(one_load(polls(PlantedRun::new(40_000.0, 1e9)), 1).run(), 1.0));
        assert!(!["server-cpu", "server-single-thread"].contains(&&*polls.id), "{polls:#?}");
    }

    #[test]
    fn a_thread_that_is_always_busy_is_not_the_limit() {
        let flat = PlantedRun::new(20_000.0, 200.0).level(Who::Server, "connection.receive_queue", "", 60.0);
        let flat = judged(beside(flat, |_| 1.0).run());
        assert!(flat.id == "server-concurrency" && flat.confidence <= 0.75, "{flat:#?}");
        assert!(flat.evidence.iter().any(|line| line.text.contains("whatever the load")), "{flat:#?}");
        let grows = PlantedRun::new(40_000.0, 1e9).steps(&[1, 2, 4, 8]).rates(&[]);
        assert_eq!(judged(beside(grows, |_| 1.0).run()).id, "unknown");
        let begins = PlantedRun::new(40_000.0, 1e9).steps(&[1, 2, 4, 8]).rates(&[]);
        let begins = judged(beside(begins, |p| if p.n >= 4.0 { 1.0 } else { 0.0 }).run());
        assert_eq!(begins.id, "unknown", "full from half of the rate on: {begins:#?}");
    }

    #[test]
    fn one_load_shows_a_full_thread_if_the_thread_rests_without_load() {
        let one = || one_load(beside(PlantedRun::new(20_000.0, 1e9), |_| 1.0), 8).run();
        let open = judged(one());
        assert!(open.id == "server-single-thread" && open.confidence <= 0.6, "{open:#?}");
        assert!(open.sentence.contains("without load"), "{open:#?}");
        let rests = judged(rested(one(), 0.01));
        assert!(rests.id == "server-single-thread" && rests.confidence >= 0.9, "{rests:#?}");
        assert!(!rests.sentence.contains("without load"), "{rests:#?}");
        let never = judged(rested(one(), 1.0));
        assert_ne!(never.id, "server-single-thread", "{never:#?}");
    }

    /// The just-in-time compiler of a JVM that has just started does nothing before the load, and fills one thread
    /// under any load.
    #[test]
    fn a_thread_that_rests_without_load_and_is_full_under_each_load_is_not_the_limit() {
        let flat = PlantedRun::new(20_000.0, 200.0).level(Who::Server, "connection.receive_queue", "", 60.0);
        let verdict = judged(rested(beside(flat, |_| 1.0).run(), 0.01));
        assert!(verdict.id == "server-concurrency" && verdict.confidence <= 0.75, "{verdict:#?}");
    }

    /// Makes a run of a server with a pool of 16 connections to a remote store. A thread of the server uses the share
    /// `busy` of a CPU.
    fn pool(busy: impl Fn(&Point) -> f64 + Clone + 'static) -> PlantedRun {
        let planted = PlantedRun::new(8000.0, 2000.0).steps(&[1, 2, 4, 8, 12, 16, 24, 32, 64]);
        beside(planted.level(Who::Server, "connection.receive_queue", "", 60.0), busy)
    }

    /// A thread polls while requests come within 1 ms of each other, and sleeps otherwise, like reactors of Seastar and
    /// kernel threads of io_uring. With one client, the thread mostly sleeps, and at half of the highest rate, it polls
    /// all the time.
    #[test]
    fn a_thread_that_polls_from_half_of_the_rate_on_is_not_the_limit() {
        let polls = |p: &Point| 1.0 - (-p.x * 4e-3).exp();
        let clean = judged(pool(polls).run());
        assert!(clean.id == "server-concurrency" && clean.confidence <= 0.75, "{clean:#?}");
        let sweep = judged(pool(polls).rates(&[]).run());
        assert!(sweep.confidence <= 0.6 || sweep.id == "server-concurrency", "{sweep:#?}");
        let all = uses(PlantedRun::new(8000.0, 2000.0), move |p| 4.0 * polls(p));
        assert_ne!(judged(all.run()).id, "server-cpu");
    }

    /// A thread that sends traces is full from 70 % of the rate on, and drops the traces that it cannot send.
    #[test]
    fn a_thread_that_is_full_before_any_request_waits_is_not_the_limit() {
        let drops = judged(pool(|p| (p.x / p.capacity / 0.7).min(0.985)).run());
        assert_eq!(drops.id, "server-concurrency", "{drops:#?}");
        let works = judged(pool(|p| p.x / p.capacity * 0.985).run());
        assert!(works.id == "server-single-thread" && works.confidence >= 0.9, "{works:#?}");
    }

    /// An event loop like that of Redis needs up to 1.7 times as much CPU time for a request if it reads requests one
    /// by one as if it reads several at once. At half of the highest rate, the event loop is two thirds busy.
    #[test]
    fn an_event_loop_that_handles_several_requests_at_once_under_load_is_the_limit() {
        let batches = |p: &Point| (p.x / p.capacity * (1.7 - 0.7 * p.x / p.capacity)).min(0.99);
        let redis = judged(beside(PlantedRun::new(500.0, 8000.0), batches).run());
        assert!(redis.id == "server-single-thread" && redis.confidence >= 0.9, "{redis:#?}");
    }

    /// The just-in-time compiler makes the server faster during the sweep.
    #[test]
    fn a_thread_that_was_full_only_while_the_server_warmed_up_is_the_limit() {
        let warms_up = |p: &Point| if p.n == 2.0 { 0.97 } else { p.x / p.capacity * 0.985 };
        let warm = judged(pool(warms_up).run());
        assert!(warm.id == "server-single-thread" && warm.confidence >= 0.9, "{warm:#?}");
    }

    #[test]
    fn a_thread_belongs_to_the_process_of_its_id() {
        assert_eq!(["srv:100", "worker:100/101", "a:b:7/8", "x"].map(process_of), ["100", "100", "7", "x"]);
    }
}

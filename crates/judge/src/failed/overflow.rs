//! Share of connects that met a full accept queue, because connects arrived faster than the server accepted them.
//!
//! `tcp.listen_overflows` counts the overflows of all listeners in a network namespace. A rule uses this counter only
//! if the overflow also shows at the server's own listener or in the generator's connects. For Unix sockets, the kernel
//! does not count overflows.

use run::{ErrorKind, Evidence, FigureUnit, Trial};

use crate::Facts;
use crate::context::evidence::measured;
use crate::context::single::{clients, server_of};
use crate::context::sweep::Plateau;
use crate::context::view::View;
use crate::number::{counted, duration, figure, ratio};
use crate::signals::Signal;
use crate::thresholds::{CONNECTS_DROPPED, FAR_BEYOND, FEW_DROPS, SYN_AGAIN_US};

/// Overflow of the accept queue in one trial.
pub(crate) struct Overflow<'a> {
    pub(crate) view: View<'a>,
    /// ID of the counter whose growth shows that the server's accept queue overflowed.
    pub(crate) counter: &'static str,
    /// Connects dropped at this server's listener in the whole trial.
    pub(crate) drops: f64,
    /// Connects that the kernel dropped in the namespace, but not at this server's listener.
    pub(crate) elsewhere: f64,
    /// The larger of two shares, 0 to 1: dropped connects among all connects, and time lost by dropped connects among
    /// the time of all clients. A client repeats a dropped connect only after a second.
    pub(crate) share: f64,
    /// Share of all connects that were dropped, 0 to 1.
    pub(crate) of_connects: f64,
    /// True if connects were dropped inside the measured window, and not only before this window. Many servers drop
    /// connects only at the start, when a load opens all connections at once.
    lasts: bool,
}

impl<'a> Overflow<'a> {
    /// Returns the overflow of the trial with the largest [`Overflow::share`].
    pub(crate) fn worst(facts: &Facts<'a>) -> Option<Self> {
        trials(facts).into_iter().filter_map(Self::of).max_by(|a, b| a.share.total_cmp(&b.share))
    }

    /// Returns true if the overflow is too large and lasts too long to be a coincidence.
    pub(crate) fn counts(&self) -> bool {
        self.share >= CONNECTS_DROPPED && self.drops >= FEW_DROPS && self.lasts
    }

    /// Returns the share of dropped connects as a signal.
    pub(crate) fn signal(&self) -> Signal {
        Signal::counted("dropped share of the connects", (self.share, self.drops), CONNECTS_DROPPED)
    }

    /// Returns true if this server's own listener dropped connects, or if its queue was full.
    pub(crate) fn is_own(&self) -> bool {
        self.counter == "listen.drops" || queue_was_full(&self.view)
    }

    /// Returns the overflow of a trial. Returns `None` if no counter of overflows is known.
    pub(crate) fn of(trial: &'a Trial) -> Option<Self> {
        let view = server_of(trial)?;
        let all =
            ["tcp.listen_overflows", "tcp.listen_drops"].into_iter().find_map(|id| Some((id, view.whole_trial(id)?)));
        // If packets are lost, the listener's own counter also includes dropped segments of connections that are not
        // yet established. If the overflows of the whole namespace are known, their number is therefore an upper bound
        // of the listener's count.
        let own = view.whole_trial("listen.drops");
        let (counter, drops) = match (own, all) {
            (Some(own), Some((_, all))) => ("listen.drops", own.min(all)),
            (Some(own), None) => ("listen.drops", own),
            (None, Some((id, all))) if queue_was_full(&view) || slow_share(trial) >= CONNECTS_DROPPED => (id, all),
            (None, Some((id, _))) => (id, 0.0),
            (None, None) => return None,
        };
        let elsewhere = all.map_or(0.0, |(_, all)| all - drops);
        let connected = Some(trial.tally.connected as f64).filter(|n| *n > 0.0);
        let tried = connected.or_else(|| view.whole_trial("tcp.passive_opens")).unwrap_or(0.0) + drops;
        let of_time = ratio(drops, clients(trial) * view.side.recording.span_s(run::Window::ALL));
        let of_connects = ratio(drops, tried).unwrap_or(0.0).min(1.0);
        let share = of_time.unwrap_or(0.0).max(of_connects).min(1.0);
        let inside = view.value(counter).is_some_and(|n| n.min(drops) >= 1.0);
        let lasts = inside || connects_go_on(trial) || queue_is_full(&view);
        Some(Self { view, counter, drops, elsewhere, share, of_connects, lasts })
    }
}

/// Returns true if the load connected inside the window, if some of its connects failed, or if some of its connections
/// were never answered. New connects inside the window, failed connects and unanswered connections show that the
/// overflow lasts.
fn connects_go_on(trial: &Trial) -> bool {
    trial.measured.tally.attempted > 0 || trial.tally.phantom > 0 || trial.tally.connected < trial.tally.attempted
}

/// Returns the smallest limit of the server's accept queues, connections; `None` if no limit is known.
pub(crate) fn backlog(view: &View<'_>) -> Option<f64> {
    view.instances("listen.limit").into_iter().map(|(_, limit)| limit).reduce(f64::min)
}

/// Returns true if an accept queue of the server was at its limit at any time inside the window.
fn queue_is_full(view: &View<'_>) -> bool {
    view.max("listen.queue").zip(backlog(view)).is_some_and(|(queue, limit)| queue >= limit)
}

/// Returns true if an accept queue of the server reached its limit at any time of the trial.
fn queue_was_full(view: &View<'_>) -> bool {
    view.whole_trial("listen.queue").zip(backlog(view)).is_some_and(|(queue, limit)| queue >= limit)
}

/// Returns evidence of the generator's connects that timed out, got no answer, or whose SYN was sent again.
pub(crate) fn slow_connects(trial: &Trial) -> Option<Evidence> {
    let client = View::new("client", trial, &trial.client);
    let c = trial.connect_us;
    let slow = [("connect_us.p99", c.p99), ("connect_us.p99_9", c.p99_9), ("connect_us.max", c.max)];
    if let Some((id, us)) = slow.into_iter().find(|(_, us)| *us >= SYN_AGAIN_US && us.is_finite()) {
        let text = format!("connects took up to {} ({id}): the client repeats a dropped SYN after 1 s", duration(us));
        return Some(measured(&client, (id, ""), (us, FigureUnit::Micros), Some(1e6), text));
    }
    let failed = trial.tally.errors.count(ErrorKind::ConnectTimeout) + trial.tally.phantom;
    let text = format!("{} timed out or got no answer", counted(failed as f64, "connect"));
    (failed > 0).then(|| measured(&client, ("errors", ""), (failed as f64, FigureUnit::Plain), Some(0.0), text))
}

/// Returns a lower bound of the share of the generator's connects that were slow or failed: the SYN was sent again, the
/// connect timed out, or the connection never carried an answer (phantom).
pub(crate) fn slow_share(trial: &Trial) -> f64 {
    let c = trial.connect_us;
    let seen = [(c.p99, CONNECTS_DROPPED), (c.max, ratio(1.0, c.count as f64).unwrap_or(1.0))];
    let slow = seen.into_iter().filter(|(us, _)| *us >= SYN_AGAIN_US && us.is_finite()).map(|(_, share)| share);
    let failed = trial.tally.errors.count(ErrorKind::ConnectTimeout) + trial.tally.phantom;
    slow.chain(ratio(failed as f64, trial.tally.attempted as f64)).fold(0.0, f64::max)
}

/// Connections that a server serves, while it accepts no others.
pub(crate) struct HeldConnections<'a> {
    view: View<'a>,
    /// Number of connections on which the server answered.
    pub(crate) answered: f64,
    /// Mean number of connections in the accept queue.
    pub(crate) waiting: f64,
    /// True if the accept queue was full in the whole window.
    is_full: bool,
}

/// Returns the connections that the server serves while it accepts no others, in the trial with the most clients near
/// the highest rate.
pub(crate) fn held_connections<'a>(facts: &Facts<'a>) -> Option<HeldConnections<'a>> {
    HeldConnections::of(facts.crowded_server()?.trial)
}

impl<'a> HeldConnections<'a> {
    /// Returns the connections that the server answered while it accepted no other in the whole window. Returns `None`
    /// unless some connections were never answered, no connect succeeded in the window, and the accept queue was full
    /// or contained the unanswered connections. If a server merely accepts slowly, it takes connections from its queue,
    /// so some connects succeed in the window. If each worker of a server keeps one connection, the server takes no
    /// connection from its queue.
    pub(crate) fn of(trial: &'a Trial) -> Option<Self> {
        let view = server_of(trial)?;
        let (full, never_answered) = (always_full(&view), trial.tally.phantom as f64);
        let waiting = full.or_else(|| view.value("listen.queue").filter(|queue| *queue >= never_answered))?;
        let answered = trial.tally.connected.saturating_sub(trial.tally.phantom);
        let none_more = trial.measured.tally.connected == 0 && trial.tally.phantom > 0;
        (none_more && answered > 0).then_some(Self {
            view,
            answered: answered as f64,
            waiting,
            is_full: full.is_some(),
        })
    }

    /// Returns the sentence about the answered connections and the ones that waited in the accept queue.
    pub(crate) fn text(&self) -> String {
        format!(
            "the server answered on {} and accepted no other in the whole window, while {} waited in its {}accept queue",
            counted(self.answered, "connection"),
            figure(self.waiting),
            if self.is_full { "full " } else { "" }
        )
    }

    /// Returns a line of evidence with the length and the limit of the accept queue.
    pub(crate) fn line(&self) -> Evidence {
        let limit = self.view.value("listen.limit");
        measured(&self.view, ("listen.queue", ""), (self.waiting, FigureUnit::Plain), limit, self.text())
    }
}

/// Returns the mean length of the server's accept queue if it was full in the whole window. Returns `None` if no accept
/// queue of the server was full in the whole window.
pub(crate) fn always_full(view: &View<'_>) -> Option<f64> {
    let limits = view.side.recording.instances("listen.limit");
    let is_full = |name: &str, queue: f64| limits.value(name, view.window).is_some_and(|limit| queue >= limit.max(1.0));
    view.instances("listen.queue").into_iter().find(|(name, queue)| is_full(name, *queue)).map(|(_, queue)| queue)
}

/// Returns the trials near the server's limit. If throughput stopped growing in the sweep, returns the steps of the
/// plateau, without steps that have far more clients than the first of them. With far more clients than the server
/// needs, the accept queue of any server overflows.
fn trials<'a>(facts: &Facts<'a>) -> Vec<&'a Trial> {
    let Plateau::Flat { from, .. } = facts.plateau else { return facts.focus() };
    facts.sweep.iter().copied().filter(|t| clients(t) >= from && clients(t) <= FAR_BEYOND * from).collect()
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use crate::thresholds::INDIRECT;
    use run::{Trial, TrialKind};

    /// Makes a run of a server with eight workers. Each worker keeps one connection and answers its requests within 20
    /// ms. The accept queue has space for `backlog` connections and one more. All further connects are dropped.
    fn workers_that_keep_connections(backlog: f64) -> PlantedRun {
        let queued = move |p: &Point| (p.n - 8.0).clamp(0.0, backlog + 1.0);
        let drops = move |p: &Point| (p.n - 9.0 - backlog).max(0.0);
        let never_answered = move |t: &mut Trial, p: &Point| {
            t.tally.phantom = queued(p) as u64;
            t.tally.connected = (p.n - drops(p)) as u64;
            (t.tally.unanswered, t.measured.tally.unanswered) = (t.tally.phantom, t.tally.phantom);
            (t.latency_us.mean, t.latency_us.p50, t.latency_us.p99) = (20_000.0, 20_000.0, 24_000.0);
        };
        PlantedRun::new(20_000.0, 400.0)
            .rates(&[])
            .per_s(Who::Server, "tcp.listen_overflows", "", drops)
            .per_s(Who::Server, "listen.drops", "0.0.0.0:8080", drops)
            .per_s(Who::Server, "listen.queue", "0.0.0.0:8080", queued)
            .level(Who::Server, "listen.limit", "0.0.0.0:8080", backlog)
            .change(never_answered)
    }

    fn single_load(planted: PlantedRun) -> PlantedRun {
        planted.steps(&[64]).change(|t, _| t.kind = TrialKind::Fixed)
    }

    /// As with Apache's prefork, gunicorn's threads and Java's thread pools, a worker serves only its own connection
    /// until the client closes it. An earlier version of loadline advised a longer backlog, although connections in the
    /// backlog never got an answer.
    #[test]
    fn a_server_whose_workers_keep_their_connections_does_not_accept_slowly() {
        let loads = [
            single_load(workers_that_keep_connections(16.0)),
            workers_that_keep_connections(5.0).steps(&[1, 2, 4, 8, 16, 32]),
            workers_that_keep_connections(511.0).steps(&[1, 2, 4, 8, 16, 32]),
        ];
        for (load, confidence) in loads.into_iter().zip([0.5..0.9, 0.5..0.9, 0.85..0.96]) {
            let b = load.verdict();
            assert!(b.id == "server-concurrency" && confidence.contains(&b.confidence), "{b:#?}");
            assert!(b.sentence.contains("holds no more than 8 connections"), "{}", b.sentence);
            assert!(b.advice.iter().any(|advice| advice.contains("With a longer backlog")), "{:?}", b.advice);
        }
    }

    /// In this test, each worker closes its connection after 100 requests, as Apache does, and takes the next one from
    /// the full queue.
    #[test]
    fn a_queue_that_is_always_full_before_kept_connections_may_wait_for_workers() {
        let takes_the_next = |t: &mut Trial, _: &Point| {
            (t.tally.phantom, t.measured.tally.connected) = (0, 8);
            (t.tally.attempted, t.tally.connected) = (80, 50);
        };
        let b = single_load(workers_that_keep_connections(16.0).change(takes_the_next)).verdict();
        assert!(b.id == "accept-queue" && b.confidence <= INDIRECT, "{b:#?}");
    }
}

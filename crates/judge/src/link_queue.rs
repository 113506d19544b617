//! A queue on the way between client and server: the round trip of our own connections grows far beyond its minimum,
//! and the sender's data waits. A server that delays answers on purpose has nothing to send meanwhile, and its round
//! trips stay short.

use run::{Evidence, FigureUnit, Trial};

use crate::evidence::measured;
use crate::number::{duration, percent, positive, ratio};
use crate::single::sides_of;
use crate::thresholds::{BUSY, STALLS_SEEN, TRIP_GREW, TRIP_QUEUE_US, TRIP_SHARE, WINDOW_WAIT};
use crate::view::View;

/// Returns evidence of the queue, on the side whose packets wait longest; `None` where the CPUs of a host could cause the delay.
pub(crate) fn on_the_way(trial: &Trial) -> Option<Evidence> {
    longest(trial).filter(|_| idle(trial))
}

/// Returns true if packets wait, but the CPUs of a host could cause the delay.
pub(crate) fn is_hidden(trial: &Trial) -> bool {
    !idle(trial) && longest(trial).is_some()
}

fn idle(trial: &Trial) -> bool {
    sides_of(trial).iter().filter_map(View::host).all(|host| host.busy < BUSY * host.online)
}

fn longest(trial: &Trial) -> Option<Evidence> {
    let queues = sides_of(trial).into_iter().filter_map(|view| queue(&view));
    queues.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)))
}

fn queue(view: &View<'_>) -> Option<Evidence> {
    let r = positive(view.trial.latency_us.mean)?;
    let (rtt, least) = (view.value("connection.rtt")?, positive(view.value("connection.min_rtt")?)?);
    let unsent = unsent_share(view).unwrap_or(0.0);
    // The server's kernel acknowledges a request together with its answer, so a client's round trip includes the server's work. A client
    // acknowledges an answer together with its next request, at once.
    let of_client = std::ptr::eq(view.side, &view.trial.client);
    let most = (rtt >= TRIP_SHARE * r && !of_client) || unsent >= WINDOW_WAIT;
    if rtt < TRIP_GREW * least || rtt - least < TRIP_QUEUE_US || !most || held_by_a_window(view) {
        return None;
    }
    let data = match unsent >= WINDOW_WAIT {
        true => format!(", and unsent data waited {} of the time of a request", percent(unsent)),
        false => String::new(),
    };
    let text = format!(
        "a round trip of the {}'s connections took {} (response time {}), the least {}{data}",
        view.role,
        duration(rtt),
        duration(r),
        duration(least)
    );
    Some(measured(view, ("connection.rtt", ""), (rtt, FigureUnit::Micros), Some(least), text))
}

/// Returns the share of a request's time in which its sender had bytes that TCP did not send yet.
fn unsent_share(view: &View<'_>) -> Option<f64> {
    let (waiting, sampled) = (view.value("connection.waiting")?, positive(view.value("connection.sampled")?)?);
    ratio(waiting, sampled.min(positive(view.trial.rates.concurrency)?)).map(|share| share.min(1.0))
}

/// Returns true if a window or a buffer stopped the sender, which needs no full link.
fn held_by_a_window(view: &View<'_>) -> bool {
    let stalled = |id| view.value(id).is_some_and(|share| share >= STALLS_SEEN);
    stalled("connection.rwnd_limited") || stalled("connection.sndbuf_limited")
}

#[cfg(test)]
mod tests {
    use crate::planted::{PlantedRun, Point, Who};
    use run::{Bottleneck, Trial, TrialKind};

    /// One client that asks again at once gets 200/s alone; arrivals below that rate are answered within a burst.
    fn one_client_fills(rtt_us: f64) -> PlantedRun {
        let quick = |t: &mut Trial, p: &Point| {
            if t.kind == TrialKind::Search && p.offered < 190.0 {
                (t.latency_us.mean, t.latency_us.p50) = (600.0, 600.0);
            }
        };
        PlantedRun::new(5000.0, 200.0).change(quick).level(Who::Server, "connection.rtt", "", rtt_us).level(
            Who::Server,
            "connection.min_rtt",
            "",
            90.0,
        )
    }

    fn judged(planted: &PlantedRun) -> Bottleneck {
        let mut run = planted.run();
        crate::judge(&mut run);
        run.findings.bottleneck
    }

    #[test]
    fn a_shaped_link_with_a_burst_is_no_limit_on_purpose() {
        let shaped = one_client_fills(4200.0).per_s(Who::Server, "connection.waiting", "", |p| p.n * 0.9);
        let b = judged(&shaped);
        assert!(b.id == "network-medium" && b.sentence.contains("on the way"), "{b:#?}");
        assert_eq!(judged(&one_client_fills(120.0)).id, "server-rate-limit");
    }

    /// Seen live: a link of 10 Mbit/s with a burst of 256 kB, while other programs used both CPUs.
    #[test]
    fn on_busy_cpus_a_shaped_link_is_no_limit_on_purpose_either() {
        let busy = |who: Who, planted: PlantedRun| planted.per_s(who, "cpu.user", "total", |_| 3.9e6);
        let shaped = busy(Who::Client, busy(Who::Server, one_client_fills(4200.0)));
        assert_ne!(judged(&shaped).id, "server-rate-limit");
    }

    #[test]
    fn a_client_s_round_trip_that_includes_the_server_s_work_is_no_queue_on_the_way() {
        let level = |id, value| one_client_fills(120.0).level(Who::Client, id, "", value);
        let delayed = level("connection.rtt", 4200.0).level(Who::Client, "connection.min_rtt", "", 90.0);
        assert_eq!(judged(&delayed).id, "server-rate-limit");
    }

    #[test]
    fn a_sender_that_its_peers_window_holds_fills_no_link() {
        let held = one_client_fills(4200.0).level(Who::Server, "connection.rwnd_limited", "", 0.5);
        assert_ne!(judged(&held).id, "network-medium");
    }
}

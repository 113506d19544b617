//! Response times at light load that consist mostly of waiting for a delayed acknowledgement. Source: RFC 9293, section
//! 3.8.6.3; RFC 896.

use crate::Facts;
use crate::context::single::{r1_us, server_of, sides_of};
use crate::context::view::View;
use crate::network::link_queue::unsent_share;
use crate::number::duration;
use crate::thresholds::{ACK_TIMER_HIGH_US, ACK_TIMER_LOW_US, ACKS_BY_TIMER, LEAST_PLACES, TRIP_SHARE, WINDOW_WAIT};
use run::Trial;

/// Range of response times in microseconds that suggest a wait for the delayed-acknowledgement timer of TCP.
pub(crate) const TIMER_US: std::ops::RangeInclusive<f64> = ACK_TIMER_LOW_US..=ACK_TIMER_HIGH_US;

/// Returns the side (client or server) that delays more acknowledgements per request, and the number of delayed
/// acknowledgements per request. The kernel counts delayed acknowledgements per network namespace, not per process.
pub(crate) fn delayed_acks(light: &Trial) -> Option<(View<'_>, f64)> {
    let counts = sides_of(light).into_iter().filter_map(|v| v.per_request("tcp.delayed_acks").map(|n| (v, n)));
    counts.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Returns the number of delayed TCP acknowledgements of answers per request, and the side (client or server) whose
/// kernel counted them. Only the client acknowledges answers, so the server's counter is ignored if the server is in
/// another network namespace. In another namespace, the server's counter counts late acknowledgements of requests. The
/// kernel delays these acknowledgements if the server reads a request late.
pub(crate) fn delayed_acks_of_answers(light: &Trial) -> Option<(View<'_>, f64)> {
    if light.server.as_ref().is_none_or(|server| server.same_network(&light.client)) {
        return delayed_acks(light);
    }
    let client = View::new("client", light, &light.client);
    client.per_request("tcp.delayed_acks").map(|acks| (client, acks))
}

/// Returns the round trip time to the server in microseconds. Returns `None` if the round trip does not make up most of
/// the response time in the light load `light`. A network round trip of about 40 ms looks like a wait for the
/// delayed-acknowledgement timer if other programs on the host delay acknowledgements.
pub(crate) fn distance_us(light: &Trial) -> Option<f64> {
    let least = sides_of(light).into_iter().filter_map(|v| v.value("connection.min_rtt"));
    let trip = least.chain(Some(light.connect_us.p50)).filter(|us| *us > 0.0).reduce(f64::min)?;
    (trip >= TRIP_SHARE * light.latency_us.p50).then_some(trip)
}

/// Returns how long the last part of an answer waits for a delayed acknowledgement at the lightest load, microseconds.
/// A server without TCP_NODELAY that sends an answer in two writes holds the second one back until the first is
/// acknowledged. Returns `None` if answers do not wait for the timer, or if TCP rarely had unsent data.
pub(crate) fn transfer_wait_us(light: &Trial) -> Option<f64> {
    let waits = TIMER_US.contains(&light.transfer_us.p50)
        && distance_us(light).is_none()
        && server_of(light).and_then(|server| unsent_share(&server)).is_none_or(|share| share >= WINDOW_WAIT)
        && delayed_acks_of_answers(light).is_some_and(|(_, acks)| acks >= ACKS_BY_TIMER);
    waits.then_some(light.transfer_us.p50)
}

/// Returns the advice to end the wait of each answer's last part, if answers wait under a light load. The wait limits
/// no rate, so the advice holds whatever the bottleneck is.
pub(crate) fn advice(facts: &Facts<'_>) -> Option<String> {
    let wait_us = facts.unloaded.and_then(transfer_wait_us)?;
    let wait = duration(wait_us);
    Some(format!("Set TCP_NODELAY, or send each answer in one write: its last part would come {wait} sooner."))
}

/// Returns the time in microseconds for which the last part of an answer waits for a delayed acknowledgement at the
/// lightest load. Returns `None` if a worker of the server stays occupied during this wait; see [`holds_workers`].
pub(crate) fn wait_without_worker_us(facts: &Facts<'_>) -> Option<f64> {
    facts.unloaded.and_then(transfer_wait_us).filter(|_| !holds_workers(facts))
}

/// Returns true if a worker of the server stays occupied while an answer waits for the delayed-acknowledgement timer.
/// For example, a worker that handles one connection at a time turns to another connection only after the client has
/// closed the current one. By Little's law, the highest rate (Xmax) times the response time without the wait is the
/// number of requests in progress. If this number is below one, the wait occupies a worker, too.
fn holds_workers(facts: &Facts<'_>) -> bool {
    let without_wait = || {
        let light = facts.unloaded?;
        Some(facts.highest_rate()? * (r1_us(light)? - transfer_wait_us(light)?) / 1e6)
    };
    without_wait().is_some_and(|places| places < LEAST_PLACES)
}

/// Returns true if the response time at the lightest load consists mostly of waits for the delayed-acknowledgement
/// timer that occupy no worker. A response time that consists of waits without a worker is longer than the service
/// time.
pub(crate) fn hides_service_time(facts: &Facts<'_>) -> bool {
    fills_light_load(facts) && !holds_workers(facts)
}

/// Returns true if the delayed-acknowledgement timer makes up most of the response time at the lightest load.
pub(crate) fn fills_light_load(facts: &Facts<'_>) -> bool {
    facts.unloaded.is_some_and(|light| {
        TIMER_US.contains(&light.latency_us.p50)
            && distance_us(light).is_none()
            && delayed_acks(light).is_some_and(|(_, acks)| acks >= ACKS_BY_TIMER)
    })
}

#[cfg(test)]
mod tests {
    use crate::Facts;
    use crate::planted::{PlantedRun, Who};

    /// The advice is to end the wait. An earlier version of loadline called the server full without a word about the wait.
    #[test]
    fn the_knee_is_also_given_without_the_wait_that_the_advice_ends() {
        let mut run = PlantedRun::new(44_000.0, 400.0)
            .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
            .per_s(Who::Server, "tcp.delayed_acks", "", |p| p.x)
            .nagle(700.0)
            .change(|trial, _| trial.transfer_us.p50 = 40_000.0)
            .run();
        crate::judge(&mut run);
        let argument = run.findings.argument.join(" ");
        assert!(argument.contains("Of R1, 40"), "{argument}");
        assert!(
            argument.contains("are a wait for a delayed ACK: without this wait, the server is full with 1.6"),
            "{argument}"
        );
    }

    /// The figures of this test come from a server with 32 processes that handle one connection each.
    #[test]
    fn a_wait_for_the_timer_counts_as_service_time_if_it_occupies_a_worker() {
        let service_us = |x_max: f64| {
            let mut run = PlantedRun::new(44_000.0, x_max)
                .per_s(Who::Client, "tcp.delayed_acks", "", |p| p.x)
                .per_s(Who::Server, "tcp.delayed_acks", "", |p| p.x)
                .nagle(700.0)
                .change(|trial, _| trial.transfer_us.p50 = 43_900.0)
                .run();
            crate::judge(&mut run);
            let facts = Facts::of(&run);
            (crate::context::laws::service_us(&facts), super::hides_service_time(&facts))
        };
        let (held_us, is_hidden) = service_us(719.0);
        assert!(held_us.is_some_and(|us| (us - 44_000.0).abs() < 100.0) && !is_hidden, "{held_us:?}");
        let (work_us, is_hidden) = service_us(20_000.0);
        assert!(work_us.is_some_and(|us| us < 200.0) && is_hidden, "{work_us:?}");
    }
}

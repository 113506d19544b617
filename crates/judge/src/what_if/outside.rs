//! CPU time that a request causes before or after its response time. The generator chooses a request before the
//! response time begins, and records the request after the response time ends. The kernel also handles acknowledgements
//! outside of the response time. In a closed loop, this CPU time delays the next request, so the model counts it. In an
//! open loop with little load, this CPU time delays no request.

use run::{Trial, WhatIf};

use super::model::Model;
use super::solve::{alone_s, solve};
use crate::number::{duration, finite, positive};

/// Returns the CPU time of a request outside its response time, seconds: the modelled response time minus the measured
/// one. Returns `None` for a closed loop, or if the modelled time does not exceed the measured one.
pub(super) fn outside_s(trial: &Trial, measured: &Model) -> Option<f64> {
    measured.arrivals?;
    let seen_s = positive(trial.latency_us.mean)? / 1e6;
    finite(solve(measured).1 - seen_s).and_then(positive)
}

/// Subtracts the time outside the response time from all response times of an answer, and says so. `now` and `then` are
/// the models before and after the change, which also changes this time.
pub(super) fn subtract(answer: &mut WhatIf, outside_s: f64, now: &Model, then: &Model) {
    let outside_us = finite(outside_s * alone_s(then) / alone_s(now)).unwrap_or(outside_s) * 1e6;
    let less = |us: &mut f64| *us = (*us - outside_us).max(0.0);
    let response = &mut answer.response_us;
    [&mut response.value, &mut response.low, &mut response.high].into_iter().for_each(less);
    for point in &mut answer.curve {
        [&mut point.response_us, &mut point.response_low_us, &mut point.response_high_us].into_iter().for_each(less);
    }
    answer.assumptions.push(format!(
        "{} of the CPU time of a request are outside of its response time, as in the run",
        duration(outside_us)
    ));
}

#[cfg(test)]
mod tests {
    use run::{Estimate, Summary};

    use super::super::tests::capped;
    use super::*;

    fn trial(mean_us: f64) -> Trial {
        Trial { latency_us: Summary { mean: mean_us, ..Summary::default() }, ..Trial::default() }
    }

    /// The model has 450 µs of work per request; the run shows response times of 250 µs.
    #[test]
    fn only_an_open_loop_has_time_outside_and_faster_resources_shorten_it() {
        let closed = Model { rate: 100.0, ..capped(f64::INFINITY, 1, 0.0) };
        let open = Model { arrivals: Some(100.0), ..closed.clone() };
        let outside = outside_s(&trial(250.0), &open).unwrap();
        assert!((200e-6..240e-6).contains(&outside), "{outside}: some requests wait in the model");
        assert_eq!(outside_s(&trial(250.0), &closed), None);
        assert_eq!(outside_s(&trial(900.0), &open), None, "the response time contains waits that no counter shows");
        let mut faster = open.clone();
        faster.server_cpu.iter_mut().for_each(|cpu| cpu.work_s /= 2.0);
        let left_us = |then: &Model| {
            let response_us = Estimate { value: 450.0, low: 440.0, high: 460.0 };
            let mut answer = WhatIf { response_us, ..WhatIf::default() };
            subtract(&mut answer, 200e-6, &open, then);
            answer.response_us.value
        };
        assert!((left_us(&open) - 250.0).abs() < 1.0 && left_us(&faster) > 300.0, "{}", left_us(&faster));
    }
}

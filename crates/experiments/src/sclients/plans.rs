//! Plans of the server and of the loads in the S-Clients experiments.

use run::{Arrival, Intensity, LoadPlan, Pace, ServePlan, ThinkTime};

use crate::Parameters;
use crate::experiment::AROUND_TRIAL_S;

/// Size of the file in the paper by Banga and Druschel (source 1), bytes.
const FILE_BYTES: u64 = 1294;

/// Number of descriptors of S-Clients with an arrival process, divided by the number that a constant rate equal to the
/// peak rate would need. For short times, the rate of random arrivals is higher than its mean, so random arrivals need
/// more descriptors than a constant rate.
const PEAK_ROOM: f64 = 4.0;

/// Returns the capacity (requests per second) and the plan of the server in the paper by Banga and Druschel (source 1).
pub(super) fn server(parameters: &Parameters) -> (f64, ServePlan) {
    let capacity = parameters.number("capacity", 130.0);
    let by = parameters.text("work_by", "loops");
    let mut plan = ServePlan {
        model: parameters.text("model", "epoll"),
        backlog: parameters.count("backlog", 32),
        body_bytes: FILE_BYTES,
        ..ServePlan::default()
    };
    plan.options.insert("work_us".into(), format!("{:.1}", 1e6 / capacity));
    plan.options.insert("work_by".into(), by);
    (capacity, plan)
}

/// Returns the planned time of a trial, seconds.
pub(super) fn trial_s(parameters: &Parameters) -> f64 {
    parameters.number("seconds", 2.0) + parameters.number("warmup_s", 1.0) + AROUND_TRIAL_S
}

/// Returns a load plan with a new connection for each request, as in HTTP/1.0.
pub(super) fn load(parameters: &Parameters, intensity: Intensity) -> LoadPlan {
    LoadPlan {
        intensity,
        new_connections: true,
        duration_s: parameters.number("seconds", 2.0),
        warmup_s: parameters.number("warmup_s", 1.0),
        drain_s: 0.3,
        timeout_s: 10.0,
        ..LoadPlan::default()
    }
}

/// Returns the load plan of simple clients. Each client sends its next request only after the previous one was
/// answered.
pub(super) fn simple(parameters: &Parameters, clients: u32) -> LoadPlan {
    load(parameters, Intensity::Closed { connections: clients, pipeline: 1, think: ThinkTime::default() })
}

/// Returns the load plan of S-Clients with `descriptors` descriptors in total, and with the connect timeout T.
pub(super) fn sclients(parameters: &Parameters, descriptors: u32) -> LoadPlan {
    let (connect_timeout_ms, think) = (timeout_ms(parameters), ThinkTime::default());
    load(parameters, Intensity::SClients { descriptors, connect_timeout_ms, think, pace: None })
}

/// Returns the load plan of S-Clients that connect at the times of an arrival process. The S-Clients have enough
/// descriptors for peaks of `peak` times the mean rate (`rate`).
pub(super) fn paced(parameters: &Parameters, rate: f64, peak: f64, arrival: Arrival) -> LoadPlan {
    let mut plan = sclients(parameters, descriptors_for(PEAK_ROOM * peak * rate, timeout_ms(parameters)));
    if let Intensity::SClients { pace, .. } = &mut plan.intensity {
        *pace = Some(Pace { rate, arrival });
    }
    plan
}

/// Returns the connect timeout T, milliseconds; 500 ms (as in source 1) by default.
pub(super) fn timeout_ms(parameters: &Parameters) -> f64 {
    parameters.number("connect_timeout_ms", 500.0)
}

/// Returns the number of descriptors that S-Clients need to offer `rate` connection requests per second.
pub(super) fn descriptors_for(rate: f64, timeout_ms: f64) -> u32 {
    (rate * timeout_ms / 1e3).round().clamp(1.0, 1e6) as u32
}

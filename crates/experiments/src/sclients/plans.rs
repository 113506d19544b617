//! Server and loads of the S-Clients experiments.

use run::{Arrival, Intensity, LoadPlan, Pace, ServePlan, ThinkTime};

use crate::Parameters;

/// Size in bytes of the paper's file.
const FILE_BYTES: u64 = 1294;

/// Factor on the number of descriptors that S-Clients need for the highest mean rate, because Poisson arrivals exceed
/// their mean.
const PEAK_ROOM: f64 = 4.0;

/// Returns the capacity and the plan of the paper's server, which is limited by CPU time per request and has a listen
/// backlog.
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

/// Creates a load with one connection per request, as in HTTP/1.0.
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

/// Creates a load of simple clients.
pub(super) fn simple(parameters: &Parameters, clients: u32) -> LoadPlan {
    load(parameters, Intensity::Closed { connections: clients, pipeline: 1, think: ThinkTime::default() })
}

/// Creates a load of S-Clients with this total of descriptors and the timeout T.
pub(super) fn sclients(parameters: &Parameters, descriptors: u32) -> LoadPlan {
    let (connect_timeout_ms, think) = (timeout_ms(parameters), ThinkTime::default());
    load(parameters, Intensity::SClients { descriptors, connect_timeout_ms, think, pace: None })
}

/// Creates S-Clients that follow an arrival process with a mean rate. The number of descriptors is enough for peaks of
/// `peak` times the mean.
pub(super) fn paced(parameters: &Parameters, rate: f64, peak: f64, arrival: Arrival) -> LoadPlan {
    let mut plan = sclients(parameters, descriptors_for(PEAK_ROOM * peak * rate, timeout_ms(parameters)));
    if let Intensity::SClients { pace, .. } = &mut plan.intensity {
        *pace = Some(Pace { rate, arrival });
    }
    plan
}

/// Returns the timeout T in milliseconds; 500 ms in the paper.
pub(super) fn timeout_ms(parameters: &Parameters) -> f64 {
    parameters.number("connect_timeout_ms", 500.0)
}

/// Returns the number of descriptors that offer a rate.
pub(super) fn descriptors_for(rate: f64, timeout_ms: f64) -> u32 {
    (rate * timeout_ms / 1e3).round().clamp(1.0, 1e6) as u32
}

//! Runs a load plan with a queueing model and a virtual clock. A simulation uses the connection engine, the arrivals
//! and the sessions of a real load.

mod driver;
mod ends;
mod served;
mod server;
mod service;

use run::{AgentReport, Io, LoadPart, LoadPlan, Phase};

pub(crate) use self::driver::SimDriver;
pub use self::server::{Service, SilentClose, SimObservations, SimServer, TokenBucket};
use super::row::DriverSpec;
use crate::shard::{self, LiveCounts, Order};
use crate::{LoadError, ceiling, share};

/// Runs a load plan with a simulated server, all in virtual time. `warmup_s` is followed by `duration_s`, which is
/// measured, and by at most `drain_s`. There is only one shard (generator thread), whatever number of threads the load
/// plan has.
pub fn simulate(plan: &LoadPlan, server: &SimServer) -> Result<(LoadPart, SimObservations), LoadError> {
    let plan = share::prepared(plan)?;
    // The simulated server always sends the same answer, so the load plan needs a single request with a known answer.
    let plan = LoadPlan { threads: 1, ..share::without_network(plan) };
    let client = proto::client(&plan.protocol, None, None)?;
    let task = share::task(&plan, 0, 0, u64::from(u32::MAX));
    let (request, answer) = ceiling::exchange(&plan, &*client);
    let mut driver = SimDriver::new(task.capacity(), server, request, &answer);
    let measure = (plan.warmup_s * 1e9) as u64;
    let drain = measure + (plan.duration_s * 1e9) as u64;
    let order = |now: u64, _| Order {
        phase: match now {
            _ if now < measure => Phase::WarmUp,
            _ if now < drain => Phase::Measure,
            _ => Phase::Drain,
        },
        at_ns: if now < drain { measure } else { drain },
        stop: false,
        next_ns: [measure, drain].into_iter().find(|&edge| edge > now).unwrap_or(u64::MAX),
        factor: 1.0,
    };
    let part = shard::run(&mut driver, &*client, task, &LiveCounts::default(), &order)
        .map_err(|errno| LoadError::System { what: "simulating", errno, advice: "please report this" })?;
    let ops = crate::driver::Driver::ops(&mut driver);
    Ok((part, SimObservations { syns_ns: std::mem::take(&mut ops.syns_ns), dropped: ops.dropped }))
}

/// Runs a load plan with `io = "sim"`, that is, with the default simulated server. `starts` waits for the start of the
/// load. The simulated load takes hardly any real time. All times of the result are in virtual time.
pub(crate) fn as_load(
    plan: &LoadPlan,
    report: &mut dyn FnMut(AgentReport),
    starts: &dyn Fn() -> bool,
) -> Result<LoadPart, LoadError> {
    let server = SimServer::default();
    let mut notes = vec!["simulated: one server with exponential service times of 1 ms, virtual clock".to_owned()];
    notes.extend(replaced(plan));
    report(AgentReport::Ready { pid: std::process::id(), listening: None, io: "sim".into(), notes: notes.clone() });
    if !starts() {
        return Ok(LoadPart::default());
    }
    let (mut part, _) = simulate(plan, &server)?;
    part.notes.extend(notes);
    Ok(part)
}

/// Returns a note about the parts of the load plan that the simulator replaces by simpler ones. Returns `None` if the
/// simulator replaces no part.
fn replaced(plan: &LoadPlan) -> Option<String> {
    let simulated = share::without_network(plan.clone());
    let name = |plan: &LoadPlan| proto::spec(&plan.protocol).name;
    let protocol = (name(plan) != name(&simulated))
        .then(|| format!("requests of {} by requests of {}", name(plan), name(&simulated)));
    let set = plan.requests.is_some().then(|| "the set of requests by one request".to_owned());
    let stream = plan.stream.is_some().then(|| "streams of events by whole answers".to_owned());
    let replaced: Vec<String> = protocol.into_iter().chain(set).chain(stream).collect();
    (!replaced.is_empty()).then(|| format!("--io sim replaces {}", replaced.join(", ")))
}

/// Row of the simulating driver in [`DRIVERS`](super::DRIVERS).
pub(super) const SPEC: DriverSpec = DriverSpec {
    io: Io::Sim,
    name: "sim",
    help: "no network: a virtual clock and a queueing model; exact and repeatable",
    whole: Some(as_load),
    ..DriverSpec::DEFAULT
};

#[cfg(test)]
mod tests {
    use super::*;
    use run::{HttpPlan, Intensity, Protocol, RequestSet, StreamPlan, ThinkTime};

    /// If the results came before the start, a conductor that still waits for other agents would drop them.
    #[test]
    fn a_simulation_waits_for_its_start() {
        let plan = LoadPlan { duration_s: 0.1, warmup_s: 0.0, io: Io::Sim, ..LoadPlan::default() };
        let completed = |starts: bool| as_load(&plan, &mut drop, &|| starts).unwrap().measured.completed;
        assert!(completed(true) > 0 && completed(false) == 0);
    }

    #[test]
    fn a_simulation_names_what_it_replaces() {
        let intensity = Intensity::Closed { connections: 1, pipeline: 1, think: ThinkTime::default() };
        let plain = LoadPlan { intensity, duration_s: 0.1, warmup_s: 0.0, io: Io::Sim, ..LoadPlan::default() };
        assert_eq!(replaced(&plain), None);
        let http3 = LoadPlan { protocol: Protocol::Http3(HttpPlan::default()), ..plain.clone() };
        let note = "--io sim replaces requests of http3 by requests of http1";
        assert!(as_load(&http3, &mut drop, &|| true).unwrap().notes.contains(&note.into()));
        let (requests, stream) = (Some(RequestSet::default()), Some(StreamPlan::default()));
        let note = replaced(&LoadPlan { requests, stream, ..plain }).unwrap();
        assert!(note.ends_with("replaces the set of requests by one request, streams of events by whole answers"));
    }
}

//! Trials with so many cold (idle) connections that one process has too few descriptors for them. Several proxy
//! processes share the cold connections. Only one proxy at a time gets the hot load (active connections). Each proxy
//! times its own calls of the event API, and reports the median time together with its counters.

use std::time::Duration;

use run::{AgentSpec, ColdPlan, Key, ServePlan};

use super::bench::Timing;
use super::relay::{LARGE_BYTES, Web, clients, proxy_plan};
use super::stand::{Bench, Contender, HOT, on, summary, trial};
use super::values::{CALL_US, P99_US, REJECTED, TRIMMED_US};
use crate::Parameters;
use crate::values::PROCESSES;
use lab::agents::AgentGroup;
use lab::{Lab, LabError, Local};

/// Maximum number of events that a timed call may return.
const ARRAY: u32 = 10;
/// Number of descriptors that each proxy keeps free of cold connections.
const SPARE: u32 = 2000;
/// Rate at which cold connections are opened, per second. At the slower rate of the other trials
/// ([`PACE`](super::stand::PACE)), opening the connections would take a large part of the experiment's time.
const PACE: f64 = 20_000.0;
/// Maximum time to wait until a proxy listens, and until it reports its counts.
const PATIENCE: Duration = Duration::from_secs(10);

/// Time to start the proxies and a web server, seconds.
const START_S: f64 = 1.0;

/// Returns the planned time of the trials with several proxy processes, seconds.
pub(super) fn planned_s(parameters: &Parameters, contenders: &[Contender]) -> f64 {
    let total = parameters.count("across", 0);
    if total == 0 {
        return 0.0;
    }
    let backends = contenders.iter().filter(|contender| contender.plain() && !contender.is_level()).count();
    let seconds = parameters.number("seconds", 0.5).clamp(0.05, 60.0);
    backends as f64 * (START_S + f64::from(total) / PACE + 2.0 * seconds)
}

/// Measures each backend on which the cost of a call should not depend on the number of cold connections. If the
/// parameter `across` is 0, no backend is measured.
pub(super) fn processes(bench: &Bench, lab: &mut Lab<'_>, parameters: &Parameters) -> Result<(), LabError> {
    let total = parameters.count("across", 0);
    if total == 0 {
        return Ok(());
    }
    let limit = u32::try_from(sys::limits::descriptors().0).unwrap_or(u32::MAX);
    let number = total.div_ceil(limit.saturating_sub(SPARE).max(1));
    let seconds = Duration::from_secs_f64(parameters.number("seconds", 0.5).clamp(0.05, 60.0));
    let web = Web::start(lab, &bench.cpus, parameters, LARGE_BYTES)?;
    for Contender { name, .. } in bench.plain().filter(|contender| !contender.options.backend.spec().level) {
        let mut proxies = Vec::new();
        for _ in 0..number {
            proxies.push(proxy(bench, lab, &web, name)?);
        }
        each(bench, lab, &mut proxies, (name, 0), seconds)?;
        let mut cold = Vec::new();
        for (at, (_, addr)) in proxies.iter().enumerate() {
            let share = total / number + u32::from((at as u32) < total % number);
            let plan = ColdPlan {
                connections: share,
                rate: PACE,
                cpus: bench.cpus.client.clone(),
                sources: vec![std::net::Ipv4Addr::new(127, 0, 2, (at % 250) as u8 + 1).into()],
                ..ColdPlan::default()
            };
            cold.push(lab.open_cold(&plan, &(*addr).into())?);
        }
        let asked = cold.iter().map(|_| ()).count();
        each(bench, lab, &mut proxies, (name, total), seconds)?;
        let mut held = run::ColdPart::default();
        cold.into_iter().for_each(|one| held.merge(&one.close()));
        if held.held < u64::from(total) || held.lost > 0 {
            lab.note(format!(
                "{name}: of {total} cold connections in {asked} proxies {} were up and {} were lost",
                held.held, held.lost
            ));
        }
    }
    Ok(())
}

fn proxy(bench: &Bench, lab: &Lab<'_>, web: &Web, name: &str) -> Result<(AgentGroup, std::net::SocketAddr), LabError> {
    let mut plan: ServePlan = proxy_plan(web, &bench.cpus, name);
    plan.options.insert("timed".into(), "true".into());
    plan.options.insert("array".into(), ARRAY.to_string());
    let mut group = AgentGroup::default();
    group.start(&Local::default(), lab.program(), "proxy", &AgentSpec::Serve { plan, far: false })?;
    let ready = group.await_ready(PATIENCE)?.into_iter().next().unwrap_or_default();
    let missing = || LabError::Agent { name: "proxy".into(), why: "it did not say where it listens".into() };
    let addr = ready.listening.ok_or_else(missing)?;
    Ok((group, addr))
}

/// Applies the hot load to each proxy in turn, and keeps one trial per proxy.
fn each(
    bench: &Bench,
    lab: &mut Lab<'_>,
    proxies: &mut [(AgentGroup, std::net::SocketAddr)],
    (name, cold): (&str, u32),
    seconds: Duration,
) -> Result<(), LabError> {
    let number = proxies.len();
    for (at, (group, addr)) in proxies.iter_mut().enumerate() {
        if lab.stopped() {
            return Ok(());
        }
        let before = group.counts(PATIENCE).0;
        let load = clients(lab, &bench.cpus, *addr, HOT as u32)?;
        std::thread::sleep(seconds);
        let after = group.counts(PATIENCE).0;
        drop(load);
        let of = |name: &str| after.get(name).copied().unwrap_or(0);
        let since = |name: &str| of(name).saturating_sub(before.get(name).copied().unwrap_or(0));
        let timing = Timing {
            calls: since("calls") as usize,
            median_us: of("call_median_ns") as f64 / 1e3,
            returned: since("call_events") as f64 / since("calls").max(1) as f64,
            ..Timing::default()
        };
        let key = Key { cold: Some(cold), ..on(name) }.with(PROCESSES, u32::try_from(number).ok());
        let mut one = trial((&format!("{name} processes"), &format!("{cold} cold, proxy {}", at + 1)), &timing, key);
        // A proxy in another process reports only the median time of its calls. All other statistics about the calls
        // are unknown, so they are removed from the trial.
        for name in [CALL_US, P99_US, TRIMMED_US, REJECTED] {
            one.results.put(name, None);
        }
        one.results.summary = Some(summary(timing.median_us, timing.calls));
        lab.keep(one)?;
    }
    Ok(())
}

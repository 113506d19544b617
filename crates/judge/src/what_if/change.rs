//! A change of resources or of the load, applied to the queueing network of a run.

use run::{Change, Run};

use super::model::{Model, Part};
use super::seen::Seen;
use crate::number::{counted, cpus, duration, figure, rate};
use crate::thresholds::FAR;

/// Verdicts that name a deliberate limit. More resources do not lift a deliberate limit.
const ON_PURPOSE: &[&str] = &["server-rate-limit"];

/// Returns an error if no prediction is possible. The change may be empty or contradictory, the bottleneck may be a
/// deliberate limit, or the run may lack a needed measurement.
pub(super) fn possible(run: &Run, now: &Model, change: &Change) -> Result<(), String> {
    let id = run.findings.bottleneck.id.as_str();
    if ON_PURPOSE.contains(&id) {
        return Err(format!("{id} limits this server on purpose: raise that limit, more resources will not help"));
    }
    if *change == Change::default() {
        return Err("no change given: name a resource or users (`loadline what-if --help`)".into());
    }
    if change.rate.is_some() && (change.users.is_some() || change.think_s.is_some()) {
        return Err("requests arrive at a rate or come from users who wait, not both: leave out one of them".into());
    }
    let of_cpu = [change.server_cpus.is_some(), change.quota_cpus.is_some(), change.request_cpu.is_some()];
    if now.server_cpu.is_none() && of_cpu.contains(&true) {
        return Err(
            "the run did not see the server's processes, so the CPU time of a request is unknown: run `loadline find` on the server's machine, or with --server-pid"
                .into(),
        );
    }
    if now.link_bytes_per_s.is_none() && change.link_bytes_per_s.is_some() {
        return Err("the run has no link with a known rate (loopback has none): measure over a network".into());
    }
    if now.server_cpu.is_none() && now.places.is_none() && change.workers.is_some() {
        return Err("the run did not see the server's threads, and the number of workers is not its bottleneck".into());
    }
    if change.replicas.is_some_and(|times| times != 1.0) {
        replicable(id, now, change)?;
    }
    Ok(())
}

/// Returns an error if the effect of more or fewer replicas is unknown. Replicas multiply the server's threads or its
/// workers, so the number of threads or workers must be known. If all CPUs or the whole quota are in use, more replicas
/// change nothing, so the number does not matter.
fn replicable(id: &str, now: &Model, change: &Change) -> Result<(), String> {
    let has_threads = now.places.is_some() || now.server_cpu.is_some_and(|cpu| cpu.threads.is_finite());
    let is_full = ["server-cpu", "server-cpu-quota"].contains(&id) && now.server_cpu.is_some();
    let grows = change.replicas.is_some_and(|times| times > 1.0);
    match has_threads || is_full && grows {
        true => Ok(()),
        false => Err(
            "the run did not show how many threads or workers one replica has, so the effect of other numbers of replicas is unknown"
                .into(),
        ),
    }
}

/// Returns the change with the arrival rate of an open-loop run added, unless the change itself names a load.
pub(super) fn of_arrivals(now: &Model, change: &Change) -> Change {
    let same = change.users.is_none() && change.think_s.is_none();
    let rate = change.rate.or(now.arriving_s.filter(|_| same).map(|_| now.rate));
    Change { rate, ..change.clone() }
}

/// Returns the queueing network after a change.
pub(super) fn changed(now: &Model, change: &Change) -> Model {
    let mut then = now.clone();
    let replicas = change.replicas.unwrap_or(1.0);
    if let Some(cpu) = &mut then.server_cpu {
        cpu.cpus = change.server_cpus.unwrap_or(cpu.cpus);
        cpu.quota = change.quota_cpus.unwrap_or(cpu.quota);
        cpu.work_s *= change.request_cpu.unwrap_or(1.0);
        if now.places.is_none() {
            cpu.threads = change.workers.map_or(cpu.threads, f64::from) * replicas;
        }
    }
    then.places = then.places.map(|places| change.workers.map_or(places, f64::from) * replicas);
    if let (Some(before), Some(after)) = (now.link_bytes_per_s, change.link_bytes_per_s) {
        let link = |p: &&mut Part| p.id == "network-medium";
        then.others.iter_mut().filter(link).for_each(|p| p.work_s *= before / after);
        then.link_bytes_per_s = Some(after);
    }
    // If the number of workers is the limit, an added network delay counts as think time, because the delay occupies no
    // worker.
    then.think_s = change.think_s.unwrap_or(now.think_s);
    match then.places {
        Some(_) => then.think_s += change.delay_s.unwrap_or(0.0),
        None => then.elsewhere_s += change.delay_s.unwrap_or(0.0),
    }
    then.arrivals = change.rate;
    then.users = change.users.unwrap_or(then.users);
    then
}

/// Returns each part of a change in words, with the value before the change if this value is known.
pub(super) fn in_words(now: &Model, change: &Change) -> Vec<String> {
    let instead = |before: Option<f64>, text: &dyn Fn(f64) -> String| {
        let before = before.filter(|v| v.is_finite() && *v > 0.0);
        before.map_or_else(String::new, |v| format!(" instead of {}", text(v)))
    };
    let number_of = |asked: Option<f64>, noun: &str, before: Option<f64>| {
        asked.map(|asked| format!("{}{}", counted(asked, noun), instead(before, &figure)))
    };
    let time = |s: f64| duration(s * 1e6);
    let link = |bytes_per_s: f64| format!("{} MB/s", figure(bytes_per_s / 1e6));
    let cpu = now.server_cpu;
    // The number of workers is only an estimate from the run.
    let about = |n: f64| format!("about {}", figure(n));
    let workers = now.places.or(cpu.map(|cpu| cpu.threads)).map(f64::round);
    let parts = [
        change.workers.map(|n| format!("{}{}", counted(f64::from(n), "worker"), instead(workers, &about))),
        change.replicas.map(|times| format!("replicas × {}", figure(times))),
        number_of(change.server_cpus, "server CPU", cpu.map(|cpu| cpu.cpus)),
        change.quota_cpus.map(|n| format!("a quota of {}{}", cpus(n), instead(cpu.map(|cpu| cpu.quota), &figure))),
        number_of(change.users.map(f64::from), "user", Some(f64::from(now.users))),
        change.rate.map(|to| format!("{}{}", rate(to), instead(now.arriving_s.map(|_| now.rate), &rate))),
        change.think_s.map(|s| format!("think time {}{}", time(s), instead(Some(now.think_s), &time))),
        change.link_bytes_per_s.map(|to| format!("link {}{}", link(to), instead(now.link_bytes_per_s, &link))),
        change.delay_s.map(|s| format!("round trips {} longer", time(s))),
        change.request_cpu.map(|times| format!("CPU time per request × {}", figure(times))),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns the assumptions of a prediction, each as a sentence.
pub(super) fn assumptions(run: &Run, now: &Model, then: &Model, change: &Change, seen: &Seen) -> Vec<String> {
    let mut said = vec![
        seen.sentence(),
        "the CPU time per request is assumed to stay as in the run, with any number of CPUs, users or workers"
            .to_string(),
    ];
    if change.replicas.is_some() {
        said.push("replicas are assumed to share the load evenly, and the CPUs and the quota of the run".into());
    }
    if then.arrivals.is_some() {
        said.push(
            "arrivals are assumed random (Poisson), and service times exponential; with constant service times, requests wait half as long"
                .into(),
        );
    }
    said.extend(now.contention.map(|contention| contention.sentence()));
    if run.findings.bottleneck.id == "unknown" {
        said.push("the present bottleneck is unknown: the model contains only what was measured".into());
    }
    if now.server_cpu.is_some_and(|cpu| cpu.behind_s > 0.0) {
        said.push(
            "the upstreams stay on the server's CPUs, and need as much CPU time per request as in the run".into(),
        );
    }
    if now.server_cpu.is_some_and(|cpu| cpu.beside_s > 0.0) {
        said.push("server and generator share CPUs before and after the change".into());
    }
    if let Some(cpu) = now.server_cpu.filter(|cpu| change.server_cpus.is_some() && cpu.threads.is_finite()) {
        let threads = counted(cpu.threads.round().max(1.0), "thread");
        said.push(format!("the server goes on working with {threads} (--workers changes that)"));
    }
    said.extend(far(now, then));
    said
}

/// Returns a sentence about each part of the change that is far from the measured values.
fn far(now: &Model, then: &Model) -> Vec<String> {
    let cpus = now.server_cpu.zip(then.server_cpu);
    let pairs = [
        cpus.map(|(a, b)| ("CPUs", a.cpus, b.cpus)),
        // If the run had no quota, the server could use all its CPUs.
        cpus.filter(|(_, b)| b.quota.is_finite()).map(|(a, b)| ("CPUs of quota", a.quota.min(a.cpus), b.quota)),
        cpus.filter(|(a, _)| a.threads.is_finite()).map(|(a, b)| ("threads", a.threads, b.threads)),
        now.places.zip(then.places).map(|(a, b)| ("workers", a, b)),
        now.link_bytes_per_s.zip(then.link_bytes_per_s).map(|(a, b)| ("bytes per second of link", a, b)),
    ];
    let of = |(what, before, after): (&str, f64, f64)| {
        let times = (after / before).max(before / after);
        (times > FAR).then(|| {
            format!(
                "{} {what} are more than {FAR} times away from the {} of the run: an extrapolation",
                figure(after),
                figure(before)
            )
        })
    };
    let unknown = cpus.filter(|(a, b)| a.threads.is_infinite() && b.threads.is_finite());
    let unknown = unknown.map(|(_, b)| {
        format!(
            "the run did not show how many threads of the server work, so all of these {} are assumed to work",
            figure(b.threads)
        )
    });
    pairs.into_iter().flatten().filter_map(of).chain(unknown).collect()
}

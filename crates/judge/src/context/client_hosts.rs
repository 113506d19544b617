//! Runs with generators on several hosts. Counters of different hosts are never combined. The busiest host becomes the
//! client of the trial (`Trial::client`), and the other hosts stay in `Trial::client_hosts`. The costs of each host are
//! divided by the requests that this host completed.

use run::{HostFinding, HostLoad, Picks, Run, Side, Trial};

use crate::Facts;
use crate::context::evidence::throttled;
use crate::context::view::View;
use crate::number::{finite, percent, positive, rate, ratio};
use crate::thresholds::{THROTTLED, UNEVEN};

/// Makes the busiest generator host the client of each trial. The result does not depend on which host was the client
/// before, so a second call changes nothing.
pub(crate) fn busiest_first(run: &mut Run) {
    run.trials.iter_mut().for_each(busiest_first_in);
}

/// Makes the busiest generator host the client of one trial.
pub(crate) fn busiest_first_in(trial: &mut Trial) {
    if trial.client_hosts.is_empty() {
        return;
    }
    let busy = |side: &Side| pressure(&View::new("client", trial, side));
    let mut all: Vec<(f64, String)> = vec![(busy(&trial.client), trial.client.host.clone())];
    all.extend(trial.client_hosts.iter().map(|side| (busy(side), side.host.clone())));
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let busiest = all.first().map(|(_, host)| host.clone());
    if let Some(at) = trial.client_hosts.iter().position(|side| Some(&side.host) == busiest.as_ref()) {
        std::mem::swap(&mut trial.client, &mut trial.client_hosts[at]);
    }
    trial.client_hosts.sort_by(|a, b| a.host.cmp(&b.host));
}

/// Returns how close a host is to its limit: the share of the time in which its busiest thread ran or waited for a CPU.
/// Returns a value above 1 if a CPU quota throttled the host's generator.
fn pressure(view: &View<'_>) -> f64 {
    let wants = view.workers().iter().map(crate::context::view::Task::wants).fold(0.0, f64::max);
    let held = throttled(view).map_or(0.0, |t| t.share);
    finite(if held >= THROTTLED { 1.0 + held } else { wants }).unwrap_or(0.0)
}

/// Returns two parts of a sentence about the busiest of several hosts. The first part names the busiest host, as in `on
/// b, `. The second part of the sentence tells how busy the threads of the other hosts are.
pub(crate) fn among(facts: &Facts<'_>) -> Option<(String, String)> {
    let trial = facts.decisive.filter(|trial| !trial.client_hosts.is_empty())?;
    let one =
        |side: &Side| format!("{} at {}", side.host, percent(pressure(&View::new("client", trial, side)).min(1.0)));
    let others: Vec<String> = trial.client_hosts.iter().map(one).collect();
    Some((
        format!("on {}, ", trial.client.host),
        format!("; busiest threads of the other hosts: {}", others.join(", ")),
    ))
}

/// Returns a sentence if the hosts' completed requests are far from proportional to their shares of the load.
pub(crate) fn uneven(facts: &Facts<'_>) -> Option<String> {
    let trial = facts.decisive.filter(|trial| trial.host_loads.len() > 1)?;
    let worth = |load: &HostLoad| ratio(load.completed as f64, load.share);
    let worths: Vec<f64> = trial.host_loads.iter().filter_map(worth).collect();
    let (least, most) = worths.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), w| (a.min(*w), b.max(*w)));
    if worths.len() < 2 || least >= UNEVEN * most {
        return None;
    }
    let one = |load: &HostLoad| {
        Some(format!("{} {} with {} of the load", load.host, rate(completed_rate(trial, load)?), percent(load.share)))
    };
    let all: Vec<String> = trial.host_loads.iter().map(one).collect::<Option<_>>()?;
    Some(format!("the generator hosts completed unevenly: {}", all.join(", ")))
}

fn completed_rate(trial: &Trial, load: &HostLoad) -> Option<f64> {
    ratio(load.completed as f64, positive(trial.measured.length_s)?)
}

/// Returns the results of each generator host in the trial that represents runs with several hosts
/// (`Picks::several_hosts`).
pub(crate) fn findings(run: &Run, picks: &Picks) -> Vec<HostFinding> {
    let Some(trial) = picks.several_hosts.and_then(|at| run.trials.get(at)) else { return Vec::new() };
    trial.host_loads.iter().map(|load| finding(trial, load)).collect()
}

fn finding(trial: &Trial, load: &HostLoad) -> HostFinding {
    let side = std::iter::once(&trial.client).chain(&trial.client_hosts).find(|side| side.host == load.host);
    let view = side.map(|side| View::new("client", trial, side));
    HostFinding {
        host: load.host.clone(),
        completed_rate: completed_rate(trial, load),
        cpus_busy: view.and_then(|v| v.side.recording.cpu_times("total", v.window)?.busy()),
        segments_again: view.and_then(|v| ratio(v.value("tcp.retrans_segs")?, v.value("tcp.out_segs")?)),
        // [`busiest_first`] has already made the busiest host the client.
        busiest: !trial.client_hosts.is_empty() && trial.client.host == load.host,
    }
}

#[cfg(test)]
mod tests {
    use run::{HostLoad, Run};

    use crate::planted::planted;
    use crate::{Facts, judge};

    /// Makes a run with two generator hosts. The generator on host b is full. The generator's counters on host a are
    /// copied from a run in which the server is full, so they show a generator that is not full.
    fn two_hosts() -> Run {
        let mut run = planted("client-cpu").unwrap();
        let idle = planted("server-cpu").unwrap();
        for (n, trial) in run.trials.iter_mut().enumerate() {
            let mut a = idle.trials[n.min(idle.trials.len() - 1)].client.clone();
            a.host = "a".into();
            trial.client.host = "b".into();
            trial.client_hosts = vec![a];
            std::mem::swap(&mut trial.client, &mut trial.client_hosts[0]);
            let load =
                |host: &str, completed| HostLoad { host: host.into(), agents: 1, completed, share: 0.5, clock_us: 0.0 };
            trial.host_loads = vec![load("a", 300), load("b", 100)];
        }
        run
    }

    #[test]
    fn the_host_that_is_full_is_the_client_and_is_named_however_often_it_is_judged() {
        let mut run = two_hosts();
        judge(&mut run);
        let first = run.clone();
        judge(&mut run);
        assert_eq!(serde_json::to_value(&first).unwrap(), serde_json::to_value(&run).unwrap());
        assert!(run.trials.iter().rev().take(1).all(|t| t.client.host == "b" && t.client_hosts[0].host == "a"));
        let found = &run.findings.bottleneck;
        assert_eq!(found.id, "client-cpu");
        let said = serde_json::to_string(found).unwrap();
        assert!(said.contains("on b, ") && said.contains("of the other hosts: a at"), "{said}");
    }

    #[test]
    fn uneven_hosts_are_told_and_each_pays_for_what_it_completed() {
        let mut run = two_hosts();
        judge(&mut run);
        let facts = Facts::of(&run);
        let told = super::uneven(&facts).unwrap();
        assert!(told.contains("a ") && told.contains("b ") && told.contains("50"), "{told}");
        assert!(run.findings.trust.warnings.contains(&told), "{:?}", run.findings.trust.warnings);
        let trial = facts.decisive.unwrap();
        let all = trial.rates.completed_rate;
        assert!((crate::context::own_rate::rate_of(trial, &trial.client).unwrap() / all - 0.25).abs() < 1e-9);
        assert!((crate::context::own_rate::rate_of(trial, &trial.client_hosts[0]).unwrap() / all - 0.75).abs() < 1e-9);
        assert_eq!(crate::context::own_rate::rate_of(trial, trial.server.as_ref().unwrap()), Some(all));
    }

    #[test]
    fn each_host_has_its_own_rate_and_losses_and_the_busiest_is_marked() {
        let mut run = two_hosts();
        let last = run.trials.last_mut().unwrap();
        last.host_loads.push(HostLoad { host: "lost".into(), ..HostLoad::default() });
        judge(&mut run);
        assert_eq!(run.findings.picks.several_hosts, run.findings.picks.loaded);
        let trial = run.picked(|p| p.several_hosts).unwrap();
        let found = &run.findings.hosts;
        assert_eq!(found.len(), trial.host_loads.len());
        let rate = |n: usize| found[n].completed_rate.unwrap() * trial.measured.length_s;
        assert!((rate(0) - 300.0).abs() < 1e-6 && (rate(1) - 100.0).abs() < 1e-6, "{found:?}");
        assert_eq!(found.iter().filter(|f| f.busiest).count(), 1, "{found:?}");
        assert!(found.iter().all(|f| f.busiest == (f.host == "b")), "b has no CPU time left: {found:?}");
        run.trials.iter_mut().for_each(|t| t.host_loads.truncate(1));
        judge(&mut run);
        assert!(run.findings.hosts.is_empty() && run.findings.picks.several_hosts.is_none());
    }
}

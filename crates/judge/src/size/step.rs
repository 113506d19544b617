//! Figures of one setting, from the run of its capacity search.

use run::{
    ArenaRefusalKind, Change, CounterId, Estimate, IncidentKind, Run, SizeSetting, SizeStep, SummaryFigure, Trial,
};

use crate::capacity::early_end;
use crate::context::evidence::throttled;
use crate::context::single::server_of;
use crate::number::positive;

/// Name of the cost that is shown for a setting: CPU time per request.
const CPU: &str = "process_cpu_us";

/// Returns the figures of a setting. The caller adds the setting's index and the predicted capacity.
pub fn step(setting: &SizeSetting, run: &Run) -> SizeStep {
    let found = crate::arena::searched_through_stalls(run);
    let loaded = run.findings.picks.loaded.and_then(|at| run.trials.get(at));
    let view = loaded.and_then(server_of);
    let cpu = loaded.and_then(|trial| trial.server.as_ref()?.costs.get(CPU)?.per_request.value());
    let cpus_used = view.as_ref().and_then(crate::View::cpu_used).and_then(positive);
    let refused = found.refused.as_ref();
    // If the generator was the limit, the capacity is a lower bound, and expectations up to this bound are met. A time
    // without answers (a stall) does not matter here, because the objective was met at the capacity.
    let failures = [ArenaRefusalKind::Failed, ArenaRefusalKind::Errors, ArenaRefusalKind::Objective];
    let fails = refused.is_some_and(|refused| failures.contains(&refused.kind));
    let is_bounded = refused.is_some_and(|refused| refused.kind.is_lower_bound());
    let early = run.findings.capacity.as_ref().filter(|capacity| capacity.at_least);
    let expected = run.findings.expected.clone();
    SizeStep {
        setting: setting.clone(),
        meets: found.capacity.is_some() && !fails && expected.iter().all(|one| one.met),
        capacity: found.capacity,
        p99_us: loaded.and_then(|trial| trial.latency_us.figure(SummaryFigure::P99).exact()).and_then(positive),
        cpu_us_per_request: cpu.and_then(positive),
        cost_cpus: setting.paid_cpus().or(cpus_used),
        cpus_used,
        throttled_periods: view.as_ref().and_then(throttled).map(|throttled| throttled.share),
        throttled_time: view.as_ref().and_then(|view| view.share_of_time("cgroup.cpu_throttled_time")),
        rss_bytes: run.trials.iter().filter_map(memory).reduce(f64::max),
        bottleneck: found.bottleneck,
        at_least: early.is_some() || found.capacity.is_some() && is_bounded,
        limited: refused.map(|refused| refused.text.clone()).or(early.map(early_end::words)),
        needed_s: early.and_then(|capacity| capacity.needed_s),
        expected,
        notes: notes(run),
        ..SizeStep::default()
    }
}

/// Returns the warnings about a run, the times in which its server did not answer, and its notes, each once. If only a
/// closed loop shows the capacity, the first note says so, because independent users do not wait for answers.
fn notes(run: &Run) -> Vec<String> {
    let source = run.findings.capacity.as_ref().and_then(|capacity| capacity.closed_loop);
    let source = source.map(|source| format!("not comparable with capacities of open loops ({})", source.words()));
    let warnings = source.iter().chain(&run.findings.trust.warnings);
    let incidents = run.trials.iter().flat_map(|trial| &trial.incidents);
    let silences = incidents.filter(|one| one.kind == IncidentKind::Silence).map(|one| &one.text);
    let of_run = run.notes.iter().map(|note| &note.text);
    let of_trials = run.trials.iter().flat_map(|trial| &trial.notes);
    let mut notes: Vec<String> = Vec::new();
    for note in warnings.chain(silences).chain(of_run).chain(of_trials) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

fn memory(trial: &Trial) -> Option<f64> {
    trial.server.as_ref()?.counters.get(&CounterId("process.rss".into()))?.value().and_then(positive)
}

/// Predicts the capacity with `setting` from `run`, which was measured with another setting, `measured`. If the
/// prediction is impossible, the error message gives the reason. In a setting, all replicas together share the CPUs and
/// the quota, and each replica has the given number of workers.
pub fn predicted(run: &Run, measured: &SizeSetting, setting: &SizeSetting) -> Result<Estimate, String> {
    let times = setting.replicas.zip(measured.replicas).map(|(to, from)| f64::from(to) / f64::from(from.max(1)));
    let change = Change {
        quota_cpus: setting.quota,
        server_cpus: setting.cpus.map(f64::from),
        workers: setting.workers.map(|workers| workers.saturating_mul(setting.replicas.unwrap_or(1))),
        replicas: times.filter(|_| setting.workers.is_none()),
        ..Change::default()
    };
    let capacity = crate::what_if(run, &change)?.capacity;
    if capacity.value.is_finite() { Ok(capacity) } else { Err("the run shows no capacity".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::{PlantedRun, Point, Who};

    fn replicas(count: u32) -> SizeSetting {
        SizeSetting { replicas: Some(count), ..SizeSetting::default() }
    }

    /// One replica is a single thread, which reaches 100 % CPU at 400 requests per second. The server may use three
    /// CPUs.
    #[test]
    fn replicas_of_a_full_thread_add_capacity_up_to_the_cpus() {
        let cpu = |p: &Point| p.x / 400.0 * 1e6;
        let planted = PlantedRun::new(2500.0, 400.0).per_s(Who::Server, "process.cpu", "srv:100", cpu);
        let planted = planted.none(Who::Server, "thread.cpu").per_s(Who::Server, "thread.cpu", "srv:100/100", cpu);
        let mut run = planted.level(Who::Server, "process.cpus_allowed", "srv:100", 3.0).run();
        crate::judge(&mut run);
        let capacity = |count| predicted(&run, &replicas(1), &replicas(count)).unwrap();
        assert_eq!(run.findings.bottleneck.id, "server-single-thread");
        let [one, two, many, more] = [1, 2, 4, 8].map(|count| capacity(count).value);
        assert!((two / one / 2.0 - 1.0).abs() < 0.05, "{one} {two}");
        assert!((many / one / 3.0 - 1.0).abs() < 0.05 && (more / many - 1.0).abs() < 0.01, "{one} {many} {more}");
        let workers = SizeSetting { workers: Some(1), ..replicas(2) };
        assert!((predicted(&run, &replicas(1), &workers).unwrap().value / two - 1.0).abs() < 0.05);
    }

    #[test]
    fn the_effect_of_replicas_is_unknown_without_the_server() {
        let mut run = PlantedRun::new(2500.0, 400.0).no_server().run();
        crate::judge(&mut run);
        let why = predicted(&run, &replicas(1), &replicas(2)).unwrap_err();
        assert!(why.contains("effect of other numbers of replicas"), "{why}");
    }

    #[test]
    fn a_capacity_of_a_closed_loop_says_so() {
        let mut run = crate::planted::PlantedRun::new(20_000.0, 200.0).rates(&[0.5, 0.93, 1.15]).run();
        crate::judge(&mut run);
        let notes = step(&SizeSetting::default(), &run).notes;
        assert!(notes[0].contains("in an open loop only 186/s was held"), "{notes:?}");
    }

    /// The server was silent for a moment in one window, and the generator was at its limit.
    #[test]
    fn a_silence_does_not_hide_that_a_capacity_is_a_lower_bound() {
        let mut run = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
        crate::judge(&mut run);
        run.findings.trust.generator_limited = true;
        assert!(step(&SizeSetting::default(), &run).at_least);
        let text = "no answer from 1.0 s to 1.6 s".to_owned();
        let silence = run::Incident { kind: run::IncidentKind::Silence, begin_s: 1.0, end_s: Some(1.6), text };
        run.trials[0].incidents.push(silence);
        let found = step(&SizeSetting::default(), &run);
        assert!(found.at_least && found.limited.is_some_and(|why| why.contains("generator")), "{:?}", found.capacity);
        assert!(found.notes.iter().any(|note| note.starts_with("no answer")), "{:?}", found.notes);
    }

    /// Other programs used the machine while one setting was measured, so its capacity is too low.
    #[test]
    fn a_step_keeps_the_warnings_and_notes_of_its_run() {
        let mut run = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
        crate::judge(&mut run);
        let busy = "other programs used 0.9 of 2 CPUs: measure again on a quiet machine".to_owned();
        run.findings.trust.warnings.push(busy.clone());
        run.notes.push(run::Note { text: "the clock was slow".into(), is_warning: true });
        for trial in &mut run.trials {
            trial.notes.push("the hypervisor took time".into());
        }
        let notes = step(&SizeSetting::default(), &run).notes;
        for note in [busy.as_str(), "the clock was slow", "the hypervisor took time"] {
            assert_eq!(notes.iter().filter(|one| *one == note).count(), 1, "{note}: {notes:?}");
        }
    }
}

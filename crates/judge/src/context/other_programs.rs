//! CPU time of a load's machines that was lost to others: to programs that belong neither to the client nor to the
//! server, and to other guests of a hypervisor.

use run::{Run, Trial};

use crate::context::single::sides_of;
use crate::context::view::View;
use crate::thresholds::OTHERS_USE;

/// Returns the CPU use of other programs in one trial, as [`crate::Facts::other_processes_cpu`] does; the trial's
/// derived figures must be filled in.
pub(crate) fn other_processes_cpu_of(trial: &Trial) -> Option<(f64, f64)> {
    let views = sides_of(trial);
    let taken = views.iter().filter_map(|view| taken_on_machine_of(view, &views));
    let most = taken.max_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    most.filter(|(taken, online)| *taken > OTHERS_USE * online)
}

/// Returns the CPU use of processes that belong to neither client nor server, in CPUs, on the machine of `view`. Also
/// returns the machine's number of CPUs.
pub(super) fn taken_on_machine_of(view: &View<'_>, views: &[View<'_>]) -> Option<(f64, f64)> {
    let known: Option<f64> = on_machine_of(view, views).map(|v| Some(v.cpu_used()? + v.upstream_cpu())).sum();
    let host = view.host()?;
    // The time of soft interrupts counts as work for the load, although the kernel may charge it to another process.
    Some(((host.busy - known? - host.softirq).max(0.0), host.online))
}

/// Returns the views of the sides that run on the machine of `view`.
pub(super) fn on_machine_of<'v, 'a>(view: &'v View<'a>, views: &'v [View<'a>]) -> impl Iterator<Item = &'v View<'a>> {
    views.iter().filter(move |other| std::ptr::eq(other.side, view.side) || other.side.same_cpus(view.side))
}

/// Returns the CPU time, in CPUs, that the server's machine lost to others: to programs that belong neither to the
/// client nor to the server, and to other guests of the hypervisor. The caller must have filled in the trial's derived
/// figures. Without counters of the server, uses the client's machine.
pub(crate) fn taken_by_others(trial: &Trial) -> Option<f64> {
    let views = sides_of(trial);
    let view = views.last()?;
    Some(taken_on_machine_of(view, &views)?.0 + view.host()?.steal)
}

/// Returns the CPU use of other programs during a trial that was just recorded, in CPUs, and the number of CPUs.
/// Returns `None` if other programs used at most 10 % of the CPUs.
pub fn disturbed(trial: &Trial) -> Option<(f64, f64)> {
    let mut run = Run { trials: vec![trial.clone()], ..Run::default() };
    crate::context::sides::derive(&mut run);
    run.trials.first().and_then(other_processes_cpu_of)
}

/// Returns the share of a trial's window, 0 to 1, in which the hypervisor gave a machine's CPUs to other guests (steal
/// time). If client and server are on two machines, returns the larger of the two machines' shares. Returns 0 if the
/// time that the hypervisor took is unknown. Each time the hypervisor takes a CPU away, the machine pauses for
/// milliseconds. High percentiles consist mostly of requests that met a pause of the hypervisor.
pub fn stolen(trial: &Trial) -> f64 {
    sides_of(trial).iter().filter_map(View::stolen).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;
    use crate::context::single::good;
    use crate::planted::{PlantedRun, Who};

    #[test]
    fn time_of_the_hypervisor_is_the_most_of_any_side() {
        let run = PlantedRun::new(1000.0, 4000.0).run();
        assert_eq!(stolen(&run.trials[0]), 0.0);
        let mut taken = run.trials[0].clone();
        let (from, to) = (taken.measured.window.begin_s, taken.measured.window.end_s);
        let like = |c: &&run::Column| c.counter.as_str() == "cpu.idle" && c.instance == "total";
        let mut column = taken.client.recording.columns.iter().find(like).unwrap().clone();
        column.counter = run::CounterId("cpu.steal".into());
        let times = taken.client.recording.t_s.clone();
        // The made-up counter of the time that the hypervisor takes is in microseconds. In this test, the counter of
        // the time that the hypervisor takes grows by a twentieth of a CPU's time.
        column.values = times.iter().map(|t| Some(0.05e6 * (t.clamp(from, to) - from))).collect();
        taken.client.recording.columns.push(column);
        assert!((stolen(&taken) - 0.05).abs() < 0.01, "{}", stolen(&taken));
    }

    /// Makes a run in which client and server each see four CPUs, of one machine or of two. The server fills three of
    /// its four CPUs, and other programs use `others` CPUs.
    fn three_of_four(machines: [&'static str; 2], others: f64) -> Run {
        let top = 4000.0;
        let mut planted_run =
            PlantedRun::new(1000.0, top).per_s(Who::Server, "process.cpu", "srv:100", move |p| p.x / top * 3e6);
        for who in [Who::Client, Who::Server] {
            planted_run = planted_run
                .per_s(who, "cpu.user", "total", move |p| p.x / top * (3.0 + others) * 1e6)
                .per_s(who, "cpu.system", "total", |_| 0.0)
                .per_s(who, "cpu.idle", "total", move |p| (4.0 - p.x / top * (3.0 + others)) * 1e6);
        }
        let planted_run = planted_run.change(move |trial, _| {
            trial.client.machine = machines[0].into();
            trial.server.iter_mut().for_each(|s| s.machine = machines[1].into());
        });
        let mut run = planted_run.run();
        crate::judge(&mut run);
        run
    }

    /// The server was stopped after 7 ms. In these 7 ms, the kernel counted one tick of 10 ms on each of two CPUs. An
    /// earlier version of loadline reported that other programs used 5.55 of 2 CPUs.
    #[test]
    fn a_window_of_less_than_a_tick_shows_no_other_programs() {
        let run = three_of_four(["one", "one"], 0.9);
        let of_length = |length_s: f64| {
            let mut trial = run.trials.last().unwrap().clone();
            let begin_s = trial.measured.window.begin_s;
            for side in [Some(&mut trial.client), trial.server.as_mut()].into_iter().flatten() {
                side.recording = short(begin_s, length_s);
            }
            trial.measured.window.end_s = begin_s + length_s;
            trial.client.processes = vec!["srv:100".into()];
            crate::context::sides::derive_trial(&mut trial);
            let views = sides_of(&trial);
            let view = views.last().unwrap();
            (taken_on_machine_of(view, &views), view.host(), view.processors_busy())
        };
        assert_eq!(of_length(0.007), (None, None, None));
        assert!(of_length(1.0).0.is_some_and(|(taken, online)| taken < online), "{:?}", of_length(1.0));
    }

    /// Returns a recording of two CPUs with two samples, between which the kernel counts one tick on each CPU.
    fn short(begin_s: f64, length_s: f64) -> run::Recording {
        let column = |id: &'static str, instance: &str, growth: f64| run::Column {
            counter: run::CounterId::new(id),
            instance: instance.into(),
            values: vec![Some(1e6), Some(1e6 + growth)],
        };
        let columns = vec![
            run::Column { values: vec![Some(2.0); 2], ..column("cpu.online", "", 0.0) },
            column("cpu.user", "total", 1e4),
            column("cpu.system", "total", 1e4),
            column("cpu.idle", "total", (2.0 * length_s - 0.02).max(0.0) * 1e6),
            column("process.cpu", "srv:100", 100.0),
        ];
        run::Recording { t_s: vec![begin_s, begin_s + length_s], columns, ..run::Recording::default() }
    }

    #[test]
    fn processes_of_another_namespace_of_the_machine_are_not_other_programs() {
        let other_processes_cpu = |machines, others| Facts::of(&three_of_four(machines, others)).other_processes_cpu();
        assert_eq!(other_processes_cpu(["one", "one"], 0.0), None);
        let noisy = three_of_four(["one", "one"], 0.9);
        let last = noisy.trials.iter().max_by(|a, b| good(a).total_cmp(&good(b))).unwrap();
        assert!(disturbed(last).is_some_and(|(taken, _)| (taken - 0.9).abs() < 0.05), "{:?}", disturbed(last));
        let (taken, online) = other_processes_cpu(["one", "one"], 0.9).expect("0.9 CPUs went to nobody's processes");
        assert!((taken - 0.9).abs() < 0.05 && online == 4.0, "{taken} of {online}");
        // If client and server are on different machines, the server's CPU time does not explain the busy CPUs of the
        // client's machine. All three busy CPUs of the client's machine therefore count as used by other programs.
        let (taken, _) =
            other_processes_cpu(["one", "two"], 0.0).expect("nobody watched what filled the client's machine");
        assert!((taken - 3.0).abs() < 0.1, "{taken}");
    }
}

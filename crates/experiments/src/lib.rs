//! Experiments, most of which reproduce published measurements. Each experiment is a row of [`EXPERIMENTS`]. An
//! experiment has a plan that users can read and change (`experiments/NAME.toml`), and a function that runs its trials,
//! fits curves and checks claims. In comments, "the paper" is the publication that the experiment reproduces. The first
//! comment in the experiment's `mod.rs` names the publication.

mod connections;
mod event;
mod experiment;
mod figures;
mod io_models;
mod known_parameters;
mod parameters;
mod records;
mod repeats;
mod sclients;
mod values;

use std::path::Path;

use run::{Plan, Run, RunDir};

use lab::{Lab, LabError, Watch};

pub use experiment::Experiment;
pub use parameters::Parameters;

/// All experiments that `loadline lab` can run.
pub const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "request-rate",
        help: "simple clients stop at the server's capacity, S-Clients do not (source 1)",
        page: sclients::REQUEST_RATE,
        toml: include_str!("../plans/request-rate.toml"),
        unset: "medium = 'switch'\nmodel = 'epoll'\nwork_by = 'loops'\nsyncookies = false\nlisten = ''",
        on_hosts: true,
        planned_s: sclients::request_rate::planned_s,
        run: sclients::request_rate::run,
        figures: sclients::figures::REQUEST_RATE,
    },
    Experiment {
        name: "overload",
        help: "throughput of a server under increasing overload (source 1)",
        page: sclients::OVERLOAD,
        toml: include_str!("../plans/overload.toml"),
        unset: "medium = 'switch'\nmodel = 'epoll'\nwork_by = 'loops'",
        on_hosts: false,
        planned_s: sclients::overload::planned_s,
        run: sclients::overload::run,
        figures: sclients::figures::OVERLOAD,
    },
    Experiment {
        name: "bursty",
        help: "cost of load peaks at a mean load below the capacity (source 1)",
        page: sclients::BURSTY,
        toml: include_str!("../plans/bursty.toml"),
        unset: "medium = 'switch'\nmodel = 'epoll'\nwork_by = 'loops'",
        on_hosts: false,
        planned_s: sclients::bursty::planned_s,
        run: sclients::bursty::run,
        figures: sclients::figures::BURSTY,
    },
    Experiment {
        name: "wan",
        help: "the server of request-rate behind delay and loss (source 1)",
        page: sclients::WAN,
        toml: include_str!("../plans/wan.toml"),
        unset: "work_by = 'loops'",
        on_hosts: false,
        planned_s: sclients::wan::planned_s,
        run: sclients::wan::run,
        figures: sclients::figures::WAN,
    },
    records::THROUGHPUT_PROFILE,
    records::ADDING_CLIENTS,
    Experiment {
        name: "io-models",
        help: "every I/O model of a server under the three loads of a published table (source 4)",
        page: io_models::IO_MODELS,
        toml: include_str!("../plans/io-models.toml"),
        unset: "posted = 1\nsends = 0\nbacklog = 4096\nlisten = ''",
        on_hosts: true,
        planned_s: io_models::planned_s,
        run: io_models::run,
        figures: io_models::FIGURES,
    },
    event::API,
    event::PROXY,
    Experiment {
        name: "connections",
        help: "cost of many mostly idle connections: memory per connection, and response time of messages on random ones",
        page: connections::CONNECTIONS,
        toml: include_str!("../plans/connections.toml"),
        unset: "patience = 4.0",
        on_hosts: false,
        planned_s: connections::planned_s,
        run: connections::run,
        figures: connections::FIGURES,
    },
];

/// Returns the experiment called `name`.
pub fn experiment(name: &str) -> Result<&'static Experiment, LabError> {
    let found = EXPERIMENTS.iter().find(|e| e.name == name);
    found.ok_or_else(|| LabError::name("experiment", name, EXPERIMENTS.iter().map(|e| e.name)))
}

/// Runs an experiment with its plan, as often as the plan says. If `quick` is true, uses the parameters for a short
/// run.
pub fn run(
    experiment: &Experiment,
    mut plan: Plan,
    quick: bool,
    out: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Run, LabError> {
    plan.command = format!("lab {}", experiment.name);
    check_hosts(experiment, &plan)?;
    let parameters = Parameters::of(&mut plan, quick);
    let mut whole = once((experiment, &parameters), plan.clone(), 0, out, watch)?;
    let dir = out.map(RunDir::create).transpose()?;
    for repeat in 1..plan.repeat_count() {
        if whole.interrupted {
            break;
        }
        // While a further repeat runs, the stored run is marked as interrupted, because this process may be killed.
        whole.interrupted = true;
        save(&whole, dir.as_ref());
        let part = once((experiment, &parameters), plan.clone(), repeat, None, watch)?;
        repeats::add(&mut whole, part, repeat);
        judge::judge(&mut whole);
        present(&mut whole);
        save(&whole, dir.as_ref());
    }
    Ok(whole)
}

/// Adds the tables and charts to a judged run. If this version of loadline lacks the experiment, the stored tables and
/// charts are kept.
pub fn present(run: &mut Run) {
    let name = run.plan.experiment();
    if let Some(experiment) = EXPERIMENTS.iter().find(|e| Some(e.name) == name) {
        run.findings.experiment = Some(experiment.figures.report(run));
    }
}

/// Saves the run with the trials that it contains so far. Ignores errors, because the caller saves the complete run at
/// the end and reports errors then.
fn save(run: &Run, dir: Option<&RunDir>) {
    dir.into_iter().for_each(|dir| drop(dir.save(run)));
}

/// Returns an error if the plan names hosts but the experiment cannot use them.
fn check_hosts(experiment: &Experiment, plan: &Plan) -> Result<(), LabError> {
    if plan.hosts.is_empty() || experiment.on_hosts {
        return Ok(());
    }
    let others: Vec<&str> = EXPERIMENTS.iter().filter(|e| e.on_hosts).map(|e| e.name).collect();
    let why = format!("it is played on this machine alone; {} take hosts", others.join(", "));
    Err(LabError::set_up(format!("preparing {} on other hosts", experiment.name), why))
}

fn once(
    (experiment, parameters): (&Experiment, &Parameters),
    plan: Plan,
    repeat: u32,
    out: Option<&Path>,
    watch: &mut dyn Watch,
) -> Result<Run, LabError> {
    let mut lab = Lab::begin(plan, out, watch)?;
    lab.begin_repeat(repeat);
    if lab.run.plan.hosts.is_empty() {
        lab.host(probe::host_info("localhost", "client and server"));
    }
    let outcome = (experiment.run)(&mut lab, parameters);
    present(&mut lab.run);
    match outcome {
        Ok(()) => lab.finish(),
        // The experiment failed, but its completed trials stay in the run.
        Err(error) if !lab.run.trials.is_empty() => {
            lab.note(format!("the experiment ended early: {error}"));
            lab.stop();
            lab.finish()
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_loads_and_names_are_unique() {
        for row in EXPERIMENTS {
            row.plan().unwrap_or_else(|e| panic!("{}: {e}", row.name));
            assert_eq!(EXPERIMENTS.iter().filter(|e| e.name == row.name).count(), 1, "{}", row.name);
            assert!(!row.help.is_empty() && !row.page.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn short_runs_take_a_minute_at_most_and_the_event_api_two() {
        for row in EXPERIMENTS {
            let plan = row.plan().unwrap();
            let (quick_s, whole_s) = (row.planned_s(&plan, true), row.planned_s(&plan, false));
            println!("{}: {quick_s:.0} s, {whole_s:.0} s", row.name);
            assert!((3.0..=60.0).contains(&quick_s), "{}: {quick_s} s", row.name);
            assert!(whole_s > quick_s && whole_s.is_finite(), "{}: {whole_s} s", row.name);
            let twice = Plan { repeats: 2, ..plan };
            assert!((row.planned_s(&twice, true) / quick_s - 2.0).abs() < 1e-9, "{}", row.name);
        }
        let event_api = experiment("event-api").unwrap();
        let seconds = event_api.planned_s(&event_api.plan().unwrap(), false);
        assert!(seconds <= 120.0, "{seconds} s");
    }

    #[test]
    fn a_wrong_name_is_an_error() {
        assert!(experiment("no-such-thing").is_err());
    }
}

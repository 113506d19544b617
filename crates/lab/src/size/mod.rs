//! Measurement of one server with different resources. For each setting, the server is started again, in a control
//! group if possible. A short search finds the capacity with each setting.

use std::path::{Path, PathBuf};
use std::time::Instant;

use run::{Plan, Run, SizeResult, SizeSetting, SizeStep, visible};

use crate::search::{SEARCH_OVERHEAD_S, SHORTEST_SEARCH_S};
use crate::servers::{GroupedServer, Launch, Limits, Quiet, START_S, can_make_groups};
use crate::{LabError, find, own_program, resolve};

/// Folder that holds the runs of all searches.
const RUNS: &str = "runs";
/// Time of a step in addition to its search, seconds: start of the server, start of agents, and end of the server.
const STEP_OVERHEAD_S: f64 = START_S + SEARCH_OVERHEAD_S;

/// Input of a measurement: the server's command, the settings to try, and functions that show and store results.
pub struct SizeSetup<'a> {
    /// Plan of each search, with the address of the server.
    pub plan: Plan,
    /// Shell command that starts the server. The command may use `$WORKERS` and other variables.
    pub command: String,
    /// Folder in which the command runs.
    pub folder: PathBuf,
    /// Settings (amounts of resources) to try, in the order of the trials.
    pub settings: Vec<SizeSetting>,
    /// Folder of the results.
    pub dir: PathBuf,
    /// Returns true if the user wants to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
    /// Shows the user the result of a setting, and the seconds that are left.
    pub tell: &'a mut dyn FnMut(&SizeStep, f64),
    /// Writes the report of a search into the folder of its run.
    pub report: &'a dyn Fn(&Run, &Path),
}

/// Returns the budget of the next search, seconds. `left` is the number of remaining settings, including the setting of
/// the next search.
pub fn search_s_of_step(left_s: f64, left: usize) -> f64 {
    (left_s / left.max(1) as f64 - STEP_OVERHEAD_S).max(SHORTEST_SEARCH_S)
}

/// Measures the server with each setting, within the budget in `result`. The measurement ends early if the user stops
/// the command.
pub fn measure_sizes(setup: SizeSetup<'_>, mut result: SizeResult) -> Result<SizeResult, LabError> {
    let quota = setup.settings.iter().filter_map(|setting| setting.quota).reduce(f64::min);
    let (groups, note) = can_make_groups(Limits { quota, memory_bytes: None }, "--quota")?;
    result.notes.extend(note);
    let program = own_program()?;
    let begun = Instant::now();
    let mut first: Option<(SizeSetting, Run)> = None;
    for at in 0..setup.settings.len() {
        if (setup.stop)() {
            break;
        }
        let left_s = result.budget_s - begun.elapsed().as_secs_f64();
        let search_s = search_s_of_step(left_s, setup.settings.len() - at);
        let (step, run) = measured(&setup, at, search_s, (groups, &program));
        if (setup.stop)() {
            break;
        }
        let step = with_prediction(step, first.as_ref(), &mut result.notes);
        // A setting may fail before any setting was measured. The failure is then not shown at once, because it becomes
        // the error of the command if all settings fail.
        if step.run.is_some() || result.steps.iter().any(|step| step.run.is_some()) {
            (setup.tell)(&step, result.budget_s - begun.elapsed().as_secs_f64());
        }
        // A prediction needs a capacity, not only a lower bound.
        let is_known = step.capacity.is_some() && !step.at_least;
        first = first.or(run.filter(|_| is_known).map(|run| (step.setting.clone(), run)));
        result.steps.push(step);
        result.used_s = begun.elapsed().as_secs_f64();
    }
    result.interrupted = result.steps.len() < setup.settings.len();
    not_one_measured(&result)?;
    judge::size::finish(&mut result, &setup.plan.expect, STEP_OVERHEAD_S);
    Ok(result)
}

/// Fails with the first reason if no setting could be measured, because there is no result to show.
fn not_one_measured(result: &SizeResult) -> Result<(), LabError> {
    let failed = result.steps.iter().all(|step| step.run.is_none()) && !result.interrupted;
    match result.steps.first().and_then(|step| step.limited.as_ref()).filter(|_| failed) {
        Some(why) => Err(LabError::set_up("no setting could be measured", why)),
        None => Ok(()),
    }
}

/// Adds the capacity predicted from the first run with a known capacity. If no prediction is possible, a note gives the
/// reason.
fn with_prediction(mut step: SizeStep, first: Option<&(SizeSetting, Run)>, notes: &mut Vec<String>) -> SizeStep {
    match first.map(|(setting, run)| judge::size::predicted(run, setting, &step.setting)) {
        Some(Ok(predicted)) => step.predicted = Some(predicted),
        Some(Err(why)) => {
            let note = format!("no prediction from the first setting with a capacity: {why}");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        None => (),
    }
    step
}

/// Starts the server with a setting and finds its capacity.
fn measured(
    setup: &SizeSetup<'_>,
    at: usize,
    search_s: f64,
    (groups, program): (bool, &Path),
) -> (SizeStep, Option<Run>) {
    let setting = &setup.settings[at];
    let failed = |error: LabError| SizeStep {
        setting: setting.clone(),
        limited: Some(visible(&error.to_string()).into_owned()),
        ..SizeStep::default()
    };
    let name = format!("{RUNS}/{}", at + 1);
    let dir = setup.dir.join(&name);
    let mut plan = setup.plan.clone();
    plan.search.budget_s = search_s;
    let run = start(setup, setting, groups, program).and_then(|_server| find(plan, Some(&dir), &mut Quiet(setup.stop)));
    match run {
        Ok(run) => {
            (setup.report)(&run, &dir);
            (SizeStep { run: Some(name), ..judge::size::step(setting, &run) }, Some(run))
        }
        Err(error) => (failed(error), None),
    }
}

/// Starts the server with a setting. Dropping the returned value ends the server.
fn start(
    setup: &SizeSetup<'_>,
    setting: &SizeSetting,
    groups: bool,
    program: &Path,
) -> Result<GroupedServer, LabError> {
    let addr = resolve(&setup.plan.target.url, &setup.plan.load.protocol)?.addr;
    let cpus = setting.cpus.map_or(Vec::new(), last_cpus);
    let variables = variables(setting);
    let limits = Limits { quota: setting.quota, memory_bytes: None };
    let launch = Launch {
        name: "size",
        shell: &setup.command,
        folder: &setup.folder,
        cpus: &cpus,
        group: groups.then_some(limits),
        variables: &variables,
    };
    GroupedServer::start(launch, &addr, program, setup.stop)
}

/// Returns the last `count` CPUs of this machine, for the server. The generator gets the other CPUs.
fn last_cpus(count: u32) -> Vec<u32> {
    let allowed = sys::limits::allowed_cpus().unwrap_or_default();
    allowed[allowed.len().saturating_sub(count as usize)..].to_vec()
}

/// Returns the environment variables of a setting, such as `WORKERS`, that the server's command may use.
fn variables(setting: &SizeSetting) -> Vec<(&'static str, String)> {
    let number = |value: Option<u32>| value.map(|value| value.to_string());
    let quota = setting.quota.map(|quota| quota.to_string());
    let all = [
        ("QUOTA", quota),
        ("CPUS", number(setting.cpus)),
        ("WORKERS", number(setting.workers)),
        ("REPLICAS", number(setting.replicas)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_starts_no_server_is_an_error_and_not_a_table() {
        let failed = SizeStep { limited: Some("\"exit 3\" ended".into()), ..SizeStep::default() };
        let measured = SizeStep { run: Some("runs/2".into()), ..SizeStep::default() };
        let of = |steps: &[&SizeStep], interrupted| {
            let steps = steps.iter().copied().cloned().collect();
            not_one_measured(&SizeResult { steps, interrupted, ..SizeResult::default() }).map_err(|e| e.to_string())
        };
        assert_eq!(of(&[&failed, &failed], false), Err("no setting could be measured: \"exit 3\" ended".into()));
        assert!(of(&[&failed, &measured], false).is_ok() && of(&[&failed], true).is_ok() && of(&[], true).is_ok());
    }

    #[test]
    fn each_step_gets_its_share_of_the_time_that_is_left() {
        assert!((search_s_of_step(80.0, 4) - 19.3).abs() < 1e-9);
        assert_eq!(search_s_of_step(1.0, 4), SHORTEST_SEARCH_S);
        let setting = SizeSetting { quota: Some(0.5), workers: Some(2), ..SizeSetting::default() };
        assert_eq!(variables(&setting), [("QUOTA", "0.5".into()), ("WORKERS", "2".into())]);
        assert_eq!(last_cpus(1).len(), 1);
    }
}

//! `loadline arena`: compares many servers under the same loads.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use lab::LabError;
use lab::arena::{LiveArena, LiveArenaSetup, conduct, least_budget_s};
use run::number::prose::counted;
use run::{ARENA_FORMAT, ArenaPlan, ArenaResult, ArenaState};

use crate::arena_dir::ArenaDir;
use crate::args::{FormArgs, MAX_PLAN_BYTES, request_set, units};
use crate::{Exit, output};

/// Default measuring time for each pair of a server and a load, seconds.
const CELL_S: f64 = 60.0;

/// Arguments of `arena`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("comparison").args(["file", "resume"]).required(true))]
pub(crate) struct Args {
    /// TOML file with the servers ([[entry]]), the loads ([[profile]]) and [resources]
    file: Option<PathBuf>,
    /// Time for all measurements, without builds [default: 60s per server and load]
    #[arg(long, value_name = "TIME", value_parser = units::seconds, conflicts_with = "resume")]
    budget: Option<f64>,
    /// Seed of the order of the turns and of all loads [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "resume")]
    seed: Option<u64>,
    /// New folder for all results [default: loadline-arena/TIME]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    out: Option<PathBuf>,
    /// Go on with an interrupted comparison in this folder
    #[arg(long, value_name = "DIR")]
    resume: Option<PathBuf>,
    /// Confirm that you may load targets outside this machine and private networks
    #[arg(long)]
    authorized: bool,
    #[command(flatten)]
    form: FormArgs,
}

/// Compares all servers in the file, then prints and stores the result.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let form = args.form.name();
    // Reports a wrong output form before the measurements.
    report::render_arena(form, &ArenaResult::default(), &output::plain())?;
    let (mut state, plan, file) = match &args.resume {
        Some(dir) => resumed(dir)?,
        None => new(args)?,
    };
    let loads = loads(&plan, &file, args.authorized)?;
    let memory_bytes = memory(&plan)?;
    let dir = match &args.resume {
        Some(dir) => ArenaDir::existing(dir)?,
        None => ArenaDir::new(args.out.as_deref())?,
    };
    output::catch_interrupts();
    measure(&mut state, &plan, loads, memory_bytes, &file, &dir)?;
    let result = judge::arena::result(&state);
    dir.write_reports(&result)?;
    output::print(&report::render_arena(form, &result, &output::style())?)?;
    output::tell(&format!("results: {}", dir.path().display()));
    if result.interrupted {
        output::tell(&format!("go on with: loadline arena --resume {}", dir.path().display()));
    }
    Ok(status(&result))
}

/// Returns the exit status of a comparison: interrupted, failed if no server got a rank, or done.
fn status(result: &ArenaResult) -> Exit {
    match result.interrupted {
        true => Exit::Interrupted,
        false if result.cells.iter().all(|cell| cell.group.is_none()) => Exit::Failed,
        false => Exit::Done,
    }
}

fn read(file: &Path) -> anyhow::Result<ArenaPlan> {
    let text = run::read_text(file, MAX_PLAN_BYTES, "name a file with [[entry]] and [[profile]] in TOML")?;
    Ok(ArenaPlan::from_toml(&file.display().to_string(), &text)?)
}

/// Returns the state of a new comparison, its plan, and the path of the plan's file.
fn new(args: &Args) -> anyhow::Result<(ArenaState, ArenaPlan, PathBuf)> {
    let file = args.file.as_deref().unwrap_or(Path::new(""));
    let plan = read(file)?;
    let file = file.canonicalize().with_context(|| format!("cannot find {}", file.display()))?;
    let [servers, loads] = [plan.entries.len(), plan.profiles.len()].map(|count| count as f64);
    let budget_s = args.budget.unwrap_or(CELL_S * servers * loads);
    let least_s = least_budget_s(plan.entries.len(), plan.profiles.iter().map(|profile| profile.warm_up_s)).ceil();
    ensure!(
        (least_s..=604_800.0).contains(&budget_s),
        "--budget is {budget_s} s: give at least {least_s:.0} s for {} under {}, and a week at most",
        counted(servers, "server"),
        counted(loads, "load")
    );
    let state = ArenaState {
        format: ARENA_FORMAT.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        started: jiff::Timestamp::now().to_string(),
        file: file.display().to_string(),
        plan: stored(&plan),
        seed: args.seed.unwrap_or(1),
        budget_s,
        ..ArenaState::default()
    };
    Ok((state, plan, file))
}

/// Returns a copy of the plan for the stored state, with the secrets in the servers' commands hidden. The secrets thus
/// remain only in the user's own file.
fn stored(plan: &ArenaPlan) -> ArenaPlan {
    let mut plan = plan.clone();
    let commands = plan.entries.iter_mut().flat_map(|entry| [&mut entry.command, &mut entry.build]);
    commands.flatten().for_each(|command| *command = run::hide_tokens_of_command(command));
    plan
}

/// Reads the state of an interrupted comparison from its folder, and the plan from the user's file. Fails if the user's
/// file has changed since the comparison began.
fn resumed(dir: &Path) -> anyhow::Result<(ArenaState, ArenaPlan, PathBuf)> {
    let state = ArenaDir::read(dir)?;
    let file = PathBuf::from(&state.file);
    let plan = read(&file)?;
    ensure!(
        stored(&plan) == state.plan,
        "{} has changed since the comparison in {} began: start a new one",
        file.display(),
        dir.display()
    );
    Ok((state, plan, file))
}

/// Returns one plan of a run for each load (`[[profile]]`). The returned plans have no target yet.
fn loads(plan: &ArenaPlan, file: &Path, authorized: bool) -> anyhow::Result<Vec<run::Plan>> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let of = |profile: &run::ArenaProfile| {
        load(profile, folder, authorized).with_context(|| format!("[[profile]] {:?}", profile.name))
    };
    plan.profiles.iter().map(of).collect()
}

fn load(profile: &run::ArenaProfile, folder: &Path, authorized: bool) -> anyhow::Result<run::Plan> {
    let mut plan = run::Plan { command: "find".into(), ..run::Plan::default() };
    let http = run::HttpPlan { expect_status: profile.expect_status, ..run::HttpPlan::default() };
    plan.target.authorized = authorized;
    plan.load.protocol = if profile.http2 { run::Protocol::Http2(http) } else { run::Protocol::Http1(http) };
    plan.load.tls = profile.https.then(|| run::TlsPlan { insecure: true, ..run::TlsPlan::default() });
    let (connections, pipeline, think) = (1, profile.pipeline, run::ThinkTime::default());
    plan.load.intensity = run::Intensity::Closed { connections, pipeline, think };
    plan.load.new_connections = profile.new_connections;
    plan.search.max_connections = profile.connections;
    if let Some(file) = &profile.requests {
        let file = folder.join(file);
        let (mut imported, row) = requests::read_file(&file, None)?;
        imported.aim("");
        let from = format!("{} ({})", file.display(), row.name);
        plan.load.requests = Some(request_set::set_of(imported, from, None, &mut plan.load.secrets)?);
    }
    plan.redact_secrets(&[]);
    plan.check()?;
    Ok(plan)
}

fn memory(plan: &ArenaPlan) -> anyhow::Result<Option<u64>> {
    let read = |text: &String| units::bytes(text).ok().filter(|bytes| *bytes >= 1 << 20);
    let Some(text) = &plan.resources.memory else { return Ok(None) };
    let bytes = read(text);
    ensure!(bytes.is_some(), "[resources]: memory is {text:?}: give a size of at least 1 MiB, such as 512MiB");
    Ok(bytes)
}

/// Runs the measurements that the state does not yet contain.
fn measure(
    state: &mut ArenaState,
    plan: &ArenaPlan,
    loads: Vec<run::Plan>,
    memory_bytes: Option<u64>,
    file: &Path,
    dir: &ArenaDir,
) -> anyhow::Result<()> {
    let setup = LiveArenaSetup {
        plan,
        loads,
        memory_bytes,
        folder: file.parent().unwrap_or(Path::new(".")).into(),
        dir: dir.path().into(),
        stop: &|| sys::interrupt::seen() > 0,
        tell: &mut |sentence, left_s| output::tell(&output::safe(&progress(sentence, left_s))),
        report: &output::write_report,
        store: &|state| dir.store(state).map_err(|e| LabError::set_up("storing the comparison", e)),
    };
    let (mut arena, notes) = LiveArena::prepare(setup)?;
    let new = notes.into_iter().filter(|note| !state.notes.contains(note)).collect::<Vec<_>>();
    state.notes.extend(new);
    conduct(state, &mut arena)?;
    Ok(())
}

/// Formats a line of progress, with the remaining time if it is known.
fn progress(sentence: &str, left_s: f64) -> String {
    match left_s.is_finite() {
        true => format!("{sentence} · about {} left", run::number::span(left_s.max(0.0))),
        false => sentence.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_of_the_file_becomes_a_plan_and_secrets_are_not_stored() {
        let profile = run::ArenaProfile { https: true, http2: true, pipeline: 4, ..run::ArenaProfile::default() };
        let plan = load(&profile, Path::new("."), false).unwrap();
        assert!(matches!(plan.load.protocol, run::Protocol::Http2(_)) && plan.load.tls.is_some());
        assert_eq!((plan.load.intensity.pipeline(), plan.search.max_connections), (4, 256));
        let missing = run::ArenaProfile { requests: Some("nosuch.toml".into()), ..run::ArenaProfile::default() };
        assert!(load(&missing, Path::new("/nonexistent"), false).is_err());
        let entry = run::ArenaEntry { command: Some("serve --token abcdef".into()), ..run::ArenaEntry::default() };
        let plan = ArenaPlan { entries: vec![entry], ..ArenaPlan::default() };
        assert!(!serde_json::to_string(&stored(&plan)).unwrap().contains("abcdef"));
        let with = |memory: &str| {
            let mut plan = plan.clone();
            plan.resources.memory = Some(memory.into());
            super::memory(&plan).map_err(|e| e.to_string())
        };
        assert_eq!(with("512MiB"), Ok(Some(512 << 20)));
        assert!(with("512").unwrap_err().contains("512MiB") && with("big").is_err());
    }

    /// The example that compares the I/O models of `serve` must contain all of them, also a newly added one.
    #[test]
    fn the_example_of_the_io_models_has_all_of_them() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arena/io-models.toml");
        let text = std::fs::read_to_string(file).unwrap();
        for model in serve::MODELS {
            let command = format!("serve --model {} ", model.name);
            assert!(text.contains(&command) && text.contains(&format!("name = {:?}", model.name)), "{}", model.name);
        }
    }
}

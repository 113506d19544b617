//! `loadline size`: finds the capacity of one server with different resources.

use std::path::PathBuf;

use anyhow::ensure;
use run::{MAX_SIZE_STEPS, Plan, Prove, SIZE_FORMAT, SizeResult, SizeSetting, SizeStep};

use crate::args::mix::{self, MixArgs};
use crate::args::{FormArgs, ObjectiveArgs, SetFlagArgs, TlsArgs, set_protocol, units};
use crate::locked_dir::LockedDir;
use crate::{Exit, output};

/// Parent folder of the results for which the user gave no `--out`.
const SIZES: &str = "loadline-size";
/// Default measuring time for each setting (combination of resources), seconds.
const STEP_S: f64 = 20.0;
/// Minimum measuring time for each setting, seconds.
const MIN_STEP_S: f64 = 4.0;
/// Flag with the numbers of replicas to measure.
const REPLICAS: &str = "--replicas";
/// Advice for a user whose command does not use `$REPLICAS`.
const REPLICAS_HINT: &str = "servers that share a port (SO_REUSEPORT) start with \
    'for n in $(seq $REPLICAS); do ./server --port $PORT & done; wait'; others need a load balancer in the command";
/// Output forms of the result, each with the name of its file.
const REPORTS: [(&str, &str); 3] = [("html", "size.html"), ("markdown", "size.md"), ("json", "result.json")];

/// Arguments of `size`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Address of the server that the command starts
    target: String,
    /// Shell command that starts the server; $PORT, $WORKERS, $REPLICAS, $CPUS and $QUOTA are set
    #[arg(long, value_name = "COMMAND")]
    command: String,
    /// CPU quotas of the server's control group, in CPUs: 0.25,0.5,1,2
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = units::many, help_heading = "Resources")]
    quota: Vec<f64>,
    /// Numbers of CPUs that the server may use: 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Resources")]
    cpus: Vec<u32>,
    /// Numbers of workers to try, passed to the server's command as $WORKERS: 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Resources")]
    workers: Vec<u32>,
    /// Numbers of replicas to try, passed as $REPLICAS to the command, which starts them: 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Resources")]
    replicas: Vec<u32>,
    /// Time for all searches [default: 20s per setting]
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    budget: Option<f64>,
    /// Most connections of each search [default: that of `find`]
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Seed of all random choices [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    objective: ObjectiveArgs,
    #[command(flatten)]
    mix: MixArgs,
    #[command(flatten)]
    flags: SetFlagArgs,
    #[command(flatten)]
    tls: TlsArgs,
    /// New folder for all results [default: loadline-size/TIME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    form: FormArgs,
}

/// Measures the capacity with each setting, then prints and stores the result.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let form = args.form.name();
    // Reports a wrong output form before the measurements.
    report::render_size(form, &SizeResult::default(), &output::plain())?;
    let settings = settings(args)?;
    let plan = plan(args)?;
    let budget_s = budget_s(args, settings.len())?;
    let dir = LockedDir::new(args.out.as_deref(), SIZES, "name a new folder with --out")?;
    output::catch_interrupts();
    let result = SizeResult {
        format: SIZE_FORMAT.into(),
        target: plan.target.url.clone(),
        command: run::hide_tokens_of_command(&args.command),
        started: jiff::Timestamp::now().to_string(),
        budget_s,
        ..SizeResult::default()
    };
    let setup = lab::SizeSetup {
        plan,
        command: args.command.clone(),
        folder: std::env::current_dir()?,
        settings,
        dir: dir.path().into(),
        stop: &|| sys::interrupt::seen() > 0,
        tell: &mut |step, left_s| output::tell(&output::safe(&progress(step, left_s))),
        report: &output::write_report,
    };
    // If a failed measurement left the folder empty, loadline removes the folder.
    let result = lab::measure_sizes(setup, result).inspect_err(|_| drop(std::fs::remove_dir(dir.path())))?;
    for (form, file) in REPORTS {
        dir.put(file, report::render_size(form, &result, &output::plain())?.as_bytes())?;
    }
    output::print(&report::render_size(form, &result, &output::style())?)?;
    output::tell(&format!("results: {}", dir.path().display()));
    Ok(status(&result))
}

/// Returns the exit status: `Interrupted` after Ctrl-C, `Done` if at least one setting meets the objective and all
/// expectations, otherwise `Failed`.
fn status(result: &SizeResult) -> Exit {
    match result.interrupted {
        true => Exit::Interrupted,
        false if result.steps.iter().any(|step| step.meets) => Exit::Done,
        false => Exit::Failed,
    }
}

/// Returns all combinations of the given resources, from the smallest to the largest.
fn settings(args: &Args) -> anyhow::Result<Vec<SizeSetting>> {
    let variables = [("--workers", "$WORKERS", &args.workers), (REPLICAS, "$REPLICAS", &args.replicas)];
    for (flag, variable, given) in variables {
        ensure!(
            given.is_empty() || uses(&args.command, variable),
            "{flag} needs a command that uses {variable}: {}",
            if flag == REPLICAS { REPLICAS_HINT } else { "write it where the command takes the number" }
        );
    }
    let here = sys::limits::allowed_cpus()?.len();
    let most = args.cpus.iter().copied().max().unwrap_or(1) as usize;
    ensure!(most <= here, "--cpus {most}: this program may use {here} CPUs");
    let quotas = args.quota.iter().copied();
    let bad = quotas.clone().find(|quota| !(0.01..=here as f64).contains(quota));
    ensure!(
        bad.is_none(),
        "--quota {}: give CPUs from 0.01 to {here}, which this program may use",
        bad.unwrap_or_default()
    );
    let count = [args.quota.len(), args.cpus.len(), args.workers.len(), args.replicas.len()];
    ensure!(
        count.iter().any(|n| *n > 0),
        "name the resources to try: --quota 0.25,0.5,1, --cpus, --workers or --replicas"
    );
    let steps = count.iter().map(|n| (*n).max(1)).product::<usize>();
    ensure!(steps <= MAX_SIZE_STEPS, "{steps} combinations are more than {MAX_SIZE_STEPS}: try fewer");
    let mut all = vec![SizeSetting::default()];
    all = with(&all, &sorted(&args.quota), |setting, quota| setting.quota = Some(quota));
    all = with(&all, &sorted(&args.cpus), |setting, cpus| setting.cpus = Some(cpus));
    all = with(&all, &sorted(&args.workers), |setting, workers| setting.workers = Some(workers));
    Ok(with(&all, &sorted(&args.replicas), |setting, replicas| setting.replicas = Some(replicas)))
}

/// Returns true if a shell command uses a variable, written as `$NAME` or in braces as `${NAME}`.
fn uses(command: &str, variable: &str) -> bool {
    let name = variable.trim_start_matches('$');
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let plain = command.match_indices(variable).any(|(at, _)| ends(&command[at + variable.len()..]));
    plain || command.contains(&format!("${{{name}"))
}

fn sorted<T: PartialOrd + Copy>(values: &[T]) -> Vec<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    sorted.dedup();
    sorted
}

/// Returns all combinations of a setting in `all` with an amount in `amounts`. The function `set` puts an amount into a
/// setting. If `amounts` is empty, returns the settings unchanged.
fn with<T: Copy>(all: &[SizeSetting], amounts: &[T], set: impl Fn(&mut SizeSetting, T)) -> Vec<SizeSetting> {
    if amounts.is_empty() {
        return all.to_vec();
    }
    let of = |setting: &SizeSetting| {
        let each = amounts.iter().map(|amount| {
            let mut setting = setting.clone();
            set(&mut setting, *amount);
            setting
        });
        each.collect::<Vec<_>>()
    };
    all.iter().flat_map(of).collect()
}

fn budget_s(args: &Args, steps: usize) -> anyhow::Result<f64> {
    let budget_s = args.budget.unwrap_or(STEP_S * steps as f64);
    let least_s = MIN_STEP_S * steps as f64;
    ensure!(
        (least_s..=604_800.0).contains(&budget_s),
        "--budget is {budget_s} s: give at least {least_s:.0} s ({MIN_STEP_S} s for each setting) and at most a week"
    );
    Ok(budget_s)
}

/// Returns the plan that each search for a capacity uses.
fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut plan = Plan { command: "find".into(), ..Plan::default() };
    plan.target.url.clone_from(&args.target);
    plan.load.seed = args.seed.unwrap_or(plan.load.seed);
    mix::tell(&args.mix.apply(&mut plan)?);
    set_protocol(&mut plan)?;
    args.flags.apply(&mut plan.load)?;
    args.tls.apply(&mut plan)?;
    args.objective.apply(&mut plan);
    plan.search.max_connections = args.connections.unwrap_or(plan.search.max_connections);
    // The plan contains no experiment, so the search for the capacity can use the whole measuring time.
    plan.search.prove = Prove::Off;
    mix::check(&plan, &[])?;
    plan.redact_secrets(&[]);
    plan.check()?;
    Ok(plan)
}

/// Formats a line of progress for a measured setting, with the remaining time.
fn progress(step: &SizeStep, left_s: f64) -> String {
    let found = report::capacity_words(step).map(|rate| format!("capacity {rate}"));
    let found = found.or_else(|| step.limited.clone()).unwrap_or_else(|| "no rate held the objective".into());
    let setting = report::setting_words(&step.setting);
    format!("{setting}: {found} · about {} left", run::number::span(left_s.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn parsed(words: &str) -> Args {
        let line = ["size", "http://127.0.0.1:1/", "--command", "serve $PORT ${WORKERS}"].map(str::to_owned);
        let more = words.split_whitespace().map(str::to_owned);
        Line::try_parse_from(line.into_iter().chain(more)).map(|line| line.args).unwrap_or_else(|e| panic!("{e}"))
    }

    /// A recording may come from a stranger. An earlier version of loadline replaced `$env:NAME` in the headers of a
    /// recording, and so sent the user's secrets to a server that the recording's author chose.
    #[test]
    fn variables_in_a_recording_are_sent_as_they_stand() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "curl -H 'X-A: $env:PATH' http://127.0.0.1:1/\n").unwrap();
        let plan = plan(&parsed(&format!("--workers 1,2 --requests {}", file.path().display()))).unwrap();
        let requests = plan.load.requests.unwrap().requests;
        assert_eq!(requests[0].headers[0], ("X-A".to_owned(), "$env:PATH".to_owned()));
    }

    #[test]
    fn settings_are_all_combinations_and_wrong_ones_are_refused() {
        let all = settings(&parsed("--quota 0.5,0.25 --workers 1,2")).unwrap();
        let pairs: Vec<_> = all.iter().map(|s| (s.quota.unwrap(), s.workers.unwrap())).collect();
        assert_eq!(pairs, [(0.25, 1), (0.25, 2), (0.5, 1), (0.5, 2)]);
        for (words, said) in [
            ("", "name the resources"),
            ("--quota 0.001", "--quota 0.001"),
            ("--cpus 4000", "--cpus 4000"),
            ("--replicas 1,2", "for n in $(seq $REPLICAS)"),
        ] {
            let error = settings(&parsed(words)).unwrap_err().to_string();
            assert!(error.contains(said), "{words}: {error}");
        }
        assert!(
            uses("a $WORKERS", "$WORKERS") && !uses("a $WORKERS2", "$WORKERS") && uses("${WORKERS:-1}", "$WORKERS")
        );
        assert!(budget_s(&parsed("--budget 5s"), 2).is_err() && budget_s(&parsed(""), 2).is_ok_and(|s| s == 40.0));
    }
}

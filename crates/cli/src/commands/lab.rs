//! `loadline lab NAME`: runs an experiment from a published source.

use std::path::PathBuf;

use experiments::Experiment;
use run::Plan;

use crate::args::{HostArgs, Names, OutArgs, RepeatArgs, plan_of_file, units};
use crate::finish::{self, Ends};
use crate::kept::Kept;
use crate::screen::Screen;
use crate::tables::TABLES;
use crate::{Exit, output};

/// Arguments of `lab`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Name of the experiment (`loadline list experiments`)
    #[arg(value_parser = Names::Rows("experiments"))]
    name: String,
    /// Fewer and shorter trials
    #[arg(long)]
    quick: bool,
    /// Read the plan from a TOML file instead of the built-in one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Set a parameter of the experiment (`loadline explain NAME`), may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = units::pair)]
    set: Vec<(String, String)>,
    /// I/O models to compare (io-models): epoll,uring
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Names::Rows("models"))]
    model: Vec<String>,
    /// Medium between server and clients, if the experiment has hosts: hub100, switch:1G (`loadline list media`)
    #[arg(long, value_name = "MEDIUM", value_parser = Names::Rows("media"))]
    medium: Option<String>,
    /// Address of the experiment's server on --server-host, as the clients reach it [default: that host's name]
    #[arg(long, value_name = "ADDRESS[:PORT]", help_heading = "Other hosts")]
    listen: Option<String>,
    /// Print the experiment's plan and do nothing
    #[arg(long)]
    show_plan: bool,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    repeat: RepeatArgs,
    #[command(flatten)]
    out: OutArgs,
}

/// Runs the experiment, reports the result and stores it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let experiment = experiments::experiment(&args.name)?;
    if args.show_plan {
        output::print(experiment.toml)?;
        return Ok(Exit::Done);
    }
    let plan = plan(args, experiment)?;
    output::catch_interrupts();
    let kept = args.out.prepare(&plan)?;
    // During an experiment, the screen lists the experiment's steps, as with `--verbose`.
    let planned_s = experiment.planned_s(&plan, args.quick);
    let mut screen = Screen::new(&args.out.whole(), planned_s);
    screen.planned(&format!("lab {}", args.name), planned_s);
    let result = experiments::run(experiment, plan, args.quick, kept.as_ref().map(Kept::dir), &mut screen);
    screen.done();
    finish::ended(result, &Ends { kept, json: args.out.json, json_lines: false, used: None, threads: false })
}

/// Returns the experiment's plan, or that of the user's file, with the settings of the flags.
fn plan(args: &Args, experiment: &Experiment) -> anyhow::Result<Plan> {
    let mut plan = match &args.config {
        Some(file) => plan_of_file(file)?,
        None => experiment.plan()?,
    };
    for (name, value) in &args.set {
        let parsed = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::String(value.clone()));
        set(&mut plan, name, parsed);
    }
    experiment.check(&mut plan)?;
    on_hosts(args, &mut plan)?;
    if let Some(medium) = &args.medium {
        anyhow::ensure!(
            plan.lab.contains_key("medium"),
            "experiment {} runs on this machine only: leave --medium out",
            args.name
        );
        set(&mut plan, "medium", medium.clone().into());
    }
    known("model", &args.model)?;
    if !args.model.is_empty() {
        anyhow::ensure!(
            plan.lab.contains_key("models"),
            "experiment {} does not compare I/O models: leave --model out",
            args.name
        );
        set(&mut plan, "models", args.model.clone().into());
    }
    args.repeat.apply(&mut plan);
    Ok(plan)
}

/// Puts the hosts that the user named into the plan. Real hosts have their own network, so a plan with real hosts has
/// no medium (emulated network).
fn on_hosts(args: &Args, plan: &mut Plan) -> anyhow::Result<()> {
    args.hosts.apply(plan)?;
    if plan.hosts.is_empty() {
        anyhow::ensure!(args.listen.is_none(), "--listen needs a server on another host: give --server-host, too");
        return Ok(());
    }
    anyhow::ensure!(args.medium.is_none(), "real hosts have their own network: leave --medium out");
    plan.lab.remove("medium");
    if let Some(listen) = &args.listen {
        set(plan, "listen", listen.clone().into());
    }
    Ok(())
}

/// Fails if one of `names` is not in the table whose name is `what` with an s, such as `models` for `model`.
fn known(what: &'static str, names: &[String]) -> anyhow::Result<()> {
    let table = TABLES.iter().find(|table| table.name == format!("{what}s"));
    let ids: Vec<String> = table.map(|table| (table.rows)()).into_iter().flatten().map(|row| row.id).collect();
    match names.iter().find(|name| !ids.contains(name)) {
        Some(wrong) => Err(lab::LabError::name(what, wrong, ids.iter().map(String::as_str)).into()),
        None => Ok(()),
    }
}

/// Sets a parameter in the plan. Also removes the parameter from the settings for `--quick`, because these settings
/// would override the new value.
fn set(plan: &mut Plan, name: &str, value: serde_json::Value) {
    plan.lab.insert(name.into(), value);
    if let Some(quick) = plan.lab.get_mut("quick").and_then(|q| q.as_object_mut()) {
        quick.remove(name);
    }
}

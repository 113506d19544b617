//! `loadline load`: one fixed intensity.

use run::{Arrival, Intensity, Plan};

use crate::args::{BlockArgs, LoadArgs, TargetArgs, arrival, units};
use crate::finish::{self, Ends};
use crate::screen::Screen;
use crate::{Exit, output};

/// Arguments.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Closed loop: clients, each waits for its answer (the default, with 1)
    #[arg(long, value_name = "N", help_heading = "Intensity", conflicts_with_all = ["rate", "s_clients"])]
    connections: Option<u32>,
    /// Open loop: requests a second, whatever the server does; with --s-clients, connects a second
    #[arg(long, value_name = "R", value_parser = units::rate, help_heading = "Intensity")]
    rate: Option<f64>,
    /// With --rate: constant, poisson, bursty:6,5%,100s or self-similar:0.8
    #[arg(long, value_name = "HOW", value_parser = arrival, help_heading = "Intensity", requires = "rate")]
    arrival: Option<Arrival>,
    /// Open loop: most connections that the pool may grow to
    #[arg(long, value_name = "N", help_heading = "Intensity", requires = "rate", conflicts_with = "s_clients")]
    max_connections: Option<u32>,
    /// S-Clients: D descriptors that are always connecting, each for at most --connect-timeout
    #[arg(long, value_name = "D", help_heading = "Intensity")]
    s_clients: Option<u32>,
    /// Besides, hold this many connections that are not used
    #[arg(long, value_name = "N", help_heading = "Cold connections")]
    cold: Option<u32>,
    /// Open them at this pace, a second (default 2000)
    #[arg(long, value_name = "R", value_parser = units::rate, help_heading = "Cold connections", requires = "cold")]
    cold_rate: Option<f64>,
    /// Send one byte on each of them this often (default: silence)
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Cold connections", requires = "cold")]
    cold_trickle: Option<f64>,
    /// How long to measure
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Intensity")]
    duration: Option<f64>,
    /// 99th percentile of the response time that must hold
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Objective")]
    p99: Option<f64>,
    /// Largest share of requests that may fail
    #[arg(long, value_name = "SHARE", value_parser = units::share, help_heading = "Objective")]
    errors: Option<f64>,
    #[command(flatten)]
    blocks: BlockArgs,
    #[command(flatten)]
    load: LoadArgs,
}

/// T of S-Clients when none is given, milliseconds (source 1).
const T_MS: f64 = 500.0;

/// Loads, reports, and keeps.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    output::catch_interrupts();
    let expected = plan.observe.at_rest_s + plan.load.warmup_s + plan.load.duration_s;
    let (objective, mut screen) = (plan.objective.clone(), Screen::new(args.target.json, expected));
    let result = lab::load(plan, args.target.out.as_deref(), &mut screen);
    screen.done();
    let run = result?;
    let kept = held(&run, args, &objective);
    let exit = finish::finish(run, &Ends { out: args.target.out.as_deref(), json: args.target.json })?;
    Ok(if exit == Exit::Done && !kept { Exit::Failed } else { exit })
}

/// Whether an objective that was asked for holds.
fn held(run: &run::Run, args: &Args, objective: &run::Objective) -> bool {
    let Some(trial) = run.trials.last() else { return true };
    let m = &trial.measured.tally;
    let failed = (m.error_count() + m.unexpected_status) as f64;
    let share = failed / ((m.completed + m.error_count()) as f64).max(1.0);
    let in_time = args.p99.is_none() || trial.latency_us.p99 <= objective.p99_us.unwrap_or(f64::INFINITY);
    in_time && (args.errors.is_none() || share <= objective.errors)
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut plan = args.target.plan("load")?;
    set_intensity(args, &mut plan);
    if let Some(flag) = args.load.out_of_place(&plan.load.intensity) {
        anyhow::bail!(
            "{flag} does not belong to this intensity: a closed loop (--connections) has --pipeline and --think, \
             S-Clients have --think, an open loop has arrivals instead"
        );
    }
    args.load.apply(&mut plan);
    args.blocks.apply(&mut plan)?;
    plan.load.duration_s = args.duration.unwrap_or(plan.load.duration_s);
    if let Some(p99) = args.p99 {
        plan.objective.p99_us = Some(p99 * 1e6);
    }
    plan.cold.connections = args.cold.unwrap_or(plan.cold.connections);
    plan.cold.rate = args.cold_rate.unwrap_or(plan.cold.rate);
    plan.cold.trickle_ms = args.cold_trickle.map_or(plan.cold.trickle_ms, |s| s * 1e3);
    plan.objective.errors = args.errors.unwrap_or(plan.objective.errors);
    plan.check()?;
    Ok(plan)
}

fn set_intensity(args: &Args, plan: &mut Plan) {
    let intensity = &mut plan.load.intensity;
    if let Some(n) = args.connections {
        match &mut *intensity {
            Intensity::Closed { connections, .. } => *connections = n,
            other => *other = Intensity::Closed { connections: n, pipeline: 1, think: run::ThinkTime::default() },
        }
    }
    let arrival = || args.arrival.clone().unwrap_or_default();
    match (args.s_clients, args.rate) {
        (Some(descriptors), rate) => {
            let pace = rate.map(|rate| run::Pace { rate, arrival: arrival() });
            let think = run::ThinkTime::default();
            *intensity = Intensity::SClients { descriptors, connect_timeout_ms: T_MS, think, pace };
        }
        (None, Some(rate)) => {
            let max_connections = args.max_connections.unwrap_or(10_000);
            *intensity = Intensity::Open { rate, arrival: arrival(), max_connections };
        }
        (None, None) => {}
    }
}

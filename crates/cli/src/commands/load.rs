//! `loadline load`: measures a server under one load.

use run::number::span;
use run::{Arrival, Intensity, LoadPlan, Plan};

use crate::args::{
    BlockArgs, HostArgs, LoadArgs, ObjectiveArgs, ObserveArgs, POOL, Rate, RepeatArgs, SeeArgs, T_MS, TargetArgs,
    arrival, arrival_help, mix, rate, units,
};
use crate::finish::{self, Ends};
use crate::kept::Kept;
use crate::screen::{self, Screen};
use crate::{Exit, output};

/// Arguments of `load`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    target: TargetArgs,
    /// Closed loop: clients that each wait for their answer
    #[arg(long, value_name = "N", help_heading = "Intensity", conflicts_with_all = ["rate", "s_clients"])]
    connections: Option<u32>,
    /// Closed loop: users, each with a connection, who pause for --think after each answer
    #[arg(long, value_name = "N", help_heading = "Intensity", requires = "think", conflicts_with_all = ["rate", "s_clients", "connections", "speed"])]
    users: Option<u32>,
    /// Closed loop: open R connections per second; requests begin when all are open
    #[arg(long, value_name = "R", value_parser = units::rate, help_heading = "Intensity", conflicts_with_all = ["rate", "s_clients", "new_connections"])]
    connect_rate: Option<f64>,
    /// Open loop: requests per second, even if the server is slower; with --s-clients, connects per second. Ramp:
    /// 100..5000/60s; steps: 100,200,400/10s; repeated: sine:100..500/20s, spike:100..1000/30s,2s; any other:
    /// [[load.stages]] of --config
    #[arg(long, value_name = "R", value_parser = rate, help_heading = "Intensity")]
    rate: Option<Rate>,
    /// Send requests at the times in a file: seconds, one per line, or a CSV column (--arrivals-column)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "connections", "s_clients", "users", "replay"], help_heading = "Intensity")]
    arrivals: Option<std::path::PathBuf>,
    /// CSV column with the times
    #[arg(long, value_name = "NAME", requires = "arrivals", help_heading = "Intensity")]
    arrivals_column: Option<String>,
    /// Keep the recorded times of --replay or --arrivals, N times faster
    #[arg(long, value_name = "N", value_parser = speed, conflicts_with_all = ["rate", "connections", "s_clients"], help_heading = "Intensity")]
    speed: Option<f64>,
    #[arg(long, value_name = "HOW", value_parser = arrival, help = arrival_help(), help_heading = "Intensity", requires = "rate")]
    arrival: Option<Arrival>,
    /// Open loop: most connections in the pool, which grows while requests wait, up to twice the need by Little's law
    #[arg(long, value_name = "N", help_heading = "Intensity", requires = "rate", conflicts_with = "s_clients")]
    max_connections: Option<u32>,
    /// S-Clients: keep D sockets connecting, each for at most --connect-timeout
    #[arg(long, value_name = "D", help_heading = "Intensity")]
    s_clients: Option<u32>,
    /// Also hold N idle connections
    #[arg(long, value_name = "N", help_heading = "Idle connections")]
    cold: Option<u32>,
    /// Idle connections opened per second
    #[arg(long, value_name = "R", value_parser = units::rate, help_heading = "Idle connections", requires = "cold")]
    cold_rate: Option<f64>,
    /// Send one byte on each idle connection this often
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Idle connections", requires = "cold")]
    cold_trickle: Option<f64>,
    /// Measured time
    #[arg(long, value_name = "TIME", value_parser = units::seconds, help_heading = "Intensity")]
    duration: Option<f64>,
    #[command(flatten)]
    objective: ObjectiveArgs,
    #[command(flatten)]
    blocks: BlockArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    observe: ObserveArgs,
    #[command(flatten)]
    hosts: HostArgs,
    #[command(flatten)]
    repeat: RepeatArgs,
    #[command(flatten)]
    see: SeeArgs,
}

/// Runs the load, reports the result and stores it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let plan = plan(args)?;
    output::catch_interrupts();
    let once_s = plan.load.warmup_s + plan.load.duration_s;
    let expected = plan.observe.at_rest_s + once_s * f64::from(plan.repeat_count());
    let kept = args.target.out.prepare(&plan)?;
    let screen = Screen::seen(&args.target.out, &args.see, expected, &screen::title(&plan))?;
    // During the load, the user can change the rate by hand only if the rate has no stages.
    let mut screen = screen.by_hand(args.rate.as_ref().filter(|rate| rate.stages.is_empty()).map(|rate| rate.mean));
    let result = lab::load(plan, kept.as_ref().map(Kept::dir), &mut screen);
    let used = screen.done();
    finish::ended(result, &Ends::of(&args.target.out, kept, used).seen(&args.see))
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let mut plan = args.target.plan("load")?;
    match &args.arrivals {
        Some(file) => {
            // The times in the file of `--arrivals` replace the times recorded in a file of requests.
            plan.load.requests.iter_mut().for_each(|set| set.recorded = None);
            plan.load.arrivals = Some(arrivals(file, args)?);
        }
        None => mix::in_time(&mut plan, args.speed)?,
    }
    set_intensity(args, &mut plan)?;
    if let Some(flag) = args.load.out_of_place(&plan.load.intensity) {
        anyhow::bail!(
            "{flag} does not belong to this intensity: a closed loop (--connections) has --pipeline and --think, \
             an open loop (--rate) has --pipeline, S-Clients have --think"
        );
    }
    anyhow::ensure!(
        args.connect_rate.is_none() || matches!(plan.load.intensity, Intensity::Closed { .. }),
        "--connect-rate does not belong to this intensity: only a closed loop (--connections) opens all its connections \
         before the requests begin"
    );
    args.load.apply(&mut plan)?;
    anyhow::ensure!(
        !args.load.warms_up() || plan.load.stages.is_empty() && plan.load.recorded().is_none(),
        "--warmup belongs to a constant load: stages and recorded times are measured from their start, so leave it out"
    );
    args.blocks.apply(&mut plan)?;
    one_after_the_other(&mut plan, args.connect_rate);
    plan.load.duration_s = args.duration.unwrap_or(plan.load.duration_s);
    anyhow::ensure!(args.duration.is_some() || recording_fits(&plan.load), too_long(&plan.load));
    args.objective.apply(&mut plan);
    args.objective.allow_expected_errors(&mut plan);
    anyhow::ensure!(
        plan.expect.iter().all(|expected| expected.figure != "capacity"),
        "one fixed load shows no capacity: expect 'rate>=…' of it, or run `loadline find` with this expectation"
    );
    args.repeat.apply(&mut plan);
    args.observe.apply(&mut plan)?;
    args.hosts.apply(&mut plan)?;
    plan.cold.connections = args.cold.unwrap_or(plan.cold.connections);
    plan.cold.rate = args.cold_rate.unwrap_or(plan.cold.rate);
    mix::enough_rows(&plan)?;
    plan.cold.trickle_ms = args.cold_trickle.map_or(plan.cold.trickle_ms, |s| s * 1e3);
    Ok(plan)
}

/// Limits the rate at which the connections of a closed loop open. Extends the warm-up by the time for opening the
/// connections, because the request rate cannot be steady before all connections are open.
fn one_after_the_other(plan: &mut Plan, connect_rate: Option<f64>) {
    let (Some(rate), Intensity::Closed { connections, .. }) = (connect_rate, &plan.load.intensity) else { return };
    let opening_s = f64::from(*connections) / rate.max(1e-3);
    plan.load.connect_rate = rate;
    plan.load.warmup_s += opening_s;
    plan.load.least_warmup_s += opening_s;
}

/// Reads arrival times of requests from a file, and sets the speed of the replay.
fn arrivals(file: &std::path::Path, args: &Args) -> anyhow::Result<run::ArrivalTimes> {
    let (mut times, remarks) = requests::read_arrivals(file, args.arrivals_column.as_deref())?;
    mix::tell(&remarks);
    times.speed = args.speed.unwrap_or(1.0);
    Ok(run::ArrivalTimes { from: file.display().to_string(), count: times.gaps_us.len() as u64, times: Some(times) })
}

/// Parses the speed of a replay, relative to the recorded times: `1`, `10x` or `0.5`.
fn speed(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches(['x', 'X']).parse().ok().filter(|n| (0.001..=100_000.0).contains(n));
    number.ok_or_else(|| format!("{text:?} is not a speed; write 1, 10 or 0.5"))
}

/// If the plan has recorded times, turns the load into an open loop with these times, and sets the loop's mean rate and
/// duration.
fn replayed(plan: &mut Plan) {
    let Some((span_s, n)) = plan.load.recorded().map(|times| (times.span_s(), times.gaps_us.len())) else { return };
    // The measured time ends one mean gap after the last request. The number of requests divided by the measured time
    // is then the mean rate.
    let window_s = (span_s * n as f64 / (n as f64 - 1.0).max(1.0)).max(MIN_RECORDED_S);
    let rate = n as f64 / window_s;
    plan.load.intensity = Intensity::Open { rate, arrival: Arrival::default(), max_connections: POOL, pipeline: 1 };
    (plan.load.duration_s, plan.load.warmup_s) = (window_s, 0.0);
}

/// Returns true unless the load replays a recording that is longer than any load may be.
fn recording_fits(load: &LoadPlan) -> bool {
    load.recorded().is_none() || load.duration_s <= run::MAX_DURATION_S
}

/// Returns the message about a recording that is longer than any load may be. A line with a wrong date may be the reason.
fn too_long(load: &LoadPlan) -> String {
    format!(
        "the replay would take {}, and a load lasts at most {}: if a line has a wrong date, remove this line; otherwise \
         replay faster (--speed), or only the beginning (--duration TIME)",
        span(load.recorded().map_or(load.duration_s, run::RecordedTimes::span_s)),
        span(run::MAX_DURATION_S)
    )
}

/// Minimum measured time, seconds, of a load that sends requests at times from a recording (`--replay` or
/// `--arrivals`). Even if the recording has the same time for all requests, the answers need some time.
const MIN_RECORDED_S: f64 = 0.1;

/// Removes the stages of the plan file if the command line names an intensity, which replaces them. If the plan file
/// sets no measured time of its own, the load gets the default measured time and the default warm-up. Otherwise the
/// load would keep the total time of the removed stages.
fn replace_stages(args: &Args, load: &mut LoadPlan) {
    let is_count = [args.connections, args.users, args.s_clients].iter().any(Option::is_some);
    let is_timed = args.rate.is_some() || args.arrivals.is_some() || args.speed.is_some();
    if load.stages.is_empty() || !(is_count || is_timed) {
        return;
    }
    let length_s: f64 = load.stages.iter().map(|stage| stage.seconds).sum();
    load.stages.clear();
    if (load.duration_s, load.warmup_s) == (length_s, 0.0) {
        let default = LoadPlan::default();
        (load.duration_s, load.warmup_s) = (default.duration_s, default.warmup_s);
    }
}

fn set_intensity(args: &Args, plan: &mut Plan) -> anyhow::Result<()> {
    replace_stages(args, &mut plan.load);
    replayed(plan);
    let intensity = &mut plan.load.intensity;
    if let Some(n) = args.connections.or(args.users) {
        match &mut *intensity {
            Intensity::Closed { connections, .. } => *connections = n,
            other => *other = Intensity::Closed { connections: n, pipeline: 1, think: run::ThinkTime::default() },
        }
    }
    let arrival = || args.arrival.clone().unwrap_or_default();
    match (args.s_clients, args.rate.as_ref()) {
        (Some(descriptors), rate) => {
            let even = rate.is_none_or(|rate| rate.stages.is_empty());
            anyhow::ensure!(even, "S-Clients need a constant rate: give --rate R");
            let pace = rate.map(|rate| run::Pace { rate: rate.mean, arrival: arrival() });
            let think = run::ThinkTime::default();
            *intensity = Intensity::SClients { descriptors, connect_timeout_ms: T_MS, think, pace };
        }
        (None, Some(rate)) => {
            let max_connections = args.max_connections.unwrap_or(POOL);
            *intensity = Intensity::Open { rate: rate.mean, arrival: arrival(), max_connections, pipeline: 1 };
            if !rate.stages.is_empty() {
                // The first stage begins with the load. loadline does not measure during a warm-up, so a load with
                // stages has no warm-up.
                let (stages, length_s) = rate.over(args.duration).map_err(anyhow::Error::msg)?;
                (plan.load.stages, plan.load.duration_s, plan.load.warmup_s) = (stages, length_s, 0.0);
            }
        }
        (None, None) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests;

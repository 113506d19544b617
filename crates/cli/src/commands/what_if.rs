//! `loadline what-if`: predicts the capacity that a measured server would have with other resources or users.

use std::path::PathBuf;

use run::Change;

use crate::args::{FormArgs, units};
use crate::{Exit, output};

/// Arguments of `what-if`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Directory of a run, or its run.json
    run: PathBuf,
    /// CPUs that the server may use
    #[arg(long, value_name = "N", value_parser = units::many)]
    server_cpus: Option<f64>,
    /// CPU quota of the server's control group, in CPUs
    #[arg(long, value_name = "CPUS", value_parser = units::many)]
    quota: Option<f64>,
    /// Rate of the link: 100mbit, 1gbit
    #[arg(long, value_name = "RATE", value_parser = units::bits_per_s)]
    link: Option<f64>,
    /// Added round-trip time
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    delay: Option<f64>,
    /// Requests that the server handles at a time: workers, threads or slots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    workers: Option<u32>,
    /// Users, each with one request at a time [default: the clients of the run's decisive trial]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    users: Option<u32>,
    /// Pause of a user between an answer and the next request
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    think: Option<f64>,
    /// Requests per second that arrive at random (open loop)
    #[arg(long, value_name = "RATE", value_parser = units::rate, conflicts_with_all = ["users", "think"])]
    rate: Option<f64>,
    /// Change of the server's CPU time per request: -20% or +10%
    #[arg(long, value_name = "CHANGE", value_parser = units::change, allow_hyphen_values = true)]
    request_cpu: Option<f64>,
    #[command(flatten)]
    form: FormArgs,
}

/// Judges the run, computes the prediction and prints it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut run = crate::run_folder::load_run(&args.run)?;
    judge::judge(&mut run);
    let change = Change {
        server_cpus: args.server_cpus,
        quota_cpus: args.quota,
        link_bytes_per_s: args.link.map(|bits| bits / 8.0),
        delay_s: args.delay,
        workers: args.workers,
        // A run does not contain the number of replicas of its server.
        replicas: None,
        users: args.users,
        think_s: args.think,
        rate: args.rate,
        request_cpu: args.request_cpu.map(|change| 1.0 + change),
    };
    let answer = judge::what_if(&run, &change).map_err(anyhow::Error::msg)?;
    let form = args.form.name();
    let name = args.run.display().to_string();
    output::print(&report::render_what_if(form, &answer, &name, &output::style())?)?;
    Ok(Exit::Done)
}

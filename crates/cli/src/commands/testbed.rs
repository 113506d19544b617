//! `loadline testbed`: makes virtual hosts, joined by emulated networks (media), in which other programs can run. The
//! hosts and networks exist under a name until the user removes them.

use std::fmt::Write as _;
use std::os::unix::process::CommandExt as _;

use anyhow::Context as _;
use clap::Subcommand;
use testbed::named::{self, Status};
use testbed::{Medium, Spec};

use crate::args::Names;
use crate::{Exit, output};

/// Subcommands.
#[derive(Subcommand)]
pub(crate) enum Args {
    /// Make hosts joined by a medium and keep them under a name
    Up(Up),
    /// Run a program in a host
    Exec {
        /// Name of the testbed
        name: String,
        /// Name of the host
        host: String,
        /// Program and its arguments
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Show running testbeds and the counters of their media
    Status {
        /// Name of the testbed [default: all]
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// End a testbed with every program in it
    #[command(group = clap::ArgGroup::new("which").args(["names", "all"]).required(true))]
    Down {
        /// Names of the testbeds
        names: Vec<String>,
        /// All running testbeds
        #[arg(long)]
        all: bool,
    },
    /// Keep a testbed running; started by `up`
    #[command(hide = true)]
    Keep(Up),
}

/// Arguments of `up`.
#[derive(clap::Args)]
pub(crate) struct Up {
    /// Name of the testbed
    name: String,
    /// Medium between the hosts: ethernet10, hub100, switch:100M, wan:delay=50ms,loss=1%, loopback
    #[arg(long, value_name = "MEDIUM", default_value = "ethernet10", value_parser = Names::Rows("media"))]
    medium: String,
    /// Names of the hosts, separated by commas [default: server and those of --clients]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "clients")]
    hosts: Vec<String>,
    /// A host `server` and this many hosts `client1`, `client2`, …
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: usize,
}

impl Up {
    fn spec(&self) -> Spec {
        match self.hosts.is_empty() {
            true => Spec::server_and_clients(self.clients, &self.medium),
            false => Spec { hosts: self.hosts.clone(), ..Spec::server_and_clients(0, &self.medium) },
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match args {
        Args::Up(up) => make(up)?,
        Args::Keep(up) => named::keep(&up.name, &up.spec(), |_| drop(output::print("ready\n")))?,
        Args::Exec { name, host, command } => exec(name, host, command)?,
        Args::Status { name, json } => status(name.as_deref(), *json)?,
        Args::Down { names, all } => down(if *all { named::names() } else { names.clone() })?,
    }
    Ok(Exit::Done)
}

fn make(up: &Up) -> anyhow::Result<()> {
    Medium::parse(&up.medium)?;
    let program = std::env::current_exe().context("cannot find the path of this program, which keeps the testbed")?;
    let hosts = up.spec().hosts.join(",");
    let arguments = ["testbed", "keep", &up.name, "--medium", &up.medium, "--hosts", &hosts].map(String::from);
    let status = named::up(&up.name, &program, &arguments)?;
    output::print(&text(&status))
}

fn exec(name: &str, host: &str, command: &[String]) -> anyhow::Result<()> {
    let (program, arguments) = command.split_first().context("name a program to run")?;
    let error = named::command(name, host, program)?.args(arguments).exec();
    let advice = "a host sees this machine's files: name an installed program, or its path";
    Err(anyhow::anyhow!("cannot run {program} in {host} of {name}: {error}; {advice}"))
}

fn status(name: Option<&str>, json: bool) -> anyhow::Result<()> {
    let names = name.map_or_else(named::names, |name| vec![name.to_string()]);
    let mut found = Vec::new();
    for name in &names {
        found.extend(named::status(name)?);
    }
    if let (Some(name), true) = (name, found.is_empty()) {
        anyhow::bail!("testbed {name:?} is not up; make it with `loadline testbed up {name}`");
    }
    match (json, found.is_empty()) {
        (true, _) => output::print(&format!("{}\n", serde_json::to_string(&found)?)),
        (false, true) => output::print("no testbed is up\n"),
        (false, false) => output::print(&found.iter().map(text).collect::<Vec<_>>().join("\n")),
    }
}

fn down(names: Vec<String>) -> anyhow::Result<()> {
    for name in names {
        match named::down(&name)? {
            true => output::print(&format!("{name} is down\n"))?,
            false => output::print(&format!("{name} was not up\n"))?,
        }
    }
    Ok(())
}

fn text(status: &Status) -> String {
    let mut text = format!("{} on {} ({})\n", status.name, status.medium, status.made_of);
    for host in &status.hosts {
        let _ = writeln!(text, "  {:<12} {:<15} process {}", host.name, host.address, host.netns_pid);
    }
    let count = |id: &str, instance: &str| {
        status.medium_use.column(id, instance).and_then(|c| c.values.last().copied().flatten()).unwrap_or(0.0)
    };
    for wire in status.medium_use.columns_of("medium.bytes") {
        let count = |id| count(id, &wire.instance);
        let _ = writeln!(
            text,
            "  {}{}: {} frames, {} bytes with framing, busy {:.3} s, {} waited, {} dropped, {} lost on purpose",
            wire.instance,
            status
                .medium_use
                .column("medium.rate", &wire.instance)
                .map_or_else(String::new, |_| { format!(" at {} Mbit/s", count("medium.rate") * 8e-6) }),
            count("medium.frames"),
            count("medium.bytes"),
            count("medium.busy") / 1e6,
            count("medium.deferrals"),
            count("medium.drops"),
            count("medium.lost")
        );
    }
    text
}

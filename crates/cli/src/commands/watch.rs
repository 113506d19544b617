//! `loadline watch`: reads the counters of a server while other programs load it.

use std::net::SocketAddr;

use run::{Address, Plan};

use crate::args::{BehindArgs, OutArgs, SeeArgs, ServerHostArgs, units};
use crate::finish::{self, Ends};
use crate::kept::Kept;
use crate::screen::Screen;
use crate::{Exit, output};

/// Arguments of `watch`.
#[derive(clap::Args)]
#[command(group = clap::ArgGroup::new("server").args(["server_pid", "port"]).required(true))]
pub(crate) struct Args {
    /// Process of the server, with its children
    #[arg(long, value_name = "PID")]
    server_pid: Option<u32>,
    /// Port of the server, or address with a port
    #[arg(long, value_name = "PORT", value_parser = listener)]
    port: Option<SocketAddr>,
    /// Time to watch [default: until Ctrl-C, or until the server ends]
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    duration: Option<f64>,
    /// Time between two samples of the counters [default: 500ms]
    #[arg(long, value_name = "TIME", value_parser = units::seconds)]
    interval: Option<f64>,
    /// Also sample the threads of the server, and show what they wait for, as `loadline waits` does
    #[arg(long)]
    waits: bool,
    /// Sample these threads without their stacks
    #[arg(long, requires = "waits")]
    no_stacks: bool,
    #[command(flatten)]
    behind: BehindArgs,
    #[command(flatten)]
    host: ServerHostArgs,
    #[command(flatten)]
    see: SeeArgs,
    #[command(flatten)]
    out: OutArgs,
}

/// Watches the server, judges the run and stores it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut plan = Plan { command: "watch".into(), ..Plan::default() };
    plan.target.server_pid = args.server_pid;
    plan.target.url = args.port.map(|at| format!("tcp://{at}")).unwrap_or_default();
    // Without `--duration`, the watch ends when the user stops it or the server ends.
    plan.load.duration_s = args.duration.unwrap_or(run::MAX_DURATION_S);
    plan.observe.interval_s = args.interval.unwrap_or(plan.observe.interval_s);
    plan.observe.waits = args.waits;
    plan.observe.no_stacks = args.no_stacks;
    args.behind.apply(&mut plan)?;
    args.host.apply(&mut plan)?;
    output::catch_interrupts();
    let kept = args.out.prepare(&plan)?;
    let whom = match (args.port, args.server_pid) {
        (Some(at), _) => at.to_string(),
        (None, pid) => format!("process {}", pid.unwrap_or_default()),
    };
    let place = args.host.name().map_or(String::new(), |host| format!(" on {host}"));
    let mut screen = Screen::watching(&args.out, &args.see, args.duration, &format!("loadline watch {whom}{place}"))?;
    let result = lab::watch_server(plan, args.port.map(Address::Inet), kept.as_ref().map(Kept::dir), &mut screen);
    let used = screen.done();
    finish::ended(result, &Ends::of(&args.out, kept, used).seen(&args.see).with_threads(args.waits))
}

/// Parses the port or the address of the server to watch. A bare port means a listener at any address of this machine.
pub(super) fn listener(text: &str) -> Result<SocketAddr, String> {
    let bare = text.parse::<u16>().ok().filter(|port| *port > 0).map(|port| SocketAddr::from(([0, 0, 0, 0], port)));
    bare.or_else(|| text.parse().ok()).ok_or_else(|| format!("{text:?} is not a port; write 8080 or 127.0.0.1:8080"))
}

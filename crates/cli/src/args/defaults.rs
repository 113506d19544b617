//! Default values of flags, for the help texts. The values come from the default plan, so the help texts are always up
//! to date.

use clap::{Arg, Command};
use run::{Blocks, Objective, Plan};

/// Names of the commands whose flags set the values of a plan.
const PLANNED: &[&str] = &["find", "load", "prove"];

/// Row of [`DEFAULTS`]: command (`""` for all commands), name of a flag, and function that formats the flag's default
/// value.
type Row = (&'static str, &'static str, fn(&Plan) -> String);

const DEFAULTS: &[Row] = &[
    ("", "server_pid", |_| "found from the listening socket".into()),
    ("", "method", |_| "GET, with --body POST".into()),
    ("", "expect_status", |_| "2xx or 3xx".into()),
    ("", "expect_bytes", |_| "all until the server closes".into()),
    ("", "message_bytes", |_| "by the protocol".into()),
    ("", "record_bytes", |_| "by the protocol".into()),
    ("", "threads", |p| p.load.threads.to_string()),
    ("", "io", |_| super::rows::io_default()),
    ("", "source", |_| "chosen by the kernel".into()),
    ("", "cpus", |_| "all that a local server does not use".into()),
    ("", "seed", |p| p.load.seed.to_string()),
    ("", "warmup", |p| time(p.load.warmup_s)),
    ("", "timeout", |p| time(p.load.timeout_s)),
    ("", "connect_timeout", |p| format!("{}, T {}", time(p.load.connect_timeout_s), time(super::T_MS / 1e3))),
    ("", "pipeline", |_| "1".into()),
    ("", "think", |_| "no pause".into()),
    ("", "interval", |p| time(p.observe.interval_s)),
    ("", "at_rest", |p| time(p.observe.at_rest_s)),
    ("find", "p50", |_| "10 times the unloaded median, unless another limit is given".into()),
    ("find", "p99", |_| "with the default --p50: 100ms or 100 unloaded medians, whichever is longer".into()),
    ("", "p99_9", |_| "no limit".into()),
    ("", "mean", |_| "no limit".into()),
    ("find", "precision", |p| format!("{}%", 100.0 * p.search.precision)),
    ("find", "errors", |_| errors()),
    ("load", "errors", |_| format!("{}, or what --expect allows", errors())),
    ("find", "budget", |p| time(p.search.budget_s)),
    ("find", "connections", |p| p.search.max_connections.to_string()),
    ("find", "prove", |_| "default".into()),
    ("find", "prove_dir", |_| "the disk is not slowed".into()),
    ("prove", "connections", |_| crate::commands::prove::CONNECTIONS.to_string()),
    ("prove", "budget", |_| time(crate::commands::prove::BUDGET_S)),
    ("prove", "prove_dir", |_| "the disk is not slowed".into()),
    ("load", "connections", |_| "1".into()),
    ("load", "connect_rate", |_| "all at once".into()),
    ("load", "arrival", |_| super::rows::arrival_default()),
    ("load", "max_connections", |_| super::POOL.to_string()),
    ("load", "cold", |p| p.cold.connections.to_string()),
    ("load", "cold_rate", |p| p.cold.rate.to_string()),
    ("load", "cold_trickle", |_| "silence".into()),
    ("load", "duration", |p| time(p.load.duration_s)),
    ("load", "p50", |_| "no limit".into()),
    ("load", "p99", |_| "no limit".into()),
    ("load", "block", |_| Blocks::default().block.to_string()),
    ("load", "block_rate", |_| "as fast as answers come".into()),
    ("load", "sends_per_connection", |_| "until the end".into()),
];

/// Returns the default limit on the share of failed requests, in percent.
fn errors() -> String {
    format!("{}%", 100.0 * Objective::default().errors)
}

/// Returns a copy of a command whose help shows the default value of each flag that has a default.
pub(crate) fn shown(command: Command) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_string()).collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(&name, |sub| {
            let sub = super::foreign::accepted(&name, shown(sub));
            sub.mut_args(|arg| short_help(&name, with_default(&name, arg)))
        })
    })
}

fn with_default(command: &str, arg: Arg) -> Arg {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let takes_one = arg.get_action().takes_values() && !arg.is_required_set() && !arg.is_positional();
    if !takes_one || !arg.get_default_values().is_empty() || help.contains("[default") {
        return arg;
    }
    let wanted = |row: &&Row| row.1 == id(&arg) && (row.0.is_empty() || row.0 == command);
    let row = DEFAULTS.iter().filter(|_| PLANNED.contains(&command)).find(wanted);
    let Some(row) = row else { return arg };
    arg.help(format!("{help} [default: {}]", (row.2)(&Plan::default())))
}

/// Flags that the short help (`-h`) of the commands in [`PLANNED`] shows. `--help` shows all flags.
const SHORT_HELP: &[&str] = &[
    "target",
    "authorized",
    "method",
    "header",
    "body",
    "requests",
    "replay",
    "speed",
    "connections",
    "users",
    "rate",
    "duration",
    "think",
    "timeout",
    "budget",
    "prove",
    "p99",
    "errors",
    "expect",
    "client_hosts",
    "out",
    "json",
];

/// Flags that the short help (`-h`) of `compare` shows.
const SHORT_HELP_OF_COMPARE: &[&str] = &[
    "first",
    "second",
    "old",
    "new",
    "baseline",
    "threshold",
    "undecided",
    "budget",
    "connections",
    "command_a",
    "command_b",
    "authorized",
    "header",
    "requests",
    "replay",
    "out",
    "json",
    "verbose",
];

/// Hides a flag in the short help (`-h`) of the commands that have many flags, unless the flag is one of the most used.
fn short_help(command: &str, arg: Arg) -> Arg {
    let shown = match command {
        "compare" => SHORT_HELP_OF_COMPARE,
        _ if PLANNED.contains(&command) => SHORT_HELP,
        _ => return arg,
    };
    if shown.contains(&id(&arg).as_str()) { arg } else { arg.hide_short_help(true) }
}

/// Returns the identifier of a flag, with `_` in place of `-`.
fn id(arg: &Arg) -> String {
    arg.get_id().as_str().replace('-', "_")
}

/// Formats seconds as a user writes a time on the command line: `500ms`, `10s`.
fn time(seconds: f64) -> String {
    if seconds < 1.0 { format!("{}ms", seconds * 1e3) } else { format!("{seconds}s") }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Cli;

    #[test]
    fn every_row_is_a_flag_and_every_flag_shows_its_default() {
        let plain = Cli::command();
        for (command, flag, _) in DEFAULTS {
            let of =
                |name: &str| plain.find_subcommand(name).is_some_and(|c| c.get_arguments().any(|a| id(a) == *flag));
            assert!(PLANNED.iter().any(|name| (command.is_empty() || name == command) && of(name)), "{command} {flag}");
        }
        let command = shown(Cli::command());
        let find = command.find_subcommand("find").unwrap().clone().render_long_help().to_string();
        for words in ["[default: 30s]", "[default: 0.1%]", "[default: 500ms]", "[default: 1024]"] {
            assert!(find.contains(words), "{words}: {find}");
        }
        assert!(!find.contains("[default: none]"));
        for name in PLANNED.iter().chain(&["compare"]) {
            let sub = || command.find_subcommand(name).unwrap().clone();
            // A line of a help text that begins with a flag is indented further than the flags.
            let is_flag = |line: &&str| line.find(|c| c != ' ').is_some_and(|at| at < 8 && line[at..].starts_with('-'));
            let flags = |help: String| help.lines().filter(is_flag).count();
            let (short, long) = (flags(sub().render_help().to_string()), flags(sub().render_long_help().to_string()));
            assert!((12..=21).contains(&short) && long > 2 * short, "{name}: {short} of {long}");
        }
        let of = |id: &String| {
            PLANNED
                .iter()
                .any(|name| plain.find_subcommand(name).is_some_and(|c| c.get_arguments().any(|a| super::id(a) == *id)))
        };
        for known in SHORT_HELP {
            assert!(of(&(*known).to_owned()), "{known}");
        }
        let compare = plain.find_subcommand("compare").unwrap();
        for known in SHORT_HELP_OF_COMPARE {
            assert!(compare.get_arguments().any(|arg| super::id(arg) == *known), "{known}");
        }
    }
}

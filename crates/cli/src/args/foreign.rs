//! Flags of other load generators. loadline accepts a flag that means the same as one of its own flags. If a user gives
//! another generator's flag with another meaning, the error names the right flag of loadline.

use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

/// Flags that loadline accepts as aliases. Each row has a command, the ID of loadline's own flag, and the short and
/// long aliases of this flag.
const ACCEPTED: &[(&str, &str, &[char], &[&str])] = &[
    ("load", "connections", &['c'], &["concurrency", "vus"]),
    ("load", "duration", &['d', 'z'], &[]),
    ("load", "rate", &['q'], &["qps"]),
    ("prove", "connections", &['c'], &["concurrency", "vus"]),
    ("prove", "rate", &['q'], &["qps"]),
    ("compare", "connections", &['c'], &["concurrency", "vus"]),
];

/// Tips for flags that loadline does not accept. Each row contains the commands, their flags, and the tip for these
/// flags. A row without commands applies to every command that generates load.
const ANSWERS: &[(&[&str], &[&str], &str)] = &[
    (
        &["find"],
        &["-c", "--concurrency", "--vus"],
        "find tries many numbers of connections, up to --connections N; for one number: loadline load --connections N",
    ),
    (
        &["size"],
        &["-c", "--concurrency", "--vus"],
        "size tries many numbers of connections for each setting, up to --connections N",
    ),
    (
        &["find", "prove", "size"],
        &["-d", "-z", "--duration"],
        "--budget TIME is the time for the whole search; for one load: loadline load --duration TIME",
    ),
    (
        &["compare"],
        &["-d", "-z", "--duration"],
        "--budget TIME is the time for all windows of both servers; for one load: loadline load --duration TIME",
    ),
    (
        &["compare"],
        &["-q", "--qps", "--rate", "-r", "-R", "--rps"],
        "compare sends as fast as the servers answer; at one rate: make two runs with loadline load --rate R --out DIR, \
         then loadline compare DIR DIR",
    ),
    (
        &["arena"],
        &["-c", "--concurrency", "--vus", "--connections"],
        "the file of the arena sets it for each load: connections = N",
    ),
    (
        &["arena"],
        &["-q", "--qps", "--rate", "-r", "-R", "--rps"],
        "arena searches the capacity of each server and chooses a rate for all by itself",
    ),
    (&["arena"], &["-d", "-z", "--duration"], "--budget TIME is the time for all servers and loads together"),
    (&["size"], &["-q", "--qps", "--rate", "-r", "-R", "--rps"], "size searches the rate of each setting"),
    (&["find"], &["-q", "--qps", "--rate", "-r", "-R"], "find searches the rate; for one rate: loadline load --rate R"),
    (
        &["find", "prove", "compare", "size", "arena"],
        &["-n", "--number", "--iterations"],
        "requests are not counted; --budget TIME sets the time",
    ),
    (
        &["watch", "waits"],
        &["-c", "--connections", "--concurrency", "--vus"],
        "this command sends no requests, it only observes a server; one load: loadline load URL --connections N",
    ),
    (&["watch"], &["-i"], "--interval TIME is the time between two samples of the counters"),
    (&["watch"], &["-w"], "--waits also samples the threads of the server"),
    (&["waits"], &["-i", "--interval"], "waits chooses the time between samples itself; --duration TIME sets the time"),
    (&["waits"], &["-w", "--waits"], "waits always samples the threads; --duration TIME sets the time"),
    (&["serve"], &["-p", "--port", "-l", "-b", "--bind", "--host"], "--listen 127.0.0.1:PORT sets the address"),
    (&["serve"], &["-t", "--workers", "-n", "--number"], "--threads N sets the worker threads"),
    (&["watch", "waits"], &["-p", "--pid"], "--server-pid PID names the server's process, --port PORT its port"),
    (&["watch", "waits"], &["-d", "-z", "-t"], "--duration TIME sets the time"),
    (&["serve"], &["-c", "--cpu", "--cpuset"], "--cpus LIST names the CPUs that the server may run on"),
    (&["serve"], &["-d", "--dir", "--directory"], "--root DIR serves the files of a directory"),
    (
        &["lab"],
        &["-c", "-d", "-z", "-n", "-q", "--connections", "--concurrency", "--vus", "--duration", "--rate", "--qps"],
        "--set NAME=VALUE sets a parameter of the experiment (loadline explain NAME), --quick shortens all trials",
    ),
    (
        &["what-if"],
        &["-c", "--connections", "--concurrency", "--vus", "--clients"],
        "--users N predicts another number of users; to measure it: loadline load URL --connections N",
    ),
    (&["what-if"], &["-q", "--qps", "--rps"], "--rate R predicts R requests per second"),
    (
        &["what-if"],
        &["-d", "-z", "-n", "--duration"],
        "this command only predicts, from a kept run; to measure: loadline load URL --duration TIME",
    ),
    (&["probe"], &["-d", "-z", "-t", "--duration"], "--seconds S sets the length of the trial"),
    (&["probe"], &["-c", "-n", "--connections", "--vus"], "the workload file says how much is done in parallel"),
    (
        &[],
        &["-n", "--number", "--iterations", "--max-requests", "--total", "--total-requests", "--num-requests"],
        "requests are not counted; --duration TIME sets the time",
    ),
    (&[], &["--clients", "--parallel", "--workers-count"], "--connections N sets the clients: each has a connection"),
    (
        &[],
        &["--no-keepalive", "--no-keep-alive", "--disable-keep-alive", "--disable-keepalive"],
        "--new-connections opens a connection for each request",
    ),
    (&[], &["-A", "--user-agent"], "--header 'User-Agent: NAME' sets the header"),
    (&[], &["-t"], "--threads N sets the generator's threads (wrk), --timeout TIME the longest answer (hey, oha)"),
    (
        &[],
        &["-r", "-R", "--rps", "--request-rate", "--arrival-rate", "--req-rate"],
        "--rate R offers R requests per second",
    ),
    (
        &[],
        &["-i"],
        "--body FILE sends the bytes of a file (autocannon), --duration TIME sets the time instead of a number of requests \
         (k6)",
    ),
    (&[], &["-w"], "--threads N sets the generator's threads"),
    (
        &[],
        &["--request-cpu"],
        "loadline what-if RUN --request-cpu +20% predicts the effect of requests that need more CPU time",
    ),
    (
        &[],
        &["--server-cpus", "--quota", "--workers", "--link", "--delay"],
        "loadline what-if RUN predicts the effect of other resources: --server-cpus, --quota, --workers, --link, --delay",
    ),
    (&[], &["-m", "-X"], "--method METHOD sets the method"),
    (&[], &["-b", "-D", "--data", "--data-file"], "--body FILE sends the bytes of a file"),
    (&[], &["--targets"], "--requests FILE sends the requests of a file"),
    (&[], &["-T", "--content-type"], "--body-type TYPE sets the type of the body"),
    (&[], &["-L", "--latency"], "response times are always shown, with percentiles"),
    (&[], &["-s", "--script"], "--requests FILE sends the requests of a file"),
    (&[], &["-k", "--keepalive", "--keep-alive"], "connections stay open already; --insecure accepts any certificate"),
    (&[], &["-u", "--url", "--target"], "write the URL itself: loadline load http://HOST:PORT/"),
    (&[], &["-p"], "--pipeline N keeps N requests in flight on a connection"),
    (&[], &["--ramp-up", "--rampup", "--stage", "--stages"], "--rate 100..5000/60s raises the rate over 60 s"),
];

/// Pairs of flags that exclude each other, each with its tip.
const CONFLICTS: &[([&str; 2], &str)] = &[
    (
        ["--connections", "--rate"],
        "--connections N sends a request after each answer, --rate R sends R per second whatever is answered; \
         --rate R --max-connections N bounds its connections",
    ),
    (
        ["--users", "--rate"],
        "--users N sends a request after each answer and its pause, --rate R sends R per second whatever is answered",
    ),
];

/// Adds the aliases from [`ACCEPTED`] to a command.
pub(crate) fn accepted(name: &str, command: Command) -> Command {
    let rows = ACCEPTED.iter().filter(|row| row.0 == name);
    rows.fold(command, |command, (_, id, letters, names)| {
        command.mut_arg(id, |arg| arg.short_aliases(letters.iter().copied()).aliases(names.iter().copied()))
    })
}

/// Returns the tip for a flag of another load generator that `command` does not accept.
pub(super) fn tip(command: &str, flag: &str) -> Option<&'static str> {
    let loads = ["find", "load", "prove", "compare", "size", "arena"].contains(&command);
    let is_of = |commands: &[&str]| if commands.is_empty() { loads } else { commands.contains(&command) };
    ANSWERS.iter().find(|(commands, flags, _)| flags.contains(&flag) && is_of(commands)).map(|row| row.2)
}

/// Returns the tip for an error about two flags that exclude each other.
pub(super) fn conflict_tip(error: &Error) -> Option<&'static str> {
    let names = |kind| match error.get(kind) {
        Some(ContextValue::String(name)) => vec![name.as_str()],
        Some(ContextValue::Strings(names)) => names.iter().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    let both = [names(ContextKind::InvalidArg), names(ContextKind::PriorArg)].concat();
    let has = |flag: &str| both.iter().any(|name| name.split(' ').next() == Some(flag));
    CONFLICTS.iter().find(|row| row.0.iter().all(|flag| has(flag))).map(|row| row.1)
}

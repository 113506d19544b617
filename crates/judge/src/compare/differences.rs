//! Differences between the runs of the two sides, except in the results: versions, machines, and keys of their plans.

use std::collections::{BTreeMap, BTreeSet};

use run::number::span;
use run::{Protocol, RequestSet, Run, STATEMENT_METHOD, TlsPlan};

use crate::number::percent;

/// Maximum number of requests of a set that are listed in a sentence.
const SHOWN: usize = 20;
/// Maximum number of plan keys that the report lists.
const TOLD: usize = 10;
/// Maximum length of a value that is shown in full, characters.
const LONGEST: usize = 80;

/// Plan keys that are not listed, because they name the server, or because another sentence covers them.
const APART: [&str; 14] = [
    "command",
    "target.url",
    "target.server_pid",
    "target.authorized",
    "load.protocol.host",
    "load.protocol.local",
    "load.protocol.method",
    "load.protocol.path",
    "load.protocol.name",
    "load.protocol.command",
    "load.protocol.commands_file",
    "load.requests",
    "load.tls",
    "search.reach_max",
];

/// Returns a sentence for each difference. Runs that ended early come first, then differences of the machines, because
/// both affect every figure.
pub(super) fn differences(old: &[Run], new: &[Run]) -> Vec<String> {
    let mut all = ended_early(old, new);
    all.extend(apart(&of(old, named), &of(new, named)));
    let mut plans = apart(&of(old, planned), &of(new, planned));
    let more = plans.len().saturating_sub(TOLD);
    plans.truncate(TOLD);
    all.extend(plans);
    if more > 0 {
        all.push(format!("{more} more keys of the plan"));
    }
    all
}

/// Returns a sentence for each side with a run that ended early. Skips runs whose server died, because another sentence
/// reports them.
fn ended_early(old: &[Run], new: &[Run]) -> Vec<String> {
    let by_incident = |run: &&Run| run.ended_by().is_some_and(|(_, incident)| !incident.kind.is_end_of_server());
    let is_early = |run: &&Run| run.was_ended_by_user() || by_incident(run);
    let told = |(word, runs): (&str, &[Run])| {
        let early = runs.iter().find(is_early)?;
        let why = early.ended_by().map_or(String::new(), |(_, incident)| format!(" ({})", incident.text));
        let measured_s: f64 = early.trials.iter().map(|trial| trial.measured.length_s).sum();
        Some(format!(
            "a run of the {word} side was ended early{why}: only the {} that it measured are compared",
            span(measured_s)
        ))
    };
    [("old", old), ("new", new)].into_iter().filter_map(told).collect()
}

/// Values of each fact, such as the kernel version of a host, in several runs.
type Facts = BTreeMap<String, BTreeSet<String>>;

fn of(runs: &[Run], facts: fn(&Run) -> Vec<(String, String)>) -> Facts {
    let mut all = Facts::new();
    for (name, value) in runs.iter().flat_map(facts) {
        // Placeholders for secrets have a different salt in each run, so equal secrets would look different. Before the
        // comparison, all placeholders are therefore replaced by the same text.
        all.entry(name).or_default().insert(run::unify_placeholders(&value));
    }
    all
}

fn apart(old: &Facts, new: &Facts) -> Vec<String> {
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let told = |of: Option<&BTreeSet<String>>| {
        of.map_or_else(|| "nothing".to_owned(), |values| values.iter().map(|v| cut(v)).collect::<Vec<_>>().join(" or "))
    };
    let differ = names.into_iter().filter(|name| old.get(*name) != new.get(*name));
    differ.map(|name| format!("{name}: old {}, new {}", told(old.get(name)), told(new.get(name)))).collect()
}

fn cut(value: &str) -> String {
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &value[..at]),
        None => value.to_owned(),
    }
}

fn named(run: &Run) -> Vec<(String, String)> {
    let plan = &run.plan;
    let mut all = vec![
        ("version of loadline".to_owned(), run.version.clone()),
        ("command".to_owned(), plan.command.clone()),
        ("request".to_owned(), plan.load.requests.as_ref().map_or_else(|| request(&plan.load.protocol), set)),
        ("TLS".to_owned(), plan.load.tls.as_ref().map_or_else(|| "none".to_owned(), tls)),
    ];
    for host in &run.hosts {
        // The name of a machine is left out, because it says nothing about the machine's speed.
        let fact = |name: &str, value: String| (format!("{name} of the {}", role(&host.role)), value);
        all.push(fact("kernel", host.kernel.clone()));
        all.push(fact("CPU", host.cpu_model.clone()));
        all.push(fact("number of CPUs", host.cpus.to_string()));
        all.push(fact("memory", format!("{} B", host.memory_bytes)));
    }
    all
}

fn role(role: &str) -> &str {
    if role.is_empty() { "host" } else { role }
}

/// Returns the keys that a run's plan sets, with their values. Leaves out keys that are not set, because an older
/// version of loadline may not have them. The objective is included only if the user set it, because derived objectives
/// always differ between runs.
fn planned(run: &Run) -> Vec<(String, String)> {
    let within =
        |key: &str, apart: &str| key.strip_prefix(apart).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let told = |(key, _): &(String, _)| !APART.iter().any(|apart| within(key, apart));
    let keys = run.plan.keys().into_iter().filter(told).map(|(key, value)| (key, value.to_string()));
    keys.chain(run.plan.load.requests.iter().flat_map(within_set)).collect()
}

/// Describes the TLS settings. Leaves out the server's name and file paths.
fn tls(plan: &TlsPlan) -> String {
    let version = plan.version.map(|version| format!("{version:?} alone").replace("V1_", "1."));
    let resumed = (plan.resume > 0.0).then(|| format!("{} of the connections resumed", percent(plan.resume)));
    let certificate = plan.cert_file.as_ref().map(|_| "a client's certificate".to_owned());
    std::iter::once("yes".to_owned()).chain(version).chain(resumed).chain(certificate).collect::<Vec<_>>().join(", ")
}

/// Returns the headers, the body and the expected answer of each request of a set, which the description of the load
/// leaves out.
fn within_set(set: &RequestSet) -> Vec<(String, String)> {
    let of = |(at, r): (usize, &run::RequestPlan)| {
        let sent = [&r.body, &r.body_base64].map(String::as_str).concat();
        let rest =
            format!("{:?} {:?} {:?} {} {:?}", r.class, r.expect_status, r.accept_status, r.expect_text, r.capture);
        let name = |what: &str| format!("{what} of request {} ({} {})", at + 1, r.method, r.path);
        [
            (name("headers"), format!("{:?}", r.headers)),
            (name("body"), format!("{sent:?}")),
            (name("expectations"), rest),
        ]
    };
    set.requests.iter().enumerate().flat_map(of).collect()
}

/// Describes a single request. Leaves out the address of the server.
fn request(protocol: &Protocol) -> String {
    match protocol {
        Protocol::Http1(request) => format!("{} {}", request.method, request.path),
        Protocol::Http2(request) => format!("{} {} by HTTP/2", request.method, request.path),
        Protocol::Http3(request) => format!("{} {} by HTTP/3", request.method, request.path),
        Protocol::Redis { command, commands_file, .. } => commands("Redis", command, commands_file.as_deref()),
        Protocol::Memcached { command, commands_file } => commands("memcached", command, commands_file.as_deref()),
        Protocol::Websocket { path, .. } => format!("{path} by WebSocket"),
        Protocol::Grpc(call) => format!("{} by gRPC", call.path),
        other => other.name().to_owned(),
    }
}

/// Describes the commands for a server: one command, or a file of commands.
fn commands(server: &str, command: &str, file: Option<&str>) -> String {
    match file {
        Some(file) => format!("{server} commands of {file}"),
        None => format!("{server} command {command}"),
    }
}

/// Describes a set of requests. Leaves out the name of the set's file.
fn set(set: &RequestSet) -> String {
    let each = |r: &run::RequestPlan| match r.method.as_str() {
        STATEMENT_METHOD => format!("{} × {}", r.weight, r.name),
        method => format!("{} × {method} {}", r.weight, r.path),
    };
    let first: Vec<String> = set.requests.iter().take(SHOWN).map(each).collect();
    let more = set.count().saturating_sub(first.len() as u64);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(change: impl Fn(&mut Run)) -> Vec<String> {
        let mut old = crate::planted::PlantedRun::new(1000.0, 4000.0).run();
        old.hosts = vec![run::HostInfo { role: "client".into(), ..run::HostInfo::default() }, run::HostInfo::default()];
        let mut new = old.clone();
        change(&mut new);
        differences(&[old.clone(), old.clone()], &[old, new])
    }

    #[test]
    fn commands_are_described_in_words() {
        let redis = |command: &str| Protocol::Redis {
            command: command.into(),
            commands_file: None,
            auth_file: None,
            database: 0,
            resp3: false,
            cluster: Vec::new(),
        };
        let described = told(|r| r.plan.load.protocol = redis("GET a")).join("; ");
        assert!(described.contains("Redis command GET a") && !described.contains("Redis {"), "{described}");
    }

    #[test]
    fn differences_in_plans_hosts_and_single_runs_are_reported() {
        assert_eq!(told(|_| ()), Vec::<String>::new());
        assert_eq!(told(|r| r.plan.target.url = "http://127.0.0.1:2/".into()), Vec::<String>::new());
        let one = |change: fn(&mut Run), words: &str| {
            let all = told(change);
            assert!(all.len() == 1 && all[0].contains(words), "{words}: {all:?}");
        };
        one(|r| r.plan.objective.p99_us = Some(5e3), "objective.p99_us: old nothing, new 5000.0");
        one(|r| r.plan.search.max_connections = 7, "search.max_connections: old 1024, new 1024 or 7");
        one(|r| r.hosts[1].cpu_model = "other".into(), "CPU of the host");
        one(|r| r.plan.load.tls = Some(run::TlsPlan::default()), "TLS: old none, new none or yes");
    }

    #[test]
    fn versions_of_tls_and_headers_of_a_set_are_told_and_an_objective_that_nobody_named_is_not() {
        let with =
            |version: Option<run::TlsVersion>, resume: f64| Some(TlsPlan { version, resume, ..TlsPlan::default() });
        let all = told(|r| r.plan.load.tls = with(Some(run::TlsVersion::V1_2), 0.5));
        assert!(all[0].contains("1.2 alone, 50 % of the connections resumed"), "{all:?}");
        let set = |header: &str, body: &str| {
            let headers = vec![("Accept".to_owned(), header.to_owned())];
            let one = run::RequestPlan { headers, body: body.into(), ..run::RequestPlan::default() };
            Some(RequestSet { requests: vec![one], ..RequestSet::default() })
        };
        let pair = |old: Option<RequestSet>, new: Option<RequestSet>| {
            let mut runs = [0, 1].map(|_| crate::planted::PlantedRun::new(1000.0, 4000.0).run());
            (runs[0].plan.load.requests, runs[1].plan.load.requests) = (old, new);
            // No objective was set, so each run derives an objective from its unloaded median.
            runs.iter_mut().for_each(crate::judge);
            runs[1].findings.limits.text = "p50 <= 7 ms (10 times the unloaded one)".into();
            differences(&runs[..1], &runs[1..])
        };
        assert_eq!(pair(set("*/*", "a"), set("*/*", "a")), Vec::<String>::new());
        let header = pair(set("*/*", "a"), set("text/html", "a"));
        assert!(header.len() == 1 && header[0].starts_with("headers of request 1 (GET /)"), "{header:?}");
        let body = pair(set("*/*", "a"), set("*/*", "b"));
        assert!(body.len() == 1 && body[0].starts_with("body of request 1"), "{body:?}");
        let statement = |name: &str| {
            let (method, name) = (STATEMENT_METHOD.into(), name.into());
            let requests = vec![run::RequestPlan { method, name, ..run::RequestPlan::default() }];
            Some(RequestSet { requests, ..RequestSet::default() })
        };
        assert_eq!(pair(statement("read"), statement("write")), ["request: old 1 × read, new 1 × write"]);
        // Each run has its own salt for secrets, but a difference between salts does not count as a difference between
        // runs.
        let secret =
            pair(set("<redacted:0a1b2c3d>", "<redacted:11111111>"), set("<redacted:deadbeef>", "<redacted:2>"));
        assert_eq!(secret, Vec::<String>::new());
    }

    #[test]
    fn of_many_different_keys_ten_are_listed() {
        let many = told(|r| {
            r.plan.lab = (0..30).map(|i| (format!("key{i}"), "x".repeat(500).into())).collect();
        });
        assert_eq!(many.len(), TOLD + 1, "{many:?}");
        assert!(many[0].len() < 200 && many[TOLD].starts_with("20 more"), "{many:?}");
    }
}

//! Test of one conductor (the process that controls a run) with a thousand agents (generator processes) on one machine.
//! The conductor must need no more memory than docs/explanation/hosts.md states.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::{alone_with_release, children, peak_kib, serve, total};

/// Number of agents (generator processes) that the test starts.
const AGENTS: usize = 1000;
/// Maximum memory of the conductor, KiB.
const MAX_MEMORY_KIB: u64 = 200 << 10;

/// Each agent sends only one request per second, so two CPUs suffice for all agents.
#[test]
#[ignore = "a thousand processes: most of a minute and some 5 GB of memory"]
fn a_conductor_of_a_thousand_agents_holds_at_most_200_mb_and_loses_none() {
    let (_alone, binary) = alone_with_release!("a thousand agents");
    let server = serve(&binary, 0, &[]);
    let hosts: Vec<String> = (0..10).map(|n| format!("h{n}")).collect();
    let mut command = Command::new(&binary);
    command.args(["load", &format!("http://{}/", server.addr), "--json", "--at-rest", "0"]);
    command.args(["--client-hosts", &hosts.join(","), "--agents-per-host", "100", "--via", "env HOST_OF_TEST={host}"]);
    command.args(["--agent-path", binary.to_str().unwrap(), "--rate", "1000", "--max-connections", "1000"]);
    command.args(["--warmup", "2s", "--duration", "10s"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let said = std::thread::spawn(move || std::io::read_to_string(&mut stdout).unwrap());
    let (mut peak, mut agents) = (0, 0);
    while child.try_wait().unwrap().is_none() {
        peak = peak.max(peak_kib(child.id()));
        agents = agents.max(children(child.id()).len());
        std::thread::sleep(Duration::from_millis(100));
    }
    let text = said.join().unwrap();
    let run: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let trial = &run["trials"][0];
    println!("{agents} agents, {peak} KiB, apart {}", trial["measured"]["apart"]);
    assert!(agents >= AGENTS, "{agents} agents");
    assert!(peak <= MAX_MEMORY_KIB, "{peak} KiB");
    assert!(total(&run, "completed") > 0 && !run["trials"].to_string().contains("was lost"), "{}", trial["notes"]);
    let loads = trial["host_loads"].as_array().unwrap();
    assert_eq!(loads.len(), hosts.len());
}

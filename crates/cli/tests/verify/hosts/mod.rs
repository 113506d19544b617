//! Tests in which the generators and the server run on other hosts. loadline also reads their counters on these hosts.
//! A real sshd runs on each host.
#![allow(clippy::unwrap_used, clippy::panic)] // The lint allows unwrap in tests, but not in helpers of tests.

mod containers;
mod faults;
pub(crate) mod nginx_hosts;
mod waits;

use std::process::Command;

use serde_json::Value;
use testkit::{Slurm, SshHosts, binary, has, num, total};

use crate::hosts::nginx_hosts::{Nginx, args, incidents, names_of_loads, nginx_hosts, notes, said};

#[test]
fn idle_connections_are_held_by_all_hosts_of_clients() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("idle_connections_are_held", "switch:1G") else { return };
    let engine = hosts.engine();
    let more = ["--connections", "2", "--duration", "3s", "--warmup", "300ms", "--cold", "101"];
    let (run, output) = hosts.run("conductor", &args("load", &nginx.url, &engine, &more), |hosts| {
        // Three agents (processes of loadline) run on each host: an observer, which reads counters, an agent that holds
        // the idle connections, and a generator.
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 3)));
    });
    let (text, trial) = (said(&output), &run["trials"][0]);
    assert_eq!((&trial["key"]["cold"], names_of_loads(&run)), (&101.into(), vec!["a".into(), "b".into()]), "{text}");
    assert!(notes(trial).iter().all(|note| !note.contains("cold connections")), "{text}");
    assert_eq!(nginx.logged(total(&run, "completed")), total(&run, "completed"), "{text}");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

/// The client host sends the test request. The conductor (the process that controls the run) cannot reach the server
/// itself.
#[test]
fn the_machine_that_conducts_need_not_reach_the_server() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_conductor_without_a_route", "switch:1G") else { return };
    let mut route = hosts.inside("conductor", &testkit::program("ip").unwrap());
    route.args(["route", "add", "blackhole", hosts.address("server")]);
    assert!(route.status().unwrap().success());
    let (engine, own) = (hosts.engine(), binary!().to_str().unwrap());
    let mut load = vec!["load", &nginx.url, "--client-hosts", "a", "--via", &engine, "--agent-path", own];
    load.extend(["--connections", "2", "--duration", "500ms", "--warmup", "300ms", "--at-rest", "0"]);
    let (run, output) = hosts.run("conductor", &load, |_| {});
    let text = said(&output);
    assert_eq!(nginx.logged(total(&run, "completed")), total(&run, "completed"), "{text}");
    assert!(total(&run, "completed") > 0, "{text}");
    let closed = nginx.url.replace(":8080", ":8081");
    load[1] = &closed;
    let text = said(&hosts.run("conductor", &load, |_| {}).1);
    assert!(text.contains("from a: nothing listens on"), "{text}");
    hosts.await_no_agents("a");
}

/// The client host has an /etc/hosts of its own. Only the /etc/hosts of the client host contains the server's name.
#[test]
fn the_name_of_the_server_is_looked_up_on_the_client_host() {
    if !has("a name that only the client host knows", "unshare") {
        return;
    }
    let server = testkit::serve(binary!(), 1, &[]);
    let folder = tempfile::tempdir().unwrap();
    let [names, script] = ["hosts", "there"].map(|name| folder.path().join(name).display().to_string());
    std::fs::write(&names, "127.0.0.1 localhost only-there.example\n").unwrap();
    std::fs::write(&script, format!("shift; mount --bind {names} /etc/hosts && exec \"$@\"")).unwrap();
    let (engine, url) =
        (format!("unshare -r -m sh {script} {{host}}"), format!("http://only-there.example:{}/", server.addr.port()));
    let load = |hosts: &[&str]| {
        let mut command = Command::new(binary!());
        command.current_dir(folder.path()).args(["load", &url, "--connections", "2", "--duration", "500ms"]);
        said(&command.args(["--at-rest", "0", "--json"]).args(hosts).output().unwrap())
    };
    let here = load(&[]);
    assert!(here.contains("the host \"only-there.example\" cannot be found"), "{here}");
    let there = load(&["--client-hosts", "there", "--via", &engine, "--agent-path", binary!().to_str().unwrap()]);
    assert!(there.contains("\"completed\"") && !there.contains("cannot be found"), "{there}");
}

/// If more than ten logins are in progress at the same time, sshd refuses some of them.
#[test]
fn twelve_hosts_behind_one_sshd_are_connected_a_few_at_a_time() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("twelve_hosts_behind_one_sshd", "switch:1G") else { return };
    let twelve: Vec<String> = (0..12).map(|n| hosts.alias("a", n)).collect();
    let (engine, all, own) = (hosts.engine(), twelve.join(","), binary!().to_str().unwrap());
    let mut load = vec!["load", &nginx.url, "--client-hosts", &all, "--via", &engine, "--agent-path", own];
    load.extend(["--rate", "240", "--duration", "500ms", "--warmup", "300ms", "--at-rest", "0"]);
    let (run, output) = hosts.run("conductor", &load, |_| {});
    let text = said(&output);
    assert_eq!(names_of_loads(&run).len(), twelve.len(), "{text}");
    assert_eq!(nginx.logged(total(&run, "completed")), total(&run, "completed"), "{text}");
    hosts.await_no_agents("a");
}

/// sshd allows ten sessions per connection, and each host gets twelve agents.
#[test]
fn a_host_takes_more_agents_than_one_connection_has_sessions() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_host_takes_more_agents", "switch:1G") else { return };
    let engine = hosts.engine();
    let more = ["--agents-per-host", "12", "--connections", "48", "--duration", "3s", "--warmup", "300ms"];
    let mut connections = Vec::new();
    let (run, output) = hosts.run("conductor", &args("load", &nginx.url, &engine, &more), |hosts| {
        // Agents are processes of loadline. On each host, the thirteenth agent is an observer, which reads counters.
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 13)));
        connections = ["a", "b", "server"].map(|host| hosts.sessions(host).len()).to_vec();
    });
    let text = said(&output);
    assert_eq!(connections, [2, 2, 1], "{text}");
    let agents: Vec<u64> = (run["trials"][0]["host_loads"].as_array().into_iter().flatten())
        .map(|load| load["agents"].as_u64().unwrap_or_default())
        .collect();
    assert_eq!(agents, [12, 12], "{text}");
    assert_eq!(nginx.logged(total(&run, "completed")), total(&run, "completed"), "{text}");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

#[test]
fn windows_are_scheduled_ahead_of_a_long_network_delay() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_long_way", "wan:delay=50ms") else { return };
    let engine = hosts.engine();
    let load = args("load", &nginx.url, &engine, &["--rate", "100", "--duration", "1s", "--warmup", "500ms"]);
    let (run, output) = hosts.run("conductor", &load, |_| {});
    let (text, trial) = (said(&output), &run["trials"][0]);
    assert_eq!(total(&run, "completed"), nginx.logged(total(&run, "completed")), "{text}");
    let apart = &trial["measured"]["apart"];
    assert!(num(&apart["clock_us"]) >= 50_000.0, "half of a way there and back of 100 ms: {apart}");
    let loads = trial["host_loads"].as_array().unwrap();
    assert_eq!(loads.len(), 2);
    // Starting on arrival of a message would make the starts differ by up to half a round trip. loadline compares the
    // hosts' clocks, so only the error of this comparison remains.
    assert!(loads.iter().all(|load| num(&load["clock_us"]).abs() < 25_000.0), "{loads:?}");
    assert!(num(&trial["latency_us"]["p50"]) >= 100_000.0, "{}", trial["latency_us"]);
}

#[test]
fn the_program_is_copied_despite_output_of_a_login_shell() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("the_program_gets_there", "switch:1G") else { return };
    let home = hosts.path("home");
    std::fs::create_dir(&home).unwrap();
    let engine = format!("{} 'echo welcome to this host; HOME={}'", hosts.engine(), home.display());
    let load =
        ["load", &nginx.url, "--client-hosts", "a", "--via", &engine, "--connections", "2", "--duration", "300ms"];
    let (run, output) = hosts.run("conductor", &load, |_| {});
    assert!(total(&run, "completed") > 0, "{}", said(&output));
    let copies: Vec<_> = std::fs::read_dir(home.join(".cache/loadline")).unwrap().flatten().collect();
    assert_eq!(copies.len(), 1);
    assert_eq!(std::fs::metadata(copies[0].path()).unwrap().len(), std::fs::metadata(binary!()).unwrap().len());
}

#[test]
fn an_unreachable_host_or_a_password_prompt_gives_one_sentence() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_host_that_cannot_be_reached", "switch:1G") else { return };
    let refused = |engine: &str, path: &str, words: &str| {
        let load = ["load", &nginx.url, "--client-hosts", "a", "--via", engine, "--agent-path", path];
        let (_, output) = hosts.run("conductor", &load, |_| {});
        let text = said(&output);
        assert!(output.status.code() == Some(2) && text.contains(words), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("loadline: ")).count(), 1, "{text}");
    };
    let own = binary!().to_str().unwrap();
    let strange = hosts.engine().replace("{host}", "-o StrictHostKeyChecking=ask -o HostKeyAlias=nobody {host}");
    refused(&strange, own, "Host key verification failed");
    refused(&hosts.engine(), "/no/such/program", "/no/such/program");
    refused("no-such-engine {host}", own, "no-such-engine");
    refused("nonsense", own, "{host}");
}

#[test]
fn nodes_of_a_slurm_allocation_load_one_server_and_one_that_is_lost_is_named() {
    let test = "nodes_of_a_slurm_allocation";
    let _alone = testkit::alone();
    let names = ["conductor", "server", "n1", "n2", "n3", "n4"];
    let Some(hosts) = SshHosts::bare(test, binary!(), "switch:1G", &names) else { return };
    let Some(nginx) = Nginx::start(test, &hosts) else { return };
    let Some(slurm) = Slurm::start(test, hosts, "conductor", &names[2..]) else { return };
    let own = binary!().to_str().unwrap();
    let inside = format!("{own} testbed exec lan {{host}} --");
    let base = ["load", &nginx.url, "--client-hosts", "slurm", "--server-host", "server", "--server-via", &inside];
    let with = |more: &[&'static str]| -> Vec<&str> {
        base.into_iter()
            .chain(["--agent-path", own, "--at-rest", "100ms", "--warmup", "300ms"])
            .chain(more.iter().copied())
            .collect()
    };
    let (run, output) = slurm.run(4, &with(&["--connections", "8", "--duration", "1s"]), |_| {});
    let (text, mut completed) = (said(&output), total(&run, "completed"));
    assert_eq!(names_of_loads(&run), ["n1", "n2", "n3", "n4"], "{text}");
    assert_eq!(nginx.logged(completed), completed, "{text}");
    assert_eq!(run["trials"][0]["server"]["host"], "server");

    // S-Clients run on four machines, as in the paper by Banga and Druschel (USITS 1997).
    let (run, output) = slurm.run(4, &with(&["--s-clients", "40", "--duration", "1s"]), |_| {});
    let text = said(&output);
    completed += total(&run, "completed");
    assert_eq!(names_of_loads(&run), ["n1", "n2", "n3", "n4"], "{text}");
    assert!(nginx.logged(completed) >= completed, "{text}");

    // The experiment starts its own server.
    slurm.await_idle(4);
    let mut lab = vec!["lab", "request-rate", "--quick", "--client-hosts", "slurm", "--server-host", "server"];
    lab.extend(["--server-via", &inside, "--agent-path", own, "--listen", slurm.hosts.address("server")]);
    let small = ["simple_clients=[4]", "most_descriptors=30", "s_clients_a_host=1", "seconds=1", "warmup_s=0.3"];
    small.iter().for_each(|set| lab.extend(["--set", set]));
    let (run, output) = slurm.run(4, &lab, |_| {});
    let text = said(&output);
    assert_eq!(crate::hosts::nginx_hosts::names(&run["hosts"], "name"), ["n1", "n2", "n3", "n4", "server"], "{text}");
    assert_eq!(
        crate::hosts::nginx_hosts::names(&run["trials"][1]["host_loads"], "host"),
        ["n1", "n2", "n3", "n4"],
        "{text}"
    );

    slurm.await_idle(4);
    let lost = with(&["--connections", "8", "--duration", "60s"]);
    let before = nginx.logged(0);
    names[2..].iter().for_each(|node| slurm.hosts.await_no_agents(node));
    let (run, output) = slurm.run(4, &lost, |hosts| {
        ["n1", "n2", "n3", "n4"].iter().for_each(|node| drop(hosts.await_agents(node, 2)));
        nginx.logged(before + 100);
        hosts.line("n2", false);
    });
    let (text, told) = (said(&output), incidents(&run));
    assert!(told.contains("on n2") && told.contains("25.0 % of the load"), "{told}\n{text}");
    assert_eq!(names_of_loads(&run), ["n1", "n3", "n4"], "{text}");
    names[2..].iter().for_each(|node| slurm.hosts.await_no_agents(node));
}

/// The tested host has only the program and its libraries, as in an empty container. The host has no shell and no
/// /proc.
#[test]
fn a_host_without_a_shell_needs_only_the_program_s_path() {
    let test = "a_place_without_a_shell";
    if !has(test, "chroot") || !has(test, "ldd") {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    if !Command::new("chroot").args(["/", "true"]).status().unwrap().success() {
        return testkit::skip(test, "no right to change the root");
    }
    std::fs::copy(binary!(), root.path().join("loadline")).unwrap();
    let linked = Command::new("ldd").arg(binary!()).output().unwrap();
    let linked = String::from_utf8(linked.stdout).unwrap();
    for file in linked.split_whitespace().filter(|word| word.starts_with('/')) {
        let to = root.path().join(&file[1..]);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(file, to).unwrap();
    }
    let _alone = testkit::alone();
    let server = testkit::serve(binary!(), 0, &[]);
    let (url, host) = (format!("http://{}/", server.addr), root.path().to_str().unwrap());
    let load = |more: &[&str]| {
        let mut command = Command::new(binary!());
        command.args(["load", &url, "--connections", "2", "--duration", "300ms", "--at-rest", "0", "--json"]);
        command.args(["--client-hosts", host, "--via", "chroot {host}"]).args(more).output().unwrap()
    };
    let output = load(&["--agent-path", "/loadline"]);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    assert!(total(&run, "completed") > 0 && names_of_loads(&run) == [host]);
    // The file that the load sends exists only on the conductor's host. loadline must send the file to the other host
    // together with the task.
    let mut serve = Command::new(binary!());
    serve.args(["serve", "echo"]);
    let (file, echo) = (tempfile::NamedTempFile::new().unwrap(), testkit::served(serve));
    std::fs::write(file.path(), [b'x'; 3000]).unwrap();
    let url = format!("tcp://{}/", echo.addr);
    let more = ["--send-file", file.path().to_str().unwrap(), "--expect-bytes", "3000", "--agent-path", "/loadline"];
    let mut command = Command::new(binary!());
    command.args(["load", &url, "--connections", "2", "--duration", "300ms", "--at-rest", "0", "--json"]);
    let output = command.args(["--client-hosts", host, "--via", "chroot {host}"]).args(more).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    assert!(
        total(&run, "completed") > 10 && run["trials"][0]["tally"]["errors"].as_object().is_none_or(|e| e.is_empty()),
        "{}",
        run["trials"][0]["tally"]
    );
    let text = said(&load(&[]));
    assert!(text.contains("/bin/sh") && text.contains("--agent-path"), "{text}");
}

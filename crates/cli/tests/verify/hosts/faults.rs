//! What goes wrong on other hosts: each is named, nothing hangs, and nothing of it goes on.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{ChildProcess, Slurm, SshHosts, binary, kill, num, signal, total};

use testkit::nginx_hosts::conductor;

use crate::hosts::nginx_hosts::{Nginx, args, incidents, names, names_of_loads, nginx_hosts, said, shared_nginx_hosts};

/// A load of 60 s that is disturbed once both hosts are at work; what it said, and its run.
fn disturbed(hosts: &SshHosts, nginx: &Nginx, disturbance: impl FnOnce(&SshHosts)) -> (Value, String) {
    let engine = hosts.engine();
    let load = args("load", &nginx.url, &engine, &["--connections", "4", "--duration", "60s", "--warmup", "200ms"]);
    // The log has the loads before this one, too, and agents of theirs would be taken for this one's.
    let before = nginx.logged(0);
    ["a", "b"].iter().for_each(|host| hosts.await_no_agents(host));
    let (run, output) = hosts.run("conductor", &load, |hosts| {
        // The observer of each host and its generator.
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 2)));
        nginx.logged(before + 100);
        disturbance(hosts);
    });
    let text = said(&output);
    assert!(!output.status.success(), "{text}");
    (run, text)
}

#[test]
fn a_lost_host_is_named_with_what_is_missing_and_nothing_of_it_goes_on() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_lost_host", "switch:1G") else { return };
    let half_is_missing = |run: &Value, how: &str| {
        let told = incidents(run);
        assert!(told.contains("on b") && told.contains(how), "{told}");
        assert!(told.contains("50.0 % of the load of its window"), "{told}");
        assert_eq!(names(&run["trials"][0]["host_loads"], "host"), ["a"], "the part of a is kept");
        assert_eq!(run["interrupted"], true);
    };

    // A killed generator: it was started last.
    let (run, _) = disturbed(&hosts, &nginx, |hosts| kill(&[*hosts.agents("b").last().unwrap()]));
    half_is_missing(&run, "ended");

    // All that sshd does for the host.
    let (run, _) = disturbed(&hosts, &nginx, |hosts| kill(&hosts.sessions("b")));
    half_is_missing(&run, "ended");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

/// S-Clients go on whatever becomes of the others, so the run is still on when they come back: b and c stand still, the lines of d and
/// e are cut, the first of each for 10 s, the others for 40 s. It asks for little and measures no speed, so others run beside it.
#[test]
fn who_stands_still_for_10_s_or_40_s_is_lost_and_the_others_go_on() {
    let (test, clients) = ("who_stands_still", ["a", "b", "c", "d", "e"]);
    let Some(hosts) = SshHosts::make(test, binary!(), "switch:1G", &[&["conductor", "server"], &clients[..]].concat())
    else {
        return;
    };
    let Some(nginx) = Nginx::start(test, &hosts) else { return };
    let (engine, all, own) = (hosts.engine(), clients.join(","), binary!().to_str().unwrap());
    let mut load = vec!["load", &nginx.url, "--client-hosts", &all, "--server-host", "server", "--via", &engine];
    load.extend(["--agent-path", own, "--at-rest", "100ms", "--warmup", "200ms", "--duration", "50s"]);
    load.extend(["--s-clients", "10", "--rate", "100"]);
    let (mut late, mut after) = (0, 0);
    let (run, output) = hosts.run("conductor", &load, |hosts| {
        clients.iter().for_each(|host| drop(hosts.await_agents(host, 2)));
        nginx.logged(100);
        let began = Instant::now();
        let at = |s: u64| std::thread::sleep(Duration::from_secs(s).saturating_sub(began.elapsed()));
        let stopped = ["b", "c"].map(|host| *hosts.agents(host).last().unwrap());
        stopped.iter().for_each(|pid| signal(*pid, "STOP"));
        ["d", "e"].iter().for_each(|host| hosts.line(host, false));
        at(9);
        // Nobody tells those behind a cut line, and they end by themselves.
        ["d", "e"].iter().for_each(|host| hosts.await_no_agents(host));
        at(10);
        signal(stopped[0], "CONT");
        hosts.line("d", true);
        testkit::eventually(|| (!hosts.agents("b").contains(&stopped[0])).then_some(()));
        at(39);
        late = hosts.agents("d").len() + hosts.agents("e").len();
        at(40);
        signal(stopped[1], "CONT");
        hosts.line("e", true);
        testkit::eventually(|| (!hosts.agents("c").contains(&stopped[1])).then_some(()));
        after = hosts.agents("a").len();
    });
    let (text, told) = (said(&output), incidents(&run));
    assert!(output.status.code() == Some(1) && run["interrupted"] == true, "{text}");
    for host in &clients[1..] {
        let of_it = |line: &&str| line.contains("the part of") && line.contains(&format!("on {host} "));
        let line = told.lines().find(of_it).unwrap_or_else(|| panic!("nothing of {host}: {told}\n{text}"));
        assert!(line.contains("20.0 % of the load of its window"), "{line}");
        assert!(line.contains("no sign of life for 5 s"), "{line}");
    }
    assert_eq!((names_of_loads(&run), late, after), (vec!["a".to_string()], 0, 2), "{told}\n{text}");
    let measured_s = num(&run["trials"][0]["measured"]["length_s"]);
    assert!(measured_s >= 50.0, "the part of a is of the whole window: {measured_s} s\n{text}");
    clients.iter().chain(&["server"]).for_each(|host| hosts.await_no_agents(host));
}

/// Longer than the 5 s of silence after which one end takes the other for lost.
const STALL: Duration = Duration::from_secs(10);

/// At a low rate, so others run beside it.
#[test]
fn a_conductor_that_stands_still_for_10_s_leaves_no_load_behind_and_says_what_it_lost() {
    let Some((hosts, nginx)) = shared_nginx_hosts("a_conductor_that_stands_still", "switch:1G") else { return };
    let engine = hosts.engine();
    let load = args("load", &nginx.url, &engine, &["--rate", "200", "--duration", "60s", "--warmup", "200ms"]);
    let (run, output) = hosts.run("conductor", &load, |hosts| {
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 2)));
        nginx.logged(100);
        let conductor = conductor(hosts);
        signal(conductor, "STOP");
        let began = Instant::now();
        // All of them end by themselves meanwhile.
        ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
        std::thread::sleep(STALL.saturating_sub(began.elapsed()));
        signal(conductor, "CONT");
    });
    let (text, told) = (said(&output), incidents(&run));
    assert!(told.contains("observer on server was lost"), "{told}\n{text}");
    assert!(told.contains("it heard nothing from its conductor for 5 s"), "{told}\n{text}");
    assert!(nginx.logged(total(&run, "completed")) >= total(&run, "completed"), "{text}");
}

/// Of the observer's process, since a test cannot stop a host: its meter cannot tell the two apart.
#[test]
fn a_server_s_host_that_stands_still_is_seen_from_there() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_server_s_host_that_stands_still", "switch:1G") else { return };
    let engine = hosts.engine();
    let load = args("load", &nginx.url, &engine, &["--connections", "4", "--duration", "5s", "--warmup", "200ms"]);
    let mut stood = Duration::ZERO;
    let (run, output) = hosts.run("conductor", &load, |hosts| {
        let observer = hosts.await_agents("server", 1)[0];
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 2)));
        nginx.logged(100);
        let begin = Instant::now();
        signal(observer, "STOP");
        std::thread::sleep(Duration::from_millis(120));
        signal(observer, "CONT");
        stood = begin.elapsed();
    });
    assert!(output.status.success(), "{}", said(&output));
    let pauses = run["trials"][0]["measured"]["pauses"].as_array().cloned().unwrap_or_default();
    let lengths: Vec<f64> = pauses.iter().map(|p| num(&p["end_s"]) - num(&p["begin_s"])).collect();
    let most = stood.as_secs_f64() + 0.5;
    assert!(lengths.iter().any(|s| (0.1..most).contains(s)), "{lengths:?}, it stood still for {stood:?}");
}

/// Its processes are watched on their own host: an end of theirs is named as one, and not as the silence that clients see.
#[test]
fn a_server_that_ends_on_another_host_is_named_and_the_load_with_it() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_server_that_ends_on_another_host", "switch:1G") else { return };
    let began = Instant::now();
    let (run, text) = disturbed(&hosts, &nginx, |hosts| {
        kill(&hosts.processes("server", |line| line.starts_with(b"nginx: ")));
    });
    let kinds = names(&run["trials"][0]["incidents"], "kind");
    assert!(kinds.iter().any(|kind| kind == "server-ended"), "{kinds:?}\n{text}");
    assert!(began.elapsed() < Duration::from_secs(50), "the load of 60 s was ended");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

#[test]
fn what_slurm_loses_is_named_and_ends() {
    let test = "what_slurm_loses";
    let _alone = testkit::alone();
    let names = ["conductor", "server", "n1", "n2"];
    let Some(hosts) = SshHosts::bare(test, binary!(), "switch:1G", &names) else { return };
    let Some(nginx) = Nginx::start(test, &hosts) else { return };
    let Some(mut slurm) = Slurm::start(test, hosts, "conductor", &names[2..]) else { return };
    let own = binary!().to_str().unwrap();
    let load = ["load", &nginx.url, "--client-hosts", "slurm", "--agent-path", own, "--at-rest", "100ms"];
    let load: Vec<&str> =
        load.into_iter().chain(["--warmup", "300ms", "--connections", "4", "--duration", "60s"]).collect();

    // What started the steps of a node, without which they go on, and what holds those of another one.
    let slurmd = slurm.daemon("n1");
    let (run, output) = slurm.run(2, &load, |hosts| {
        ["n1", "n2"].iter().for_each(|node| drop(hosts.await_agents(node, 2)));
        let before = nginx.logged(100);
        kill(&[slurmd]);
        nginx.logged(before + 1000);
        kill(&hosts.processes("n2", |line| line.starts_with(b"slurmstepd: [")));
    });
    let (text, told) = (said(&output), incidents(&run));
    assert!(told.contains("on n2") && told.contains("50.0 % of the load") && !told.contains("on n1"), "{told}\n{text}");
    assert_eq!(names_of_loads(&run), ["n1"], "{text}");
    ["n1", "n2"].iter().for_each(|node| slurm.hosts.await_no_agents(node));

    // What would start them, once Slurm gives the nodes away again.
    slurm.start_daemon("n1");
    slurm.await_idle(2);
    kill(&[slurm.daemon("n2")]);
    let began = Instant::now();
    let (_, output) = slurm.run(2, &load, |_| {});
    let text = said(&output);
    assert!(!output.status.success() && text.contains("n2"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(50), "it waited for {:?}", began.elapsed());
    ["n1", "n2"].iter().for_each(|node| slurm.hosts.await_no_agents(node));
}

/// Nobody reads what an agent says: it ends nevertheless when its conductor is gone, and when it never could say who it is.
#[test]
fn an_agent_behind_a_full_pipe_ends() {
    const PIPE: usize = 64 << 10;
    let server = testkit::serve(binary!(), 0, &[]);
    let task = serde_json::to_string(&run::AgentSpec::Load {
        plan: Box::default(),
        addr: server.addr.into(),
        at_once: true,
        files: Default::default(),
        detailed: true,
        fine: false,
    });
    // The second has room for its hello and some ticks.
    std::thread::scope(|scope| {
        for room in [0, 1000] {
            let task = task.as_ref().unwrap();
            scope.spawn(move || ends_behind_a_full_pipe(task, PIPE - room, room > 0));
        }
    });
}

/// An agent whose standard output holds so much already, and is not read, with its task or without; its input ends.
fn ends_behind_a_full_pipe(task: &str, full: usize, tasked: bool) {
    let (reads, mut writes) = std::io::pipe().unwrap();
    writes.write_all(&vec![b'x'; full]).unwrap();
    let mut command = Command::new(binary!());
    command.arg("agent").stdin(Stdio::piped()).stdout(writes).stderr(Stdio::null());
    let mut agent = ChildProcess::start(&mut command);
    let mut input = agent.0.stdin.take().unwrap();
    if tasked {
        writeln!(input, "{task}").unwrap();
        std::thread::sleep(Duration::from_secs(1));
    }
    drop(input);
    testkit::eventually(|| (!agent.runs()).then_some(()));
    drop(reads);
}

//! Tests of faults on other hosts. loadline must name each fault, must not hang, and must leave no process running.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{ChildProcess, Slurm, SshHosts, binary, kill, num, signal, total};

use testkit::nginx_hosts::conductor;

use crate::hosts::nginx_hosts::{Nginx, args, incidents, names, names_of_loads, nginx_hosts, said, shared_nginx_hosts};

/// Starts a load of 60 s, and causes a fault once both hosts generate load. Returns the run and the output.
fn disturbed(hosts: &SshHosts, nginx: &Nginx, disturbance: impl FnOnce(&SshHosts)) -> (Value, String) {
    let engine = hosts.engine();
    let load = args("load", &nginx.url, &engine, &["--connections", "4", "--duration", "60s", "--warmup", "200ms"]);
    // nginx's log also contains the requests of earlier loads. The agents (processes) of earlier loads must have ended,
    // because the test looks for the agents of this load.
    let before = nginx.logged(0);
    ["a", "b"].iter().for_each(|host| hosts.await_no_agents(host));
    let (run, output) = hosts.run("conductor", &load, |hosts| {
        // Two agents (processes of loadline) run on each host: an observer, which reads counters, and a generator.
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 2)));
        nginx.logged(before + 100);
        disturbance(hosts);
    });
    let text = said(&output);
    assert!(!output.status.success(), "{text}");
    (run, text)
}

#[test]
fn a_lost_host_is_named_and_leaves_no_process_behind() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_lost_host", "switch:1G") else { return };
    let half_is_missing = |run: &Value, how: &str| {
        let told = incidents(run);
        assert!(told.contains("on b") && told.contains(how), "{told}");
        assert!(told.contains("50.0 % of the load of its window"), "{told}");
        assert_eq!(names(&run["trials"][0]["host_loads"], "host"), ["a"], "the part of a is kept");
        assert_eq!(run["interrupted"], true);
    };

    // First fault: the generator on host b is killed. The generator is the agent that was started last.
    let (run, _) = disturbed(&hosts, &nginx, |hosts| kill(&[*hosts.agents("b").last().unwrap()]));
    half_is_missing(&run, "ended");

    // Second fault: all sshd processes that serve host b are killed.
    let (run, _) = disturbed(&hosts, &nginx, |hosts| kill(&hosts.sessions("b")));
    half_is_missing(&run, "ended");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

/// S-Clients continue if other hosts are lost, so the run has not ended when the hosts return. On the hosts b and c,
/// the test stops the generator processes. For the hosts d and e, the test cuts the network links. The faults last 10 s
/// on the hosts b and d, and 40 s on the hosts c and e. The test needs little CPU time and measures no speed, so other
/// tests may run at the same time.
#[test]
fn hosts_that_stop_for_10_s_or_40_s_are_lost_and_the_others_continue() {
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
        // The agents behind a cut link receive nothing, and must end by themselves.
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

/// Time for which the conductor (the process that controls the run) is stopped. After 5 s without a message, the
/// conductor and an agent (process on another host) consider each other lost.
const STALL: Duration = Duration::from_secs(10);

/// The rate is low, so other tests may run at the same time.
#[test]
fn a_conductor_that_stops_for_10_s_leaves_no_load_and_reports_lost_hosts() {
    let Some((hosts, nginx)) = shared_nginx_hosts("a_conductor_that_stands_still", "switch:1G") else { return };
    let engine = hosts.engine();
    let load = args("load", &nginx.url, &engine, &["--rate", "200", "--duration", "60s", "--warmup", "200ms"]);
    let (run, output) = hosts.run("conductor", &load, |hosts| {
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 2)));
        nginx.logged(100);
        let conductor = conductor(hosts);
        signal(conductor, "STOP");
        let began = Instant::now();
        // All agents must end without a request from the conductor, which is stopped.
        ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
        std::thread::sleep(STALL.saturating_sub(began.elapsed()));
        signal(conductor, "CONT");
    });
    let (text, told) = (said(&output), incidents(&run));
    assert!(told.contains("observer on server was lost"), "{told}\n{text}");
    assert!(told.contains("it heard nothing from its conductor for 5 s"), "{told}\n{text}");
    assert!(nginx.logged(total(&run, "completed")) >= total(&run, "completed"), "{text}");
}

/// A test cannot stop a whole host, so it stops the observer's process, which measures its own pauses. A stopped host
/// and a stopped observer therefore look equal.
#[test]
fn a_stall_of_the_server_s_host_is_seen_there() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("a_server_s_host_that_stands_still", "switch:1G") else { return };
    let engine = hosts.engine();
    let load = args("load", &nginx.url, &engine, &["--connections", "4", "--duration", "5s", "--warmup", "200ms"]);
    let mut stood = Duration::ZERO;
    let (run, output) = hosts.run("conductor", &load, |hosts| {
        ["a", "b"].iter().for_each(|host| drop(hosts.await_agents(host, 2)));
        nginx.logged(100);
        // Agents that only answered a question before the load have already ended.
        let observer = hosts.await_agents("server", 1)[0];
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

/// Observers on the server's host watch the server's processes. The run must report that the server's process ended,
/// and not only that clients got no answers.
#[test]
fn a_server_that_ends_on_another_host_is_named_and_ends_the_load() {
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
fn nodes_that_slurm_loses_are_named() {
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

    // Kills slurmd on node n1. slurmd has started the steps on n1, but these steps continue without slurmd. Then kills
    // slurmstepd on node n2, so the steps on n2 end.
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

    // For the next allocation, Slurm needs slurmd on n1, which starts the steps.
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

/// No process reads this agent's output, so the agent may not even be able to send its first message (hello). The agent
/// must still end when its conductor has ended.
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
    // The pipe of the first agent is full. The pipe of the second agent has space for the agent's hello and a few
    // reports of progress.
    std::thread::scope(|scope| {
        for room in [0, 1000] {
            let task = task.as_ref().unwrap();
            scope.spawn(move || ends_behind_a_full_pipe(task, PIPE - room, room > 0));
        }
    });
}

/// Starts an agent whose standard output is a pipe that already contains `full` bytes and that nobody reads. Sends the
/// agent a task if `tasked` is true. Checks that the agent ends when its input ends.
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

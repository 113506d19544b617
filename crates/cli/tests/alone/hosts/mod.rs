//! Tests of experiments and verdicts whose generators and server run on other hosts. A lever is a temporary change that
//! an experiment makes, such as slowing a CPU.

use testkit::nginx_hosts::{Nginx, args, names_where, nginx_hosts, said};
use testkit::{ControlGroup, SshHosts, binary, num, total};

/// Each lever is a process (agent) on the host whose resource the lever slows. The output must contain the reason for
/// each unused lever.
#[test]
fn prove_on_other_hosts_runs_each_lever_on_its_own_host() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("prove_on_other_hosts", binary!(), "switch:1G") else { return };
    let engine = hosts.engine();
    let prove =
        args(binary!(), "prove", &nginx.url, &engine, &["--budget", "20s", "--connections", "8", "--intrusive"]);
    let (run, output) = hosts.run("conductor", &prove, |_| {});
    let text = said(&output);
    assert_eq!(nginx.logged(total(&run, "completed")), total(&run, "completed"), "{text}");
    let proof = &run["findings"]["proof"];
    let levers = proof["trials"][0]["levers"].as_array().unwrap_or_else(|| panic!("{proof:#}\n{text}"));
    let on = |lever: &str| levers.iter().find(|l| l["lever"] == lever).map(|l| l["host"].as_str().unwrap());
    assert_eq!((on("server-cpu"), on("client-cpu")), (Some("server"), Some("a, b")), "{proof:#}");
    for lever in levers {
        // The lever takes a quarter of the CPU from the threads that answer, so each of these threads gets less CPU
        // time.
        let speeds = lever["speed"].as_array().unwrap();
        assert_eq!(speeds.len(), lever["on"].as_array().unwrap().len());
        assert!(speeds.iter().any(|speed| num(speed) < 0.99) && num(&lever["taken"]) > 0.0, "{lever}");
    }
    // loadline reads the number of workers on the server's host. In this test, nginx has only one worker, so the lever
    // on a worker is not used.
    let why = names_where(&proof["untried"], "lever", "worker", "why");
    assert_eq!(why, "on server, the server has fewer than two worker processes", "{proof:#}");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

#[test]
fn of_two_hosts_the_starved_one_is_named() {
    let test = "of_two_hosts_the_starved_one";
    let _alone = testkit::alone();
    let Some(group) = ControlGroup::fifth_of_a_processor(test) else { return };
    let names = ["conductor", "server", "a", "b"];
    let Some(hosts) = SshHosts::make_with(test, binary!(), "switch:1G", &names, &[("b", &group)]) else { return };
    let Some(nginx) = Nginx::start(test, &hosts) else { return };
    let engine = hosts.engine();
    let load =
        args(binary!(), "load", &nginx.url, &engine, &["--connections", "16", "--duration", "2s", "--warmup", "500ms"]);
    let (run, output) = hosts.run("conductor", &load, |_| {});
    let (text, trial) = (said(&output), &run["trials"][0]);
    assert_eq!((&trial["client"]["host"], &trial["client_hosts"][0]["host"]), (&"b".into(), &"a".into()), "{text}");
    let found = &run["findings"]["bottleneck"];
    assert!(found["id"] == "client-cpu" && found.to_string().contains("on b, "), "{found:#}\n{text}");
    drop((nginx, hosts));
}

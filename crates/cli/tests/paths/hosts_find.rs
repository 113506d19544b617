//! Test of `find` with two hosts that generate load and one host with the server. A real sshd runs on each host.

use serde_json::Value;
use testkit::nginx_hosts::{args, names, nginx_hosts, said};
use testkit::{binary, num, total};

#[test]
fn find_on_other_hosts_has_evidence_from_the_server_and_equal_counts() {
    let Some((hosts, nginx, _alone)) = nginx_hosts("find_on_other_hosts", binary!(), "switch:1G") else { return };
    let engine = hosts.engine();
    let find = args(binary!(), "find", &nginx.url, &engine, &["--budget", "10s", "--connections", "16"]);
    let (run, output) = hosts.run("conductor", &find, |_| {});
    let text = said(&output);
    assert!(run["trials"].as_array().is_some_and(|trials| trials.len() > 1), "{text}");
    let completed = total(&run, "completed");
    assert_eq!(nginx.logged(completed), completed, "{text}");
    assert_eq!(names(&run["hosts"], "name"), ["a", "b", "server"]);
    for trial in run["trials"].as_array().unwrap() {
        let server = &trial["server"];
        assert_eq!(server["host"], "server");
        assert!(server["processes"].as_array().unwrap().iter().any(|p| p.as_str().unwrap().starts_with("nginx:")));
        assert!(num(&server["counters"]["process.cpu"]) > 0.0, "{:#}", server["counters"]);
        assert!(trial["histograms"]["response"].as_str().is_some());
        assert_eq!(trial["latency_us"]["count"], trial["measured"]["tally"]["completed"]);
        let clock_us = num(&trial["measured"]["apart"]["clock_us"]);
        assert!(clock_us > 0.0);
        // Network namespaces share the machine's clock, so any clock offset that loadline measures is an error. The
        // offset that loadline measures must be at most the round-trip time.
        let loads = trial["host_loads"].as_array().unwrap();
        assert!(loads.iter().all(|load| num(&load["clock_us"]).abs() <= clock_us), "{loads:?}");
        let of_hosts: u64 = loads.iter().map(|load| load["completed"].as_u64().unwrap()).sum();
        assert_eq!(of_hosts, trial["measured"]["tally"]["completed"].as_u64().unwrap());
    }
    let both = |trial: &&Value| names(&trial["host_loads"], "host") == ["a", "b"];
    assert!(run["trials"].as_array().unwrap().iter().filter(both).count() > 0, "{text}");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

//! Tests of experiments on hosts that the user names: the experiment's server runs on one host, and its clients run on
//! the other hosts. Values that only a testbed (emulated hosts and network) can count must be missing.

use serde_json::Value;
use testkit::{SshHosts, binary, num};

use crate::hosts::nginx_hosts::{names, notes, said};

/// Makes hosts without nginx, because the experiment starts its own server.
fn hosts(test: &str) -> Option<SshHosts> {
    SshHosts::make(test, binary!(), "switch:1G", &["conductor", "server", "a", "b"])
}

/// Runs `lab NAME --quick` with the parameters in `set`. The server runs on the host `server`, and the clients run on
/// the hosts `a` and `b`. Returns the run and the output.
fn played(hosts: &SshHosts, name: &str, set: &[&str]) -> (Value, String) {
    let (engine, own) = (hosts.engine(), binary!().to_str().unwrap());
    let mut args = vec!["lab", name, "--quick", "--server-host", "server", "--client-hosts", "a,b", "--via", &engine];
    args.extend(["--agent-path", own, "--listen", hosts.address("server")]);
    set.iter().for_each(|one| args.extend(["--set", one]));
    let (run, output) = hosts.run("conductor", &args, |_| {});
    let text = said(&output);
    assert!(run["trials"].is_array(), "{text}");
    assert_eq!(names(&run["hosts"], "name"), ["a", "b", "server"], "{text}");
    ["a", "b", "server"].iter().for_each(|host| hosts.await_no_agents(host));
    (run, text)
}

fn texts(list: &Value) -> Vec<String> {
    names(list, "text")
}

#[test]
fn request_rate_on_hosts_counts_at_both_ends_and_names_missing_counts() {
    let _alone = testkit::alone();
    let Some(hosts) = hosts("request_rate_on_hosts") else { return };
    let set = ["simple_clients=[4]", "most_descriptors=100", "s_clients_a_host=1", "seconds=1", "warmup_s=0.5"];
    let (run, text) = played(&hosts, "request-rate", &set);
    let trials = run["trials"].as_array().unwrap();
    let of_s_clients: Vec<&Value> = trials.iter().filter(|trial| trial["key"]["descriptors"].is_u64()).collect();
    assert!(of_s_clients.len() > 1, "{text}");
    for trial in of_s_clients {
        assert_eq!(trial["server"]["host"], "server");
        assert_eq!(names(&trial["host_loads"], "host"), ["a", "b"], "{text}");
        let counts = &trial["results"];
        let (sent, kernel) = (num(&counts["syns_generator"]), num(&counts["syns_kernel"]));
        // The timeout of a connect is shorter than the kernel's first retransmission, so each SYN is sent once. The
        // server's kernel may count a SYN twice: once when the SYN arrives, and once more as a dropped connection. The
        // kernel counts a SYN twice if the accept queue is full when the TCP handshake ends.
        assert!(sent > 0.0 && (kernel - sent).abs() <= 0.05 * sent + 5.0, "{sent} sent, {kernel} arrived\n{text}");
        assert!(counts["syns_filter"].is_null(), "nobody filtered: {counts}");
    }
    assert!(texts(&run["notes"]).iter().any(|note| note.contains("a packet filter's count is missing")), "{text}");
    let checks = run["findings"]["checks"].to_string();
    assert!(checks.contains("S-Clients reach") && !checks.contains("three counts"), "{checks}");
}

#[test]
fn adding_clients_on_hosts_uses_a_host_per_client_without_the_wire() {
    let _alone = testkit::alone();
    let Some(hosts) = hosts("adding_clients_on_hosts") else { return };
    let (run, text) = played(&hosts, "adding-clients", &["clients=3", "seconds=1"]);
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "{text}");
    assert_eq!(names(&trials[1]["host_loads"], "host"), ["a", "b"], "{text}");
    for trial in trials {
        assert!(num(&trial["completed"]) > 0.0, "{text}");
        assert_eq!(trial["server"]["host"], "server");
        // The server counts its cache hits itself, and reports the count.
        let served = &trial["server"]["counters"]["record.cache_hits"];
        assert!(num(served) > 0.0, "{served} {:?}", notes(trial));
        assert!(trial["results"]["wire_use"].is_null(), "{}", trial["results"]);
    }
    assert!(texts(&run["notes"]).iter().any(|note| note.contains("2 clients in place of 3")), "{text}");
    let said = run["findings"]["conclusions"].to_string();
    assert!(said.contains("whether it is full is not known"), "{said}");
    assert!(!run["findings"]["checks"].to_string().contains("wire"), "{text}");
}

#[test]
fn io_models_on_hosts_hold_the_connections_that_their_servers_count() {
    let _alone = testkit::alone();
    let Some(hosts) = hosts("io_models_on_hosts") else { return };
    let set = ["models=[\"epoll\", \"blocking\"]", "entries=[1]", "first=30", "seconds=1", "warmup_s=1", "turns=0"];
    let (run, text) = played(&hosts, "io-models", &set);
    let trials = run["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 2, "{text}");
    for trial in trials {
        assert!(num(&trial["completed"]) > 0.0 && trial["server"]["host"] == "server", "{text}");
        assert_eq!(names(&trial["host_loads"], "host"), ["a", "b"], "{text}");
        assert_eq!(num(&trial["axes"]["held"]), 30.0, "{:?}", notes(trial));
        assert!(num(&trial["axes"]["threads"]) >= 1.0 && num(&trial["axes"]["server_receives_bytes_per_s"]) > 0.0);
        assert!(trial["axes"]["wire_use"].is_null() && trial["axes"]["threads_by_rule"].is_null(), "{}", trial["axes"]);
    }
    assert!(texts(&run["notes"]).iter().any(|note| note.contains("kernel memory")), "{text}");
}

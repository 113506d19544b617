//! Compares searches on the same hosts. In some searches, loadline starts its processes on the hosts by ssh or through
//! Slurm. In another search, a user starts loadline by hand in the network namespace of one of the hosts.

use std::process::{Output, Stdio};

use serde_json::Value;
use testkit::nginx_hosts::said;
use testkit::{ChildProcess, OtherPrograms, Slurm, SshHosts, binary, num};

/// CPU time of the server per request, microseconds.
const WORK_US: f64 = 3000.0;
/// Time for which the only serving thread sleeps per request, milliseconds. With the server's CPU time of 3 ms, a
/// request takes 18 ms, so the capacity is about 55 requests per second on any machine.
const SLEEP_MS: f64 = 15.0;

/// Flags of every search in these tests.
const FIND: [&str; 8] = ["--budget", "18s", "--prove", "off", "--connections", "8", "--at-rest", "100ms"];

/// Compares the search by hand with two other searches. In the first search, loadline reaches the hosts by ssh, and in
/// the second search, through a Slurm allocation.
#[test]
fn find_on_other_hosts_agrees_with_find_by_hand_in_the_same_namespaces() {
    let test = "find_on_other_hosts_agrees";
    let _alone = testkit::alone();
    let names = ["conductor", "server", "a", "b"];
    let Some(hosts) = SshHosts::make(test, binary!(), "switch:1G", &names) else { return };
    let (_server, url) = serve(&hosts);
    let find = [&["find", &url][..], &FIND].concat();
    let by_hand = Found::by(|| hosts.run("a", &find, |_| {}));
    let (engine, own) = (hosts.engine(), binary!().to_str().unwrap());
    let by_ssh = ["--client-hosts", "a,b", "--server-host", "server", "--via", &engine, "--agent-path", own];
    agrees(&by_hand, &Found::by(|| hosts.run("conductor", &[&find[..], &by_ssh].concat(), |_| {})));

    let Some(slurm) = Slurm::start(test, hosts, "conductor", &names[2..]) else { return };
    let inside = format!("{own} testbed exec lan {{host}} --");
    let by_slurm = ["--client-hosts", "slurm", "--server-host", "server", "--server-via", &inside, "--agent-path", own];
    agrees(&by_hand, &Found::by(|| slurm.run(2, &[&find[..], &by_slurm].concat(), |_| {})));
}

/// Starts a server on the named host. Returns the server and its URL.
fn serve(hosts: &SshHosts) -> (ChildProcess, String) {
    let listen = format!("{}:8080", hosts.address("server"));
    let mut serve = hosts.inside("server", binary!());
    serve.args(["serve", "http", "--listen", &listen, "--option", &format!("work_us={WORK_US}")]);
    serve.args(["--option", &format!("sleep_ms={SLEEP_MS}")]);
    let server = ChildProcess::start(serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    hosts.await_listening("server", 8080);
    (server, format!("http://{listen}/"))
}

/// Checks that two searches agree in verdict, capacity and costs, and that the evidence comes from the server's host.
fn agrees(by_hand: &Found, elsewhere: &Found) {
    assert_eq!(by_hand.server, "localhost");
    assert_eq!(elsewhere.server, "server", "evidence is of the server's own host");
    // Other programs may lower the capacity, but hardly change the server's CPU time per request.
    for run in [by_hand, elsewhere] {
        assert!((0.95 * WORK_US..2.0 * WORK_US).contains(&run.cpu_us), "{} us a request\n{}", run.cpu_us, run.text);
        assert!(run.rate <= 1e3 / SLEEP_MS, "{}", run.text);
    }
    // The two searches run one after the other on a shared machine, so their capacities may differ. However, the two
    // capacities differ only a little, because most of a request's time is the server's sleep, which other programs do
    // not change.
    let apart = by_hand.rate.max(elsewhere.rate) / by_hand.rate.min(elsewhere.rate);
    assert!(apart < 1.6, "{apart}\n{}\n{}", by_hand.text, elsewhere.text);
    for run in [by_hand, elsewhere].iter().filter(|run| run.undisturbed) {
        assert_eq!(run.verdict, "server-concurrency", "{}", run.text);
    }
}

struct Found {
    /// True if other programs used little CPU time during the search.
    undisturbed: bool,
    verdict: String,
    /// Capacity, requests per second.
    rate: f64,
    /// CPU time of the server's processes per request, in the trial that decided the verdict, microseconds.
    cpu_us: f64,
    /// Name of the host from which the counters of the server's side come.
    server: String,
    /// Output of the search, for the message of a failed test.
    text: String,
}

impl Found {
    /// Runs a search and reads its results.
    fn by(search: impl FnOnce() -> (Value, Output)) -> Self {
        let others = OtherPrograms::watch();
        let (run, output) = search();
        let undisturbed = others.stayed_away("the verdict of a search on other hosts");
        let text = said(&output);
        let findings = &run["findings"];
        let decisive = findings["picks"]["decisive"].as_u64().unwrap_or_else(|| panic!("{findings:#}\n{text}"));
        let trial = &run["trials"][usize::try_from(decisive).unwrap()];
        Self {
            undisturbed,
            text,
            verdict: findings["bottleneck"]["id"].as_str().unwrap_or_default().into(),
            rate: num(&findings["capacity"]["rate"]),
            cpu_us: num(&trial["server"]["costs"]["process_cpu_us"]["per_request"]),
            server: trial["server"]["host"].as_str().unwrap_or_default().into(),
        }
    }
}

//! A search over other hosts against the same one made by hand in one of the same namespaces.

use std::process::Stdio;

use testkit::{Held, SshHosts, binary, eventually, num, program};

use crate::stage::said;

/// CPU that each page takes, microseconds.
const WORK_US: f64 = 3000.0;
/// And its sleep in the one thread that serves, milliseconds: so the capacity is some 55 a second, whatever else the machine does.
const SLEEP_MS: f64 = 15.0;

#[test]
fn find_by_ssh_agrees_with_find_by_hand_in_the_same_namespaces() {
    let _alone = testkit::alone();
    let names = ["conductor", "server", "a", "b"];
    let Some(hosts) = SshHosts::make("find_by_ssh_agrees", binary!(), "switch:1G", &names) else { return };
    let listen = format!("{}:8080", hosts.address("server"));
    let mut serve = hosts.inside("server", binary!());
    serve.args(["serve", "http", "--listen", &listen, "--option", &format!("work_us={WORK_US}")]);
    serve.args(["--option", &format!("sleep_ms={SLEEP_MS}")]);
    let _server = Held::start(serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    eventually(|| {
        let mut listens = hosts.inside("server", &program("ss").unwrap());
        let said = listens.args(["-Hltn", "sport", "=", ":8080"]).output().unwrap();
        (!said.stdout.is_empty()).then_some(())
    });
    let url = format!("http://{listen}/");
    let find = ["find", &url, "--budget", "9s", "--prove", "off", "--connections", "8", "--at-rest", "100ms"];
    let by_hand = found(&hosts, "a", &find, &[]);
    let engine = hosts.engine();
    let own = binary!().to_str().unwrap();
    let elsewhere = ["--client-hosts", "a,b", "--server-host", "server", "--via", &engine, "--agent-path", own];
    let by_ssh = found(&hosts, "conductor", &find, &elsewhere);

    assert_eq!(by_hand.server, "localhost");
    assert_eq!(by_ssh.server, "server", "evidence is of the server's own host");
    // What the server burns is its own CPU time; neighbours take time from capacity and not from this.
    for run in [&by_hand, &by_ssh] {
        assert!((0.95 * WORK_US..2.0 * WORK_US).contains(&run.cpu_us), "{} us a request\n{}", run.cpu_us, run.text);
        assert!(run.rate <= 1e3 / SLEEP_MS, "{}", run.text);
    }
    // Two searches one after the other on a machine that others use, too: what the sleep takes is the same.
    let apart = by_hand.rate.max(by_ssh.rate) / by_hand.rate.min(by_ssh.rate);
    assert!(apart < 1.6, "{apart}\n{}\n{}", by_hand.text, by_ssh.text);
    // Where others use the CPUs a run says so, and its cause is a guess or none.
    let alone = |run: &&Found| !run.text.contains("other programs used");
    for run in [&by_hand, &by_ssh].into_iter().filter(alone) {
        assert_eq!(run.verdict, "server-concurrency", "{}", run.text);
    }
}

struct Found {
    verdict: String,
    /// Its capacity, requests a second.
    rate: f64,
    /// CPU time of the server's processes a request, in the trial that decided.
    cpu_us: f64,
    /// The host of the server's side.
    server: String,
    /// What it said, for whoever reads why this failed.
    text: String,
}

fn found(hosts: &SshHosts, host: &str, find: &[&str], more: &[&str]) -> Found {
    let args: Vec<&str> = find.iter().chain(more).copied().collect();
    let (run, output) = hosts.run(host, &args, |_| {});
    let text = said(&output);
    let findings = &run["findings"];
    let decisive = findings["picks"]["decisive"].as_u64().unwrap_or_else(|| panic!("{findings:#}\n{text}"));
    let trial = &run["trials"][usize::try_from(decisive).unwrap()];
    Found {
        text,
        verdict: findings["bottleneck"]["id"].as_str().unwrap_or_default().into(),
        rate: num(&findings["capacity"]["rate"]),
        cpu_us: num(&trial["server"]["costs"]["process_cpu_us"]["per_request"]),
        server: trial["server"]["host"].as_str().unwrap_or_default().into(),
    }
}

//! Test that `prove` takes CPU time from a server that computes, and that throughput drops as predicted.

use testkit::{OtherPrograms, alone_with_release, bottleneck, json, num, serve, verdict};

/// On a busy machine, the experiment may need more time than this test gives it. The true elasticity is 1, because this
/// server's throughput is proportional to its CPU's speed. Even without enough time for a proof, the confidence
/// interval must contain a value from 0.8 to 1.1. The experiment itself also tolerates 1.1 in a proof. The experiment's
/// thread slows the server by a few percent more than its own CPU time, because of cache misses and thread switches.
/// The confidence interval covers only the random error. Four intervals on a quiet machine were 0.98-1.01, 0.99-1.02,
/// 1.00-1.04 and 1.00-1.05. Two intervals on other machines were 1.003-1.104 and 1.01-1.15.
#[test]
fn slowing_a_computing_server_proves_its_cpu_limit() {
    let (_alone, binary) = alone_with_release!("proof of server-cpu");
    let server = serve(&binary, 1, &["--option", "work_us=400"]);
    let url = format!("http://{}/", server.addr);
    let others = OtherPrograms::watch();
    let run = json(&binary, &["prove", &url, "--cpus", "0", "--connections", "8", "--budget", "15s"]);
    let proof = &run["findings"]["proof"];
    let is_server_cpu = |lever: &&serde_json::Value| lever["lever"] == "server-cpu";
    let elasticity = proof["elasticities"].as_array().unwrap().iter().find(is_server_cpu).unwrap();
    assert!(num(&elasticity["low"]) <= 1.1 && num(&elasticity["high"]) >= 0.8, "{}\n{proof:#}", verdict(&run));
    if others.disturbed() {
        return assert_ne!(proof["outcome"], "refuted", "{}\n{proof:#}", verdict(&run));
    }
    assert_eq!(bottleneck(&run), "server-cpu", "{}\n{}", verdict(&run), proof["why"]);
    assert_eq!(proof["outcome"], "proven", "{}\n{proof:#}", verdict(&run));
}

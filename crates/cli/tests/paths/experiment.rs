//! Test that `prove` takes CPU time from a server that computes, and that throughput drops as predicted.

use testkit::{alone_with_release, bottleneck, json, serve, verdict};

#[test]
fn slowing_a_computing_server_proves_its_cpu_limit() {
    let (_alone, binary) = alone_with_release!("proof of server-cpu");
    let server = serve(&binary, 1, &["--option", "work_us=400"]);
    let url = format!("http://{}/", server.addr);
    let run = json(&binary, &["prove", &url, "--cpus", "0", "--connections", "8", "--budget", "15s"]);
    let proof = &run["findings"]["proof"];
    assert_eq!(bottleneck(&run), "server-cpu", "{}\n{}", verdict(&run), proof["why"]);
    assert_eq!(proof["outcome"], "proven", "{}\n{proof:#}", verdict(&run));
}

//! `prove` takes CPU from a server that computes, and throughput falls as predicted.

use testkit::{alone_with_release, bottleneck, json, serve, verdict};

#[test]
fn a_server_that_computes_is_proven_by_taking_its_cpu() {
    let (_alone, binary) = alone_with_release!("proof of server-cpu");
    let server = serve(&binary, 1, &["--option", "work_us=400"]);
    let url = format!("http://{}/", server.addr);
    let run = json(&binary, &["prove", &url, "--cpus", "0", "--connections", "8", "--budget", "15s"]);
    let proof = &run["findings"]["proof"];
    assert_eq!(bottleneck(&run), "server-cpu", "{}\n{}", verdict(&run), proof["why"]);
    assert_eq!(proof["outcome"], "proven", "{}\n{proof:#}", verdict(&run));
}

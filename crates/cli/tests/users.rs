//! A closed loop of people: so many, each thinking between an answer and the next request.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{binary, json, loadline, num, serve};

#[test]
fn people_think_between_an_answer_and_the_next_request() {
    let server = serve(binary!(), 0, &[]);
    let url = format!("http://{}/", server.addr);
    let load = ["load", &url, "--users", "5", "--think", "exp:50ms", "--duration", "2s", "--at-rest", "0"];
    let run = json(binary!(), &load);
    let trial = &run["trials"][0];
    let intensity = trial["intensity"].to_string();
    assert!(intensity.contains("\"connections\":5") && intensity.contains("\"exponential\":true"), "{intensity}");
    // Five who think 50 ms make 100 a second at most in the mean; what 2 s of them scatter is 7 %.
    let rate = num(&trial["completed_rate"]);
    assert!(rate > 0.0 && rate < 150.0, "{rate}");
    let output = loadline(binary!(), &["load", &url, "--users", "5"]);
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("--think"));
}

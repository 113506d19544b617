//! Tests of closed loops of users (`--users`). After each answer, a user waits for a think time before the next
//! request.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use testkit::{binary, json, loadline, num, one_loop, script_server, serve, skip};

#[test]
fn users_think_between_an_answer_and_the_next_request() {
    let server = serve(binary!(), 0, &[]);
    let url = format!("http://{}/", server.addr);
    let load = ["load", &url, "--users", "5", "--think", "exp:50ms", "--duration", "2s", "--at-rest", "0"];
    let run = json(binary!(), &load);
    let trial = &run["trials"][0];
    let intensity = trial["intensity"].to_string();
    assert!(intensity.contains("\"connections\":5") && intensity.contains("\"exponential\":true"), "{intensity}");
    // Five users with mean think times of 50 ms make at most 100 requests per second on average. From one measurement
    // of 2 s to the next, the rate of requests varies by about 7 %.
    let rate = num(&trial["completed_rate"]);
    assert!(rate > 0.0 && rate < 150.0, "{rate}");
    let again =
        ["load", &url, "--users", "3", "--think", "20ms", "--duration", "400ms", "--at-rest", "0", "--repeat", "2"];
    let run = json(binary!(), &again);
    let trials = run["trials"].as_array().unwrap();
    let of = |trial: &serde_json::Value| {
        (trial["intensity"]["connections"].as_u64(), trial["intensity"]["think"]["mean_ms"].as_f64())
    };
    assert_eq!(trials.iter().map(of).collect::<Vec<_>>(), [(Some(3), Some(20.0)); 2], "{run}");
    assert!(trials.iter().all(|trial| num(&trial["completed"]) > 0.0) && run["findings"]["repeats"][1].is_object());
    let output = loadline(binary!(), &["load", &url, "--users", "5"]);
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("--think"));
}

#[test]
fn the_capacity_is_found_in_users() {
    // The server handles one request at a time, in 20 ms each, so it completes 50 requests per second.
    let Some((_server, addr)) = script_server(&one_loop("", "time.sleep(0.02)")) else {
        return skip("users of a server that serves one at a time", "python3 is not installed");
    };
    let url = format!("http://{addr}/");
    let find = ["find", &url, "--users", "400", "--think", "exp:500ms", "--p50", "100ms", "--budget", "20s"];
    let run = json(binary!(), &find);
    let users = &run["findings"]["users"];
    let (held, failed) = (num(&users["held"]), num(&users["failed"]));
    // A user sends at most one request per 520 ms (500 ms think time and 20 ms service). The server handles one request
    // every 20 ms. The server is therefore full with 26 users. With 52 users, an answer takes about half a second, but
    // the objective allows a median of 100 ms.
    assert!(held >= 3.0 && held < failed && failed <= 52.0, "{users}");
    assert!(run["trials"].as_array().unwrap().iter().all(|trial| trial["intensity"]["loop"] == "closed"));
    assert!(users["failed_why"].as_str().is_some_and(|why| why.contains("the median was")), "{users}");
    // Each repeat makes its own search, which begins with few users.
    let again =
        ["find", &url, "--users", "60", "--think", "exp:500ms", "--p50", "100ms", "--budget", "4s", "--repeat", "2"];
    let run = json(binary!(), &again);
    let tried = |repeat: u64| -> Vec<u64> {
        let trials = run["trials"].as_array().unwrap().iter().filter(|t| t["repeat"].as_u64().unwrap_or(0) == repeat);
        trials.map(|t| t["intensity"]["connections"].as_u64().unwrap()).collect()
    };
    let (one, two) = (tried(0), tried(1));
    assert!(!one.is_empty() && !two.is_empty() && one[0] == two[0], "{one:?} {two:?}");
    assert!(run["findings"]["repeats"].as_array().is_some_and(|all| all.len() == 2), "{}", run["findings"]["repeats"]);
    for wrong in
        [vec!["find", &url, "--users", "5"], vec!["find", &url, "--users", "5", "--think", "1s", "--pipeline", "2"]]
    {
        assert_eq!(loadline(binary!(), &wrong).status.code(), Some(2), "{wrong:?}");
    }
}

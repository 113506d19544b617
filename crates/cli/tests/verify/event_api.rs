//! Tests that run a short version of the experiment `lab event-api`, and tests of loadline's proxy in front of nginx.
//! The test of the proxy has a load and additional idle connections.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use testkit::{binary, json, nginx, num, served, skip};

#[test]
fn every_part_of_the_experiment_times_calls() {
    let sets = [
        "backends=[\"epoll\",\"uring\",\"select\"]",
        "array_max=[1,2]",
        "clients=[3]",
        "cold=[0,40,80]",
        "rounds=1",
        "calls=40",
        "across=30",
        "seconds=3",
        "relay_seconds=1",
    ];
    let mut args = vec!["lab", "event-api"];
    sets.iter().for_each(|set| args.extend(["--set", set]));
    let run = json(binary!(), &args);
    let trials = run["trials"].as_array().unwrap();
    let uring = sys::poll_ring::PollRing::new(8, sys::poll_ring::TaskRun::Cooperative).is_ok();
    if !uring {
        skip("the event API's experiment on io_uring", "the kernel does not give it here");
    }
    for name in ["epoll", "uring", "select"].into_iter().filter(|name| uring || *name != "uring") {
        for part in [" 3 clients, array_max 1", " 3 clients, array_max 2", " small file", ", 80 cold", " hot rate"] {
            let label = format!("{name}{part}");
            let trial = trials.iter().find(|t| t["label"].as_str().unwrap().starts_with(&label));
            let trial = trial.unwrap_or_else(|| panic!("no trial {label:?}: {}", run["notes"]));
            assert!(num(&trial["axes"]["calls"]) > 0.0 && num(&trial["axes"]["median_us"]) > 0.0, "{label}");
            let room = trial["axes"]["array_max"].as_f64().unwrap_or(f64::INFINITY);
            let returned = num(&trial["axes"]["returned"]);
            assert!(returned >= 1.0 && returned <= room, "{label}: {returned} events a call, room for {room}");
        }
    }
    let processes = trials.iter().filter(|t| t["axes"]["processes"].is_number());
    assert!(processes.clone().count() >= 2, "{}", run["notes"]);
    assert!(processes.clone().any(|t| num(&t["axes"]["cold"]) == 30.0));
    let small = trials.iter().find(|t| t["label"].as_str().unwrap().starts_with("epoll small file")).unwrap();
    assert!(num(&small["axes"]["declared"]) > 0.0 && num(&small["axes"]["revoked"]) > 0.0, "{}", small["axes"]);
    let checks = run["findings"]["checks"].as_array().unwrap();
    assert!(checks.iter().any(|c| c["name"].as_str().unwrap().starts_with("the library's own share")), "{checks:?}");
}

#[test]
fn a_proxy_in_front_of_nginx_holds_cold_connections_and_loses_no_request() {
    let Some(nginx) = nginx(0, "", "") else { return skip("the proxy in front of nginx", "no nginx") };
    for events in ["epoll", "uring", "poll", "select"] {
        let mut command = Command::new(binary!());
        command.args(["serve", "proxy", "--upstream", &nginx.addr.to_string(), "--events", events]);
        let proxy = served(command);
        let url = format!("http://{}/file", proxy.addr);
        let load = ["load", &url, "--connections", "8", "--cold", "200", "--duration", "1s"];
        let run = json(binary!(), &load);
        let trial = &run["trials"][0];
        assert_eq!(num(&trial["axes"]["cold"]), 200.0, "{events}: {}", trial["notes"]);
        assert_eq!(trial["errors"].as_object().map_or(0, |e| e.len()), 0, "{events}: {}", trial["errors"]);
        assert!(num(&trial["completed"]) > 0.0, "{events}");
        let bytes = num(&trial["bytes_received"]);
        assert!(bytes >= 1294.0 * num(&trial["completed"]), "{events}: {bytes} bytes");
    }
}

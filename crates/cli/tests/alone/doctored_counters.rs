//! An experiment must refute a verdict that follows from wrong counters. The test runs a real experiment on a server
//! whose CPU is full. After the experiment, the test exchanges the counters of the client and the server in the stored
//! run. From the exchanged counters, `judge` names the wrong side. The measured effects of the experiment's levers
//! (temporary changes) must refute the verdict that names the wrong side.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;
use testkit::{OtherPrograms, alone_with_release, bottleneck, json, num, recording, serve, verdict};

/// Names of the counters for CPU time, of a process and of a thread.
const USED: [&str; 4] = ["process.cpu", "process.user", "process.system", "thread.cpu"];

/// Returns one flag for each sample of a side: true if the sample lies in the measured window. The test does not
/// exchange samples outside of the window.
fn measured(side: &Value, window: &Value) -> Vec<bool> {
    let within = |t_s: &Value| (num(&window["begin_s"])..=num(&window["end_s"])).contains(&num(t_s));
    side["recording"]["t_s"].as_array().unwrap().iter().map(within).collect()
}

/// Returns the growth of a counter in the samples that `rows` marks.
fn growth(column: &Value, rows: &[bool]) -> f64 {
    let values = column["values"].as_array().unwrap().iter().zip(rows).filter(|(_, row)| **row);
    let values: Vec<f64> = values.filter_map(|(value, _)| value.as_f64()).collect();
    values.last().zip(values.first()).map_or(0.0, |(last, first)| last - first)
}

/// Returns the column of the counter that grew most in the window, and its growth.
fn busiest<'a>(side: &'a mut Value, counter: &str, window: &Value) -> Option<(&'a mut Value, f64)> {
    let rows = measured(side, window);
    let columns = side["recording"]["columns"].as_array_mut().unwrap().iter_mut();
    let grown = columns.filter(|c| c["counter"] == counter).map(|column| {
        let growth = growth(column, &rows);
        (column, growth)
    });
    grown.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn stretch(column: &mut Value, times: f64) {
    for value in column["values"].as_array_mut().unwrap().iter_mut().filter(|v| v.is_number()) {
        *value = Value::from(num(value) * times);
    }
}

/// Exchanges the CPU times of the client and the server, and the CPUs on which they ran.
fn exchange(trial: &mut Value) {
    let window = trial["measured"]["window"].clone();
    for counter in USED {
        let mut grew = |side: &str| busiest(&mut trial[side], counter, &window).map(|(_, growth)| growth.max(1.0));
        let (Some(client), Some(server)) = (grew("client"), grew("server")) else { continue };
        for (side, times) in [("client", server / client), ("server", client / server)] {
            busiest(&mut trial[side], counter, &window).into_iter().for_each(|(column, _)| stretch(column, times));
        }
    }
    for side in ["client", "server"] {
        for column in trial[side]["recording"]["columns"].as_array_mut().unwrap() {
            let other = match column["instance"].as_str() {
                Some("0") => "1",
                Some("1") => "0",
                _ => continue,
            };
            if column["counter"].as_str().is_some_and(|id| id.starts_with("cpu.")) {
                column["instance"] = other.into();
            }
        }
    }
}

/// Moves the counter samples of each trial to the place where older versions of loadline stored them: the trial's
/// fields `client` and `server`.
fn old_form(run: &mut Value) -> &mut Value {
    for trial in 0..run["trials"].as_array().unwrap().len() {
        for side in ["client", "server"] {
            run["trials"][trial][side]["recording"] = recording(run, trial, side);
        }
    }
    let sides = run["recordings"]["sides"].as_array_mut().unwrap();
    sides.retain(|side| side["side"].as_str().unwrap().starts_with("/at_rest/"));
    &mut run["trials"]
}

/// Checks that the share of CPU time in the report is the share that the experiment took from the server. An earlier
/// version of loadline printed a share that the experiment had not taken.
fn the_printed_dose_was_given(run: &Value) {
    let proof = &run["findings"]["proof"];
    let why = proof["why"].as_str().unwrap();
    let said = why.split("taking away ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    let said = said.unwrap_or_else(|| panic!("no share of CPU taken away in {why:?}: {}", verdict(run)));
    let levers = proof["trials"].as_array().unwrap().iter().flat_map(|trial| trial["levers"].as_array().unwrap());
    let given: Vec<f64> = levers.filter(|lever| lever["lever"] == "server-cpu").map(|l| num(&l["taken"])).collect();
    // `said` comes from the CPU's speed with the lever (a process that takes CPU time), relative to the speed without
    // the lever. Even a lever that is off takes a little CPU time, so `said` differs slightly from the ordered share
    // (`given`).
    assert!(given.iter().any(|share| (100.0 * share - said).abs() < 2.0), "{said} % of {given:?}: {why}");
}

#[test]
fn the_levers_refute_an_argument_from_falsified_counters() {
    let (_alone, binary) = alone_with_release!("a planted wrong argument");
    // The server needs so much CPU time per request that it uses a whole CPU on any machine.
    let server = serve(&binary, 1, &["--option", "work_us=2000"]);
    let url = format!("http://{}/", server.addr);
    let others = OtherPrograms::watch();
    let mut run = json(&binary, &["prove", &url, "--cpus", "0", "--connections", "8", "--budget", "14s"]);
    assert_eq!(bottleneck(&run), "server-cpu", "{}", verdict(&run));
    if others.stayed_away("the printed share of CPU taken away") {
        the_printed_dose_was_given(&run);
    }
    old_form(&mut run).as_array_mut().unwrap().iter_mut().for_each(exchange);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    std::fs::write(&file, run.to_string()).unwrap();
    let said = Command::new(&binary).arg("judge").arg(&file).args(["--form", "json"]).output().unwrap();
    let judged: Value = serde_json::from_slice(&said.stdout).expect("judge prints the run");
    let proof = &judged["findings"]["proof"];
    assert_eq!((bottleneck(&judged), proof["outcome"].as_str()), ("server-cpu", Some("refuted")), "{proof:#}");
    assert!(proof["why"].as_str().unwrap().contains("counters pointed to client-cpu"), "{}", proof["why"]);
}

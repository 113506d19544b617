//! Tests of the plans of `load`.

use super::*;
use crate::commands::Command;
use crate::parsed;

/// Returns the plan of `loadline load` with these arguments.
fn planned(words: &[&str]) -> anyhow::Result<Plan> {
    let words = [&["load"][..], words].concat();
    let Command::Load(args) = parsed(&words) else { panic!("not `load`") };
    plan(&args)
}

#[test]
fn an_intensity_replaces_the_stages_of_the_plan_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("plan.toml");
    let text = "[target]\nurl = 'http://127.0.0.1:1/'\n\
                [load]\nstages = [{ seconds = 1.0, from = 10.0, to = 20.0 }]\n";
    std::fs::write(&file, text).unwrap();
    let load = |flag: &str, value: &str| planned(&["--config", file.to_str().unwrap(), flag, value]).unwrap().load;
    let constant = load("--rate", "500");
    assert!(constant.stages.is_empty() && matches!(constant.intensity, Intensity::Open { rate: 500.0, .. }));
    let default = LoadPlan::default();
    assert_eq!((constant.duration_s, constant.warmup_s), (default.duration_s, default.warmup_s));
    let closed = load("--connections", "2");
    assert!(closed.stages.is_empty() && closed.check().is_ok());
    let ramp = load("--rate", "1..9/4s");
    assert_eq!((ramp.stages.len(), ramp.duration_s, ramp.warmup_s), (1, 4.0, 0.0));
    assert_eq!(load("--seed", "7").stages.len(), 1);
}

#[test]
fn a_load_that_changes_over_time_takes_no_warm_up() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("times");
    std::fs::write(&file, "0.0\n0.1\n0.2\n").unwrap();
    for load in [["--rate", "100..200/1s"], ["--arrivals", file.to_str().unwrap()]] {
        let with = |warmup: &str| planned(&[&["http://127.0.0.1:1/", "--warmup", warmup][..], &load[..]].concat());
        let error = with("1s").unwrap_err().to_string();
        assert!(error.contains("measured from their start") && with("0").is_ok(), "{error}");
    }
}

/// An earlier version of loadline said "--duration is 378604800 s", although the user gave no duration.
#[test]
fn a_recording_of_years_is_refused_with_its_span() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log");
    let line = |year: u32| format!("h - - [10/Oct/{year}:13:55:01 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n");
    std::fs::write(&file, [line(2012), line(2024)].concat()).unwrap();
    let with = |flags: &[&str]| {
        planned(&[&["http://127.0.0.1:1/", "--replay", file.to_str().unwrap(), "--speed"][..], flags].concat())
    };
    let error = with(&["1"]).unwrap_err().to_string();
    assert!(error.starts_with("the replay would take 12 years, and a load lasts at most 366 days"), "{error}");
    assert!(error.contains("--speed") && error.contains("--duration TIME"), "{error}");
    assert!(with(&["1", "--duration", "5s"]).is_ok() && with(&["100"]).is_ok());
}

#[test]
fn connections_open_one_after_the_other_only_in_a_closed_loop() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("times");
    std::fs::write(&file, "0.0\n0.1\n0.2\n").unwrap();
    let with = |flag: &str, value: &str| planned(&["http://127.0.0.1:1/", "--connect-rate", "5", flag, value]);
    let error = with("--arrivals", file.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("--connect-rate"), "{error}");
    assert_eq!(with("--connections", "10").unwrap().load.connect_rate, 5.0);
}

#[test]
fn errors_that_an_expectation_allows_break_no_default_limit() {
    let limit = |flags: &[&str]| planned(&[&["http://127.0.0.1:1/"][..], flags].concat()).unwrap().objective.errors;
    let default = limit(&[]);
    assert_eq!(limit(&["--expect", "errors<=10%"]), 0.1);
    assert_eq!(limit(&["--expect", "errors<=10%", "--expect", "errors<5%"]), 0.05);
    assert_eq!(limit(&["--expect", "errors<=10%", "--errors", "2%"]), 0.02);
    for other in ["errors<=0.01%", "p99<9s"] {
        assert_eq!(limit(&["--expect", other]), default, "{other}");
    }
}

//! Recordings of an observer on another host that do not fit into one line.

use std::path::Path;

use serde_json::Value;
use testkit::{SshHosts, num, total};

use crate::hosts::nginx_hosts::{Nginx, incidents, said};

/// Number of server processes. With about 30 counters per process, a line holds 200 samples.
const WORKERS: u32 = 60;

/// On their way, the observer's lines are copied to a file. From this file, the test knows the pieces of a recording
/// and their contents.
#[test]
fn a_long_recording_arrives_completely_in_several_lines() {
    let (_alone, binary) = testkit::alone_with_release!("a recording in several lines");
    let test = "a_recording_in_several_lines";
    let Some(hosts) = SshHosts::make(test, &binary, "switch:1G", &["conductor", "server", "a"]) else { return };
    let Some(nginx) = Nginx::of_workers(test, &hosts, WORKERS) else { return };
    let (tap, engine, own) = (hosts.path("tap"), hosts.engine(), binary.to_str().unwrap());
    std::fs::write(&tap, "\"$@\" | tee \"$0-$$\"").unwrap();
    // No master connection is used, because loadline does not know which program `sh` runs.
    let tapped = format!("sh {} {}", tap.display(), engine.replace("{host}", "-T -o BatchMode=yes {host}"));
    let mut load = vec!["load", &nginx.url, "--client-hosts", "a", "--via", &engine, "--agent-path", own];
    load.extend(["--server-host", "server", "--server-via", &tapped, "--at-rest", "100ms", "--warmup", "200ms"]);
    load.extend(["--rate", "200", "--duration", "75s", "--interval", "10ms"]);
    let (run, output) = hosts.run("conductor", &load, |_| {});
    let text = said(&output);
    assert!(output.status.success() && incidents(&run).is_empty(), "{}\n{text}", incidents(&run));
    assert_eq!(nginx.logged(total(&run, "completed")), total(&run, "completed"), "{text}");

    let pieces = handed_over(hosts.path("").as_path());
    assert!(pieces.len() > 1, "it came in one line of {} samples\n{text}", samples(&pieces[0]));
    let whole = &testkit::recording(&run, 0, "server");
    println!("{} lines of {:?} samples", pieces.len(), pieces.iter().map(samples).collect::<Vec<_>>());
    assert_eq!(pieces.iter().map(samples).sum::<usize>(), samples(whole), "{text}");
    let times: Vec<f64> = whole["t_s"].as_array().unwrap().iter().map(num).collect();
    assert!(times.is_sorted_by(|a, b| a < b), "each sample once and in order: {times:?}");
    let columns = pieces[0]["columns"].as_array().unwrap();
    assert!(columns.len() > 1000, "{} columns", columns.len());
    for (at, column) in columns.iter().enumerate() {
        let of_pieces: Vec<&Value> = pieces.iter().flat_map(|piece| values(&piece["columns"][at])).collect();
        let of_whole: Vec<&Value> = values(named(whole, column)).collect();
        let name = format!("{} {}", column["counter"], column["instance"]);
        assert_eq!(of_pieces.len(), of_whole.len(), "{name}");
        let other = of_pieces.iter().zip(&of_whole).find(|(a, b)| !alike(a, b));
        assert_eq!(other, None, "{name}");
    }
    // One of the counters is the observer's own number of samples. The observer must not miss a sample between two
    // values of this counter.
    let counted = columns.iter().find(|column| column["counter"] == "probe.samples").unwrap();
    let told = values(named(whole, counted)).enumerate().filter_map(|(row, n)| Some(n.as_f64()? - row as f64));
    let told: Vec<f64> = told.collect();
    assert!(told.len() > 100 && told.iter().all(|before| *before == told[0]), "{told:?}");
    ["a", "server"].iter().for_each(|host| hosts.await_no_agents(host));
}

/// Returns the pieces of the longest recording that is in the copied lines.
fn handed_over(dir: &Path) -> Vec<Value> {
    let (mut longest, mut pieces) = (Vec::new(), Vec::new());
    let files = std::fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    for file in files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("tap-")) {
        for line in std::fs::read_to_string(file).unwrap().lines() {
            let said: Value = serde_json::from_str(line).unwrap_or_default();
            match said["is"].as_str() {
                Some("rows") => pieces.push(said),
                Some("observed") => {
                    pieces.push(said["recording"].clone());
                    longest = std::cmp::max_by_key(longest, std::mem::take(&mut pieces), |all: &Vec<Value>| {
                        all.iter().map(samples).sum::<usize>()
                    });
                }
                _ => {}
            }
        }
    }
    longest
}

/// Returns true if two values are equal, apart from the last bit of a fraction, which parsing may round up or down.
fn alike(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| (a - b).abs() <= 1e-14 * a.abs())
}

fn samples(recording: &Value) -> usize {
    recording["t_s"].as_array().map_or(0, Vec::len)
}

fn values(column: &Value) -> impl Iterator<Item = &Value> {
    column["values"].as_array().into_iter().flatten()
}

/// Returns the column with the same name in another recording.
fn named<'a>(recording: &'a Value, column: &Value) -> &'a Value {
    let same = |other: &&Value| ["counter", "instance"].iter().all(|key| other[key] == column[key]);
    recording["columns"].as_array().unwrap().iter().find(same).unwrap_or_else(|| panic!("no {column:#}"))
}

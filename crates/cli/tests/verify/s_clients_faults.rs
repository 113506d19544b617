//! Tests of faults during a load of S-Clients (clients that connect again and again, whatever the server does). The
//! result must name each fault, the offered and the sent rate must stay constant, and loadline must save the run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use testkit::s_clients::{D, OFFERED, SERVE, SLOW, error, honest, in_a_namespace, incidents, load, load_of};
use testkit::{Hog, Running, alone, binary, eventually, json_of, num, serve, two_processors, verdict};

/// Loads a slow server with S-Clients, causes a fault during the load, and returns the saved run.
fn disturbed(disturb: impl FnOnce(&Running)) -> Value {
    let (server, out) = (serve(binary!(), 0, &SLOW), tempfile::tempdir().unwrap());
    // The load lasts long enough to contain the fault, even if this test stalls for some time.
    let mut command = load_of(binary!(), &format!("http://{}/", server.addr), D, ("5s", &["--out"]));
    command.arg(out.path().join("run")).arg("--json-lines").stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut seconds = BufReader::new(child.stdout.take().unwrap()).lines();
    // The first line tells the first second of the load, which is longer than the warm-up.
    seconds.next().unwrap().unwrap();
    disturb(&server);
    seconds.for_each(drop);
    child.wait().unwrap();
    let run: Value = serde_json::from_slice(&std::fs::read(out.path().join("run/run.json")).unwrap()).unwrap();
    assert!(out.path().join("run/report.html").exists());
    honest(&run, OFFERED);
    run
}

/// Checks that notes and warnings mention the fault, and that the verdict is not sure.
fn told(run: &Value, words: &str) {
    for part in [&run["trials"][0]["notes"], &run["findings"]["trust"]["warnings"]] {
        assert!(part.to_string().contains(words), "{words:?} is not in {part:#}");
    }
    let bottleneck = &run["findings"]["bottleneck"];
    assert!(num(&bottleneck["confidence"]) <= 0.3, "{bottleneck:#}");
    // If the fault ended the run, the headline names it, and the verdict's sentence does not repeat it. If the fault
    // did not end the run, the verdict's sentence names the fault.
    let ended = run["findings"]["failure"] == "died";
    assert_eq!(bottleneck["sentence"].as_str().is_some_and(|s| s.contains("but the server")), !ended, "{bottleneck:#}");
}

#[test]
fn a_server_that_is_killed_is_named() {
    let _alone = alone();
    let run = disturbed(|server| server.signal("KILL"));
    assert_eq!(incidents(&run), ["server-ended"], "{}", verdict(&run));
    told(&run, "ended at");
    assert!(error(&run, "connect_refused") > 0, "{}", verdict(&run));
}

#[test]
fn a_server_that_stops_and_resumes_is_named() {
    let _alone = alone();
    let run = disturbed(|server| {
        server.signal("STOP");
        // On a busy machine, loadline checks the server late, so the test stops the server for a whole second.
        std::thread::sleep(Duration::from_secs(1));
        server.signal("CONT");
    });
    assert_eq!(incidents(&run), ["server-stopped"], "{}", verdict(&run));
    told(&run, "was stopped (SIGSTOP)");
    let incident = &run["trials"][0]["incidents"][0];
    let length = num(&incident["end_s"]) - num(&incident["begin_s"]);
    assert!(length > 0.3, "{incident:#}");
    assert!(error(&run, "connect_timeout") > 0, "{}", verdict(&run));
}

#[test]
fn a_restarted_server_is_named() {
    let _alone = alone();
    let mut again = None;
    let run = disturbed(|server| {
        server.signal("KILL");
        // The server is down for long enough for loadline to detect that it ended.
        std::thread::sleep(Duration::from_millis(400));
        eventually(|| TcpStream::connect(server.addr).is_err().then_some(()));
        let mut command = Command::new(binary!());
        command.args(["serve", "http", "--listen", &server.addr.to_string()]).args(SLOW);
        again = Some(Running::start(command, server.addr.port(), tempfile::tempdir().unwrap()));
    });
    assert_eq!(incidents(&run), ["server-ended", "server-returned"], "{}", verdict(&run));
    told(&run, "started anew");
    let pid = again.map(|server| server.pid().to_string()).unwrap();
    assert!(run["trials"][0]["notes"].to_string().contains(&pid), "{:#}", run["trials"][0]["notes"]);
}

/// Returns a shell command that limits the number of descriptors, and then runs `load`.
fn limited(descriptors: u32, load: &Command) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {descriptors}; exec \"$@\""), "sh"]).arg(load.get_program());
    command.args(load.get_args());
    command
}

#[test]
fn descriptors_are_divided_over_as_few_processes_as_possible() {
    let _alone = alone();
    let server = serve(binary!(), 0, &SLOW);
    let url = format!("http://{}/", server.addr);
    let run = json_of(&mut limited(200, &load(binary!(), &url, "300", &[])));
    // With a limit of 200 descriptors, each generator process has 136 descriptors for connections. Of the 136
    // descriptors of a process, a fifth is for established connections.
    let notes = run["trials"][0]["notes"].to_string();
    assert!(notes.contains("300 S-Client descriptors are spread over 3 processes, 3 x 100"), "{notes}");
    honest(&run, 3000.0);
}

#[test]
fn descriptors_that_run_out_are_named() {
    let _alone = alone();
    // Every connect succeeds at once, but answers come late. Many connections wait for their answers, so established
    // connections use up all descriptors.
    let late = ["--model", "workers", "--option", "workers=4", "--option", "sleep_ms=300"];
    let server = serve(binary!(), 0, &late);
    let url = format!("http://{}/", server.addr);
    let run = json_of(&mut limited(150, &load(binary!(), &url, D, &[])));
    assert!(error(&run, "client_fds") > 0, "{}", verdict(&run));
    assert_eq!(run["findings"]["bottleneck"]["id"], "client-fds", "{}", verdict(&run));
    assert!(run["trials"][0]["notes"].to_string().contains("descriptors ran out"), "{:#}", run["trials"][0]["notes"]);
    honest(&run, OFFERED);
    assert!(num(&run["trials"][0]["sent_rate"]) < num(&run["trials"][0]["offered_rate"]), "{}", verdict(&run));
}

#[test]
fn ports_that_run_out_are_named() {
    let _alone = alone();
    let script = format!(
        "echo 40000 40060 > /proc/sys/net/ipv4/ip_local_port_range; {SERVE} \
         \"$1\" load http://127.0.0.1/ --s-clients 300 --connect-timeout 100ms --warmup 300ms --duration 1s --at-rest 0 \
         --json; kill $server"
    );
    let Some(mut command) = in_a_namespace("ports", binary!(), &script) else { return };
    let run: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    let (ports, trial) = (error(&run, "client_ports"), &run["trials"][0]);
    assert!(ports > 0, "{}", verdict(&run));
    assert_eq!(run["findings"]["bottleneck"]["id"], "client-ports", "{}", verdict(&run));
    assert!(trial["notes"].to_string().contains("local ports ran out"), "{:#}", trial["notes"]);
    honest(&run, 3000.0);
    // Every connect counts as sent, except connects for which this machine had no free port.
    let measured = &trial["measured"];
    let tally = &measured["tally"];
    let never_left = num(&tally["errors"]["client_ports"]);
    let sent = (num(&tally["attempted"]) - never_left) / num(&measured["length_s"]);
    assert!((num(&trial["sent_rate"]) - sent).abs() <= 0.01 * sent + 1.0, "{} {sent}", trial["sent_rate"]);
}

/// Tests whose result depends on the load that a program of the test reaches.
mod light {
    use super::*;

    #[test]
    fn a_starved_generator_is_named_and_still_offers_the_full_rate() {
        let _alone = alone();
        if !two_processors("starved S-Clients") {
            return;
        }
        let server = serve(binary!(), 1, &SLOW);
        let hogs = Hog::on(0, 3);
        let run = json_of(&mut load(binary!(), &format!("http://{}/", server.addr), "10000", &["--cpus", "0"]));
        drop(hogs);
        // The test causes two limits: the generator gets too little CPU time, and the slow server's accept queue
        // overflows. The verdict may name the generator's CPU time or the accept queue, but must not be sure.
        let found = &run["findings"]["bottleneck"];
        let is_planted = ["client-cpu", "accept-queue"].contains(&found["id"].as_str().unwrap());
        assert!(is_planted && num(&found["confidence"]) < 0.9, "{}", verdict(&run));
        assert_eq!(run["findings"]["trust"]["generator_limited"], true, "{}", verdict(&run));
        honest(&run, 100_000.0);
        assert!(
            num(&run["trials"][0]["sent_rate"]) < 0.95 * num(&run["trials"][0]["offered_rate"]),
            "{}",
            verdict(&run)
        );
    }
}

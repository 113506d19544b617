//! Test of the progress lines of a search whose output is no terminal.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use testkit::{binary, serve};

/// Time budget of the search, seconds. A search of less than 10 s writes no progress lines.
const BUDGET_S: f64 = 12.0;

/// The first progress line must come after the first step, long before the result. Standard output must contain
/// only the result.
#[test]
fn a_search_without_a_terminal_tells_its_first_figures_early() {
    let server = serve(binary!(), 0, &[]);
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(binary!());
    command.args(["find", &format!("http://{}/", server.addr), "--budget", &format!("{BUDGET_S}s")]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir(dir.path());
    let begun = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().expect("a line about the first step");
    assert!(begun.elapsed().as_secs_f64() < BUDGET_S / 2.0, "{first} after {:?}", begun.elapsed());
    assert!(first.contains(" s of 12 s: 1 connection, ") && first.contains("/s, p50 "), "{first}");
    let rest: Vec<String> = lines.collect();
    let output = child.wait_with_output().unwrap();
    let result = String::from_utf8_lossy(&output.stdout);
    assert!(rest.len() < 4 && result.contains("report: ") && !result.contains(" s of 12 s"), "{rest:?}\n{result}");
}

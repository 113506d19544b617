//! Tests with extremely large runs and files. The processing time must grow in proportion to the size of a run, not to
//! the square of its size. loadline must refuse a file that is too large before it reads the file.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use judge::counters_csv::{MAX_CASES, as_run, read};
use report::{Style, render};
use run::{
    Absence, Column, CounterId, MAX_RUN_BYTES, MAX_RUN_HISTOGRAMS, MAX_RUN_HOSTS, MAX_RUN_OBJECTS, MAX_RUN_VALUES,
    MAX_TRIALS, Run, Side, load_run, parse_run,
};
use sys::clock::thread_cpu_ns;
use testkit::{alone, binary};

fn kept() -> Run {
    load_run(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../run/tests/fixtures/find.json")).unwrap()
}

/// Function that adds the given number of entries to the server's part of a trial.
type Plant = fn(&mut Side, usize);

fn column(counter: String, instance: String, samples: usize) -> Column {
    Column { counter: CounterId(counter.into()), instance, values: (0..samples).map(|k| Some(k as f64)).collect() }
}

fn processes(side: &mut Side, n: usize) {
    let samples = side.recording.t_s.len();
    side.processes = (0..n).map(|i| format!("p{i}:{i}")).collect();
    for id in ["process.cpu", "process.run_delay", "thread.cpu", "process.fds", "process.fd_limit"] {
        let tid = if id == "thread.cpu" { "/1" } else { "" };
        let columns = (0..n).map(|i| column(id.into(), format!("p{i}:{i}{tid}"), samples));
        side.recording.columns.extend(columns);
    }
}

fn threads(side: &mut Side, n: usize) {
    let (samples, process) = (side.recording.t_s.len(), side.processes[0].clone());
    side.recording.columns.extend((0..n).map(|i| column("thread.cpu".into(), format!("{process}/{i}"), samples)));
}

fn unknown_counters(side: &mut Side, n: usize) {
    let samples = side.recording.t_s.len();
    side.recording.columns.extend((0..n).map(|i| column(format!("new.c{i}"), String::new(), samples)));
}

fn absences(side: &mut Side, n: usize) {
    let absent = |i| Absence {
        counter: CounterId(format!("new.c{i}").into()),
        instance: String::new(),
        reason: format!("r{i}"),
    };
    side.recording.absent.extend((0..n).map(absent));
}

/// Returns the CPU time for reading, judging and rendering a run.
fn time(read: impl FnOnce() -> Run) -> Duration {
    let begin_ns = thread_cpu_ns();
    let mut run = read();
    judge::judge(&mut run);
    ["text", "html"].iter().for_each(|form| drop(render(form, &run, &Style::default()).unwrap()));
    Duration::from_nanos(thread_cpu_ns() - begin_ns)
}

/// Returns the ratio of the CPU times of `many` and `few`, and both times as text. Each time is the shortest of three
/// measurements. The measurements of `few` and `many` alternate, so slow phases of the machine affect both times.
fn ratio(few: impl Fn() -> Duration, many: impl Fn() -> Duration) -> (f64, String) {
    let [(a, b), (c, d), (e, f)] = [(); 3].map(|()| (few(), many()));
    let (few, many) = (a.min(c).min(e), b.min(d).min(f));
    (many.as_secs_f64() / few.as_secs_f64(), format!("{few:?}, {many:?}"))
}

fn text_of(plant: Plant, n: usize) -> String {
    let mut run = kept();
    plant(run.trials[1].server.as_mut().unwrap(), n);
    serde_json::to_string(&run).unwrap()
}

#[test]
fn four_times_the_columns_take_no_sixteen_times_the_time() {
    let _alone = alone();
    let plants: [(&str, Plant); 4] =
        [("processes", processes), ("threads", threads), ("counters", unknown_counters), ("absences", absences)];
    for (what, plant) in plants {
        let [few, many] = [4_000, 16_000].map(|n| text_of(plant, n));
        let of = |text: &str| time(|| parse_run("run.json", text).unwrap());
        let (ratio, both) = ratio(|| of(&few), || of(&many));
        assert!(ratio < 8.0, "{what}: four times as many took {ratio:.1} times as long ({both})");
    }
}

/// Returns a CSV file with `n` operating points, each with another number of clients, like a very long sweep.
fn cases(n: usize) -> String {
    let line = |i: usize| format!("c{i},{},{},{}\n", i + 1, 100 + i % 977, i % 90 + 1);
    "case,clients,reads_per_s,cpu_percent\n".to_string() + &(0..n).map(line).collect::<String>()
}

#[test]
fn four_times_the_cases_take_no_sixteen_times_the_time() {
    let _alone = alone();
    let [few, many] = [1_000, 4_000].map(cases);
    let of = |text: &str| time(|| as_run(&read(text).unwrap()));
    let (ratio, both) = ratio(|| of(&few), || of(&many));
    assert!(ratio < 8.0, "four times as many took {ratio:.1} times as long ({both})");
}

#[test]
fn a_too_large_file_is_refused_without_reading_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    // The file is sparse: it has the length that is set here, but uses no disk space. Reading the file would give an
    // error about invalid JSON instead of the file's length.
    std::fs::File::create(&path).unwrap().set_len(MAX_RUN_BYTES + 1).unwrap();
    let error = load_run(&path).unwrap_err().to_string();
    assert!(error.contains("268435457 bytes") && error.contains("at most 268435456"), "{error}");
}

#[test]
fn too_many_trials_or_cases_are_refused_with_both_numbers() {
    let trials = vec!["{}"; MAX_TRIALS + 1].join(",");
    let text = format!(r#"{{"format":"loadline-run/1","trials":[{trials}]}}"#);
    let error = parse_run("run.json", &text).unwrap_err().to_string();
    assert!(error.contains("10001 trials, at most 10000"), "{error}");
    let error = read(&cases(MAX_CASES + 1)).unwrap_err().to_string();
    assert!(error.contains("10001 cases, at most 10000"), "{error}");
    assert_eq!(read(&cases(MAX_CASES)).unwrap().len(), MAX_CASES);
}

/// A histogram without values, as it is stored in `run.json`.
const EMPTY: &str = "\"HISTEwAAAAEAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAA=\"";

/// Runs `report` on a `run.json` whose content is `text`, in an address space of at most `mib` MiB.
fn report_within(mib: usize, text: &str) -> std::process::Output {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run.json");
    std::fs::write(&path, text).unwrap();
    let command =
        format!("ulimit -v {}; exec {} report {} --form text", mib * 1024, binary!().display(), path.display());
    std::process::Command::new("sh").args(["-c", &command]).output().unwrap()
}

/// Returns the text of a run whose fields are `inner`.
fn with(inner: &str) -> String {
    format!(r#"{{"format":"loadline-run/1",{inner}}}"#)
}

/// Returns the text of a run with `begin`, then `n` times `each`, separated by commas, then `end`.
fn many(begin: &str, each: &str, n: usize, end: &str) -> String {
    let mut list = format!("{each},").repeat(n);
    list.pop();
    with(&format!("{begin}{list}{end}"))
}

#[test]
fn too_large_runs_are_refused_before_they_take_memory() {
    let _alone = alone();
    // Each text has only a few megabytes, but its run would take gigabytes of memory.
    let (trials, hosts, objects, values) = (MAX_TRIALS, MAX_RUN_HOSTS, MAX_RUN_OBJECTS, MAX_RUN_VALUES);
    let histograms = MAX_RUN_HISTOGRAMS;
    // A trial with two empty histograms takes 60 bytes of text, but a quarter of a megabyte of memory.
    let of_a_trial = format!(r#"{{"histograms":{{"response":{EMPTY},"service":{EMPTY}}}}}"#);
    for (text, found, most) in [
        (many(r#""trials":["#, "{}", 900_000, "]"), "900000 trials".to_string(), trials),
        (many(r#""trials":["#, &of_a_trial, 5_000, "]"), "10000 histograms".to_string(), histograms),
        (many(r#""trials":[{"classes":["#, "{}", 100_000, "]}]"), "100000 histograms".to_string(), histograms),
        (many(r#""at_rest":["#, "{}", 900_000, "]"), "900000 hosts".to_string(), hosts),
        (many(r#""notes":["#, r#"{"text":"{"}"#, objects, "]"), format!("{} objects", objects + 1), objects),
        (many(r#""trials":[{"notes":["#, "1", values + 1, "]}]"), format!("{} values", values + 1), values),
    ] {
        let output = report_within(300 + 2 * (text.len() >> 20), &text);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{found}: {said}");
        assert!(said.contains(&format!("has {found}, at most {most} are read")), "{found}: {said}");
    }
}

/// Maximum address space for a run that reaches all limits on a run, MiB. The limit in the test is this maximum plus
/// the address space of the program itself.
const LARGEST_MIB: usize = 2560;
/// Divisor by which the test reduces the limits and the allowed memory. A test with the full limits on the size of a
/// run would take minutes.
const PART: usize = 8;

#[test]
fn a_run_at_the_limits_fits_a_small_machine() {
    let _alone = alone();
    let samples = vec!["0"; 10_000].join(",");
    let column = format!(r#"{{"counter":"thread.cpu","instance":"srv:1/2","values":[{samples}]}}"#);
    let recording = format!(r#""trials":[{{"client":{{"recording":{{"t_s":[{samples}],"columns":["#);
    let stored = format!(
        r#""trials":[{{}}],"recordings":{{"instances":["srv:1/2"],"groups":[["thread.cpu",[0],[0]]],"sides":[
        {{"side":"/trials/0/client","t_s":[{samples}],"columns":["#
    );
    let trial = format!(r#"{{"histograms":{{"response":{EMPTY},"service":{EMPTY}}}}}"#);
    for (what, text) in [
        ("stored values", many(&stored, "[0,0,[0]]", MAX_RUN_VALUES / 10_000 / PART, "]}]}")),
        ("values", many(&recording, &column, MAX_RUN_VALUES / 10_000 / PART, "]}}}]")),
        ("histograms", many(r#""trials":["#, &trial, MAX_RUN_HISTOGRAMS / 2 / PART, "]")),
        ("hosts", many(r#""at_rest":["#, "{}", MAX_RUN_HOSTS / PART, "]")),
        ("objects", many(r#""notes":["#, "{}", MAX_RUN_OBJECTS / PART - 1, "]")),
    ] {
        let output = report_within(100 + LARGEST_MIB / PART, &text);
        assert!(output.status.success(), "{what}: {:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
}

/// Maximum memory per trial for judging, KiB. The limit in the test is this maximum plus the memory of the program
/// itself.
const A_CASE_KIB: usize = 32;

#[test]
fn a_file_of_the_most_cases_fits_a_small_machine() {
    let _alone = alone();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("counters.csv");
    let line = |i: usize| format!("c{i},{},{},{},{},106\n", i + 1, 100 + i % 977, i % 90 + 1, 700 + i % 50);
    let head = "case,clients,reads_per_s,cpu_percent,interrupts_per_s,interrupts_at_rest_per_s\n".to_string();
    std::fs::write(&path, head + &(0..MAX_CASES).map(line).collect::<String>()).unwrap();
    let limit_kib = 100 * 1024 + A_CASE_KIB * MAX_CASES;
    let command = format!("ulimit -v {limit_kib}; exec {} judge {}", binary!().display(), path.display());
    let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
    assert!(output.status.success(), "{:?}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.len() > 1000 * MAX_CASES / 10, "{} bytes", output.stdout.len());
}
